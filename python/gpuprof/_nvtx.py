"""NVTX without the package ``nvtx``: the same calls, to the library that is to hear them.

NVTX is a table of functions which an injected library fills in. This module has such a table of its own and hands it to
the collector's entry ``InitializeInjectionNvtx2``, just as every library that was built with NVTX's headers does.
"""

import ctypes
import os
import threading
from typing import Any, Dict, List, Optional, Tuple

from ._errors import Error

#: Names the library that hears NVTX; ``gpuprof record`` sets it.
VARIABLE = "NVTX_INJECTION64_PATH"

_TABLE_CALLBACKS, _MODULE_CORE = 1, 1
# Slots of the module of NVTX 1, the default domain, after nvtxDetail/nvtxTypes.h.
_MARK_A, _RANGE_PUSH_A, _RANGE_POP, _SLOTS = 2, 9, 11, 16

_FUNCTIONS: Dict[int, Any] = {
    _MARK_A: ctypes.CFUNCTYPE(None, ctypes.c_char_p),
    _RANGE_PUSH_A: ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p),
    _RANGE_POP: ctypes.CFUNCTYPE(ctypes.c_int),
}

_ModuleTable = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint)
)
_GetExportTable = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)


class _Callbacks(ctypes.Structure):
    """``NvtxExportTableCallbacks``."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("module_table", _ModuleTable)]


class _Client:
    """One table of functions, and who filled it in. It lives as long as the process: the library keeps pointers."""

    def __init__(self, path: str) -> None:
        self._values = (ctypes.c_void_p * _SLOTS)()
        size = ctypes.sizeof(ctypes.c_void_p)
        start = ctypes.addressof(self._values)
        # Slot 0 is never used and null; the others say where their function is to be put.
        addresses = [None] + [start + size * slot for slot in range(1, _SLOTS)]
        self._slots = (ctypes.c_void_p * _SLOTS)(*addresses)
        self._module_table = _ModuleTable(self._answer_module)
        self._callbacks = _Callbacks(ctypes.sizeof(_Callbacks), self._module_table)
        self._get_table = _GetExportTable(self._answer_table)
        try:
            self._library = ctypes.CDLL(path)
            entry = self._library.InitializeInjectionNvtx2
        except (OSError, AttributeError) as error:
            raise Error(f"{VARIABLE}: {path} cannot be asked to hear ranges: {error}") from error
        entry.argtypes, entry.restype = [_GetExportTable], ctypes.c_int
        self.is_heard = bool(entry(self._get_table))

    def _answer_module(self, module: int, slots: Any, count: Any) -> int:
        if module != _MODULE_CORE:
            return 0
        slots[0] = ctypes.addressof(self._slots)
        count[0] = _SLOTS
        return 1

    def _answer_table(self, number: int) -> Optional[int]:
        return ctypes.addressof(self._callbacks) if number == _TABLE_CALLBACKS else None

    def call(self, slot: int, *arguments: Any) -> Any:
        address = self._values[slot]
        return _FUNCTIONS[slot](address)(*arguments) if address else None


_lock = threading.Lock()
#: One for this process, and before it those of the processes that it was forked from, into which pointers still lead.
_clients: List[Tuple[int, _Client]] = []


def _connected() -> Optional[_Client]:
    """The client of this process; a forked child has one of its own. ``None``: nobody hears NVTX here."""
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    with _lock:
        if not _clients or _clients[-1][0] != os.getpid():
            _clients.append((os.getpid(), _Client(path)))
        client = _clients[-1][1]
        return client if client.is_heard else None


def mark(text: str) -> None:
    """``nvtxMarkA``: a moment with a name."""
    client = _connected()
    if client:
        client.call(_MARK_A, text.encode())


def push(text: str) -> None:
    """``nvtxRangePushA``: begins a range of this thread, inside those that it has open."""
    client = _connected()
    if client:
        client.call(_RANGE_PUSH_A, text.encode())


def pop() -> None:
    """``nvtxRangePop``: ends the range of this thread that was begun last."""
    client = _connected()
    if client:
        client.call(_RANGE_POP)
