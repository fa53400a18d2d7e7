"""The table of what is known: see the docstring of this package."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gclint.launch.command_line import planned
from gclint.rehearse.program import program_named
from gclint.rehearse.rehearsal import rehearse
from gclint.verify import Options, Verifier
from tests.knowledge.derived import derived
from tests.knowledge.facts import Judged, judged
from tests.knowledge.observed import observed
from tests.knowledge.page import page, totals
from tests.real_programs.rows import TABLES, Row, rows
from tests.real_programs.runs import lay_out

OWN = Path(__file__).with_name("programs.yaml")


def main() -> int:
    """Run the programs that are asked for; 1 where a value is contradicted."""
    options = _options()
    results: dict[str, Any] = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    for row in rows(options.table or (*TABLES, OWN)):
        asked = not options.only or any(each in row.name for each in options.only)
        if not asked or (options.left and row.name in results):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            results[row.name] = _result(replace(row, plant=()), options, Path(scratch))
        print(row.name, results[row.name].get("failed") or totals([results[row.name]]), flush=True)
        if options.json:
            options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(page(results), encoding="utf-8")
    print(totals(results.values()))
    return int(any(each["state"] == "contradicted" for made in results.values() for each in made.get("facts", ())))


def _result(row: Row, options: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """The facts of one program with how each is known; or why there are none."""
    project = Path(os.path.realpath(scratch)) / "project"
    try:
        lay_out(row, options.checkouts, project)
        (project / ".git").mkdir()  # the project is all of it, as it is where the repository was cloned
        facts, unseen = held(shlex.split(row.program), project, options.timeout)
    except Exception as error:
        if options.trace:
            traceback.print_exc()
        return {"failed": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"}
    told = [
        {"event": each.fact.event, "at": each.fact.place, "state": each.state, "about": each.about} for each in facts
    ]
    return {"facts": told, "not observed": unseen}


def held(words: list[str], project: Path, timeout: float) -> tuple[list[Judged], int]:
    with _inside(project), tempfile.TemporaryDirectory() as place, Verifier(Options(timeout=timeout)) as verifier:
        recipe = program_named(words, os.getcwd())
        made = rehearse(recipe, verifier, Path(place), ("parameters",))
        if not made.recording.first.steps:
            raise RuntimeError(f"{made.outcome.status}: {made.outcome.reason}")
        seen = observed(made.recording)
        given = ["python", *words] if words[0].endswith(".py") else words
        told = derived(planned(given, os.environ, os.getcwd())[0].launch, Path(recipe.copy_of))
    places = {(each.event, each.place) for each in seen}
    unseen = {item.place for item in told if not any(e == item.event and item.is_at(p) for e, p in places)}
    return judged(seen, told), len(unseen)


@contextlib.contextmanager
def _inside(directory: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.knowledge")
    parser.add_argument("--checkouts", type=Path, required=True, help="holds OWNER+NAME for every repository")
    parser.add_argument("--only", action="append", default=[], help="a part of a row's name")
    parser.add_argument(
        "--table", type=Path, action="append", help="a YAML file (default: tests/real_programs' and programs.yaml here)"
    )
    parser.add_argument("--json", type=Path, help="write the results there; those of other rows in it stay")
    parser.add_argument("--markdown", type=Path, help="write the page there")
    parser.add_argument("--left", action="store_true", help="only rows that have no result in the JSON file yet")
    parser.add_argument("--timeout", type=float, default=240.0, help="seconds for a run of a program")
    parser.add_argument("--trace", action="store_true", help="show where a row failed")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
