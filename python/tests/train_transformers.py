"""Trains with the Trainer of Hugging Face on the CPU, and launches three kernels a batch."""

import sys
import tempfile

from gpu import Gpu

# Before torch, which brings the real libcupti along: that one must not meet the simulated driver.
gpu = Gpu()

import torch  # noqa: E402
from transformers import Trainer, TrainingArguments  # noqa: E402

from gpuprof.transformers import StepCapture  # noqa: E402


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
        self.batches = 0

    def forward(self, features=None, labels=None):
        self.batches += 1
        gpu.step()
        return {"loss": (self.layer(features) - labels).square().mean()}


rows = [{"features": torch.randn(4), "labels": torch.randn(1)} for _ in range(48)]
model = Model()
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder,
        num_train_epochs=1,
        per_device_train_batch_size=2,
        # A step has two batches.
        gradient_accumulation_steps=2,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
    )
    capture = StepCapture(skip=2, warmup=1, steps=3, repeat=2)
    Trainer(model=model, args=arguments, train_dataset=rows, callbacks=[capture]).train()
assert model.batches == 24, model.batches
gpu.step()
gpu.wait()
sys.stdout.flush()
