"""What the examples of the documents import: something to train, with three kernels a step."""

import gpu

train_step = gpu.step


def loader():
    """24 batches for Lightning."""
    import torch

    return torch.utils.data.DataLoader(torch.randn(48, 4), batch_size=2)


def __getattr__(name):
    if name != "LightningModel":
        raise AttributeError(name)
    import lightning
    import torch

    class LightningModel(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch, batch_index):
            gpu.step()
            return self.layer(batch).square().mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    return LightningModel


def make_trainer(callbacks):
    """A Trainer of Hugging Face, with 24 steps."""
    import torch
    from transformers import Trainer, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, features=None, labels=None):
            gpu.step()
            return {"loss": (self.layer(features) - labels).square().mean()}

    rows = [{"features": torch.randn(4), "labels": torch.randn(1)} for _ in range(48)]
    arguments = TrainingArguments(
        output_dir="trained",
        per_device_train_batch_size=2,
        num_train_epochs=1,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
    )
    return Trainer(model=Model(), args=arguments, train_dataset=rows, callbacks=callbacks)
