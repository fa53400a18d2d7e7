"""A program's own step at full size: what it comes to, and whether it fits."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gclint.cli import main
from gclint.cli.parser import UsageError, build
from gclint.rehearse.program import program_named
from gclint.verify import Verifier
from gclint.verify.fit import Fit, asking
from gclint.verify.footprint import CONTEXT, Footprint, Option, Wanted
from gclint.verify.sizes import likely_length

GIB = 2**30
FOUND = Footprint(
    "M", "own", 7, 7, {"trained weights": 14 * GIB, "gradients": 14 * GIB, "optimizer state": 28 * GIB}, layer=GIB,
    options=(Option("a", "A", 70 * GIB), Option("b", "B", error="no"), Option("c", "C", 20 * GIB)),
)  # fmt: skip
LOOP = """
import torch
from torch import nn

model = nn.Sequential(*(nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()) for _ in range(12)))
optimizer = torch.optim.{optimizer}(model.parameters(), lr=1e-3)
for step in range(4):
    for part in range({passes}):
        data = torch.randn(64, 1024)
        loss = model(data).pow(2).mean()
        loss.backward()
    if torch.isnan(loss) or loss.item() < -1:
        raise SystemExit("stopped")
    optimizer.step()
    optimizer.zero_grad()
"""
NAMED = """
from transformers import AutoModelForCausalLM
import torch

model = AutoModelForCausalLM.from_pretrained("{name}", dtype=torch.bfloat16)
model.train()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    tokens = torch.zeros(({rows}, 64), dtype=torch.long)
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
Run = Callable[..., Footprint]


@pytest.fixture
def fitted(verifier: Verifier, tmp_path: Path) -> Run:
    """What a program comes to."""

    def run(text: str, **wanted: object) -> Footprint:
        (tmp_path / "pyproject.toml").write_text('[project]\nname = "p"\nversion = "0"\n', encoding="utf-8")
        (tmp_path / "train.py").write_text(textwrap.dedent(text), encoding="utf-8")
        recipe = program_named([os.fspath(tmp_path / "train.py")], os.fspath(tmp_path))
        return verifier.footprint(asking(recipe, Wanted(**wanted)))  # type: ignore[arg-type]

    return run


def test_what_fits_a_device_and_what_would() -> None:
    assert FOUND.total == 56 * GIB + CONTEXT
    assert Fit(FOUND).fits is None and Fit(FOUND, 80 * GIB).fits is True
    made = Fit(FOUND, 24 * GIB)
    assert made.fits is False and [each.name for each in made.options] == ["c", "a", "b"]
    assert made.to_data()["margin"] == 24 * GIB - FOUND.total
    assert Fit(Footprint(unknown="no config"), GIB).to_data() == {"unknown": "no config", "config": ""}


def test_what_is_shared_out_needs_less_on_each_rank() -> None:
    shared = FOUND.sharded(4)
    assert (shared["optimizer state"], shared["trained weights"], shared["gathered"]) == (7 * GIB, 3.5 * GIB, 3 * GIB)
    away = FOUND.sharded(1, offloaded=True)
    assert sum(away.values()) == 3 * GIB


@pytest.mark.parametrize(("text", "size"), [("24GiB", 24 * GIB), ("80G", 80 * 10**9), ("512 MiB", 2**29)])
@pytest.mark.parametrize("command", ["fix", "fit"])
def test_sizes_on_the_command_line(command: str, text: str, size: int) -> None:
    assert build()[0].parse_args([command, "--gpu-memory", text]).gpu_memory == size


def test_a_size_that_is_none() -> None:
    with pytest.raises(UsageError, match="is no size, such as 24GiB"):
        build()[0].parse_args(["fit", "--gpu-memory", "much"])


def test_lengths_by_their_names(tmp_path: Path) -> None:
    from gclint.source.source import parse

    text = b"MAX_SEQ_LENGTH = 2048\ndef f(block_size=512): ...\nepochs = 9000\n"
    assert likely_length([parse("a.py", tmp_path / "a.py", text)]) == (2048, "MAX_SEQ_LENGTH in a.py:1")
    assert likely_length([]) is None


