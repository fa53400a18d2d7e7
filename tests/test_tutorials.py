"""The tutorials show what gclint prints now."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the tutorials are judged for the installed releases; torch is not installed")
if shutil.which("git") is None:
    pytest.skip("the changes of a tutorial are applied by git", allow_module_level=True)

from tutorials import PAGES, same, shown

SLOW = {"lora"}
NAMES = [pytest.param(page.stem, marks=[pytest.mark.slow] * (page.stem in SLOW)) for page in sorted(PAGES.glob("*.md"))]


@pytest.mark.parametrize("name", NAMES)
def test_a_tutorial_shows_what_is_printed_now(name: str) -> None:
    commands = shown(Path(PAGES / f"{name}.md"))
    assert commands
    for kept, now in commands:
        assert same(kept, now), f"python tests/tutorials.py writes it anew:\n{now}"


def test_what_differs_is_seen() -> None:
    assert same("took 3.1 s\n[...]\nend", "took 12 s\na\nb\nend")
    assert not same("took 3 s", "took 3 m") and not same("a\nb", "a\nc\nb")
