"""What of a program's run bears on a finding: said where it is known, with its place, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.check.engine import check_paths
from gclint.report.formats import render
from gclint.report.style import Style

LOADED = """\
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained(
    "gpt2", device_map="auto", quantization_config=BitsAndBytesConfig({bits})
)
Trainer(model, TrainingArguments("out"), train_dataset=data).train()
"""
SEVERAL = "accelerate launch --num_processes 8 train.py\n"


def said(directory: Path, monkeypatch: pytest.MonkeyPatch, program: str, launcher: str) -> str:
    """What is told of the run with GCL102 of a program that a launcher starts."""
    (directory / "train.py").write_text(program)
    (directory / "run.sh").write_text(launcher)
    monkeypatch.chdir(directory)
    report = check_paths(["."])
    assert [finding.code for finding in report.findings] == ["GCL102"]
    for name in ("full", "agent", "json", "markdown", "github"):
        assert report.findings[0].this_run in render(report, name, Style())
    return report.findings[0].this_run


def test_how_many_processes_and_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = said(tmp_path, monkeypatch, LOADED.format(bits="load_in_4bit=True"), SEVERAL)
    assert told == "accelerate starts it on 8 processes (run.sh:1); the model is loaded in 4 bits (train.py:4)"


@pytest.mark.parametrize("bits", ["load_in_4bit=False", "load_in_4bit=FOUR", "**settings", ""])
def test_bits_that_are_not_known_are_not_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bits: str) -> None:
    told = said(tmp_path, monkeypatch, LOADED.format(bits=bits), SEVERAL)
    assert told == "accelerate starts it on 8 processes (run.sh:1)"


@pytest.mark.parametrize("asked", ["--num_processes $COUNT", "--multi_gpu"])
def test_a_number_that_is_not_known_is_not_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    program = LOADED.format(bits="load_in_8bit=True")
    told = said(tmp_path, monkeypatch, program, f"accelerate launch --multi_gpu {asked} train.py\n")
    assert told == "the model is loaded in 8 bits (train.py:4)"


def test_what_no_program_comes_to_runs_on_no_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        LOADED.format(bits="").replace("\n", "\n    ").replace("\n    \n    model", "\n\n\ndef main():\n    model")
    )
    told = said(tmp_path, monkeypatch, f"{program.rstrip()}\n", SEVERAL)
    assert told == ""


def test_how_many_batches_a_step_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(
        "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n"
        'model = AutoModelForCausalLM.from_pretrained("gpt2")\n'
        "model.gradient_checkpointing_enable()\n"
        'args = TrainingArguments("out", gradient_accumulation_steps=4, ddp_find_unused_parameters=True,\n'
        '    gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": True})\n'
        "Trainer(model, args, train_dataset=data).train()\n"
    )
    (tmp_path / "run.sh").write_text("torchrun --nproc_per_node=2 train.py\n")
    monkeypatch.chdir(tmp_path)
    told = [finding.this_run for finding in check_paths(["."]).findings if finding.code == "GCL201"]
    assert told == [
        "torchrun starts it on 2 processes (run.sh:1); a step gathers the gradients of 4 batches (train.py:4)"
    ]
