"""gclint, TorchFix and torch-preflight over the same code: `python tests/benchmarks/side_by_side.py --torchfix DIR
--folder DIR --limit N --missed FILE`.

Makes an environment for each tool, runs each over TorchFix's own checker fixtures (of a checkout of its repository: the
package brings none) and over each repository in a folder, one after another in one process each, and prints what each
found by its code, its processor seconds, and how much of what the peers found gclint says at the same place. What it
does not say is written to a file, one finding a line, to be read and judged.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
import venv
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "gclint": (str(ROOT),),
    "TorchFix": ("TorchFix==0.7.0", "setuptools"),
    "torch-preflight": ("torch-preflight==0.5.0",),
}
# which of gclint's codes speaks of the same fault; none where no rule of gclint does
SAME: dict[str, tuple[str, ...]] = {
    "TOR001": ("GCL906",),
    "TOR002": ("GCL714",),
    "TOR003": ("GCL501",),
    "TOR004": ("GCL906",),
    "TOR101": ("GCL906", "GCL902"),
    "TOR102": ("GCL307",),
    "TOR103": ("GCL906", "GCL902"),
    "TOR104": ("GCL908",),
    "TOR105": ("GCL908",),
    "TOR201": ("GCL907",),
    "TOR202": ("GCL907",),
    "TG001": ("GCL814",),
    "TG002": ("GCL816",),
    "TG003": ("GCL805", "GCL806"),
    "TG005": ("GCL824",),
    "TG006": ("GCL825",),
    "TG011": ("GCL708",),
    "TG012": ("GCL219",),
    "TG014": ("GCL807",),
}
NEAR = 3  # lines between two marks of one fault: the call, or the statement or argument that makes it one
LIMIT = 600  # seconds for one tool on one repository
TOLD = re.compile(r"^(?P<path>[^:\n]+):(?P<line>\d+):\d+: (?P<code>TOR\d+) (?P<text>.*)$", re.MULTILINE)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Told(NamedTuple):
    """One finding of a tool: where, and by which code."""

    path: str
    line: int
    code: str
    text: str


class Ran(NamedTuple):
    """What a tool said of a place, and its processor seconds; None for one that was not done in time."""

    told: list[Told]
    seconds: float | None


def main() -> None:
    """Run the comparison and print its tables."""
    options = _options()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        programs = {name: _environment(place / name, packages) for name, packages in PACKAGES.items()}
        missed: list[str] = []
        if options.torchfix:
            fixtures = _checker_fixtures(options.torchfix, place / "fixtures")
            missed += _compare("TorchFix's own fixtures", [fixtures], programs)
        if options.folder:
            found = sorted(path for path in options.folder.iterdir() if path.is_dir())[options.skip :]
            missed += _compare(f"{options.folder.name}", found[: options.limit], programs)
        options.missed.write_text("".join(f"{line}\n" for line in missed))
        print(f"{len(missed)} findings of theirs that gclint does not make: {options.missed}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torchfix", type=Path, help="a checkout of TorchFix's repository")
    parser.add_argument("--folder", type=Path, help="a folder of repositories")
    parser.add_argument("--limit", type=int, default=20, help="how many of them")
    parser.add_argument("--skip", type=int, default=0, help="how many to leave out first")
    parser.add_argument("--missed", type=Path, default=Path("missed.txt"), help="where the list goes")
    return parser.parse_args()


def _environment(place: Path, packages: Iterable[str]) -> Path:
    """An environment with these packages; returns the folder of its programs."""
    venv.create(place, with_pip=True)
    subprocess.run([place / "bin/pip", "install", "--quiet", *packages], check=True)
    return place / "bin"


def _checker_fixtures(checkout: Path, place: Path) -> Path:
    """The programs of TorchFix's checker tests, in a folder of their own."""
    for path in sorted((checkout / "tests/fixtures").glob("*/checker/*.py")):
        target = place / path.parent.parent.name / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    return place


def _compare(title: str, places: list[Path], programs: dict[str, Path]) -> list[str]:
    """Run all tools over the places and print the tables; returns what gclint does not say, in words."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in programs}
    seconds = dict.fromkeys(programs, 0.0)
    said: Counter[str] = Counter()
    late: Counter[str] = Counter()
    missed = []
    for place in places:
        ran = {name: _run(name, programs[name], place) for name in programs}
        for name, (told, used) in ran.items():
            counts[name].update(each.code for each in told)
            seconds[name] += used or LIMIT
            late[name] += used is None
        own = ran["gclint"].told
        theirs = [each for name in programs if name != "gclint" for each in ran[name].told]
        for each in theirs:
            if _answered(each, own, theirs):
                said[each.code] += 1
            else:
                missed.append(f"{place.name}/{os.path.relpath(each.path, place)}:{each.line}: {each.code} {each.text}")
    _print(title, len(places), counts, seconds, said, late)
    return missed


def _print(
    title: str,
    places: int,
    counts: dict[str, Counter[str]],
    seconds: dict[str, float],
    said: Counter[str],
    late: Counter[str],
) -> None:
    print(
        f"**{title}** ({places})\n\n| tool | findings | processor seconds | not done in {LIMIT} s |\n|---|---|---|---|"
    )
    for name, found in counts.items():
        print(f"| {name} | {found.total()} | {seconds[name]:.0f} | {late[name]} |")
    print("\n| code | found | gclint says so too | by |\n|---|---|---|---|")
    for name, found in counts.items():
        for code, number in sorted(found.items() if name != "gclint" else ()):
            print(f"| {code} | {number} | {said[code]} | {', '.join(SAME.get(code, ())) or '-'} |")
    print(f"\ngclint: {', '.join(f'{code} {number}' for code, number in sorted(counts['gclint'].items()))}\n")


def _answered(other: Told, own: list[Told], theirs: list[Told]) -> bool:
    """Whether gclint speaks of the same fault: on the line, or near it where that is no other mark's own line."""
    codes = SAME.get(other.code, ())
    lines = {each.line for each in own if each.code in codes and each.path == other.path}
    marked = {each.line for each in theirs if each.code == other.code and each.path == other.path}
    return other.line in lines or any(abs(line - other.line) <= NEAR for line in lines - marked)


def _run(name: str, programs: Path, place: Path) -> Ran:
    """One tool over a place."""
    commands = {
        "gclint": ["gclint", "check", "--no-cache", "--output-format", "json", str(place)],
        "TorchFix": ["torchfix", "-j", "1", str(place)],
        "torch-preflight": ["torch-preflight", "check", "-j", "1", "--format", "json", str(place)],
    }
    program, *arguments = commands[name]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    try:
        done = subprocess.run(
            [programs / program, *arguments], capture_output=True, text=True, timeout=LIMIT, env=environment
        )
    except subprocess.TimeoutExpired:
        return Ran([], None)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    readers = {"gclint": _of_gclint, "TorchFix": _of_torchfix, "torch-preflight": _of_preflight}
    return Ran([each._replace(path=os.path.abspath(each.path)) for each in readers[name](done.stdout)], used)


def _of_gclint(output: str) -> Iterator[Told]:
    for each in json.loads(output or "[]"):
        yield Told(each["filename"], each["location"]["row"], each["code"], each["message"])


def _of_torchfix(output: str) -> Iterator[Told]:
    for match in TOLD.finditer(COLOUR.sub("", output)):
        yield Told(match["path"], int(match["line"]), match["code"], match["text"])


def _of_preflight(output: str) -> Iterator[Told]:
    for each in json.loads(output or "{}").get("diagnostics", ()):
        yield Told(each["path"], each["line"], each["code"], each["message"])


if __name__ == "__main__":
    main()
