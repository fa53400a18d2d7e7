"""The analysis compiled by mypyc (setup.py): that it still can be, and that it then says what it says as Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = ("gclint", "rules", "fixtures", "setup.py", "pyproject.toml", "README.md", "LICENSE")
FRONT = "import setup; from mypyc.build import mypycify; mypycify(setup.modules(), target_dir='out', multi_file=True)"


def copied(place: Path) -> Path:
    """What a wheel is built from."""
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, place / part, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        else:
            shutil.copy(source, place / part)
    return place


def test_every_module_that_is_compiled_can_be(tmp_path: Path) -> None:
    told = subprocess.run([sys.executable, "-c", FRONT], cwd=copied(tmp_path), capture_output=True, text=True)
    assert told.returncode == 0, told.stdout[-2000:] + told.stderr[-2000:]
    assert len(list((tmp_path / "out").rglob("__native_gclint___run___*.c"))) > 50


def test_compiled_it_says_the_same(tmp_path: Path) -> None:
    copied(tmp_path / "source")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-build-isolation",
        "--no-deps",
        "-q",
        "-w",
        str(tmp_path),
        ".",
    ]
    subprocess.run(command, cwd=tmp_path / "source", env={**os.environ, "GCLINT_COMPILE": "1"}, check=True)
    with zipfile.ZipFile(next(tmp_path.glob("gclint-*.whl"))) as wheel:
        wheel.extractall(tmp_path / "compiled")
    names = [path.name for path in sorted((ROOT / "fixtures").glob("GCL[0-9]*"))]
    told = {kind: findings(place, names) for kind, place in (("python", ROOT), ("compiled", tmp_path / "compiled"))}
    assert len(told["python"]) > 900
    assert told["compiled"] == told["python"]


def findings(place: Path, names: list[str]) -> list[str]:
    """What the gclint at a place says of the fixtures of these rules, a line each."""
    asks = "import gclint.run.guards as it, gclint.cli; print(it.__file__); gclint.cli.start()"
    options = ["check", "--no-cache", "--preview", "--output-format", "json", *names]
    environment = {**os.environ, "PYTHONPATH": str(place)}
    done = subprocess.run(
        [sys.executable, "-c", asks, *options], cwd=ROOT / "fixtures", env=environment, capture_output=True, text=True
    )
    module, _, text = done.stdout.partition("\n")
    assert module.startswith(str(place)) and module.endswith(".py" if place == ROOT else (".so", ".pyd")), module
    assert done.returncode == 1, done.stderr
    return [
        f"{each['filename']}:{each['location']['row']} {each['code']} {each['message']}" for each in json.loads(text)
    ]
