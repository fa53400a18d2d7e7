"""The rounds of a loop that evaluates: what is derived of them, and that two rounds tell a run from its cure."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gclint.check.program import analyse
from gclint.cli import main
from gclint.source.source import read
from gclint.verify import Claim, ModelSpec, Recipe, Verifier
from gclint.verify.derive import recipe_of, trained_models
from gclint.verify.moments import Checkpointing, Evaluate, Load, Moment, Train

FIXTURES = Path(__file__).parents[2] / "fixtures" / "GCL703"
LOOP = """
import torch
from transformers import AutoModelForCausalLM

def validate(net):
    net.eval()
    with torch.no_grad():
        return net(input_ids=x, labels=x).loss

model = AutoModelForCausalLM.from_pretrained("gpt2")
model.gradient_checkpointing_enable()
START
optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(2):
    EPOCH
    for batch in loader:
        STEP
        model(**batch).loss.backward()
        optimizer.step()
        AFTER
    BETWEEN
END
"""
MARKS = ("START", "EPOCH", "STEP", "AFTER", "BETWEEN", "END")
ON, OFF, EITHER = Train(train_mode=True), Train(train_mode=False), Train(train_mode=None)


def loop(directory: Path, **parts: str) -> list[Moment]:
    """The training of the recipe that is derived from the loop with these parts."""
    text = LOOP
    for mark in MARKS:
        text = text.replace(mark, parts.get(mark.lower(), "pass"))
    (directory / "train.py").write_text(text)
    source = read(directory / "train.py", "train.py", "python")
    run = next(run for run in analyse([source], directory, {}, [], keep_runs=True).runs if trained_models(run))
    moments = recipe_of(run, trained_models(run)[0]).moments
    return [each for each in moments if isinstance(each, (Train, Evaluate))]


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ({}, [OFF]),
        ({"start": "model.train()"}, [ON]),
        ({"step": "model.train()"}, [ON]),
        ({"start": "validate(model); model.train()"}, [ON]),
        ({"start": "other = AutoModelForCausalLM.from_pretrained('a')", "between": "other.eval()"}, [OFF]),
    ],
)
def test_a_loop_without_an_evaluation_is_one_round(tmp_path: Path, parts: dict[str, str], wanted: list[Moment]) -> None:
    assert loop(tmp_path, **parts) == wanted


def test_an_evaluation_after_the_loop_is_none_between_rounds(tmp_path: Path) -> None:
    assert not any(isinstance(each, Evaluate) for each in loop(tmp_path, start="model.train()", end="validate(model)"))


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ({"start": "model.train()", "between": "validate(model)"}, [ON, Evaluate(), EITHER]),
        ({"start": "model.train()", "after": "validate(model)"}, [ON, Evaluate(), EITHER]),
        ({"epoch": "model.train()", "after": "validate(model)"}, [ON, Evaluate(), EITHER]),
        ({"epoch": "model.train()", "between": "validate(model)"}, [ON, Evaluate(), ON]),
        ({"step": "model.train()", "between": "validate(model)"}, [ON, Evaluate(), ON]),
        ({"start": "model.train()", "between": "validate(model); model.train()"}, [ON, Evaluate(), ON]),
        ({"start": "model.train()", "after": "model.train(False)"}, [ON, Evaluate(), EITHER]),
        ({"after": "validate(model)"}, [EITHER, Evaluate(), EITHER]),
    ],
)
def test_an_evaluation_in_the_loop_makes_two(tmp_path: Path, parts: dict[str, str], wanted: list[Moment]) -> None:
    assert loop(tmp_path, **parts) == wanted


def two_rounds(again: bool | None) -> Recipe:
    first, second = Train(1, train_mode=True), Train(1, train_mode=again)
    spec = ModelSpec("transformers", model_type="gpt2", dtype="float32", dropout=0.0)
    return Recipe(model=spec, moments=(Load(), Checkpointing(reentrant=False), first, Evaluate(), second))


@pytest.mark.slow
def test_a_round_without_recomputation_is_told_from_one_with(verifier: Verifier) -> None:
    good = verifier.verify(two_rounds(True), two_rounds(True))
    assert good.verdict.name == "passes", good.verdict
    found = verifier.verify(two_rounds(None), two_rounds(True), Claim(oracles=("rounds",), intent=("modes",)))
    assert found.verdict.name == "confirmed", found.verdict
    counts = [[bool(step.recomputed) for step in run.first.steps] for run in (found.before, found.after)]
    assert counts == [[True, False], [True, True]]
    assert verifier.verify(two_rounds(True), two_rounds(None)).verdict.name == "rejected"


@pytest.mark.slow
def test_the_command_confirms_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "bad_evaluates_every_so_often.py"
    shutil.copy(FIXTURES / name, tmp_path)
    words = ["fix", "--verify", "--steps", "1", "--device", "cpu", "--isolated", "--output-format", "json"]
    main([*words, "--select", "GCL703", str(tmp_path)])
    (proof,) = json.loads(capsys.readouterr().out)["verification"]
    assert (proof["verdict"], proof["evidence"]) == ("confirmed", "architecture"), proof
    assert [[bool(count) for count in run] for run in proof["recomputations_by_step"]] == [[True, False], [True, True]]
    assert "nothing is recomputed in step 2 of 2" in proof["before"] and proof["after"] == "runs"
    fixed = (FIXTURES / name.replace(".py", ".fixed.py")).read_text()
    assert (tmp_path / name).read_text() == fixed


@pytest.mark.slow
def test_what_is_left_is_said_last(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "bad_evaluates_every_so_often.py", tmp_path)
    command = [sys.executable, "-u", "-m", "gclint", "fix", "--verify", "--steps", "1", "--device", "cpu", "--isolated"]
    told = subprocess.run([*command, "."], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    texts = ("confirmed: GCL703", "Verification", "Applied 1 fix", "No findings in 1 file")
    places = [told.stdout.index(text) for text in texts]
    assert places == sorted(places) and told.returncode == 0, told.stdout
