"""Packages that import their own modules by what their folder holds: each registers what it defines, for certain."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.cli import main

REGISTRY = """MODELS = {}

def register(name):
    def keep(kind):
        MODELS[name] = kind
        return kind
    return keep
"""
NET = """from torch import nn
from {package}.registry import register

@register("{name}")
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)

    def forward(self, x):
        return {returned}
"""
TRAIN = """import torch
from torch import nn
from models.registry import MODELS
import models

net = MODELS["{name}"]()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
nn.CrossEntropyLoss()(net(torch.ones(2, 3)), torch.ones(2, dtype=torch.long)).backward()
optimizer.step()
"""
WAYS = {
    "listdir": """import importlib, os
for file in os.listdir(os.path.dirname(__file__)):
    if file.endswith(".py") and not file.startswith("_"):
        importlib.import_module("models." + file[: file.find(".py")])
""",
    "listdir of an absolute path": """import importlib
import os.path as osp, os
folder = osp.dirname(osp.abspath(__file__))
names = [osp.splitext(osp.basename(v))[0] for v in os.listdir(folder) if v.endswith("_net.py")]
modules = [importlib.import_module(f"models.{name}") for name in names]
""",
    "in a function": """import importlib, os
def import_all(folder, package):
    for file in os.listdir(folder):
        path = os.path.join(folder, file)
        if not file.startswith("_") and not file.startswith(".") and (file.endswith(".py") or os.path.isdir(path)):
            name = file[: file.find(".py")] if file.endswith(".py") else file
            importlib.import_module(package + "." + name)
import_all(os.path.dirname(__file__), "models")
""",
    "glob": """import glob, importlib
from os.path import basename, dirname, isfile, join
modules = glob.glob(join(dirname(__file__), "*.py"))
for each in [basename(f)[:-3] for f in modules if isfile(f) and not f.endswith("__init__.py")]:
    importlib.import_module("." + each, __name__)
""",
    "scandir": """import importlib, os
with os.scandir(os.path.dirname(__file__)) as entries:
    for entry in entries:
        if entry.is_file() and entry.name.endswith(".py") and not entry.name.startswith("_"):
            importlib.import_module(f"models.{entry.name[:-3]}")
""",
    "pkgutil": """import importlib, pkgutil
for _, name, package in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{name}")
""",
    "pkgutil of a folder": """import importlib, os, pkgutil
for info in pkgutil.walk_packages([os.path.dirname(__file__)], "models."):
    importlib.import_module(info.name)
""",
    "pathlib": """import importlib
from pathlib import Path
for path in Path(__file__).parent.glob("*.py"):
    if path.stem != "__init__":
        importlib.import_module(f"models.{path.stem}")
""",
    "pathlib of a resolved path": """import importlib, pathlib
here = pathlib.Path(__file__).resolve().parent
for path in sorted((here.parent / "models").iterdir()):
    if path.suffix == ".py" and not path.name.startswith("_"):
        importlib.import_module("models." + path.stem)
""",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "models/registry.py").write_text(REGISTRY)
    for name, returned in (("plain", "self.first(x)"), ("soft", "torch.softmax(self.first(x), -1)")):
        text = NET.format(package="models", name=name, returned=returned)
        (tmp_path / f"models/{name}_net.py").write_text("import torch\n" + text)
    return tmp_path


def found(capfd: pytest.CaptureFixture[str]) -> list[str]:
    main(["check", "--no-cache", "--output-format", "concise", "."])
    out, err = capfd.readouterr()
    assert err == ""
    return [line for line in out.splitlines() if line.startswith(("train.py:", "models"))]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_network_of_the_folder_is_known(way: str, project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (project / "models/__init__.py").write_text(way)
    (project / "train.py").write_text(TRAIN.format(name="plain"))
    assert found(capfd) == []
    (project / "train.py").write_text(TRAIN.format(name="soft"))
    [line] = found(capfd)
    assert line.startswith("train.py:8:") and "GCL824" in line and "fragile" not in line
