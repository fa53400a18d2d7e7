"""The five reported projects, rewritten file by file."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import libcst as cst

from test_five_days import EXPECTED, NAMES, SEEDS

from . import marks
from .measure import REWRITES, Outcome, Trees, checked
from .rename import renamed

ACROSS_FILES = (
    "other names",
    "imports aliased",
    "imports spelled out",
    "keywords in a dict",
    "values in variables",
    "values as defaults",
    "if turned round",
    "early return",
)


def texts(seed: str) -> dict[str, str]:
    """The Python files of a project, with its expectations as numbered comments."""
    home = SEEDS / seed / "before"
    found = {path.relative_to(home).as_posix(): path.read_text() for path in sorted(home.rglob("*.py"))}
    count = 0
    for name, file, piece, code, _ in EXPECTED:
        if name != seed:
            continue
        count += 1
        lines = found[file].splitlines()
        (row,) = [number for number, line in enumerate(lines) if piece in line]
        lines[row] += f", {code}@{count}" if "# expect:" in lines[row] else f"  # expect: {code}@{count}"
        found[file] = "\n".join(lines) + "\n"
    return found


def words_beside(seed: str) -> set[str]:
    """The words of a project's other files: what they name keeps its name."""
    home = SEEDS / seed / "before"
    return {
        word
        for path in home.rglob("*")
        if path.is_file() and path.suffix in (".yaml", ".yml", ".sh", ".json")
        for word in re.findall(r"[A-Za-z_]\w*", path.read_text())
    }


def measure(rewrite: str, seed: str) -> Outcome:
    """Rewrite one project, and compare what is found with what is expected."""
    outcome = Outcome(seed, rewrite)
    before = texts(seed)
    trees: Trees = {name: cst.parse_module(text) for name, text in before.items()}
    made = renamed(trees, words_beside(seed)) if rewrite == "other names" else REWRITES[rewrite](trees)
    if made is None:
        outcome.applies = False
        return outcome
    after = {name: tree.code for name, tree in made.items()}
    for name, text in after.items():
        compile(text, name, "exec")
    wanted = marks.all_marks(before)
    assert marks.all_marks(after) == wanted, f"{seed}: {rewrite} loses an expectation"
    kept, outcome.false = marks.judged(after, _found(seed, after))
    outcome.expected, outcome.lost = len(wanted), sorted(code for code, _ in wanted - kept)
    return outcome


def _found(seed: str, after: Mapping[str, str]) -> list[tuple[str, int, str]]:
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / seed
        shutil.copytree(SEEDS / seed / "before", home, ignore=shutil.ignore_patterns(".gclint_cache", "__pycache__"))
        for name, text in after.items():
            (home / name).write_text(text)
        return checked(home, {"preview": True})


def measured() -> list[Outcome]:
    """Every rewrite of every project."""
    return [measure(rewrite, seed) for rewrite in ACROSS_FILES for seed in NAMES]
