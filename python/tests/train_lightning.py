"""Trains with Lightning on the CPU, and launches three kernels a step: ``train_lightning.py [fails|optional]``."""

import sys

from gpu import Gpu

how = sys.argv[1] if len(sys.argv) > 1 else ""
# Before torch, which brings the real libcupti along: that one must not meet the simulated driver.
gpu = Gpu() if how != "optional" else None

import lightning as L  # noqa: E402
import torch  # noqa: E402

import gpuprof  # noqa: E402
from gpuprof.lightning import StepCapture  # noqa: E402


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
        self.steps = 0

    def training_step(self, batch, batch_index):
        self.steps += 1
        if gpu:
            gpu.step()
        if how == "fails" and batch_index == 4:
            raise ValueError("of the model")
        return self.layer(batch).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


# 2 pass, 1 warms up, 3 are recorded (3, 4, 5), 1 warms up, 3 are recorded (7, 8, 9), 2 are left.
capture = StepCapture(skip=2, warmup=1, steps=3, repeat=2, required=how != "optional")
data = torch.utils.data.DataLoader(torch.randn(24, 4), batch_size=2)
trainer = L.Trainer(
    max_epochs=1,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    callbacks=[capture],
)
model = Model()
try:
    trainer.fit(model, data)
except ValueError as error:
    assert how == "fails" and str(error) == "of the model", error
else:
    assert how != "fails" and model.steps == 12, model.steps
if gpu:
    # After training nothing is recorded.
    gpu.step()
    gpu.wait()
assert gpuprof.is_recorded() == (how != "optional")
