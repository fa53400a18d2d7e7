"""Lightning's trainer made of the options of a command line, before 2.0: those that are called like its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from both import run_of

from gclint.run.events import Backward, Wrapped

TRAINED = """
import argparse
import torch
from pytorch_lightning import LightningModule
from pytorch_lightning.trainer import Trainer

class Net(LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, index):
        return self.layer(batch).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser = Trainer.add_argparse_args(parser)
args = parser.parse_args()
args.strategy, args.devices, args.accelerator = {strategy!r}, {devices}, "cpu"
trainer = Trainer.from_argparse_args(args, logger=False)
trainer.fit(Net(), torch.randn(2, 3, 4))
"""


@pytest.mark.parametrize(("strategy", "devices", "wrapped"), [("ddp", 2, ["ddp"]), ("auto", 1, [])])
def test_the_trainer_has_the_options_as_its_settings(
    tmp_path: Path, strategy: str, devices: int, wrapped: list[str]
) -> None:
    run = run_of(TRAINED.format(strategy=strategy, devices=devices), tmp_path)
    assert run.of_type(Backward)
    assert [event.wrapper.kind for event in run.of_type(Wrapped)] == wrapped
