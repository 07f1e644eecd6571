"""Names for what a program does, and gates around what is to be recorded, in one file without dependencies: copy it.

    import gpuprof_marks as marks

    with marks.span("step", color="green", payload=number):     a range
        ...

    @marks.span()                                               a range named after the function
    def forward(batch): ...

    marks.mark("epoch done")                                    a moment

    loader = marks.Domain("loader")                             a namespace of ranges
    with loader.span("read"): ...

    with marks.gate():                                          cudaProfilerStart and Stop: what --capture profiler-api
        ...                                                     keeps

Ranges and marks are NVTX's: they go to whatever NVTX_INJECTION64_PATH names, which `gpuprof record` sets, and cost a
dictionary look-up where nobody listens. Gates call the CUDA that the program has loaded, and load nothing themselves:
before there is one they do nothing and say so by returning False. Nothing here raises because a tool or a GPU is missing.
"""

import contextlib
import ctypes
import functools
import os
import threading

__all__ = ["span", "mark", "Domain", "gate", "start", "stop", "listening"]

COLORS = {
    "red": 0xE04040, "green": 0x76B900, "blue": 0x4060E0, "yellow": 0xE0C040, "orange": 0xE08030,
    "purple": 0x9050C0, "cyan": 0x40C0D0, "magenta": 0xD050A0, "white": 0xFFFFFF, "gray": 0x909090, "black": 0x000000,
}  # fmt: skip

# What NVTX's headers make of every program that includes them: tables of places for functions, which the tool fills.
_CORE, _CORE2 = 1, 5
_MARK_EX, _RANGE_PUSH_EX, _RANGE_POP = 1, 8, 11
_DOMAIN_MARK_EX, _DOMAIN_PUSH_EX, _DOMAIN_POP, _DOMAIN_CREATE_A = 1, 4, 5, 12
_SLOTS = 16


class _Attributes(ctypes.Structure):
    """nvtxEventAttributes_t, version 2."""

    _fields_ = [
        ("version", ctypes.c_uint16),
        ("size", ctypes.c_uint16),
        ("category", ctypes.c_uint32),
        ("color_type", ctypes.c_int32),
        ("color", ctypes.c_uint32),
        ("payload_type", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("payload", ctypes.c_uint64),
        ("message_type", ctypes.c_int32),
        ("message", ctypes.c_char_p),
    ]


class _Nvtx:
    """The functions of the tool that listens."""

    _export_type = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
    _module_type = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint)
    )
    _version_type = ctypes.CFUNCTYPE(None, ctypes.c_uint32)

    def __init__(self, library):
        self._library = library  # everything here is held for as long as the process lives: the tool keeps pointers to it
        self._slots = {module: (ctypes.c_void_p * _SLOTS)() for module in (_CORE, _CORE2)}
        self._tables = {}
        for module, slots in self._slots.items():
            table = (ctypes.c_void_p * (_SLOTS + 1))()
            for slot in range(1, _SLOTS):
                table[slot] = ctypes.addressof(slots) + slot * ctypes.sizeof(ctypes.c_void_p)
            self._tables[module] = table
        self._module_function = self._module_type(self._module_table)
        self._version_function = self._version_type(lambda version: None)
        word = ctypes.sizeof(ctypes.c_size_t)
        self._callbacks = (ctypes.c_size_t * 2)(2 * word, _address(self._module_function))
        self._version = (ctypes.c_size_t * 3)(3 * word, 3, _address(self._version_function))
        self._export_function = self._export_type(self._export_table)
        initialize = library.InitializeInjectionNvtx2
        initialize.argtypes, initialize.restype = [self._export_type], ctypes.c_int
        self.listens = initialize(self._export_function) != 0
        attributes = ctypes.POINTER(_Attributes)
        integer, pointer = ctypes.c_int, ctypes.c_void_p
        self.mark = self._function(_CORE, _MARK_EX, None, attributes)
        self.push = self._function(_CORE, _RANGE_PUSH_EX, integer, attributes)
        self.pop = self._function(_CORE, _RANGE_POP, integer)
        self.domain_mark = self._function(_CORE2, _DOMAIN_MARK_EX, None, pointer, attributes)
        self.domain_push = self._function(_CORE2, _DOMAIN_PUSH_EX, integer, pointer, attributes)
        self.domain_pop = self._function(_CORE2, _DOMAIN_POP, integer, pointer)
        self.domain_create = self._function(_CORE2, _DOMAIN_CREATE_A, pointer, ctypes.c_char_p)

    def _module_table(self, module, table, size):
        if module not in self._tables:
            return 0
        if table:
            table[0] = ctypes.addressof(self._tables[module])
        if size:
            size[0] = _SLOTS
        return 1

    def _export_table(self, number):
        return {1: ctypes.addressof(self._callbacks), 3: ctypes.addressof(self._version)}.get(number)

    def _function(self, module, number, result, *arguments):
        address = self._slots[module][number] if self.listens else None
        return ctypes.CFUNCTYPE(result, *arguments)(address) if address else None


def _address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


_lock = threading.Lock()
_unset = object()
_nvtx_found = _unset


