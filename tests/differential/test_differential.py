"""A seeded sample of random programs: what CPython did is derived, under its condition, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.run.values import Const, const

from . import compared
from .compared import Compared, compare
from .derived import Derived, derive
from .executed import Inputs, Observed
from .grammar import EXPRESSIONS, STATEMENTS, Grammar

SEEDS, AT_ONCE = 500, 125
MOST_UNKNOWN = 0.03
CASES = sorted((Path(__file__).parent / "cases").glob("*.py"))
OF_UNKNOWN = sorted((Path(__file__).parent / "cases" / "unknown").glob("*.py"))


def test_the_grammar_uses_every_production() -> None:
    used: set[str] = set()
    for seed in range(SEEDS):
        grammar = Grammar(seed)
        grammar.program()
        used |= grammar.used
    assert used == STATEMENTS.keys() | EXPRESSIONS.keys()


@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
def test_what_happens_is_derived_and_nothing_else(first: int) -> None:
    seen = unknown = 0
    for seed in range(first, first + AT_ONCE):
        made = compare(Grammar(seed).program())
        if made is not None:
            assert (made.failure, made.missed, made.invented) == ("", [], []), f"program of seed {seed}"
            seen, unknown = seen + made.seen, unknown + made.unknown
    assert unknown <= MOST_UNKNOWN * seen


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_counterexamples_of_earlier_runs_are_exact(case: Path) -> None:
    made = compare(case.read_text())
    assert made is not None
    assert made.verdict == "exact", made


@pytest.mark.parametrize("case", OF_UNKNOWN, ids=lambda case: case.stem)
def test_what_is_not_known_is_told_as_far_as_the_program_says(case: Path, tmp_path: Path) -> None:
    text = case.read_text()
    made = compare(text)
    assert made is not None
    assert (made.failure, made.missed, made.invented) == ("", [], [])
    lines = dict(enumerate(text.splitlines(), 1))
    told: dict[int, set[str]] = {line: set() for line, words in lines.items() if "checkpoint(block" in words}
    for call in derive(text, tmp_path):
        told[call.line] |= {repr(item.value) if isinstance(item, Const) else "?" for _, item in call.value}
    assert {line: ", ".join(sorted(told[line])) or "nothing" for line in told} == {
        line: lines[line].partition("  # ")[2] for line in told
    }


def test_the_comparison_sees_what_is_missed_invented_and_wrongly_conditioned(monkeypatch: pytest.MonkeyPatch) -> None:
    text = CASES[0].read_text()
    real = _derived(text, monkeypatch)
    assert _with([], text, monkeypatch).missed
    twice = [Derived(call.line + 1, call.guard, call.value) for call in real]
    assert _with([*real, *twice], text, monkeypatch).invented
    always = [Derived(call.line, frozenset(), const(True)) for call in real]
    assert _with(always, text, monkeypatch).invented


def _derived(text: str, monkeypatch: pytest.MonkeyPatch) -> list[Derived]:
    kept: list[Derived] = []

    def keep(given: str, directory: Path) -> list[Derived]:
        kept.extend(derive(given, directory))
        return kept

    with monkeypatch.context() as patch:
        patch.setattr(compared, "derive", keep)
        compare(text)
    return kept


def _with(calls: list[Derived], text: str, monkeypatch: pytest.MonkeyPatch) -> Compared:
    with monkeypatch.context() as patch:
        patch.setattr(compared, "derive", lambda given, directory: calls)
        made = compare(text)
    assert made is not None
    return made


HEADERS = {
    "arguments": "import sys\na, b = sys.argv[1], sys.argv[2] == 'on'\n",
    "options": "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--a')\n"
    "parser.add_argument('--b', action='store_true')\na, b = vars(parser.parse_args()).values()\n",
    "environment": "import os\na, b = os.environ['LETTER'], os.environ.get('SWITCH') == 'on'\n",
}


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("letter", "xyz")
@pytest.mark.parametrize("switch", [True, False])
def test_a_program_is_compared_on_every_input(
    header: str, letter: str, switch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        f"from torch.utils.checkpoint import checkpoint\n{HEADERS[header]}"
        f"if (a, b) == ({letter!r}, {switch}):\n    checkpoint(print, use_reentrant=a + str(b))\n"
    )
    happened = Observed(text.count("\n"), f"'{letter}{switch}'")
    assert _with([], text, monkeypatch).missed == [(Inputs(letter, switch), happened)]
