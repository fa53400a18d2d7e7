"""A small program that is flagged, the same mended, and a whole project known to fail."""

from __future__ import annotations

from pathlib import Path

TRAIN = "src/baseline_sft/train_sft_abel.py"
OLD = ("--target", "transformers=4.44,torch=2.4", "--select", "GCL201")
SEED = Path(__file__).parents[2] / "fixtures" / "seeds" / "abel" / "before"

BAD = """\
import torch
from torch.utils.checkpoint import checkpoint


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)

    def forward(self, x):
        return checkpoint(self.inner, x)


if __name__ == "__main__":
    model = Block()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = model(torch.randn(2, 8, requires_grad=True)).sum()
    loss.backward()
    optimizer.step()
"""
GOOD = BAD.replace("checkpoint(self.inner, x)", "checkpoint(self.inner, x, use_reentrant=False)")
