"""gclint beside its peers, in one run: `python tests/benchmarks/speed.py [--transformers] [--rounds N] [--python P]`.

Makes an environment with Ruff, flake8 and this gclint (with `--torchfix` TorchFix too) and one each for ty and pyrefly,
fetches the sources that are checked from the package index at pinned versions, runs every command in turn, round after
round, without a cache, and prints medians of processor and wall seconds (with the smallest and largest) and ratios to
ty as Markdown tables. ty and pyrefly look up what the sources import in the environment of the interpreter `--python`;
without one they know of no torch, and have less to do. Nothing else is written.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("trl==1.16.0", "accelerate==1.15.0", "peft==0.21.2")
LARGE = "transformers==5.23.0"
PEERS = ("ruff==0.17.5", "flake8")
CHECKERS = {"ty": "ty==0.0.105", "pyrefly": "pyrefly==1.4.1"}
SCRIPT = "fixtures/seeds/chatgot/before"
EDITED = "trl/trainer/sft_trainer.py"
LARGE_EDITED = ("transformers/activations.py", "transformers/trainer_pt_utils.py")  # no walk reads the first
PLAIN = "import json\n\n\ndef read(path):\n    with open(path) as file:\n        return json.load(file)\n"
Measured = tuple[float, float]


def main() -> None:
    """Run the benchmark and print its tables."""
    options = _options()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        tools = _Tools(place, options)
        print(f"Medians of {options.rounds} rounds, {os.cpu_count()} cores; (smallest to largest).\n")
        _table("`--version`", tools.starts(), options.rounds)
        script = place / "project"
        shutil.copytree(ROOT / SCRIPT, script)
        _table("one training project of five scripts, cold", tools.checks(script), options.rounds, script)
        plain = place / "plain" / "plain.py"
        plain.parent.mkdir()
        plain.write_text(PLAIN)
        _table("a file without training code, cold", tools.checks(plain), options.rounds)
        sources = _fetched(place / "sources", SOURCES)
        _table("trl + accelerate + peft, cold", tools.checks(sources), options.rounds, sources)
        _again(tools, sources, (EDITED,), options.rounds)
        if options.transformers:
            large = _fetched(place / "large", (LARGE,))
            _table("transformers, cold", tools.checks(large), 1, large)
            _again(tools, large, LARGE_EDITED, options.rounds)


def _again(tools: _Tools, place: Path, edits: Sequence[str], rounds: int) -> None:
    """The tables of a second check, of which the first is remembered."""
    again: dict[str, list[str | Path]] = {"gclint, cached": [tools.scripts / "gclint", "check", place]}
    _timed(again["gclint, cached"])
    _table(f"{place.name}: nothing changed since", again, rounds)
    for edited in edits:
        _table(f"{place.name}: {edited} changed since", again, rounds, edited=place / edited)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--torchfix", action="store_true", help="TorchFix too: minutes for each run")
    parser.add_argument("--transformers", action="store_true", help="the whole of transformers too: minutes")
    parser.add_argument("--python", help="the interpreter whose environment has what the sources import")
    return parser.parse_args()


class _Tools:
    """The programs that are timed: `scripts` holds Ruff, flake8 and gclint, each type checker has its own place."""

    def __init__(self, place: Path, options: argparse.Namespace):
        self.options = options
        self.scripts = _environment(place / "tools", [*PEERS, *(["torchfix"] if options.torchfix else []), str(ROOT)])
        self.checkers = {name: _environment(place / name, [pinned]) / name for name, pinned in CHECKERS.items()}
        self.settings = place / "pyrefly.toml"
        self.settings.write_text("")

    def starts(self) -> dict[str, list[str | Path]]:
        """Commands that only start."""
        return {
            "ty": [self.checkers["ty"], "--version"],
            "pyrefly": [self.checkers["pyrefly"], "--version"],
            "python -c pass": [self.scripts / "python", "-c", "pass"],
            "ruff": [self.scripts / "ruff", "--version"],
            "gclint": [self.scripts / "gclint", "--version"],
        }

    def checks(self, place: Path) -> dict[str, list[str | Path]]:
        """Commands that check a file or folder."""
        at, known = self.scripts, self.options.python
        whole = place / "**" / "*.py" if place.is_dir() else place
        commands: dict[str, list[str | Path]] = {
            "ty": [self.checkers["ty"], "check", "-q", *(["--python", known] if known else []), place],
            "pyrefly": [
                *(self.checkers["pyrefly"], "check", "--config", self.settings),
                *(["--python-interpreter-path", known] if known else []),
                whole,
            ],
            "gclint": [at / "gclint", "check", "--no-cache", place],
            "gclint -j1": [at / "gclint", "check", "--no-cache", "-j1", place],
            "ruff": [at / "ruff", "check", "--no-cache", "--quiet", place],
            "flake8 --select F": [at / "flake8", "--select", "F", "-j1", place],
            "flake8 --select F,GCL": [at / "flake8", "--select", "F,GCL", "-j1", place],
        }
        if self.options.torchfix:
            commands["torchfix"] = [at / "torchfix", place]
        return commands


def _environment(place: Path, packages: Sequence[str]) -> Path:
    venv.create(place, with_pip=True)
    scripts = place / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([scripts / "pip", "install", "-q", *packages], check=True)
    return scripts


def _fetched(place: Path, packages: Sequence[str]) -> Path:
    wheels = place.parent / f"{place.name}-wheels"
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(wheels), *packages]
    subprocess.run(pip, check=True)
    for wheel in wheels.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(place)
    return place


def _table(
    title: str,
    commands: dict[str, list[str | Path]],
    rounds: int,
    cold: Path | None = None,
    edited: Path | None = None,
) -> None:
    """Print one table; before each run what is remembered below `cold` goes, and the file `edited` is changed."""
    measured: dict[str, list[Measured]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            for remembered in list(cold.rglob(".gclint_cache")) if cold is not None else []:
                shutil.rmtree(remembered)
            if edited is not None:
                edited.write_text(edited.read_text() + "# edited\n")
            measured[name].append(_timed(command))
    base = statistics.median(cpu for _, cpu in measured.get("ty", next(iter(measured.values()))))
    to = "ty" if "ty" in measured else "itself"
    print(f"**{title}**\n\n| command | wall s | processor s | processor, to {to} |")
    print("|---|---|---|---|")
    for name, runs in measured.items():
        wall, cpu = _spread([run[0] for run in runs]), _spread([run[1] for run in runs])
        print(f"| {name} | {wall} | {cpu} | {statistics.median(run[1] for run in runs) / base:.2f} |")
    print(flush=True)


def _timed(command: Sequence[str | Path]) -> Measured:
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _spread(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


if __name__ == "__main__":
    main()
