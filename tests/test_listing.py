"""The listing of gclint's own rules: what it says is what they say, and it is believed only while it holds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gclint import listing
from gclint.rule import load_rules

IMPORTED = """
import sys
from gclint.check.engine import check_paths
found = check_paths(["."], select=("GCL",))
names = [name.rsplit(".", 1)[1] for name in sys.modules if name.startswith("gclint.rules.")]
rules = sorted(name[:6].upper() for name in names if name.startswith("gcl"))
print(len(rules), *rules)
print(*(finding.code for finding in found.findings))
print("libcst" in sys.modules)
"""
RANDOM = """
import random
import torch
from torch.utils.checkpoint import checkpoint


def block(x):
    return x * random.random()


x = torch.ones(2, requires_grad=True)
checkpoint(block, x, use_reentrant=False).sum().backward()
"""


def imported(place: Path) -> tuple[list[str], list[str], bool]:
    """The codes of the rules that a check of a directory imports, those of its findings, and whether it took LibCST."""
    made = subprocess.run([sys.executable, "-c", IMPORTED], cwd=place, capture_output=True, text=True, check=True)
    rules, found, parsed = made.stdout.splitlines()
    return rules.split()[1:], found.split(), parsed == "True"


def test_neither_rules_nor_parser_are_imported_for_a_program_without_their_words(tmp_path: Path) -> None:
    (tmp_path / "hello.py").write_text("print('hello')\n")
    assert imported(tmp_path) == ([], [], False)


def test_a_rule_whose_words_occur_is_imported_and_asked(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(RANDOM)
    rules, found, parsed = imported(tmp_path)
    assert not parsed, "LibCST is for packs that ask for it"
    assert "GCL506" in rules
    assert found == ["GCL506"]
    assert len(rules) < len(load_rules()) / 2


def test_what_is_listed_is_what_the_rules_say() -> None:
    known = listing.listed()
    assert known is not None
    for item, rule in zip(known, load_rules(), strict=True):
        assert item.load() is rule
        assert (item.code, item.name, item.docs, item.summary) == (rule.code, rule.name, rule.docs, rule.summary)
        assert (item.asks_of_files, item.costs, item.preview) == (rule.asks_of_files, rule.costs, rule.preview)
        assert [list(choice) for choice in item.words] == [list(choice) for choice in rule.words]


@pytest.mark.parametrize("text", ["", "[]", '{"digest": ""}', "another digest", "another shape", None])
def test_a_listing_that_does_not_hold_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    held = json.loads(Path(listing.PATH).read_text())
    path = tmp_path / "listing.json"
    if text == "another digest":
        text = json.dumps({**held, "digest": "0"})
    if text == "another shape":
        text = json.dumps({**held, "rules": [{"code": "GCL101"}]})
    if text is not None:
        path.write_text(text)
    monkeypatch.setattr(listing, "PATH", str(path))
    assert listing.listed() is None
