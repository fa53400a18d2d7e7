"""`gclint report`: the checks of a repository, one after another, as a page."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Iterable, Iterator

from gclint.cli import EXIT_CLEAN
from gclint.cli.output import write_text
from gclint.cli.parser import UsageError
from gclint.report.tally import counted
from gclint.report.trend import Check, Record, page

KEYS = ("cell", "certainty", "code", "condition", "filename", "fingerprint", "location", "message", "name", "severity")


def report(options: Namespace) -> int:
    """Write the page of the checks that the files hold, oldest first; raises `UsageError`."""
    files = list(_files(options.files))
    if not files:
        raise UsageError("name what `gclint check --output-format json-lines` wrote, a file for each check")
    checks = [Check(os.path.splitext(os.path.basename(path))[0], list(_records(path))) for path in files]
    write_text(page(checks), options.html)
    print(f"Wrote {options.html}: {counted(len(checks), 'check')}.")
    return EXIT_CLEAN


def _files(paths: Iterable[str]) -> Iterator[str]:
    """The files that are named, and of a directory those that hold JSON lines, by name."""
    for path in paths:
        if os.path.isdir(path):
            yield from (os.path.join(path, name) for name in sorted(os.listdir(path)) if name.endswith(".jsonl"))
        else:
            yield path


def _records(path: str) -> Iterator[Record]:
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                yield _record(line, f"{path}:{number}")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


def _record(line: str, place: str) -> Record:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if not isinstance(record, dict) or any(key not in record for key in (*KEYS, "url")):
        raise UsageError(f"{place}: no finding as `gclint check --output-format json-lines` writes it")
    return record
