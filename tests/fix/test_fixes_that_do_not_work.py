"""A fix that does not work is dropped with a word, and never blocks another."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gclint.check.request import Request
from gclint.finding import Edit, Finding, Fix, Location
from gclint.fix.choose import Policy
from gclint.fix.converge import ENDLESS, REMAINS, UNDOES, Convergence, converge
from gclint.fix.job import fix
from gclint.source.source import Source, read

Rule = Callable[[int, re.Match[str]], tuple[Edit, ...]]


def replaced(line: int, found: re.Match[str], text: str) -> tuple[Edit, ...]:
    return (Edit("a.py", line, found.start() + 1, line, found.end() + 1, text),)


def converged(path: Path, text: str, rules: Mapping[str, tuple[str, Rule]]) -> Convergence:
    """What a text becomes under rules: by code, what each finds in a line and its edits."""
    (path / "a.py").write_text(text)
    start = read(path / "a.py", "a.py")
    assert isinstance(start, Source)

    def check(changed: Mapping[str, Source]) -> list[Finding]:
        return [
            Finding(
                code, "n", "says this", Location("a.py", line, found.start() + 1, line, found.end() + 1), "fails",
                fixes=(Fix("f", "F", edits(line, found)),),
            )
            for line, row in enumerate(changed.get("a.py", start).lines, 1)
            for code, (wanted, edits) in rules.items()
            for found in re.finditer(wanted, row)
        ]  # fmt: skip

    return converge(check, lambda name: start if name == "a.py" else None, Policy())


def outcome(state: Convergence, text: str) -> tuple[str, list[str], list[tuple[str, str]]]:
    changed = state.changed["a.py"].text if "a.py" in state.changed else text
    refused = [(each.chosen.finding.code, each.why) for each in state.refused]
    return changed, [each.finding.code for each in state.applied], refused


GOOD: tuple[str, Rule] = (r"bad\(\)", lambda line, found: replaced(line, found, "good()"))


@pytest.mark.parametrize(
    ("stays", "edits"),
    [
        pytest.param("x()\n", lambda line, found: (Edit("a.py", line, 4, line, 4, "\ny()"),), id="put below"),
        pytest.param("x()\n", lambda line, found: (Edit("a.py", line, 1, line, 1, "y()\n"),), id="put above"),
        pytest.param("x()\n", lambda line, found: replaced(line, found, "f(x())"), id="put around"),
        pytest.param("x()\n", lambda line, found: replaced(line, found, "x()"), id="no change"),
        pytest.param("x()\n\n", lambda line, found: (Edit("a.py", 5, 1, 5, 1, "z()\n"),), id="elsewhere"),
        pytest.param("x(\n)\n", lambda line, found: replaced(line, found, "x"), id="on two lines"),
    ],
)
def test_a_fix_after_which_its_finding_is_there_is_dropped(tmp_path: Path, stays: str, edits: Rule) -> None:
    text = f"bad()\n{stays}bad()\nw()\n\n"
    rules = {"GCL101": (r"\bx\b", edits), "GCL102": GOOD}
    expected = text.replace("bad", "good"), ["GCL102", "GCL102"], [("GCL101", REMAINS)]
    state = converged(tmp_path, text, rules)
    assert outcome(state, text) == expected
    again = converged(tmp_path, expected[0], rules)
    assert outcome(again, expected[0]) == (expected[0], [], [("GCL101", REMAINS)])


def test_two_findings_of_one_statement_are_fixed_one_after_the_other(tmp_path: Path) -> None:
    def whole(line: int, found: re.Match[str]) -> tuple[Edit, ...]:
        return (Edit("a.py", line, 1, line, found.end() + 1, f"{found.string[: found.start()]}ok()"),)

    text = "bad() + bad()\n"
    state = converged(tmp_path, text, {"GCL102": (r"bad\(\)", whole)})
    assert outcome(state, text) == ("ok() + ok()\n", ["GCL102", "GCL102"], [])


@pytest.mark.parametrize("text", ["one()\nbad()\n", "two()\nbad()\n"])
def test_of_two_fixes_that_undo_each_other_the_later_is_dropped(tmp_path: Path, text: str) -> None:
    rules = {
        "GCL101": (r"one\(\)", lambda line, found: replaced(line, found, "two()")),
        "GCL103": (r"two\(\)", lambda line, found: replaced(line, found, "one()")),
        "GCL102": GOOD,
    }
    made, applied, refused = outcome(converged(tmp_path, text, rules), text)
    assert (made, refused) == ("two()\ngood()\n", [("GCL103", UNDOES if "one" in text else REMAINS)])
    assert set(applied) == ({"GCL101", "GCL102"} if "one" in text else {"GCL102"})


def test_a_fix_that_makes_ever_more_findings_is_dropped(tmp_path: Path) -> None:
    def more(line: int, found: re.Match[str]) -> tuple[Edit, ...]:
        return (Edit("a.py", line, 1, line, found.end() + 1, f"done()\n\nnext({line})"),)

    text = "next(0)\nbad()\n"
    rules = {"GCL101": (r"next\(.*\)", more), "GCL102": GOOD}
    assert outcome(converged(tmp_path, text, rules), text) == (
        "next(0)\ngood()\n", ["GCL102"], [("GCL101", ENDLESS)],
    )  # fmt: skip


LOOP = """
optimizer = SGD(model.parameters(), lr=0.1)
for batch in loader:
    model(**batch).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
EVAL = f"""import torch
from torch.optim import SGD
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf")
model.gradient_checkpointing_enable()
model.eval()
{LOOP}"""


def test_a_fix_that_another_place_overrules_blocks_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    other = EVAL.replace("model.eval()\n", "")
    (tmp_path / "train.py").write_text(EVAL)
    (tmp_path / "other.py").write_text(other)
    made = fix(Request(["."], {}, isolated=True, cache=False))
    assert not made.report.problems
    assert (tmp_path / "other.py").read_text() == other.replace("enable()\n", "enable()\nmodel.train()\n")
    assert (tmp_path / "train.py").read_text() == EVAL
    refused = [(each.chosen.finding.code, each.why) for each in made.refused]
    left = [finding.code for finding in made.report.findings]
    assert (refused, left) == ([("GCL703", REMAINS)], ["GCL703"])
