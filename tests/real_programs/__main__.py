"""The table of real programs: see the docstring of this package."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tests.real_programs.rows import Row, rows
from tests.real_programs.runs import Result, run

SHARE = 0.8


def main() -> int:
    """Run the rows that are asked for; 1 where a verdict is wrong or too few reach a run."""
    parser = argparse.ArgumentParser(prog="python -m tests.real_programs")
    parser.add_argument("--checkouts", type=Path, required=True, help="holds OWNER+NAME for every repository")
    parser.add_argument("--only", action="append", default=[], help="a row's name, or a part of it")
    parser.add_argument("--table", type=Path, action="append", help="a YAML file (default: all of this folder)")
    parser.add_argument("--json", type=Path, help="write the results there")
    parser.add_argument("--timeout", type=float, default=240.0, help="seconds for each run of a program")
    parser.add_argument("--keep", type=Path, help="keep the planted projects and the reports below this folder")
    options = parser.parse_args()
    wanted = [row for row in rows(options.table) if not options.only or any(each in row.name for each in options.only)]
    results: list[Result] = []
    for row in wanted:
        with tempfile.TemporaryDirectory() as scratch:
            place = options.keep / row.name.replace(" ", "-") if options.keep else Path(scratch)
            results.append(run(row, options.checkouts, place, options.timeout))
        print(line(row, results[-1]), flush=True)
        if options.json:
            options.json.write_text(json.dumps([each.to_data() for each in results], indent=2), encoding="utf-8")
    reached = sum(each.reached for each in results)
    told = zip(wanted, results, strict=True)
    wrong = [row.name for row, each in told if each.proof and each.verdict not in (row.verdict, "unverified")]
    print(f"\n{reached} of {len(results)} reach a run of their own; wrong verdicts: {', '.join(wrong) or 'none'}")
    return int(bool(wrong) or reached < SHARE * len(results))


def line(row: Row, result: Result) -> str:
    """One line of the table: program, code, evidence, verdict, seconds, reason."""
    cells = (row.name, row.code, result.evidence, result.verdict, f"{result.seconds:.0f}", result.reason[:200])
    return "| " + " | ".join(each.replace("|", "/").replace("\n", " ") for each in cells) + " |"


if __name__ == "__main__":
    sys.exit(main())
