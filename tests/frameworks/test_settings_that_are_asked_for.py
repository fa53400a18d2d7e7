"""A setting that a program only reads has its default: asking for it gives it no other value."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.check.program import analyse
from gclint.rule import load_rules
from gclint.source.source import read

ASKS = ["", "print(args.ddp_find_unused_parameters)", "other = args.ddp_static_graph or False"]

PROGRAM = """
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

args = TrainingArguments(
    output_dir="out", gradient_checkpointing=True, gradient_checkpointing_kwargs={{"use_reentrant": True}}{more}
)
{asks}
model = get_peft_model(AutoModelForCausalLM.from_pretrained("gpt2"), LoraConfig(r=8))
Trainer(model=model, args=args, train_dataset=load()).train()
"""


def picked(path: Path, asks: str, more: str = "") -> list[bool]:
    path.write_text(PROGRAM.format(asks=asks, more=more))
    rules = [each for each in load_rules() if each.code == "GCL201"]
    made = analyse([read(path, str(path), "python")], path.parent, {"torch": "2.13", "transformers": "5.23"}, rules)
    return ["picks find_unused_parameters=True" in each.message for each in made.findings]


@pytest.mark.parametrize(
    "asks", ["", "print(args.ddp_find_unused_parameters)", "other = args.ddp_static_graph or False"]
)
def test_what_is_read_is_the_default(tmp_path: Path, asks: str) -> None:
    assert picked(tmp_path / "train.py", asks) == [True]


@pytest.mark.parametrize("asks", ASKS)
def test_what_is_given_stays(tmp_path: Path, asks: str) -> None:
    assert picked(tmp_path / "train.py", asks, ", ddp_find_unused_parameters=False") == [False]
