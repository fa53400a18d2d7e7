"""gclint beside its peers, in one run: `python tests/benchmarks/speed.py [--torchfix] [--transformers] [--rounds N]`.

Makes an environment of its own with the peers (Ruff, flake8, with `--torchfix` TorchFix too) and this gclint, fetches
the sources that are checked from the package index at pinned versions, runs every command in turn, round after round,
and prints medians of wall and processor seconds (with the smallest and largest) and ratios to Ruff as Markdown tables.
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
        tools = _environment(place / "tools", [*PEERS, *(["torchfix"] if options.torchfix else [])])
        print(f"Medians of {options.rounds} rounds, {os.cpu_count()} cores; (smallest to largest).\n")
        _table("`--version`", _starts(tools), options.rounds)
        script = place / "project"
        shutil.copytree(ROOT / SCRIPT, script)
        _table("one training project, cold", _checks(tools, script, False), options.rounds, script)
        plain = place / "plain.py"
        plain.write_text(PLAIN)
        _table("a file without training code, cold", _checks(tools, plain, False), options.rounds)
        sources = _fetched(place / "sources", SOURCES)
        _table("trl + accelerate + peft, cold", _checks(tools, sources, options.torchfix), options.rounds, sources)
        again: list[str | Path] = [tools / "gclint", "check", sources]
        _timed(again)
        _table("the same, nothing changed since", {"gclint, cached": again}, options.rounds)
        _table("the same, one file changed since", {"gclint, cached": again}, options.rounds, edited=sources / EDITED)
        if options.transformers:
            large = _fetched(place / "large", (LARGE,))
            _table("transformers, cold", _checks(tools, large, options.torchfix), 1, large)
            again = [tools / "gclint", "check", large]
            _timed(again)
            for edited in LARGE_EDITED:
                title = f"transformers, {edited} changed since"
                _table(title, {"gclint, cached": again}, options.rounds, edited=large / edited)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--torchfix", action="store_true", help="TorchFix too: minutes for each run")
    parser.add_argument("--transformers", action="store_true", help="the whole of transformers too: minutes")
    return parser.parse_args()


def _environment(place: Path, peers: Sequence[str]) -> Path:
    venv.create(place, with_pip=True)
    scripts = place / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([scripts / "pip", "install", "-q", *peers, str(ROOT)], check=True)
    return scripts


def _fetched(place: Path, packages: Sequence[str]) -> Path:
    wheels = place.parent / f"{place.name}-wheels"
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(wheels), *packages]
    subprocess.run(pip, check=True)
    for wheel in wheels.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(place)
    return place


def _starts(tools: Path) -> dict[str, list[str | Path]]:
    return {
        "python -c pass": [tools / "python", "-c", "pass"],
        "ruff": [tools / "ruff", "--version"],
        "gclint": [tools / "gclint", "--version"],
    }


def _checks(tools: Path, place: Path, torchfix: bool) -> dict[str, list[str | Path]]:
    commands: dict[str, list[str | Path]] = {
        "ruff": [tools / "ruff", "check", "--no-cache", "--quiet", place],
        "gclint": [tools / "gclint", "check", "--no-cache", place],
        "gclint -j1": [tools / "gclint", "check", "--no-cache", "-j1", place],
        "flake8 --select F": [tools / "flake8", "--select", "F", "-j1", place],
        "flake8 --select F,GCL": [tools / "flake8", "--select", "F,GCL", "-j1", place],
    }
    if torchfix:
        commands["torchfix"] = [tools / "torchfix", place]
    return commands


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
    base = statistics.median(cpu for _, cpu in measured.get("ruff", next(iter(measured.values()))))
    to = "ruff" if "ruff" in measured else "itself"
    print(f"**{title}**\n\n| command | wall s | processor s | processor, to {to} |")
    print("|---|---|---|---|")
    for name, runs in measured.items():
        wall, cpu = _spread([run[0] for run in runs]), _spread([run[1] for run in runs])
        print(f"| {name} | {wall} | {cpu} | {statistics.median(run[1] for run in runs) / base:.1f} |")
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
