"""Which steps of a training loop are recorded: what the callbacks for trainers share."""

from . import _collector, _nvtx
from ._capture import close_window, open_window
from ._errors import Error


class StepSchedule:
    """Names every step ``step N`` by an NVTX range, counted from 0, and keeps a window open for some of them.

    ``skip`` steps pass once, at the beginning. Then, ``repeat`` times, ``warmup`` steps pass and ``steps`` are
    recorded.
    """

    def __init__(self, skip: int, warmup: int, steps: int, repeat: int, required: bool) -> None:
        """Raises ``Error`` for numbers that make no schedule. Without ``required`` nothing happens where this process
        is not recorded, which is an error otherwise."""
        if min(skip, warmup) < 0 or min(steps, repeat) < 1:
            raise Error(
                f"StepCapture: skip={skip}, warmup={warmup}, steps={steps}, repeat={repeat}: skip and warmup are at "
                "least 0, steps and repeat at least 1"
            )
        self._skip, self._cycle, self._warmup, self._repeat = skip, warmup + steps, warmup, repeat
        self._required = required
        self._is_active = False
        self._is_open = False
        self._in_step = False
        self._next = 0

    def is_recorded(self, step: int) -> bool:
        """Whether the window is open during that step."""
        cycle, place = divmod(step - self._skip, self._cycle)
        return 0 <= cycle < self._repeat and place >= self._warmup

    def start(self) -> None:
        """Training begins. Raises ``Error`` if this process is not recorded, but has to be."""
        if self._required:
            _collector.require("StepCapture")
        self._is_active = _collector.is_recorded()
        self._next = 0

    def begin_step(self) -> None:
        """A step begins."""
        if not self._is_active:
            return
        self.end_step()
        wanted = self.is_recorded(self._next)
        if wanted != self._is_open:
            self._switch(wanted)
        _nvtx.push(f"step {self._next}")
        self._in_step = True

    def end_step(self) -> None:
        """A step ends. The window closes here, so that what comes between steps is not in it."""
        if not self._in_step:
            return
        _nvtx.pop()
        self._in_step = False
        self._next += 1
        if self._is_open and not self.is_recorded(self._next):
            self._switch(False)

    def stop(self) -> None:
        """Training is over, however it ended."""
        if self._in_step:
            _nvtx.pop()
            self._in_step = False
        if self._is_open:
            self._switch(False)
        self._is_active = False

    def _switch(self, on: bool) -> None:
        what = f"StepCapture: step {self._next}"
        if on:
            open_window(what)
        else:
            close_window(what)
        self._is_open = on
