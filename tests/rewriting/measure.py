"""The measure: how many findings every rewrite keeps, and how many false ones it brings.

`python -m tests.rewriting` prints the table of all fixtures; `--show` also what was lost and what was false,
`--only NAME` takes one rewrite, `--random N` takes N programs with two to five rewrites each, drawn by `--seed`,
`--keep DIR` writes the rewritten programs there.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import libcst as cst

import fixtures
from gclint.check.engine import check
from gclint.check.request import Request

from . import arguments, branches, functions, imports, marks, rename, spellings

Trees = Mapping[str, cst.Module]
Rewrite = Callable[[Trees], "Trees | None"]
MAIN = "train.py"
AS_WRITTEN = "as written"
ALL_OF_THEM = "all of these"


def _single(change: Callable[[cst.Module], cst.Module | None]) -> Rewrite:
    def rewrite(trees: Trees) -> Trees | None:
        made = {name: change(tree) for name, tree in trees.items()}
        return {name: tree or trees[name] for name, tree in made.items()} if any(made.values()) else None

    return rewrite


def _in_turn(*changes: Rewrite) -> Rewrite:
    def rewrite(trees: Trees) -> Trees | None:
        applied = False
        for change in changes:
            made = change({name: cst.parse_module(tree.code) for name, tree in trees.items()})
            applied, trees = applied or made is not None, trees if made is None else made
        return trees if applied else None

    return rewrite


REWRITES: dict[str, Rewrite] = {
    "other names": rename.renamed,
    "imports aliased": imports.aliased,
    "imports spelled out": imports.spelled_out,
    "keywords in a dict": _single(arguments.through_dict),
    "values in variables": _single(arguments.through_variables),
    "values as defaults": _single(arguments.through_defaults),
    "block in a helper": _single(functions.in_helpers),
    "helper as a method": _single(functions.in_classes),
    "helper as a class": _single(functions.on_self),
    "second file": lambda trees: functions.in_a_second_file(trees[MAIN]) if len(trees) == 1 else None,
    "if turned round": _single(branches.turned_round),
    "early return": _single(branches.returned_early),
}
_LAST = "second file"
REWRITES[ALL_OF_THEM] = _in_turn(
    *[change for name, change in reversed(REWRITES.items()) if name != _LAST], REWRITES[_LAST]
)
REWRITES |= {
    "keywords in a partial": _single(spellings.through_partial),
    "callees in variables": _single(spellings.through_callees),
    "values from settings": _single(spellings.through_settings),
    "bodies in blocks": _single(spellings.in_blocks),
}

FEWEST, MOST = 2, 5
_JOINED = " + "


def rewrite_named(name: str) -> Rewrite:
    """The rewrite of a name; names joined by " + " are done one after the other."""
    if name in REWRITES:
        return REWRITES[name]
    return _in_turn(*[REWRITES[part] for part in name.split(_JOINED)])


def drawn(count: int, seed: int, paths: Sequence[Path]) -> list[tuple[str, Path]]:
    """Programs drawn at random, each with two to five different rewrites to be done in a random order. What is drawn
    for a program depends on its name alone: a new fixture leaves the others' as they are.
    """
    single = [name for name in REWRITES if name != ALL_OF_THEM]
    found = []
    for path in paths:
        random = Random(f"{seed} {fixtures.name(path)}")
        found.append((random.random(), _JOINED.join(random.sample(single, random.randint(FEWEST, MOST))), path))
    return [(name, path) for _, name, path in sorted(found)[:count]]


@dataclass
class Outcome:
    """What one rewrite of one fixture came to; `applies` is False where there was nothing to rewrite."""

    fixture: str
    rewrite: str
    applies: bool = True
    expected: int = 0
    lost: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)


@dataclass
class Row:
    """One line of the table."""

    name: str
    programs: int = 0
    expected: int = 0
    lost: int = 0
    false: int = 0

    @property
    def share(self) -> float:
        """The part of the findings that was kept."""
        return 1 - self.lost / self.expected if self.expected else 1.0


def programs() -> list[Path]:
    """The fixtures that are Python."""
    return [path for path in (*fixtures.scripts("bad_"), *fixtures.scripts("good_")) if path.suffix == ".py"]


def measure(rewrite: str, path: Path, keep: Path | None = None) -> Outcome:
    """Rewrite one fixture, and compare what is found with what is expected."""
    text = marks.numbered(path.read_text())
    outcome = Outcome(fixtures.name(path), rewrite)
    trees: Trees = {MAIN: cst.parse_module(text)}
    made = trees if rewrite == AS_WRITTEN else rewrite_named(rewrite)(trees)
    if made is None:
        outcome.applies = False
        return outcome
    texts = {name: tree.code for name, tree in made.items()}
    for name, changed in texts.items():
        compile(changed, name, "exec")
    if keep is not None:
        _write(texts, text, keep / rewrite.replace(" ", "_") / path.parent.name / path.stem)
    wanted = marks.all_marks({MAIN: text})
    assert marks.all_marks(texts) == wanted, f"{outcome.fixture}: {rewrite} loses an expectation"
    kept, outcome.false = marks.judged(texts, _found(texts, text))
    outcome.expected = len(wanted)
    outcome.lost = sorted(code for code, _ in wanted - kept)
    return outcome


def _found(texts: Mapping[str, str], original: str) -> list[tuple[str, int, str]]:
    with tempfile.TemporaryDirectory() as place:
        _write(texts, original, Path(place))
        return checked(Path(place), fixtures.settings_of(original))


def checked(place: Path, settings: dict[str, Any]) -> list[tuple[str, int, str]]:
    """(file, line, code) of everything gclint finds in a directory."""
    report = check(Request([str(place)], settings, cache=False))
    assert not report.problems, report.problems
    return [
        (
            os.path.relpath(os.path.join(os.getcwd(), item.location.path), os.path.realpath(place)),
            item.location.line,
            item.code,
        )
        for item in report.findings
    ]


def _write(texts: Mapping[str, str], original: str, place: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)
    fixtures.stage(original, place, MAIN)
    for name, changed in texts.items():
        (place / name).write_text(changed)


def _try(task: tuple[str, Path], keep: Path | None = None) -> Outcome:
    return measure(*task, keep)


def measured(names: Iterable[str], paths: Sequence[Path], keep: Path | None = None) -> list[Outcome]:
    """Every rewrite of every fixture that gclint judges as expected when it stands as written."""
    return _judged([(name, path) for name in names for path in paths], keep)


def measured_at_random(count: int, seed: int, paths: Sequence[Path], keep: Path | None = None) -> list[Outcome]:
    """Rewrites combined at random (see `drawn`), of fixtures as `measured` takes them."""
    return _judged(drawn(count, seed, paths), keep)


def _judged(tasks: Sequence[tuple[str, Path]], keep: Path | None) -> list[Outcome]:
    tasks = [*((AS_WRITTEN, path) for path in dict.fromkeys(path for _, path in tasks)), *tasks]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(partial(_try, keep=keep), tasks, chunksize=8))
    wrong = {item.fixture for item in outcomes if item.rewrite == AS_WRITTEN and (item.lost or item.false)}
    return [item for item in outcomes if item.fixture not in wrong]


def rows(outcomes: Iterable[Outcome]) -> list[Row]:
    """The table: a row per rewrite, or per number of rewrites combined, and one of all of them."""
    table: dict[str, Row] = {}
    total = Row("all rewrites")
    for item in outcomes:
        if not item.applies or item.rewrite == AS_WRITTEN:
            continue
        for row in (table.setdefault(_row(item.rewrite), Row(_row(item.rewrite))), total):
            row.programs += 1
            row.expected += item.expected
            row.lost += len(item.lost)
            row.false += len(item.false)
    return [*table.values(), total]


def _row(rewrite: str) -> str:
    combined = rewrite.count(_JOINED) + 1
    return rewrite if combined == 1 else f"{combined} at random"


def printed(table: Iterable[Row]) -> str:
    """The table as text."""
    lines = [f"{'rewrite':22}{'programs':>10}{'findings':>10}{'kept':>8}{'':>9}{'false':>8}"]
    for row in table:
        kept = row.expected - row.lost
        lines.append(f"{row.name:22}{row.programs:>10}{row.expected:>10}{kept:>8}{row.share:>9.1%}{row.false:>8}")
    return "\n".join(lines)


def main(arguments_: Sequence[str]) -> int:
    """Print the measure; the exit status is 1 where it is below what is promised."""
    parser = argparse.ArgumentParser(prog="python -m tests.rewriting", description=__doc__)
    parser.add_argument("--show", action="store_true", help="list what was lost and what was false")
    parser.add_argument("--only", action="append", choices=list(REWRITES))
    parser.add_argument("--random", type=int, metavar="N", help="N programs, each with rewrites combined at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--code", default="GCL", help="only fixtures of codes that begin so")
    parser.add_argument("--keep", type=Path, help="write the rewritten programs here")
    asked = parser.parse_args(arguments_)
    paths = [path for path in programs() if path.parent.name.startswith(asked.code)]
    if asked.random is not None:
        outcomes = measured_at_random(asked.random, asked.seed, paths, asked.keep)
    else:
        outcomes = measured(asked.only or list(REWRITES), paths, asked.keep)
    if asked.show:
        for item in outcomes:
            for what, listed in (("lost", item.lost), ("false", item.false)):
                if listed:
                    print(f"{item.rewrite:20} {item.fixture:36} {what:6}{', '.join(listed)}")
    table = sorted(rows(outcomes)[:-1], key=lambda row: row.name) if asked.random else rows(outcomes)[:-1]
    table.append(rows(outcomes)[-1])
    print(printed(table))
    judged = len({item.fixture for item in outcomes})
    taken = len(paths) if asked.random is None else len({path for _, path in drawn(asked.random, asked.seed, paths)})
    print(f"{judged} of {taken} programs give what they expect as they are written; only these are rewritten")
    return int(table[-1].share < 0.95 or table[-1].false > 0)
