"""What nothing of a project uses is not told: no run comes to it. What anything may use is."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from gclint.check import program as checked
from gclint.check.engine import check
from gclint.check.request import Request
from gclint.forks import Forks
from gclint.ir import uses

PARTS = """
from torch.nn import functional as F


def step(net, batch, labels):
    F.cross_entropy(net(batch).softmax(-1), labels).backward()


class Steps:
    def taken(self, net, batch, labels):
        self.inner(net, batch, labels)

    def inner(self, net, batch, labels):
        F.cross_entropy(net(batch).softmax(-1), labels).backward()
"""
PROGRAM = """
import torch
{imported}


def main():
    net = torch.nn.Linear(4, 2)
    {line}


main()
"""
STEP, METHOD = ("parts.py", 6), ("parts.py", 14)


def found(
    place: Path, texts: dict[str, str], monkeypatch: pytest.MonkeyPatch, cache: bool = False, jobs: int = 1
) -> set[tuple[str, int]]:
    """The file and line of every finding of softmax before cross entropy."""
    for name, text in texts.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    monkeypatch.chdir(place)
    report = check(Request(["."], {}, cache=cache, jobs=jobs))
    assert not report.problems
    return {(item.location.path, item.location.line) for item in report.findings if item.code == "GCL824"}


def program(imported: str = "", line: str = "net(torch.ones(1, 4))") -> dict[str, str]:
    return {"parts.py": PARTS, "train.py": PROGRAM.format(imported=imported, line=line)}


def _cell(text: str) -> dict[str, object]:
    return {"cell_type": "code", "id": "a", "metadata": {}, "source": text, "outputs": [], "execution_count": None}


UNUSED = {
    "looked up in another module inside its package": {
        **program("import nets, sys", "nets.other.__dict__[sys.argv[1]]"),
        "nets/__init__.py": "from . import inner, other\n",
        "nets/other.py": "",
        "nets/inner/__init__.py": "from . import parts\n",
        "nets/inner/parts.py": PARTS,
    },
    "its file is imported": program("import parts"),
    "something is looked up in an object": program("from parts import F", "print(getattr(net, input()), F)"),
    "something is looked up in what may be a module, and none is handed on": program(
        "import parts\n\n\ndef look(place):\n    return getattr(place, input())", "print(look(net), parts.F)"
    ),
    "a name is evaluated where another one of its file is at hand": program("from parts import F", "eval(input())"),
    "another name of it is imported": program("from parts import F", "F.relu(net(torch.ones(1, 4)))"),
    "another thing has its name": program("from parts import F", "F.relu(net.step)"),
    "only itself": program("import more")
    | {"more.py": "import parts\n\n\ndef again(*given):\n    again(parts.step(*given))\n"},
    "a text speaks of it": program("import parts") | {"README.md": "The step of training is small, and taken."},
    "nothing imports its file": program(),
    "only what nothing imports imports its file": program() | {"more.py": "from parts import step\n\nprint = step\n"},
    "another module is imported by a computed name": program(
        "import parts, importlib", "importlib.import_module(name())"
    ),
    "its package gives nothing on": {f"pack/{name}": text for name, text in program("import parts").items()}
    | {"pack/__init__.py": "", "pyproject.toml": '[project]\nname = "pack"\nversion = "1"\n'},
    "a class of which other methods are called": program("from parts import Steps", "Steps().others()"),
    "listed in its module": program("from parts import *") | {"parts.py": PARTS + "\n__all__ = ['step']\n"},
    "beside a program that cannot be parsed": (
        program() | {"train.py": PROGRAM.format(imported="import parts", line="print net")}
    ),
    "given on by a package that nobody installs": (
        {f"pack/{name}": text for name, text in program("import parts").items()}
        | {"pack/__init__.py": "from .parts import *\n"}
    ),
}


@pytest.mark.parametrize("texts", [pytest.param(texts, id=name) for name, texts in UNUSED.items()])
def test_what_nothing_uses_is_not_told(texts: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(tmp_path, texts, monkeypatch) == set()


@pytest.mark.skipif(sys.platform != "linux", reason="forks are made on Linux only")
def test_processes_that_were_made_for_the_programs_know_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked, "SECONDS_ALONE", -1.0)
    made = []
    monkeypatch.setattr(checked, "Forks", lambda *given: made.append(given) or Forks(*given))
    texts = program("import parts", "torch.optim.SGD(net.parameters(), lr=0.1)")
    assert found(tmp_path, texts | {"more.py": texts["train.py"]}, monkeypatch, jobs=2) == set()
    assert len(made) == 2


USED = {
    "under its name": (program("from parts import step", "print(step)"), {STEP}),
    "under another name": (program("from parts import step as one", "print(one)"), {STEP}),
    "of its module": (program("import parts as p", "print(p.step)"), {STEP}),
    "by all names of its module": (program("from parts import *", "print(step)"), {STEP}),
    "by way of another file": (
        program("from more import step", "print(step)") | {"more.py": "from parts import step\n"},
        {STEP},
    ),
    "a method by its name": (program("from parts import Steps", "print(Steps, net.inner)"), {METHOD}),
    "a method by another one": (program("from parts import Steps", "Steps().taken(*range(9))"), {METHOD}),
    "by a class that is one": (
        program("from more import Other", "Other().taken(*range(9))")
        | {"more.py": "import parts\n\n\nclass Other(parts.Steps):\n    pass\n"},
        {METHOD},
    ),
    "under a computed name of a module that is handed on": (
        program("import parts\n\n\ndef look(place):\n    return getattr(place, input())", "look(parts)"),
        {STEP, METHOD},
    ),
    "under a computed name of a module that another file hands on": (
        program("import more", "more.given()")
        | {"more.py": "import parts\nimport look\n\n\ndef given():\n    look.look(parts)\n"}
        | {"look.py": "def look(place):\n    return getattr(place, input())\n"},
        {STEP, METHOD},
    ),
    "in what is evaluated, of its module": (program("import parts", "print(eval(input()))"), {STEP, METHOD}),
    "in what is evaluated": (program("from parts import step", "print(eval(input()))"), {STEP}),
    "under a computed name": (program("import parts, sys", "getattr(parts, sys.argv[1])"), {STEP, METHOD}),
    "under a computed name of its module's dict": (
        program("import parts, sys", "parts.__dict__[sys.argv[1]]"),
        {STEP, METHOD},
    ),
    "under a computed name of a module inside a package": (
        {
            **program("import nets, sys", "nets.inner.__dict__[sys.argv[1]]"),
            "nets/__init__.py": "from .made import made\n",
            "nets/made.py": "from .inner import step\n\nmade = 1\n",
            "nets/inner/__init__.py": "from .parts import step\n",
            "nets/inner/parts.py": PARTS,
            "parts.py": "",
        },
        {("nets/inner/parts.py", STEP[1]), ("nets/inner/parts.py", METHOD[1])},
    ),
    "under a computed name in a program that cannot be parsed": (
        {
            **program(),
            "train.py": PROGRAM.format(imported="import parts, sys", line="print parts.__dict__[sys.argv[1]]"),
        },
        {STEP, METHOD},
    ),
    "in a file whose name somebody may give": (
        program("import importlib, sys", "importlib.import_module(sys.argv[1])")
        | {"run.yaml": "module: parts\nsteps: [step]\n"},
        {STEP},
    ),
    "under a computed name in a module whose name is spelled out": (
        {
            "train.py": PROGRAM.format(
                imported="import importlib, nets.inner, sys",
                line="module = importlib.import_module('nets.inner')\n    print(getattr(module, sys.argv[1]))",
            ),
            "nets/__init__.py": "",
            "nets/inner/__init__.py": "from .parts import step\n",
            "nets/inner/parts.py": PARTS,
            "other.py": PARTS,
        },
        {("nets/inner/parts.py", STEP[1]), ("nets/inner/parts.py", METHOD[1])},
    ),
    "in a file of a folder of which all are imported": (
        program("import importlib, os", "[importlib.import_module(each[:-3]).step for each in os.listdir('.')]"),
        {STEP},
    ),
    "in a file that a text imports": (
        program() | {"README.md": "```python\nfrom parts import step\n```\n"},
        {STEP},
    ),
    "by a decorator": (
        program("import parts")
        | {"parts.py": PARTS.replace("def step", "REGISTRY = []\n\n\n@REGISTRY.append\ndef step")},
        {("parts.py", 10)},
    ),
    "in a table": (program("import parts") | {"parts.py": f"{PARTS}\n\nTABLE = {{'step': step}}\n"}, {STEP}),
    "by a test": (
        program("import parts") | {"test_parts.py": "import parts\n\n\ndef test_it():\n    parts.step\n"},
        {STEP},
    ),
    "by whoever works in a notebook": (
        program("import parts")
        | {"parts.ipynb": json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [_cell(PARTS)]})},
        {("parts.ipynb", 7), ("parts.ipynb", 15)},
    ),
    "in a configuration": (program("import parts") | {"run.yaml": "steps:\n  - parts.step\n"}, {STEP}),
    "in a shell script": (
        program("import parts") | {"run.sh": 'python -c "import parts; parts.step(*range(3))"\n'},
        {STEP},
    ),
    "in code that people are shown": (program("import parts") | {"README.md": "`step(net, batch, labels)`\n"}, {STEP}),
    "by a library, of whose class its own is one": (
        program("from parts import Steps", "print(Steps())")
        | {
            "parts.py": PARTS.replace("class Steps", "import lib\n\n\nclass Steps(lib.Base)").replace(
                "self.inner", "self.a"
            )
        },
        {("parts.py", 17)},
    ),
    "by others, to whom the package gives it": (
        {f"pack/{name}": text for name, text in program("import parts").items()}
        | {"pack/__init__.py": "from .parts import *\n", "pyproject.toml": "[project]\nname = 'pack'\n"},
        {("pack/parts.py", 6), ("pack/parts.py", 14)},
    ),
    "there is no program": ({"parts.py": PARTS}, {STEP, METHOD}),
    "the program does nothing": ({"parts.py": PARTS, "train.py": "def main():\n    print()\n"}, {STEP, METHOD}),
}


@pytest.mark.parametrize(("texts", "places"), [pytest.param(*held, id=name) for name, held in USED.items()])
def test_what_may_be_used_is_told(
    texts: dict[str, str], places: set[tuple[str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(tmp_path, texts, monkeypatch) == places


@pytest.mark.parametrize("name", ["train.py", "README.md"])
def test_what_is_used_since_is_told_though_walks_are_remembered(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "project"
    place.mkdir()
    assert found(place, program("import parts") | {"README.md": ""}, monkeypatch, cache=True) == set()
    assert found(place, {}, monkeypatch, cache=True) == set()
    used = {"train.py": PROGRAM.format(imported="from parts import step", line="print(step)"), "README.md": "step(net)"}
    assert found(place, {name: used[name]}, monkeypatch, cache=True) == {STEP}
    assert found(place, program("import parts") | {"README.md": ""}, monkeypatch, cache=True) == set()


def test_where_there_is_too_much_text_to_read_all_may_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = program("import parts") | {"data.json": json.dumps(["a"] * 100)}
    assert found(tmp_path, texts, monkeypatch) == set()
    monkeypatch.setattr(uses, "MOST_BYTES", 100)
    assert found(tmp_path, texts, monkeypatch) == {STEP, METHOD}
