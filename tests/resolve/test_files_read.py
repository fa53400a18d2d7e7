"""What a program loads from a document of its project, in the ways in which programs open and read files.

Each way is run by Python too: what it gives there is what gclint has to know, and where gclint does not know it, it may
not say that it does.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fixtures import findings

HEAD = """\
import argparse, codecs, io, json, os
from pathlib import Path
import yaml

parser = argparse.ArgumentParser()
parser.add_argument("--path", type=Path, default=Path("folder/n.yaml"))
parser.add_argument("--text", default="folder/n.yaml")
args = parser.parse_args([])
"""
TAIL = """
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU())
x = torch.randn(2, 4, requires_grad=True)
checkpoint_sequential(layers, loaded["segments"], x, use_reentrant=False).sum().backward()
"""
UNKNOWN = {
    "only a part is read": 'loaded = yaml.safe_load(open("folder/n.yaml").read(9) + " 2")',
    "the text is changed": 'loaded = yaml.safe_load(Path("folder/n.yaml").read_text().replace("1", "2"))',
    "the path is no text to load": 'loaded = yaml.safe_load("segments: 2 # folder/n.yaml")',
    "a path as a document": 'loaded = {"segments": len(yaml.safe_load("folder/n.yaml"))}',
    "in the home of the user": 'path = os.path.expanduser("~/folder/n.yaml")\nloaded = {"segments": 2}\n'
    "if os.path.exists(path):\n    loaded = yaml.safe_load(open(path))",
}
KNOWN = {
    "open": 'loaded = yaml.safe_load(open("folder/n.yaml"))',
    "with open": 'with open("folder/n.yaml", encoding="utf-8") as file:\n    loaded = yaml.safe_load(file)',
    "io.open": 'loaded = yaml.safe_load(io.open("folder/n.yaml"))',
    "codecs.open": 'loaded = yaml.safe_load(codecs.open("folder/n.yaml", "r", "utf-8"))',
    "Path.open": 'loaded = yaml.safe_load(Path("folder/n.yaml").open())',
    "Path.open with a mode": 'with Path("folder/n.yaml").open("r") as file:\n    loaded = yaml.safe_load(file)',
    "Path.read_text": 'loaded = yaml.safe_load(Path("folder/n.yaml").read_text(encoding="utf-8"))',
    "Path.read_bytes": 'loaded = yaml.safe_load(Path("folder/n.yaml").read_bytes())',
    "read": 'with open("folder/n.yaml") as file:\n    text = file.read()\nloaded = yaml.safe_load(text)',
    "json.loads": 'loaded = json.loads(Path("folder/n.json").read_text())',
    "an option of a path": "loaded = yaml.safe_load(args.path.open())",
    "an option that reads itself": "loaded = yaml.safe_load(args.path.read_text())",
    "an option of a text": "loaded = yaml.safe_load(Path(args.text).open())",
    "resolve": 'loaded = yaml.safe_load(Path("folder/n.yaml").resolve().read_text())',
    "resolve and open": "loaded = yaml.safe_load(Path(args.text).expanduser().resolve().open())",
    "abspath": 'loaded = yaml.safe_load(open(os.path.abspath("folder/n.yaml")))',
    "expanduser": 'loaded = yaml.safe_load(open(os.path.expanduser("folder/n.yaml")))',
    "beside the program": 'loaded = yaml.safe_load((Path(__file__).parent / "folder" / "n.yaml").read_text())',
    "in an attempt": "def load(path):\n    with open(path) as file:\n        try:\n"
    "            return yaml.safe_load(file)\n"
    "        except yaml.YAMLError as error:\n            print(error)\n\n\nloaded = load(args.text)",
    "in a class of its own": "class Settings:\n    def __init__(self, **given):\n"
    "        for key, value in given.items():\n"
    "            if type(value) == dict:\n                value = Settings(**value)\n            self[key] = value\n\n"
    "    def __getitem__(self, key):\n        return getattr(self, key)\n\n"
    "    def __setitem__(self, key, value):\n        setattr(self, key, value)\n\n\n"
    "loaded = Settings(**{'all': yaml.safe_load(open(args.text))}).all",
    "in a function": "def load(path):\n    with path.open() as file:\n        return yaml.safe_load(file)\n\n\n"
    "loaded = load(args.path)",
}


def said(way: str, segments: int, folder: Path) -> tuple[list[str], int]:
    """The codes of what gclint finds in a program that loads its number this way, and the number that it loads."""
    (folder / "folder").mkdir()
    (folder / "folder/n.yaml").write_text(f"segments: {segments}\n")
    (folder / "folder/n.json").write_text(f'{{"segments": {segments}}}\n')
    program = folder / "train.py"
    program.write_text(f"{HEAD}{way}\nprint(loaded['segments'])\n")
    run = subprocess.run([sys.executable, program], cwd=folder, capture_output=True, text=True, check=True)
    return [each.code for each in findings(HEAD + way + TAIL, folder)], int(run.stdout)


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_is_not_claimed(name: str, tmp_path: Path) -> None:
    codes, number = said(UNKNOWN[name], 1, tmp_path)
    assert number != 1
    assert codes == []


@pytest.mark.parametrize("segments", [2, 1])
@pytest.mark.parametrize("name", KNOWN)
def test_what_stands_in_the_document_is_known(name: str, segments: int, tmp_path: Path) -> None:
    codes, number = said(KNOWN[name], segments, tmp_path)
    assert number == segments
    assert codes == ["GCL511"] * (segments == 1)


EITHER = """\
import os
import torch
import yaml

path = "folder/n.yaml" if "GIVEN" in os.environ else input()
try:
    loaded = yaml.safe_load(open({path}))
except Exception:
    loaded = torch.cuda.amp.GradScaler()
"""


@pytest.mark.parametrize(("path", "codes"), [("'folder/n.yaml'", []), ("path", ["GCL902"])])
def test_only_a_document_that_is_there_in_any_case_raises_nothing(path: str, codes: list[str], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/n.yaml").write_text("segments: 2\n")
    assert [each.code for each in findings(EITHER.format(path=path), tmp_path)] == codes
