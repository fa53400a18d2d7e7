"""The measure itself, on a repository made here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.strangers import records
from tests.strangers.checkouts import Answer, Finding, check, fetch
from tests.strangers.measure import UNJUDGED, Checked, measure
from tests.strangers.page import page, wilson
from tests.strangers.records import Judgement, Place, Repository, Site

CODE = """
from torch.utils.checkpoint import checkpoint


def forward(block, x):
    return checkpoint(block, x)
"""
PLACE = Place("net.py", "", 6)


def stranger(folder: Path) -> Repository:
    """A repository of one file, as it lies after a fetch."""
    (folder / "net.py").write_text(CODE)
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "net"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True).stdout.strip()
    return Repository("some/one", commit, "test")


def test_a_checkout_is_found_checked_and_compared(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    repository = stranger(made)
    made.rename(repository.below(tmp_path))
    checkout = fetch(repository, tmp_path)
    assert checkout is not None
    answer = check(checkout)
    assert [(each.place, each.code, each.certainty) for each in answer.findings] == [(PLACE, "GCL501", "fragile")]
    judged = [
        Judgement("some/one", PLACE, "GCL501", "fragile", "true", "no use_reentrant"),
        Judgement("some/one", Place("net.py", "", 9), "GCL513", "fails", "false", "another function"),
        Judgement("no/body", PLACE, "GCL501", "fragile", "false", "not checked"),
    ]
    sites = [Site("some/one", "net.py", line, frozenset({"GCL501"}), "true") for line in (6, 9)]
    result = measure([Checked(repository, answer)], judged, sites)
    assert result.findings == {("GCL501", "fragile", "true"): 1}
    assert result.gone == {("GCL513", "fails", "false"): 1}
    assert result.sites == {("true", "found"): 1, ("true", "missed"): 1}
    text = page(result)
    assert "| fragile | 1 | 0 | 0 | 0 | 1 of 1: 100% (21% to 100%) |" in text
    assert "found 1 of 2: 50%" in text


@pytest.mark.parametrize(
    ("judged", "verdict", "told", "due"),
    [
        ("fragile", "true", "fragile", "true"),
        ("fails", "true", "fragile", "true"),
        ("fragile", "false", "fails", "false"),
        ("fragile", "true", "fails", UNJUDGED),
        ("fails", "false", "fragile", UNJUDGED),
    ],
)
def test_what_a_verdict_says_of_another_certainty(judged: str, verdict: str, told: str, due: str) -> None:
    repository = Repository("some/one", "0" * 40, "test")
    answer = Answer([Finding(PLACE, "GCL501", told, "", ())], 1.0, "")
    known = Judgement("some/one", PLACE, "GCL501", judged, verdict, "")
    assert measure([Checked(repository, answer)], [known], []).findings == {("GCL501", told, due): 1}


def test_intervals() -> None:
    low, high = wilson(95, 171)
    assert (round(low, 3), round(high, 3)) == (0.481, 0.628)


def test_what_is_kept_is_in_order() -> None:
    listed = {each.repository for each in records.repositories()}
    judged = records.judgements()
    assert {each.repository for each in judged} <= listed
    assert {each.verdict for each in judged} <= {"true", "false", "unsure"}
    assert len({(each.repository, each.place, each.code) for each in judged}) == len(judged)
    assert {each.repository for each in records.sites()} <= listed
