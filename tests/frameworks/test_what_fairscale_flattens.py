"""fairscale's FSDP refuses a unit that is partly frozen, unless it leaves the parameters as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("fairscale")

from gclint.rules.distributed.gcl214_fsdp_mixed_requires_grad import SYMPTOMS

WRAP = """
import torch
from fairscale.nn import FullyShardedDataParallel
torch.distributed.init_process_group("gloo", init_method="file://{place}", rank=0, world_size=1)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
model[0].requires_grad_(False)
FullyShardedDataParallel(model{given})
print("it is done")
"""


def said(given: str, directory: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", WRAP.format(place=directory / "store", given=given)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stdout + done.stderr


def test_parameters_as_they_are(tmp_path: Path) -> None:
    assert "it is done" in said(", flatten_parameters=False", tmp_path)


@pytest.mark.parametrize(
    ("given", "told"), [("", SYMPTOMS["flatten_parameters"]), (", use_orig_params=True", "TypeError")]
)
def test_what_fails(given: str, told: str, tmp_path: Path) -> None:
    made = said(given, tmp_path)
    assert told in made and "it is done\n" not in made
