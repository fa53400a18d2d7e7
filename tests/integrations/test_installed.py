"""The source archive and the wheel as a user gets them, in empty environments, at both ends of what LibCST may be.

Installs packages, so not in the default run: `pytest -m corpus tests/integrations/test_installed.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.corpus
ROOT = Path(__file__).parents[2]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
TRAINING = """\
import torch
from torch.utils.checkpoint import checkpoint

for batch in loader:
    checkpoint(model, batch, use_reentrant=True).backward()
    torch.load("state.pt")
    checkpoint(model, batch).backward()
"""


def done(*command: object, where: Path = ROOT) -> tuple[int, str]:
    made = subprocess.run([str(word) for word in command], cwd=where, env=ENVIRONMENT, text=True, capture_output=True)
    return made.returncode, made.stdout + made.stderr


def environment(place: Path, *packages: object) -> Path:
    """An empty environment with these packages; the folder of its commands."""
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    status, said = done(place / "bin/python", "-m", "pip", "install", "-q", *packages)
    assert status == 0, said
    return place / "bin"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive, and the wheel that is made of it."""
    place = tmp_path_factory.mktemp("built")
    tools = environment(place / "tools", "build")
    status, said = done(tools / "python", "-m", "build", "--outdir", place)
    assert status == 0, said
    return place


def test_the_source_archive_holds_what_a_packager_wants(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    wanted = {
        "docs/rules.md",
        "mkdocs.yml",
        "AGENTS.md",
        "skills/gclint/SKILL.md",
        "recipe/recipe.yaml",
        "tests/test_fixtures.py",
        "constraints.txt",
        "LICENSE",
        "CHANGELOG.md",
    }
    assert wanted <= names
    assert not [name for name in names if name.endswith(".pyc")]


@pytest.mark.parametrize("packages", [["torchfix", "libcst==1.5.0"], ["torchfix"], ["libcst"]], ids=" ".join)
def test_the_wheel_checks_and_fixes(built: Path, tmp_path: Path, packages: list[str]) -> None:
    (wheel,) = built.glob("*.whl")
    tools = environment(tmp_path / "environment", wheel, *packages)
    assert done(tools / "python", "-m", "pip", "check") == (0, "No broken requirements found.\n")
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text(TRAINING)
    status, said = done(tools / "gclint", "check", "--output-format", "concise", where=project)
    assert status == 1
    assert "train.py:7:5: GCL501" in said
    if "torchfix" in packages:
        codes = {line.split()[1] for line in done(tools / "flake8", "train.py", where=project)[1].splitlines()}
        assert {"GCL501", "TOR003", "TOR102"} <= codes
    assert done(tools / "gclint", "fix", where=project)[0] == 0
    fixed = TRAINING.replace("batch).backward", "batch, use_reentrant=False).backward")
    assert (project / "train.py").read_text() == fixed
