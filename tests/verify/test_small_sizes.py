from __future__ import annotations

import os
from pathlib import Path

import pytest

from gclint.verify import Outcome, ProgramRecipe, Verifier
from gclint.verify.fitted import fitted
from gclint.verify.outcome import Raised, RankReport
from gclint.verify.worker.small import shrink_copy, shrink_python, shrink_settings, shrink_words
from gclint.verify.written import written

MODEL = """
import time
import torch
from torch import nn
batch_size = 4 * 64  # rows
eval_iters = 200

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        time.sleep(WAIT)
        return x + self.inner(x)

model = nn.Sequential(*[Block() for _ in range(12)], nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(1000):
    loss = model(torch.randn(batch_size, 8)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "text",
    [
        "lr = 512\n",
        "batch_size = 2\n",
        "batch_size = 'big'\n",
        "vocab_size = 50304\n",
        "def f(:\n",
        "batch_size = -7\n",
    ],
)
def test_what_is_no_repetition_or_small_stays(text: str) -> None:
    assert shrink_python(text) == (text, [])


def test_numbers_change_in_their_place_and_lines_stay() -> None:
    text = (
        "accum_steps = 5 * 8  # é\n"
        "parser.add_argument('-b', '--batch-size', type=int, default=256)\n"
        "def f(x, block_size=1024): pass\n"
        "config = {'eval_iters': 200, 'n_embd': 768}\n"
        "loader = DataLoader(rows, batch_size=64)\n"
    )
    new, told = shrink_python(text)
    assert new.splitlines() == [
        "accum_steps = 2  # é",
        "parser.add_argument('-b', '--batch-size', type=int, default=2)",
        "def f(x, block_size=64): pass",
        "config = {'eval_iters': 2, 'n_embd': 768}",
        "loader = DataLoader(rows, batch_size=2)",
    ]
    assert "accum_steps 40 -> 2" in told and "block_size 1024 -> 64" in told


def test_settings_and_words() -> None:
    assert shrink_settings("batch_size: 64\nlr: 3\n")[0] == "batch_size: 2\nlr: 3\n"
    assert shrink_settings('{\n "batch_size": 64,\n "seed": 1234\n}')[0] == '{\n "batch_size": 2,\n "seed": 1234\n}'
    assert shrink_words(("--batch_size", "64", "--seed", "7", "--data.block_size=1024", "batch_size=1", "12")) == (
        ("--batch_size", "2", "--seed", "7", "--data.block_size=64", "batch_size=1", "12")
    )
    named = {"-b": "--batch-size", "-s": "--seed"}
    assert shrink_words(("-b", "64", "-s", "64", "-j", "64"), named) == ("-b", "2", "-s", "64", "-j", "64")


def test_a_copy_is_changed_and_the_changes_are_told(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("batch_size = 64\n")
    (tmp_path / "notes.txt").write_text("batch_size = 64\n")
    os.utime(tmp_path / "train.py", (1000, 1000))
    assert shrink_copy(tmp_path) == ["train.py: batch_size 64 -> 2"]
    assert written(tmp_path, 2000) == {"notes.txt": written(tmp_path, 0)["notes.txt"]}  # the program has not written it
    assert (tmp_path / "notes.txt").read_text() == "batch_size = 64\n"


def ran(status: str = "finished", steps: int = 3, error: str = "") -> Outcome:
    raised = Raised("RuntimeError", error) if error else None
    report = RankReport(status="finished", step_count=steps)
    return Outcome("raised" if error else status, raised=raised, ranks=(report,))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("outcomes", "small"),
    [
        ({(): ran()}, ()),
        ({(): ran(error="the finding's own")}, ()),
        ({(): ran("timeout", 0), ("numbers", "layers"): ran()}, ("numbers", "layers")),
        (
            {
                (): ran("timeout", 0),
                ("numbers", "layers"): ran(steps=0, error="shape '[2]' is invalid"),
                ("numbers",): ran(),
            },
            ("numbers",),
        ),
        (
            {
                (): ran("killed", 0),
                ("numbers", "layers"): ran(steps=0, error="ready only once"),
                ("numbers",): ran(steps=0, error="ready only once"),
            },
            ("numbers",),
        ),
        (
            {
                (): ran("timeout", 0),
                ("numbers", "layers"): ran(steps=0, error="a"),
                ("numbers",): ran(steps=0, error="b"),
                ("layers",): ran("timeout", 0),
            },
            (),
        ),
    ],
)
def test_a_program_is_made_smaller_only_where_it_has_to_be(
    outcomes: dict[tuple[str, ...], Outcome], small: tuple[str, ...]
) -> None:
    before, after = ProgramRecipe(text="a"), ProgramRecipe(text="b")
    first, second = fitted(before, after, lambda recipe: outcomes[recipe.small])
    assert (first.small, second.small, second.text) == (small, small, "b")


@pytest.mark.slow
@pytest.mark.parametrize(("wait", "small"), [(0.0, ()), (1.0, ("numbers", "layers"))])
def test_a_slow_program_loses_layers_and_numbers(
    wait: float, small: tuple[str, ...], tmp_path: Path, verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gclint.verify.fitted.PATIENCE", 4.0)
    text = MODEL.replace("WAIT", str(wait))
    (tmp_path / "train.py").write_text(text)
    recipe = ProgramRecipe(name="train.py", argv=("--bs", "64"), copy_of=str(tmp_path), stop_after=2)
    first, _ = fitted(recipe, recipe, verifier.outcome)
    made = verifier.outcome(first)
    assert (first.small, made.status, made.first.step_count) == (small, "finished", 2)
    assert ("Block: 3 of 13" in made.replaced) == bool(small), made.replaced
    assert ("train.py: batch_size 256 -> 2" in made.replaced) == bool(small)
    assert ("command line: --bs 2" in made.replaced) == bool(small)
