"""The index of a file: told alike from its text and from what an earlier check kept of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gclint.ir.gate import Vocabulary
from gclint.ir.index import FileIndex, Index
from gclint.ir.outline import Outline
from gclint.source.ledger import Ledger
from gclint.source.source import parse

WORDS = Vocabulary(["checkpoint", "torch.utils", "use_reentrant"])
TEXT = '''"""Says checkpoint."""
import os, json as j
from typing import TYPE_CHECKING
from torch.utils.checkpoint import checkpoint as again, noop
from .parts import (
    one,  # a comment
    two as other,
)

if TYPE_CHECKING:
    from .late import Late

RATE, STEPS = 1, 2
settings = load("train.yaml")
if RATE:
    LIMIT = most(2)


class Plain:
    pass


@register("x")
class Net(Base, metaclass=Meta):
    def forward(self, x):
        """checkpoint"""
        from inner import helper
        return helper(again(x, use_reentrant=False))

    async def other(self):
        return one.thing


def run():
    return importlib.import_module("a")


if __name__ == "__main__":
    run()
'''

STARTED = ("if", "__name__", "__main__", "run", "RATE", "LIMIT", "most")


def index(path: str, text: str, kept: Any = None) -> FileIndex:
    return FileIndex(path, parse(path, Path(path), text.encode()), WORDS, kept)


def told(item: FileIndex) -> dict[str, Any]:
    parts = (item.settings, item.words, item.words_in_code, item.calls_by_name, item.outline)
    assert all(part is not None for part in parts)
    return json.loads(json.dumps(item.fresh()))


def test_the_outline_of_a_text() -> None:
    item = index("/p/a.py", TEXT)
    outline = item.outline
    assert list(outline.units) == ["RATE", "STEPS", "settings", "LIMIT", "Plain", "Net", "run"]
    assert sorted(outline.imports) == [
        *("TYPE_CHECKING", "again", "helper", "j", "noop", "one", "os", "other"),
    ]
    assert list(outline.promised) == ["Late"]
    assert [(each.name, each.module, each.level, each.member) for each in outline.imports["other"]] == [
        ("other", "parts", 1, "two")
    ]
    (net,) = outline.units["Net"]
    assert net.bases == {"Base", "metaclass", "Meta"}
    assert net.decorators is not None and net.decorators.identifiers == {"register", "x"}
    assert list(net.methods) == ["forward", "other"]
    assert net.methods["forward"].identifiers >= {"helper", "again", "use_reentrant"}
    assert net.methods["forward"].words == {"use_reentrant"}
    assert outline.importing[2].words == {"checkpoint", "torch.utils"}
    assert outline.module.identifiers == {"settings", "load", "train", "yaml", *STARTED}
    assert outline.acts
    assert outline.units["Plain"][0].bases == frozenset()
    assert item.words == {"checkpoint", "torch.utils", "use_reentrant"}
    assert item.settings == [b"train.yaml"]
    assert item.calls_by_name


@pytest.mark.parametrize(
    ("text", "acts", "calls", "assigned"),
    [
        ("x = made(1)\n", False, {"made"}, {"made"}),
        ("values = {'a': made(1)}\n", False, {"made"}, {"made"}),
        ("if x:\n    y = made(1)\n", False, {"made"}, set()),
        ("x = made(1)\nif x:\n    y = other(1)\n", False, {"made", "other"}, {"made"}),
        ("from torch.utils import checkpoint\n", True, set(), set()),
        ("start()\n", True, None, None),
        ("other.value = 1\n", True, None, None),
        ("for x in y:\n    pass\n", True, None, None),
        ('if __name__ == "__main__":\n    start()\n', False, set(), set()),
        ("@registry.register\ndef f():\n    pass\n", True, set(), set()),
        ("def f():\n    start()\n", False, set(), set()),
    ],
)
def test_what_importing_a_file_does(text: str, acts: bool, calls: set[str] | None, assigned: set[str] | None) -> None:
    outline = index("/p/a.py", text).outline
    assert outline.acts == acts
    if calls is not None:
        assert (outline.calls, outline.assigned) == (calls, assigned)


@pytest.mark.parametrize("text", [TEXT, "x = made(1)\nif x:\n    y = other(1)\n", ""])
def test_what_was_kept_tells_the_same_under_another_path(text: str) -> None:
    again = index("/p/b.py", "not looked at", told(index("/p/a.py", text)))
    right = index("/p/b.py", text)
    assert {unit.path for unit in again.outline.all_units} == {"/p/b.py"}
    assert again.outline.kept() == right.outline.kept()
    assert (again.words, again.settings, again.calls_by_name) == (right.words, right.settings, right.calls_by_name)
    assert again.fresh() == {}


@pytest.mark.parametrize("part", ["outline", "words", "settings", "calls_by_name", "words_in_code"])
@pytest.mark.parametrize("damage", [[], {}, {"units": 1}, 7, "text", [None], {"units": [["Net", [["Net"]]]]}])
def test_a_part_that_was_damaged_is_told_from_the_text(part: str, damage: Any) -> None:
    if part != "outline" and damage == []:
        return  # nothing is said there: a list all the same
    right = index("/p/a.py", TEXT)
    item = index("/p/a.py", TEXT, {**told(right), part: damage})
    wanted, found = getattr(index("/p/a.py", TEXT), part), getattr(item, part)
    if isinstance(wanted, Outline):
        assert found.kept() == wanted.kept()
    else:
        assert found == wanted


def test_only_what_was_worked_out_is_kept(tmp_path: Path) -> None:
    source = parse("a.py", tmp_path / "a.py", TEXT.encode())
    first = Index(WORDS, Ledger(str(tmp_path / "cache"), "index"))
    assert first.of("/p/a.py", source).words
    first.save({"/p/a.py": source})
    second = Index(WORDS, Ledger(str(tmp_path / "cache"), "index"))
    assert second.of("/p/a.py", source).outline.units
    second.save({"/p/a.py": source})
    kept = Ledger(str(tmp_path / "cache"), "index").get(f"python-{source.digest}")
    assert sorted(kept) == ["outline", "words"]
