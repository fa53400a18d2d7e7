"""The table of real programs: see the docstring of this package."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tests.real_programs.evidence import evidence
from tests.real_programs.page import is_wrong, line, page
from tests.real_programs.rows import rows
from tests.real_programs.runs import Result, read_results, run, write_results

SHARE = 0.8
NOT_RUN = "not run in this measurement: it counts as not reached"


def main() -> int:
    """Run the rows that are asked for; 1 where a verdict is wrong or too few reach a run."""
    options = _options()
    every = rows(options.table)
    names = {row.name for row in every}
    wanted = [row for row in every if not options.only or any(_asks(each, row.name, names) for each in options.only)]
    results: dict[str, Result] = read_results(options.json) if options.json else {}
    wanted = [row for row in wanted if not (options.left and row.name in results)]
    for row in [] if options.no_run else wanted:
        with tempfile.TemporaryDirectory() as scratch:
            place = options.keep / row.name.replace(" ", "-") if options.keep else Path(scratch)
            results[row.name] = replace(run(row, options.checkouts, place, options.timeout), revision=options.revision)
        print(line(row, results[row.name]), flush=True)
        if options.json:
            write_results(options.json, results)
    told = [(row, results[row.name]) for row in every if row.name in results]
    missing = [(row, Result(row.name, "none", "none", 0.0, NOT_RUN)) for row in every if row.name not in results]
    if options.markdown:
        planted = [(row, each) for row, each in [*told, *missing] if row.plant]
        options.markdown.write_text(page(planted), encoding="utf-8")
    if options.evidence:
        options.evidence.write_text(evidence([*told, *missing]), encoding="utf-8")
    reached = [row.name for row, each in told if each.reached and each.verdict == row.verdict]
    wrong = [row.name for row, each in told if is_wrong(row, each)]
    print(f"\n{len(reached)} of {len(told)} reach the right verdict; wrong verdicts: {', '.join(wrong) or 'none'}")
    return int(bool(wrong) or len(reached) < SHARE * len(told))


def _asks(only: str, name: str, names: set[str]) -> bool:
    """Whether `--only` means a row: by its whole name where there is one of that name, else by a part of it."""
    return only == name if only in names else only in name


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.real_programs")
    parser.add_argument("--checkouts", type=Path, required=True, help="holds OWNER+NAME for every repository")
    parser.add_argument("--only", action="append", default=[], help="a row's name, or a part of it")
    parser.add_argument("--table", type=Path, action="append", help="a YAML file (default: all of this folder)")
    parser.add_argument("--json", type=Path, help="write the results there; those of other rows in it stay")
    parser.add_argument("--markdown", type=Path, help="write the page of all rows there")
    parser.add_argument("--evidence", type=Path, help="write the page of failures that are not planted there")
    parser.add_argument("--left", action="store_true", help="only rows that have no result in the JSON file yet")
    parser.add_argument("--no-run", action="store_true", help="run nothing: the page of the results that there are")
    parser.add_argument("--timeout", type=float, default=240.0, help="seconds for each run of a program")
    parser.add_argument("--keep", type=Path, help="keep the planted projects and the reports below this folder")
    parser.add_argument("--revision", default=_revision(), help="what the results say of gclint (default: git's)")
    return parser.parse_args()


def _revision() -> str:
    done = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
