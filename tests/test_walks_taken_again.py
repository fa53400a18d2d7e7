"""Analyses that differ in a few files: which walks are made again, and that runs and recipes are the same."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gclint.check.program import Analysis, analyse
from gclint.check.request import Request
from gclint.check.walker import Walker
from gclint.check.walks import Walked, Wanted
from gclint.fix.choose import Decision
from gclint.fix.job import fix
from gclint.fix.proof import Proof, ProofOptions, ProofRequest
from gclint.fix.trials import Offer
from gclint.rule import load_rules
from gclint.source.source import Source, read
from gclint.verify import proofs

TRAINS = """
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
{imports}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return checkpoint(self.layer, x{how})

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(2, 8, requires_grad=True)).sum().backward()
optimizer.step()
"""
LAST: dict[tuple[Any, ...], Analysis] = {}
RULES = [rule for rule in load_rules() if rule.code == "GCL501"]


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were walked, each time that they were."""
    made: list[str] = []
    walk = Walker.walk

    def noted(self: Walker, wanted: Wanted) -> Walked:
        made.append(os.path.basename(wanted.task.path))
        return walk(self, wanted)

    monkeypatch.setattr(Walker, "walk", noted)
    return made


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three programs, one of which imports a module of the project."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "settings.py").write_text("REENTRANT = True\n")
    asks = TRAINS.format(imports="import settings", how="")
    for name, text in (("asks", asks), ("one", TRAINS), ("two", TRAINS)):
        (tmp_path / f"{name}.py").write_text(text.format(imports="", how=""))
    return tmp_path


def sources(here: Path, **texts: str) -> dict[str, Source]:
    found = {path.name: read(path, path.name) for path in sorted(here.glob("*.py"))}
    return {**found, **{f"{name}.py": found[f"{name}.py"].with_text(text) for name, text in texts.items()}}


def analysed(here: Path, given: Mapping[str, Source], like: Analysis | None = None) -> Analysis:
    return analyse(list(given.values()), here, {"torch": "2.13"}, RULES, keep_runs=True, like=like)


def runs_of(analysis: Analysis) -> list[tuple[str, dict[Any, Any], list[type]]]:
    return [(run.path, run.found, [type(event) for event in run.events]) for run in analysis.runs]


def test_without_a_change_every_walk_is_taken(here: Path, walked: list[str]) -> None:
    first = analysed(here, sources(here))
    made = list(walked)
    again = analysed(here, sources(here), first)
    assert made and walked == made
    assert [id(run) for run in again.runs] == [id(run) for run in first.runs]


@pytest.mark.parametrize(
    ("changed", "text", "walks"),
    [
        ("one", TRAINS.format(imports="", how=", use_reentrant=False"), {"one.py"}),
        ("settings", "REENTRANT = False\n", {"asks.py", "settings.py"}),
    ],
)
def test_what_reads_a_changed_file_is_walked_again(
    here: Path, walked: list[str], changed: str, text: str, walks: set[str]
) -> None:
    first = analysed(here, sources(here))
    walked.clear()
    again = analysed(here, sources(here, **{changed: text}), first)
    assert set(walked) == walks
    assert runs_of(again) == runs_of(analysed(here, sources(here, **{changed: text})))


def test_a_program_that_stands_alone_no_more_is_walked_as_what_it_is(here: Path, walked: list[str]) -> None:
    """Who imports a module decides whether it is a program."""
    first = analysed(here, sources(here))
    changed = sources(here, two="import one\n")
    again = analysed(here, changed, first)
    assert runs_of(again) == runs_of(analysed(here, changed))
    assert runs_of(again) != runs_of(first)


def test_a_walk_that_failed_is_made_again(here: Path, walked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Walker, *given: object) -> None:
        raise ValueError("once")

    with monkeypatch.context() as patched:
        patched.setattr(Walker, "_program", broken)
        first = analysed(here, sources(here))
    assert first.problems
    again = analysed(here, sources(here), first)
    assert again.problems == [] and runs_of(again) == runs_of(analysed(here, sources(here)))


def proved(request: ProofRequest) -> Sequence[Proof]:
    """What proving asks of the analysis, without a run."""
    verifier: Any = SimpleNamespace(progress=None)
    pairs = list(proofs._pairs(request, verifier, LAST))
    assert len(pairs) == len(request.applied)
    return [Proof(each.finding, each.fix.name, "passes") for each in request.applied]


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> dict[bool, list[str]]:
    """The programs that were walked, apart those of which the runs are kept."""
    made: dict[bool, list[str]] = {True: [], False: []}
    walk = Walker.walk

    def noted(self: Walker, wanted: Wanted) -> Walked:
        if wanted.task.entry is not None and not wanted.task.path.endswith("settings.py"):
            made[self.keep_runs].append(os.path.basename(wanted.task.path))
        return walk(self, wanted)

    monkeypatch.setattr(Walker, "walk", noted)
    # other tests write into the folders on `sys.path` meanwhile, which has everything walked again
    monkeypatch.setattr("gclint.check.memory.surroundings", lambda root: [])
    LAST.clear()
    return made


REQUEST = Request(["."], {"select": ("GCL501",), "target": {"torch": "2.13"}}, cache=False)


def test_each_fix_costs_the_programs_that_it_changes(here: Path, programs: dict[bool, list[str]]) -> None:
    outcome = fix(REQUEST, unsafe=True, write=False, proof=ProofOptions(), prove=proved)
    assert len(outcome.applied) == len(outcome.proofs) == 3
    # the runs with all fixes, and without each the run of its program
    assert programs[True] == ["asks.py", "one.py", "two.py"] * 2
    # judged as they are, as they will be, and without each fix: its program, and that of the one before
    assert len(programs[False]) <= 3 + 3 + 2 * 3


def test_every_way_to_fix_is_tried_on_the_same_walks(here: Path, programs: dict[bool, list[str]]) -> None:
    def measure_all(offers: Sequence[Offer]) -> list[Decision]:
        return [Decision(offer.finding, None) for offer in offers for _ in offer.measure()]

    outcome = fix(REQUEST, unsafe=True, write=False, proof=ProofOptions(), prove=proved, ask=measure_all)
    tried = [each for trials in outcome.trials for each in trials]
    assert len(tried) >= 3 and all(each.proof is not None for each in tried)
    assert programs[True] == ["asks.py", "one.py", "two.py"] * 2