def _nvtx():
    """The tool, found at the first call; None: nobody listens."""
    global _nvtx_found
    if _nvtx_found is not _unset:
        return _nvtx_found
    with _lock:
        if _nvtx_found is _unset:
            found = None
            path = os.environ.get("NVTX_INJECTION64_PATH")
            if path and ctypes.sizeof(ctypes.c_void_p) == 8:
                try:
                    found = _Nvtx(ctypes.CDLL(path))
                except (OSError, AttributeError):
                    pass
            _nvtx_found = found if found is not None and found.listens else None
    return _nvtx_found


def listening():
    """Whether a tool hears ranges and marks."""
    return _nvtx() is not None


def _attributes(name, color, payload):
    event = _Attributes(version=2, size=ctypes.sizeof(_Attributes), message_type=1)
    event.message = name.encode("utf-8", "replace").replace(b"\0", b" ")
    if color is not None:
        if isinstance(color, str):
            color = int(color[1:], 16) if color.startswith("#") else COLORS.get(color, COLORS["gray"])
        event.color_type, event.color = 1, 0xFF000000 | (color & 0xFFFFFF)
    if isinstance(payload, float):
        event.payload_type = 3
        event.payload = ctypes.c_uint64.from_buffer_copy(ctypes.c_double(payload)).value
    elif payload is not None:
        event.payload_type, event.payload = 2, int(payload) & 0xFFFFFFFFFFFFFFFF
    return event


class span:
    """A range: `with span("name"):` or `@span("name")`; as `@span()` it is named after the function."""

    __slots__ = ("_name", "_color", "_payload", "_domain")

    def __init__(self, name=None, color=None, payload=None, domain=None):
        self._name, self._color, self._payload, self._domain = name, color, payload, domain

    def __enter__(self):
        nvtx = _nvtx()
        if nvtx is not None:
            event = _attributes(self._name or "span", self._color, self._payload)
            domain = self._domain._handle(nvtx) if self._domain is not None else None
            if domain is not None:
                nvtx.domain_push(domain, ctypes.byref(event))
            elif nvtx.push is not None:
                nvtx.push(ctypes.byref(event))
        return self

    def __exit__(self, *_):
        nvtx = _nvtx()
        if nvtx is not None:
            domain = self._domain._handle(nvtx) if self._domain is not None else None
            if domain is not None:
                nvtx.domain_pop(domain)
            elif nvtx.pop is not None:
                nvtx.pop()
        return False

    def __call__(self, function):
        own = span(self._name or function.__qualname__, self._color, self._payload, self._domain)

        @functools.wraps(function)
        def inside(*arguments, **named):
            with own:
                return function(*arguments, **named)

        return inside


def mark(name, color=None, payload=None, domain=None):
    """A moment with a name."""
    nvtx = _nvtx()
    if nvtx is None:
        return
    event = _attributes(name, color, payload)
    handle = domain._handle(nvtx) if domain is not None else None
    if handle is not None:
        nvtx.domain_mark(handle, ctypes.byref(event))
    elif nvtx.mark is not None:
        nvtx.mark(ctypes.byref(event))


class Domain:
    """A namespace of ranges and marks."""

    def __init__(self, name):
        self.name = name
        self._created = _unset

    def _handle(self, nvtx):
        """The tool's handle of it; None where it knows no domains."""
        if self._created is _unset:
            complete = nvtx.domain_create and nvtx.domain_push and nvtx.domain_pop and nvtx.domain_mark
            self._created = nvtx.domain_create(self.name.encode()) if complete else None
        return self._created

    def span(self, name=None, color=None, payload=None):
        """As the function of that name, in this domain."""
        return span(name, color, payload, self)

    def mark(self, name, color=None, payload=None):
        """As the function of that name, in this domain."""
        mark(name, color, payload, self)


def _loaded(*names):
    """The first library of one of these names that this process has loaded already. Loads none."""
    try:
        with open("/proc/self/maps") as maps:
            paths = {line.split(None, 5)[5].strip() for line in maps if line.count("/")}
    except (OSError, IndexError):
        return None
    for name in names:
        for path in sorted(paths):
            if os.path.basename(path).startswith(name):
                try:
                    return ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
                except OSError:
                    pass
    return None


def _profiler(word):
    # The runtime's functions make a context where there is none and then call the driver's.
    runtime = _loaded("libcudart.so")
    if runtime is not None and hasattr(runtime, "cudaProfiler" + word):
        return getattr(runtime, "cudaProfiler" + word)() == 0
    driver = _loaded("libcuda.so")
    if driver is not None and hasattr(driver, "cuProfiler" + word):
        return getattr(driver, "cuProfiler" + word)() == 0
    return False


def start():
    """cudaProfilerStart: opens the gate. False: there is no CUDA in this process yet, or it refused."""
    return _profiler("Start")


def stop():
    """cudaProfilerStop: closes the gate. False: as for start."""
    return _profiler("Stop")


@contextlib.contextmanager
def gate():
    """Opens the gate around a block; does not wait for the GPU: work launched inside belongs to the window."""
    opened = start()
    try:
        yield opened
    finally:
        if opened:
            stop()
