"""GCL720 replaces a block that is on in any case, and leaves alone one that is told whether it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures import findings

TEXT = """\
import sys

import torch
from torch import nn

encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
on = len(sys.argv) > 1
with torch.inference_mode({told}):
    features = encoder(torch.ones(2, 4))
loss = head(features).sum()
loss.backward()
"""


@pytest.mark.parametrize(("told", "fixes"), [("on", 0), ("mode=on", 0), ("True", 1), ("", 1)])
def test_a_block_that_is_told_whether_it_is_on_stays(told: str, fixes: int, tmp_path: Path) -> None:
    found = [each for each in findings(TEXT.format(told=told), tmp_path) if each.code == "GCL720"]
    assert [len(each.fixes) for each in found] == [fixes]