@pytest.mark.parametrize(("optimizer", "states"), [("AdamW", 2), ("SGD", 0)])
def test_a_loop_of_ones_own(fitted: Run, optimizer: str, states: int) -> None:
    found = fitted(LOOP.format(optimizer=optimizer, passes=1))
    weights = 12 * (1024 * 1024 + 1024) * 4
    assert (found.parameters, found.batch_size, found.sequence_length) == (weights // 4, 64, 0)
    assert found.parts["trained weights"] == weights
    assert found.parts.get("optimizer state", 0) == pytest.approx(states * weights, rel=0.01)
    assert found.tensors <= found.reserved < 1.3 * found.tensors
    assert not found.options and not found.unknown


def test_a_second_pass_finds_the_gradients_of_the_first(fitted: Run) -> None:
    found = fitted(LOOP.format(optimizer="SGD", passes=3))
    assert found.parts["gradients"] == found.parts["trained weights"]


def test_the_changes_that_would_make_it_fit_are_measured(fitted: Run) -> None:
    found = fitted(LOOP.format(optimizer="AdamW", passes=1), capacity=CONTEXT + 100 * 2**20)
    options = {each.name: each for each in found.options}
    assert found.total > CONTEXT + 100 * 2**20
    assert options["8-bit-optimizer"].total < found.total
    assert options["adapters"].total < found.total and not options["adapters"].error
    assert options["offload"].by_formula and options["offload"].total < found.total


def test_what_is_packed_of_a_model_with_adapters_are_its_frozen_layers(fitted: Run) -> None:
    adapted = """model = get_peft_model(model, LoraConfig(lora_dropout=0.1, target_modules=["q_proj", "v_proj"]))"""
    named = NAMED.format(name="HuggingFaceTB/SmolLM2-135M", rows=4)
    lines = named.splitlines(keepends=True)
    place = next(index for index, line in enumerate(lines) if line.startswith("model = ")) + 1
    text = "from peft import LoraConfig, get_peft_model\n" + "".join([*lines[:place], adapted, "\n", *lines[place:]])
    found = fitted(text, capacity=CONTEXT + 100 * 2**20)
    options = {each.name: each for each in found.options}
    assert not options["4-bit-adapters"].error and options["4-bit-adapters"].total < found.total


def test_a_published_checkpoint(fitted: Run) -> None:
    found = fitted(NAMED.format(name="HuggingFaceTB/SmolLM2-135M", rows=4))
    assert found.config == "published sizes of HuggingFaceTB/SmolLM2-135M" and found.parameters == 134_515_008
    assert (found.batch_size, found.sequence_length, found.layer) == (4, 64, 7_080_192)


def test_sizes_that_are_given(fitted: Run) -> None:
    found = fitted(NAMED.format(name="gpt2", rows=2), batch_size=3, sequence_length=100)
    assert (found.batch_size, found.sequence_length, found.told) == (3, 100, "")


def test_a_name_without_sizes_is_unknown(fitted: Run) -> None:
    found = fitted(NAMED.format(name="gpt2-xxl", rows=2))
    assert found.unknown.startswith("the sizes of gpt2-xxl are not known") and "--config" in found.unknown


@pytest.mark.parametrize(("text", "why"), [("print(1)", "took no optimizer step"), ("{}[1]", "KeyError")])
def test_a_program_that_trains_nothing(fitted: Run, text: str, why: str) -> None:
    assert why in fitted(text).unknown


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(LOOP.format(optimizer="AdamW", passes=1), encoding="utf-8")
    assert main(["fit", "--gpu-memory", "24GiB", "--output-format", "json", "train.py"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["fits"] is True and told["total"] == sum(told["bytes"].values())
    assert main(["fit", "--config", "nowhere", "train.py"]) == 2
    assert "there is no nowhere" in capsys.readouterr().err
    assert main(["fit"]) == 2
    assert "name the program" in capsys.readouterr().err


def test_attention_in_float32_lies_as_cuda_writes_it() -> None:
    """By batch, place and head: nn.MultiheadAttention, whose places come first, makes a copy of it on a GPU."""
    torch = pytest.importorskip("torch")
    fake = pytest.importorskip("torch._subclasses.fake_tensor")
    from gclint.verify.worker.fullsize.as_on_gpu import _attending

    attend = _attending(torch.nn.functional.scaled_dot_product_attention)

    def strides(dtype: Any) -> tuple[int, ...]:
        query = torch.empty(5, 2, 3, 4, dtype=dtype).permute(1, 2, 0, 3)  # 2 rows, 3 heads, 5 places
        made = attend(query, query, query)
        assert made.shape == (2, 3, 5, 4)
        return tuple(made.stride())

    with fake.FakeTensorMode():
        assert strides(torch.float32) == (60, 4, 12, 1)
        assert strides(torch.bfloat16) == (12, 4, 24, 1)
    assert strides(torch.float32) == (12, 4, 24, 1)
