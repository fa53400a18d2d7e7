"""What gclint says of DeepSpeed's engine, and of what accelerate tells of sharding, is what the installed ones do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

import installed

ENGINE = """
import deepspeed
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
made = deepspeed.initialize(None, model, optimizer, config={"train_batch_size": 2})
engine = made[0]
assert len(made) == 4 and engine.module is model, made
engine.backward(engine(torch.ones(2, 4)).sum())
assert model.weight.grad is not None
engine.step()
assert model.weight.grad is None or not model.weight.grad.any()
"""


def test_an_engine_of_deepspeed(tmp_path: Path) -> None:
    pytest.importorskip("deepspeed")
    one = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    done = subprocess.run(
        [sys.executable, "-c", ENGINE],
        env={**os.environ, **one, "TORCH_EXTENSIONS_DIR": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_stage_where_accelerate_is_told_none(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("deepspeed")
    accelerate = pytest.importorskip("accelerate")
    monkeypatch.delenv("ACCELERATE_DEEPSPEED_ZERO_STAGE", raising=False)
    assert accelerate.DeepSpeedPlugin().zero_stage == 2


def test_the_names_of_what_processes_share() -> None:
    distributed = pytest.importorskip("accelerate.utils").DistributedType
    names = {name.rsplit(".", 1)[-1] for name in installed.LIBRARY.all.constants if ".DistributedType." in name}
    assert names == {"NO", "MULTI_GPU", "DEEPSPEED", "FSDP"}
    assert all(distributed[name] == name for name in names)


def test_one_process_shards_nothing(tmp_path: Path) -> None:
    accelerate = pytest.importorskip("accelerate")
    transformers = pytest.importorskip("transformers")
    state = accelerate.Accelerator(cpu=True).state
    assert (state.deepspeed_plugin, state.distributed_type) == (None, "NO")
    assert getattr(state, "fsdp_plugin", None) is None
    args = transformers.TrainingArguments(str(tmp_path), report_to=[], use_cpu=True)
    import torch

    trainer = transformers.Trainer(torch.nn.Linear(2, 2), args)
    assert (trainer.is_deepspeed_enabled, trainer.is_fsdp_enabled) == (False, False)
