from __future__ import annotations

from pathlib import Path

import pytest

from gclint.check.program import analyse
from gclint.source.source import read
from gclint.verify.derive import recipe_of, trained_models
from gclint.verify.moments import Wrap

TRAINER = """
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("gpt2")
Trainer(model, TrainingArguments("out", ARGUMENTS), train_dataset=data).train()
"""
LOOP = """
import torch
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("gpt2")
WRAP
optimizer = torch.optim.AdamW(model.parameters())
loss = model(input_ids=x, labels=x).loss
loss.backward()
optimizer.step()
"""


def wraps(directory: Path, text: str) -> list[Wrap]:
    (directory / "train.py").write_text(text)
    source = read(directory / "train.py", "train.py", "python")
    (run,) = analyse([source], directory, {}, [], keep_runs=True).runs
    recipe = recipe_of(run, trained_models(run)[0])
    assert recipe.world_size == (2 if any(isinstance(each, Wrap) for each in recipe.moments) else 1)
    return [each for each in recipe.moments if isinstance(each, Wrap)]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ("deepspeed={'zero_optimization': {'stage': 3}}", Wrap("zero", 3, by_trainer=True)),
        ("deepspeed={'zero_optimization': {'stage': 2}}", Wrap("zero", 2, by_trainer=True)),
        ("fsdp='full_shard auto_wrap'", Wrap("fsdp1", by_trainer=True)),
    ],
)
def test_what_a_trainer_shards_by(tmp_path: Path, arguments: str, wanted: Wrap) -> None:
    assert wraps(tmp_path, TRAINER.replace("ARGUMENTS", arguments)) == [wanted]


@pytest.mark.parametrize(
    ("wrap", "wanted"),
    [
        ("", []),
        ("model = FullyShardedDataParallel(model)", [Wrap("fsdp1")]),
        ("for layer in model.transformer.h:\n    fully_shard(layer)\nfully_shard(model)", [Wrap("fsdp2")]),
    ],
)
def test_what_a_loop_shards_by(tmp_path: Path, wrap: str, wanted: list[Wrap]) -> None:
    assert wraps(tmp_path, LOOP.replace("WRAP", wrap)) == wanted
