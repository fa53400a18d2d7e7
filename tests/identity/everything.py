"""Everything that gclint says of every fixture and project, as JSON lines: for one process with one hash seed.

`python -m identity.everything DIRECTORY [--ungated] [--cached] [--edited] [--jobs N] [--share K]` writes the
programs to the empty DIRECTORY; with `--share` every K-th of them, chosen by name.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import fixtures
from gclint.check import program
from gclint.check.engine import check
from gclint.check.findings import Judge, builtin_judge
from gclint.check.request import Request
from gclint.rule import load_rules
from gclint.run.events import ConfigurationRead
from projects import reader

LONG_AGO = 1_000_000_000


def ungated() -> Judge:
    """The judge that walks every program for every rule, whatever words occur."""
    judge = builtin_judge()
    rules = tuple(rule if rule.listens(ConfigurationRead) else replace(rule, words=()) for rule in load_rules())
    return replace(judge, gated=False, rules=rules)


def staged(place: Path) -> Iterator[tuple[str, Path, dict[str, str]]]:
    """Every program's name, the directory it was written to, and its target versions."""
    for path in (*fixtures.scripts("bad_"), *fixtures.scripts("good_")):
        text = path.read_text()
        directory = place / fixtures.name(path)
        directory.mkdir(parents=True)
        fixtures.stage(text, directory)
        yield fixtures.name(path), directory, fixtures.target_of(text)
    for project in reader.projects():
        for side, files in (("true", project.true), ("false", project.false)):
            directory = place / project.name / side
            reader.write(files, directory)
            yield f"{project.name} {side}", directory, project.target


def lines(place: Path, judge: Judge | None, twice: bool, edited: bool, share: int) -> Iterator[str]:
    """One line per program: its name, and its findings with all that they say.

    With `twice` every program is checked and remembered first, and what is remembered is said. With `edited` each of
    its modules is emptied in turn, and then written again, and at last all of them get a comment more for a while,
    between checks that remember their walks and what they learnt.
    """
    for name, directory, target in staged(place):
        if zlib.crc32(name.encode()) % share:
            continue
        os.chdir(directory)
        for path in directory.rglob("*"):
            os.utime(path, (LONG_AGO, LONG_AGO))
        request = Request(["."], {"target": target, "preview": True}, cache=twice or edited)
        if edited:
            modules = sorted(directory.rglob("*.py"))
            for path in modules:
                emptied(path, lambda request=request: check(request))
            commented(modules, lambda request=request: check(request))
        if twice:
            check(request)
            assert (directory / ".gclint_cache").exists(), f"{name} is not remembered"
        report = check(request, judge)
        assert not report.problems, (name, report.problems)
        yield json.dumps([name, [asdict(finding) for finding in report.findings]], sort_keys=True)


def emptied(path: Path, meanwhile: Callable[[], object]) -> None:
    """Do something while a file is empty; it is as it was afterwards."""
    text = path.read_bytes()
    path.write_bytes(b"")
    meanwhile()
    path.write_bytes(text)
    os.utime(path, (LONG_AGO, LONG_AGO))


def commented(paths: list[Path], meanwhile: Callable[[], object]) -> None:
    """Do something before and while every file has a comment at its start; they are as they were afterwards."""
    texts = [path.read_bytes() for path in paths]
    meanwhile()
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text if text.startswith((b"#!", b"# -*-", b"\xef")) else b"# a word\n" + text)
    meanwhile()
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text)
        os.utime(path, (LONG_AGO, LONG_AGO))


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--ungated", action="store_true")
    parser.add_argument("--cached", action="store_true")
    parser.add_argument("--edited", action="store_true")
    parser.add_argument("--jobs", type=int, help="divide every check among as many processes, from its first walk on")
    parser.add_argument("--share", type=int, default=1, help="one of so many programs")
    asked = parser.parse_args()
    judge = ungated() if asked.ungated else None
    if asked.jobs:
        program.SECONDS_ALONE = -1.0
        judge = builtin_judge(asked.jobs)
    for line in lines(asked.directory.resolve(), judge, asked.cached, asked.edited, asked.share):
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
