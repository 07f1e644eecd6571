"""Runs `gpuprof top` on a terminal and looks at what it leaves of it: after q, after Ctrl+Z, after SIGTERM."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

ENTER, LEAVE, SHOW = b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[?25h"
program, trace = sys.argv[1:]


class Run:
    def __init__(self):
        self.seen = b""
        self.master, slave = pty.openpty()
        self.slave = slave
        self.resize(24, 100)
        self.before = termios.tcgetattr(slave)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2):
                os.dup2(slave, fd)
            os.environ["TERM"] = "xterm-256color"
            os.execv(program, [program, "top", "--interval", "100ms", trace])

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, word, count=1):
        deadline = time.monotonic() + 50
        while self.seen.count(word) < count:
            ready, _, _ = select.select([self.master], [], [], 0.1)
            if ready:
                self.seen += os.read(self.master, 65536)
            assert time.monotonic() < deadline, (word, self.seen[-2000:])

    def wait(self, options=0):
        deadline = time.monotonic() + 50
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, options | os.WNOHANG)
            if pid:
                return status
            # What it writes must go somewhere.
            if select.select([self.master], [], [], 0.02)[0]:
                self.seen += os.read(self.master, 65536)
        raise AssertionError("no end")

    def is_as_it_was(self):
        # The last of what it wrote may still be on its way.
        deadline = time.monotonic() + 50
        while self.seen.rfind(LEAVE) < self.seen.rfind(ENTER) and time.monotonic() < deadline:
            if select.select([self.master], [], [], 0.1)[0]:
                self.seen += os.read(self.master, 65536)
        assert termios.tcgetattr(self.slave) == self.before, "raw"
        assert self.seen.rindex(LEAVE) > self.seen.rindex(ENTER), "still a screen"
        assert self.seen.rindex(SHOW) > self.seen.rindex(ENTER), "no cursor"


run = Run()
run.until(b"q quit")
assert b"axpy" in run.seen and ENTER in run.seen
os.write(run.master, b"q")
status = run.wait()
assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0, status
run.until(SHOW)
run.is_as_it_was()
print("quit", end=" ")

run = Run()
run.until(b"q quit")
os.write(run.master, b"\x1a")
status = run.wait(os.WUNTRACED)
assert os.WIFSTOPPED(status), status
run.until(SHOW)
run.is_as_it_was()
os.kill(run.pid, signal.SIGCONT)
run.until(ENTER, 2)
run.until(b"q quit", 2)
# The same from outside.
os.kill(run.pid, signal.SIGTSTP)
status = run.wait(os.WUNTRACED)
assert os.WIFSTOPPED(status), status
run.until(SHOW, 2)
run.is_as_it_was()
os.kill(run.pid, signal.SIGCONT)
run.until(ENTER, 3)
print("stop", end=" ")
os.kill(run.pid, signal.SIGTERM)
status = run.wait()
assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGTERM, status
run.until(SHOW, 3)
run.is_as_it_was()
print("terminate", end=" ")

run = Run()
run.until(b"q quit")
for rows, columns in ((3, 10), (1, 1), (50, 200), (24, 80)):
    run.resize(rows, columns)
    os.kill(run.pid, signal.SIGWINCH)
    time.sleep(0.2)
os.write(run.master, b"\t+-sfp q")
status = run.wait()
assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0, status
run.until(SHOW)
run.is_as_it_was()
print("resize: as it was")
