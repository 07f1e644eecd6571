"""Saying in a recorded program what is to be recorded, and what it is called."""

import functools
import inspect
import threading
from typing import Any, Callable, TypeVar, Union, overload

from . import _collector, _cuda, _nvtx
from ._errors import Error

Function = TypeVar("Function", bound=Callable[..., Any])

is_recorded = _collector.is_recorded


def mark(text: str) -> None:
    """Puts a moment with a name into the trace, on the line of this thread, by NVTX.

    Raises :class:`gpuprof.Error` if this process is not recorded.
    """
    _collector.require(f"mark({text!r})")
    _nvtx.mark(text)


class Range:
    """A range with a name: for ``with``, and as a decorator. Made by :func:`gpuprof.annotate`."""

    _made_by = "annotate"

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, function: Function) -> Function:
        """Makes every call of ``function`` such a range."""
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise Error(
                f"{self._made_by}: {self.name} is a coroutine or a generator, which goes on after its call has "
                f"returned; write `with gpuprof.{self._made_by}(...):` inside of it"
            )

        @functools.wraps(function)
        def inside(*arguments: Any, **named: Any) -> Any:
            with self:
                return function(*arguments, **named)

        return inside  # type: ignore[return-value]

    def __enter__(self) -> "Range":
        _collector.require(f"{self._made_by}({self.name!r})")
        _nvtx.push(self.name)
        return self

    def __exit__(self, *_: object) -> None:
        _nvtx.pop()


class Window(Range):
    """A range in which is recorded. Made by :func:`gpuprof.capture`."""

    _made_by = "capture"

    def __enter__(self) -> "Window":
        what = f"capture({self.name!r})"
        _collector.require(what)
        open_window(what)
        try:
            super().__enter__()
        except BaseException:
            # Nobody leaves what was never entered.
            close_window(what)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            super().__exit__()
        finally:
            close_window(f"capture({self.name!r})")


@overload
def annotate(what: str) -> Range: ...
@overload
def annotate(what: Function) -> Function: ...
def annotate(what: Union[str, Function]) -> Union[Range, Function]:
    """A range with a name in the trace: ``with gpuprof.annotate("forward"):``, ``@gpuprof.annotate("forward")``, or
    ``@gpuprof.annotate``, which takes the name of the function.

    It opens no window: with ``record --capture nvtx:NAME`` it is what a window is, else it names what is recorded.
    Entering it raises :class:`gpuprof.Error` if this process is not recorded.
    """
    return Range(what) if isinstance(what, str) else Range(_name_of(what))(what)


@overload
def capture(what: str) -> Window: ...
@overload
def capture(what: Function) -> Function: ...
def capture(what: Union[str, Function]) -> Union[Window, Function]:
    """Records what happens inside: ``with gpuprof.capture("step"):``, ``@gpuprof.capture("step")``, or
    ``@gpuprof.capture``.

    It is a range of that name, and opens a window in the way that the process is recorded:

    - ``record --capture profiler-api``: by ``cudaProfilerStart`` and ``cudaProfilerStop``;
    - ``record --capture manual``: over the control socket, which is there once CUDA has been used;
    - ``record`` (all), ``--capture nvtx:NAME``, ``--capture delay:...``, ``--budget``: what is recorded was said there,
      and the range shows where it was.

    Windows inside of windows are one. Work belongs to the window in which it was launched, whenever it runs.
    Entering it raises :class:`gpuprof.Error` if this process is not recorded or the window cannot be opened.
    """
    return Window(what) if isinstance(what, str) else Window(_name_of(what))(what)


def _name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))


# The one window of this process, however many parts of the program asked for it.
_lock = threading.Lock()
_depth = 0


def open_window(what: str) -> None:
    """Has records kept from here on. ``what`` is named in errors."""
    global _depth
    with _lock:
        if _depth == 0:
            mode = _collector.capture_mode()
            if mode == "profiler-api":
                _cuda.profiler_start(what)
            elif mode == "manual":
                _collector.control("start")
        _depth += 1


def close_window(what: str) -> None:
    """Ends what :func:`open_window` began, where nobody else has it open."""
    global _depth
    with _lock:
        _depth -= 1
        if _depth == 0:
            mode = _collector.capture_mode()
            if mode == "profiler-api":
                _cuda.profiler_stop(what)
            elif mode == "manual":
                _collector.control("stop")
