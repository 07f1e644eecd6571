"""The collector in this process: whether there is one, what it was told, and what it is asked over its socket."""

import json
import os
import socket
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple

from . import _cuda
from ._errors import Error

#: Variables through which the collector gets into a process.
_INJECTIONS = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "LD_PRELOAD")

#: How long a flush may take: longer than the collector itself waits for CUPTI.
_PATIENCE_S = 15.0

#: How long the socket may be coming, after CUDA was loaded.
_SOCKET_PATIENCE_S = 3.0


def is_recorded() -> bool:
    """Whether this process runs under ``gpuprof record``, or with its collector put in by a variable."""
    if os.environ.get("GPUPROF_DISABLE"):
        return False
    paths = [path for name in _INJECTIONS for path in os.environ.get(name, "").replace(" ", ":").split(":")]
    names = [os.path.basename(path) for path in paths]
    return any(name.startswith("libgpuprof") and name.endswith(".so") for name in names)


def require(what: str) -> None:
    """Raises ``Error`` if this process is not recorded."""
    if not is_recorded():
        raise Error(
            f"{what}: this process is not recorded; start it with `gpuprof record -- python ...`, "
            "or ask gpuprof.is_recorded() first"
        )


def capture_mode() -> str:
    """When records are kept: ``all``, ``profiler-api``, ``manual``, ``nvtx:...``, ``delay:...``, or ``budget``."""
    return "budget" if os.environ.get("GPUPROF_BUDGET") else os.environ.get("GPUPROF_CAPTURE") or "all"


def control(verb: str) -> Dict[str, Any]:
    """Asks the collector of this process over its socket (``docs/control.md``), and gives back its answer.

    Raises ``Error`` if it cannot be reached or refuses.
    """
    request = json.dumps({"gpuprof": 1, "do": verb}).encode() + b"\n"
    deadline = time.monotonic() + _SOCKET_PATIENCE_S
    while True:
        answers = (_exchange(*place, request) for place in _sockets())
        answer: Optional[Dict[str, Any]] = next(filter(None, answers), None)
        if answer is not None:
            break
        # It is made by a thread of the collector's, after the context.
        if time.monotonic() > deadline or not _cuda.is_used() or os.environ.get("GPUPROF_RUNTIME_DIR") == "off":
            raise _no_socket(verb)
        time.sleep(0.01)
    if not answer.get("ok"):
        raise Error(f"{verb}: the collector refuses: {answer.get('error')}")
    return answer


def _no_socket(verb: str) -> Error:
    if os.environ.get("GPUPROF_RUNTIME_DIR") == "off":
        return Error(f"{verb}: control of this process is switched off; record it without --runtime-dir off")
    return Error(
        f"{verb}: the collector of this process has no control socket; it comes with the first CUDA context, "
        "so use CUDA before; `gpuprof ctl list` says what else can be wrong"
    )


def _folders() -> List[str]:
    chosen = os.environ.get("GPUPROF_RUNTIME_DIR")
    if chosen:
        return [] if chosen == "off" else [chosen]
    xdg = os.environ.get("XDG_RUNTIME_DIR", "")
    login = [os.path.join(xdg, "gpuprof")] if os.path.isabs(xdg) else []
    return [*login, f"/tmp/gpuprof-{os.geteuid()}"]


def _sockets() -> Iterator[Tuple[str, str]]:
    """Folders and names of sockets of this process. Other containers that share a folder may have the same pid."""
    for folder in _folders():
        try:
            namespace = os.stat("/proc/self/ns/pid").st_ino
            names = os.listdir(folder)
        except OSError:
            continue
        own = f"{os.getpid()}-{namespace}-"
        yield from ((folder, name) for name in names if name.startswith(own) and name.endswith(".sock"))


def _exchange(folder: str, name: str, request: bytes) -> Optional[Dict[str, Any]]:
    """The answer to a request; ``None``: nobody listens at this socket."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_PATIENCE_S)
            try:
                # By the descriptor: an address has room for 107 bytes, and paths may be longer.
                connection.connect(f"/proc/self/fd/{fd}/{name}")
            except (ConnectionRefusedError, FileNotFoundError):
                return None
            connection.sendall(request)
            line = b""
            while not line.endswith(b"\n"):
                part = connection.recv(65536)
                if not part:
                    break
                line += part
    except OSError as error:
        raise Error(f"the control socket {folder}/{name}: {error}") from error
    finally:
        os.close(fd)
    try:
        answer: Dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise Error(f"the control socket {folder}/{name}: no answer of a collector") from error
    return answer
