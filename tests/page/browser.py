"""Headless Chromium, driven over its DevTools pipe with nothing but Python's standard library."""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-extensions", "--mute-audio", "--remote-debugging-pipe"]


def find():
    """The browser's path, or None."""
    return next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)


class Failed(Exception):
    """The browser, or the page in it, answered with an error."""


class Browser:
    """One browser with one page. Collects console messages, exceptions and network requests."""

    def __init__(self, size=(1440, 900), dark=False):
        self.profile = tempfile.mkdtemp(prefix="gpuprof-page-")
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        # Chromium reads its commands from descriptor 3 and answers on 4. A shell moves them there.
        shell = f'exec 3<&{theirs_in} 4>&{theirs_out}; exec "$@"'
        self.log = open(os.path.join(self.profile, "log"), "wb")
        self.process = subprocess.Popen(["/bin/bash", "-c", shell, "bash", find(), *FLAGS, f"--user-data-dir={self.profile}/data", f"--window-size={size[0]},{size[1]}", "about:blank"],
                                        pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True)
        os.close(theirs_in)
        os.close(theirs_out)
        self.input, self.output, self.buffer = ours_in, ours_out, b""
        self.number, self.messages, self.requests, self.session = 0, [], [], None
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Performance.enable", timeDomain="threadTicks")
        self.theme(dark)
        self.resize(*size)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.call("Browser.close", limit=5)
            self.process.wait(10)
        except Exception:  # noqa: BLE001: it is on its way out
            self.process.kill()
            self.process.wait()
        os.close(self.input)
        os.close(self.output)
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def read(self, until):
        while b"\0" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.input], [], [], left)[0]:
                raise Failed("the browser does not answer")
            data = os.read(self.input, 1 << 20)
            if not data:
                raise Failed(f"the browser has ended: {pathlib.Path(self.log.name).read_text(errors='replace')[-2000:]}")
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, limit=60, **parameters):
        """Calls a DevTools method and waits for its answer; events on the way are noted."""
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data):]
        until = time.monotonic() + limit
        while True:
            answer = self.read(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error'].get('message')}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        method, about = event.get("method"), event.get("params", {})
        if method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.messages.append(f"console.{about['type']}: {[a.get('value', a.get('description')) for a in about['args']]}")
        elif method == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.messages.append(f"exception: {details.get('exception', {}).get('description', details.get('text'))}")
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.messages.append(f"log {about['entry']['source']}: {about['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"][:200])

    def resize(self, width, height):
        """Gives the window another size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def theme(self, dark):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, address, limit=60):
        """Opens a page and waits until the timeline has drawn everything once."""
        self.call("Page.navigate", url=address)
        self.wait("window.__gpuprof && window.__gpuprof.firstPaintMs !== undefined", limit)
        self.first_cpu_ms = self.cpu_ms()

    def cpu_ms(self):
        """CPU time that the page's main thread has used, script and drawing: the same however busy the machine is."""
        return next(1000 * m["value"] for m in self.call("Performance.getMetrics")["metrics"] if m["name"] == "TaskDuration")

    def run(self, expression):
        """Evaluates JavaScript; promises are waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise Failed(f"{expression}: {answer['exceptionDetails'].get('exception', {}).get('description')}")
        return answer["result"].get("value")

    def wait(self, expression, limit=20):
        until = time.monotonic() + limit
        while not self.run(f"Boolean({expression})"):
            if time.monotonic() > until:
                raise Failed(f"never true: {expression}; {self.messages[-3:]}")
            time.sleep(0.02)

    def settle(self):
        """Waits until nothing moves and every tile is there."""
        self.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
        self.wait("!window.__gpuprof.state.moving && window.__gpuprof.state.whole")
        self.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def drag(self, x0, y0, x1, y1, modifiers=0, steps=8):
        self.mouse("mouseMoved", x0, y0, modifiers=modifiers)
        self.mouse("mousePressed", x0, y0, button="left", clickCount=1, modifiers=modifiers)
        for i in range(1, steps + 1):
            self.mouse("mouseMoved", x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps, button="left", buttons=1, modifiers=modifiers)
        self.mouse("mouseReleased", x1, y1, button="left", clickCount=1, modifiers=modifiers)

    def wheel(self, x, y, dy, modifiers=0):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=dy, modifiers=modifiers)

    def key(self, key, text=None):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **({"text": text or key} if len(key) == 1 else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def shot(self, path):
        """Saves a picture of the page."""
        pathlib.Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
