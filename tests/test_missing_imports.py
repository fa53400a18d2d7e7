"""Programs that import what their own packages do not have: nothing is said of what they would run after it. Whatever
may be there after all (built, left out of the repository, bound by other means) ends nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gclint.cli import main

TRAINS = """
import torch
from torch import nn

net = nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
nn.CrossEntropyLoss()(torch.softmax(net(torch.ones(2, 3)), -1), torch.ones(2, dtype=torch.long)).backward()
optimizer.step()
"""
FINDING = "GCL824"
THERE = "from parts.nets import Net\n"
MISSING = "from parts.other import Net\n"
NAME = "from parts.nets import Other\n"
REFS = "import sys\nsys.path.insert(0, 'refs')\n"
BESIDE = "import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'refs'))\n"
SETUP = "from setuptools import setup\nsetup()\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, {"parts/__init__.py": "", "parts/nets.py": "class Net:\n    pass\n"})
    return tmp_path


def put(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def codes(capfd: pytest.CaptureFixture[str]) -> list[str]:
    main(["check", "--no-cache", "--output-format", "concise", "."])
    out, err = capfd.readouterr()
    assert err == ""
    return [line.split(": ")[1].split()[0] for line in out.splitlines() if line.startswith("train.py:")]


@pytest.mark.parametrize(
    ("files", "program"),
    [
        ({}, THERE + TRAINS),
        ({}, f"try:\n    {MISSING}except ImportError:\n    Net = None\n{TRAINS}"),
        ({}, f"import sys\nif len(sys.argv) > 1:\n    {MISSING}{TRAINS}"),
        ({}, "from elsewhere.parts import Net\n" + TRAINS),
        ({"setup.py": 'Extension("parts.other", ["other.cpp"])'}, MISSING + TRAINS),
        ({".gitignore": "parts/other/\n"}, MISSING + TRAINS),
        ({"README.md": "Copy `parts/sample.py` to `parts/other.py`."}, MISSING + TRAINS),
        ({"parts/other.pyx": ""}, MISSING + TRAINS),
        ({"parts/other.cpython-311-x86_64-linux-gnu.so": ""}, MISSING + TRAINS),
        ({"parts/__init__.py": "__path__ = __import__('pkgutil').extend_path(__path__, __name__)"}, MISSING + TRAINS),
        ({"parts/__init__.py": "import sys\nsys.modules[__name__ + '.other'] = sys"}, MISSING + TRAINS),
        ({"parts/nets.py": "def __getattr__(name):\n    return name\n"}, NAME + TRAINS),
        ({"parts/nets.py": "globals().update({'Oth' + 'er': 1})\n"}, NAME + TRAINS),
        ({"parts/nets.py": "from elsewhere import *\n"}, NAME + TRAINS),
        ({"parts/nets.py": "from .more import *\n", "parts/more.py": "Other = 1\n"}, NAME + TRAINS),
        ({"more.py": "from parts import nets\nnets.Other = 1\n"}, "import more\n" + NAME + TRAINS),
        ({"parts/other.py": "Net = 1"}, "from parts import other\n" + TRAINS),
        ({}, "import os, sys\nsys.path.insert(0, os.environ['PARTS'])\n" + MISSING + TRAINS),
        ({}, "import sys\nsys.path = [*sys.path, sys.argv[1]]\n" + MISSING + TRAINS),
        ({"paths.py": "import sys\nsys.path.append(input())"}, "import paths\n" + MISSING + TRAINS),
        ({}, REFS + MISSING + TRAINS),
        ({}, REFS + NAME + TRAINS),
        ({}, REFS + "from parts import other\n" + TRAINS),
        ({"refs/.gitkeep": ""}, REFS + MISSING + TRAINS),
        ({}, BESIDE + MISSING + TRAINS),
        ({"paths.py": REFS}, "import paths\n" + MISSING + TRAINS),
    ],
)
def test_what_may_be_there_ends_nothing(
    capfd: pytest.CaptureFixture[str], project: Path, files: dict[str, str], program: str
) -> None:
    put(project, {**files, "train.py": program})
    assert codes(capfd) == [FINDING]


@pytest.mark.parametrize(
    ("files", "program"),
    [
        ({}, MISSING + TRAINS),
        ({"README.md": "Nothing here is called other."}, MISSING + TRAINS),
        ({}, "import parts.other\n" + TRAINS),
        ({}, "from parts import other\n" + TRAINS),
        ({}, NAME + TRAINS),
        ({"parts/__init__.py": "from .other import Net\n"}, "import parts\n" + TRAINS),
        ({}, "import os, sys\nsys.path.append(os.path.dirname(os.path.abspath(__file__)))\n" + MISSING + TRAINS),
        ({}, "import sys\n\ndef add(place):\n    sys.path.append(place)\n\nadd('libs')\n" + MISSING + TRAINS),
        ({"parts/nets.py": "from .more import *\n", "parts/more.py": "Net = 1\n"}, NAME + TRAINS),
        ({"parts/nets.py": "import torch\nlayer = torch.nn.Linear(1, 1)\n# Other\n"}, NAME + TRAINS),
        ({"refs/more.py": ""}, REFS + MISSING + TRAINS),
        ({"refs/more.py": ""}, REFS + NAME + TRAINS),
        ({"refs/parts/__init__.py": ""}, REFS + MISSING + TRAINS),
        ({}, "import sys\nsys.path.insert(0, __file__)\n" + MISSING + TRAINS),
        ({"parts/__init__.py": "from .other import Net\n"}, REFS + "import parts\n" + TRAINS),
    ],
)
def test_an_import_of_what_is_not_there_ends_the_program(
    capfd: pytest.CaptureFixture[str], project: Path, files: dict[str, str], program: str
) -> None:
    put(project, {**files, "train.py": program})
    assert FINDING not in codes(capfd)
    done = subprocess.run([sys.executable, "train.py"], capture_output=True, text=True)
    assert "ImportError" in done.stderr or "ModuleNotFoundError" in done.stderr


@pytest.mark.parametrize(
    ("files", "path"),
    [
        (
            {"net/__init__.py": "", "net/chem/__init__.py": "", "net/bonds.py": "from chem.scaffolds import A\n"},
            "net/bonds.py",
        ),
        ({"net/__init__.py": "", "net/chem/__init__.py": "", "net/bonds.py": "from chem import A\n"}, "net/bonds.py"),
        ({"chem/bank.py": "from chem import A\n"}, "chem/bank.py"),
        (
            {"src/__init__.py": "", "src/chem/__init__.py": "", "src/chem/bank.py": "from chem.engine import A\n"},
            "src/chem/bank.py",
        ),
    ],
)
def test_a_folder_of_the_package_is_not_the_library_of_its_name(
    capfd: pytest.CaptureFixture[str], project: Path, files: dict[str, str], path: str
) -> None:
    put(project, files)
    (project / path).write_text(files[path] + TRAINS)
    main(["check", "--no-cache", "--output-format", "concise", "."])
    out, err = capfd.readouterr()
    assert err == ""
    assert [line.split(": ")[1].split()[0] for line in out.splitlines() if line.startswith(path)] == [FINDING]


def test_a_package_in_a_source_folder_is_installed_by_its_name(
    capfd: pytest.CaptureFixture[str], project: Path
) -> None:
    put(project, {"src/chem/__init__.py": "", "src/chem/bank.py": "from chem.engine import A\n" + TRAINS})
    main(["check", "--no-cache", "--output-format", "concise", "."])
    out, _ = capfd.readouterr()
    assert "src/chem/bank.py:1:1: GCL002" in out and FINDING not in out


@pytest.mark.parametrize(
    ("path", "program", "files", "found"),
    [
        ("copy/tools/train.py", MISSING, {"setup.py": SETUP}, FINDING),
        ("copy/tools/train.py", MISSING, {"requirements.txt": "torch"}, FINDING),
        ("copy/tools/train.py", MISSING, {}, "GCL002"),
        ("copy/train.py", MISSING, {"setup.py": SETUP}, "GCL002"),
        (
            "copy/tools/train.py",
            "import sys\nfrom pathlib import Path\nsys.path.insert(0, str(Path(__file__).parents[1]))\n" + MISSING,
            {"setup.py": SETUP},
            "GCL002",
        ),
        ("copy/tools/train.py", "from own.other import Net\n", {"copy/tools/own/__init__.py": ""}, "GCL002"),
        (
            "copy/tools/train.py",
            "import own\n",
            {"setup.py": SETUP, "copy/tools/own/__init__.py": "from .other import Net\n"},
            "",
        ),
    ],
)
def test_a_copy_of_a_package_is_the_one_that_is_imported_where_the_program_looks(
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    program: str,
    files: dict[str, str],
    found: str,
) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    copy = {"copy/setup.py": SETUP, "copy/parts/__init__.py": "", "copy/parts/nets.py": "class Net:\n    pass\n"}
    put(Path(), {**copy, **files, path: program + TRAINS})
    main(["check", "--no-cache", "--output-format", "concise", "."])
    out, err = capfd.readouterr()
    assert err == ""
    codes = [line.split(": ")[1].split()[0] for line in out.splitlines() if line.startswith(path)]
    assert codes == [found] * bool(found)
    assert found or "copy/tools/own/__init__.py:1:1: GCL002" in out


def test_a_notebook_may_search_in_another_folder(capfd: pytest.CaptureFixture[str], project: Path) -> None:
    cell = {"cell_type": "code", "id": "a", "source": MISSING + TRAINS, "outputs": [], "execution_count": None}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell | {"metadata": {}}]}
    put(project, {"train.ipynb": json.dumps(notebook)})
    main(["check", "--no-cache", "--output-format", "concise", "."])
    assert FINDING in capfd.readouterr().out


def test_the_note_says_what_is_not_there(capfd: pytest.CaptureFixture[str], project: Path) -> None:
    put(project, {"train.py": MISSING + TRAINS})
    assert main(["check", "--no-cache", "--output-format", "concise", "."]) == 0
    assert capfd.readouterr().out.splitlines()[0] == (
        "train.py:1:1: GCL002 there is no `parts.other`: this import raises, and what runs after it is not judged "
        "(gclint rule GCL002)"
    )


def test_what_comes_to_be_there_is_seen_in_the_next_check(capfd: pytest.CaptureFixture[str], project: Path) -> None:
    put(project, {"train.py": MISSING + TRAINS})
    for more, status in ({}, 0), ({"setup.py": "other"}, 1), ({"setup.py": ""}, 0), ({"parts/other.py": "Net = 1"}, 1):
        put(project, more)
        assert main(["check", "."]) == status, more
    capfd.readouterr()


def test_a_program_takes_its_own_folder_s_modules_also_through_others(project: Path) -> None:
    acts = "import os\nos.environ['TOOL'] = '1'\n\ndef tool():\n    pass\n"
    put(
        project,
        {
            "framework/utils.py": acts + MISSING,
            "inner/framework/utils.py": acts,
            "inner/helpers/edge.py": "from framework.utils import tool\n\ndef attack():\n    return tool\n",
            "inner/train.py": "from helpers.edge import attack\n" + TRAINS,
        },
    )
    done = subprocess.run(
        [sys.executable, "-m", "gclint", "check", "--no-cache", "--output-format", "json", "."],
        capture_output=True,
        text=True,
    )
    [found] = json.loads(done.stdout)
    assert (found["code"], found["filename"]) == (FINDING, str(project / "inner/train.py"))
