"""A callback for Lightning: ``Trainer(callbacks=[gpuprof.lightning.StepCapture(skip=10, steps=3)])``."""

from typing import Any

from ._errors import missing_package
from ._schedule import StepSchedule

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    try:
        from pytorch_lightning.callbacks import Callback
    except ImportError as error:
        raise missing_package("lightning", "gpuprof.lightning") from error


class StepCapture(Callback):  # type: ignore[misc]
    """Records some training batches, each a range ``step N`` counted from 0 in every ``fit``.

    ``skip`` batches pass once, at the beginning. Then, ``repeat`` times, ``warmup`` batches pass and ``steps`` are
    recorded.
    Run the program under ``gpuprof record --capture profiler-api`` (or ``manual``), so that nothing else is recorded;
    with other modes the ranges alone are there. Raises :class:`gpuprof.Error` when training begins in a process that is
    not recorded, unless ``required`` is false: then it does nothing.
    """

    def __init__(self, skip: int = 10, warmup: int = 2, steps: int = 3, repeat: int = 1, required: bool = True) -> None:
        super().__init__()
        self.schedule = StepSchedule(skip, warmup, steps, repeat, required)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Called by Lightning."""
        self.schedule.start()

    def on_train_batch_start(self, trainer: Any, pl_module: Any, *_: Any, **__: Any) -> None:
        """Called by Lightning."""
        self.schedule.begin_step()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any, **__: Any) -> None:
        """Called by Lightning."""
        self.schedule.end_step()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Called by Lightning."""
        self.schedule.stop()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Called by Lightning."""
        self.schedule.stop()
