"""A callback for the Trainer of Hugging Face: ``Trainer(callbacks=[gpuprof.transformers.StepCapture(skip=10)])``."""

from typing import Any

from ._errors import missing_package
from ._schedule import StepSchedule

try:
    from transformers import TrainerCallback
except ImportError as error:
    raise missing_package("transformers", "gpuprof.transformers") from error


class StepCapture(TrainerCallback):  # type: ignore[misc]
    """Records some training steps, each a range ``step N`` counted from 0 in every ``train``. A step is one of the
    optimizer: with gradient accumulation, several batches.

    ``skip`` steps pass once, at the beginning. Then, ``repeat`` times, ``warmup`` steps pass and ``steps`` are
    recorded.
    Run the program under ``gpuprof record --capture profiler-api`` (or ``manual``), so that nothing else is recorded;
    with other modes the ranges alone are there. Raises :class:`gpuprof.Error` when training begins in a process that is
    not recorded, unless ``required`` is false: then it does nothing.
    """

    def __init__(self, skip: int = 10, warmup: int = 2, steps: int = 3, repeat: int = 1, required: bool = True) -> None:
        self.schedule = StepSchedule(skip, warmup, steps, repeat, required)

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Called by the Trainer."""
        self.schedule.start()

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Called by the Trainer."""
        self.schedule.begin_step()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Called by the Trainer."""
        self.schedule.end_step()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Called by the Trainer."""
        self.schedule.stop()
