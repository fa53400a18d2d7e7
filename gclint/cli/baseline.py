"""Findings that are known, by content so that they stay known when lines move; `--baseline` keeps them in a file."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from gclint.cli.output import write_text
from gclint.cli.parser import UsageError
from gclint.finding import Finding
from gclint.report.content import UNREADABLE, Report
from gclint.report.fingerprint import content_hash
from gclint.report.tally import counted
from gclint.source.source import content

VERSION = 1
ANYWHERE = "*"
Entry = dict[str, Any]
Naming = Callable[[Finding], str]


def against_baseline(report: Report, path: str, update: bool = False) -> Report:
    """Return `report` without the findings that the baseline at `path` has; write the baseline when it is
    missing. Raises `UsageError` for a file that is no baseline.
    """
    if os.path.exists(path) and not _may_be_one(path):
        raise UsageError(f"{path}: not a baseline of gclint; name another file, or delete it")
    if update or not os.path.exists(path):
        known = [finding for finding in report.findings if finding.code != UNREADABLE]
        write_text(_text(report, path), path)
        print(f"Wrote {counted(len(known), 'finding')} to {path}.", file=sys.stderr)
        return replace(report, findings=tuple(item for item in report.findings if item not in known))
    entries = _entries(path)
    fresh = without_known(report, entries, path, lambda finding: _relative(finding, path), _directory(path))
    gone = len(entries) - (len(report.findings) - len(fresh.findings))
    if gone:
        print(
            f"{'1 entry' if gone == 1 else f'{gone} entries'} of {path} no longer found;"
            " --update-baseline forgets them.",
            file=sys.stderr,
        )
    return fresh


def without_known(report: Report, entries: Sequence[Entry], holder: str, name: Naming, directory: str) -> Report:
    """Return `report` without the findings that there are entries for, and say who has how many.

    `name` is the path of a finding as entries have it, from `directory`. An entry counts once: a second finding of the
    same kind on a line of the same text is new. The entry of a file that is gone counts for a finding on such a line of
    any other, to which it may have moved.
    """
    left = Counter(str(entry["hash"]) for entry in entries)
    moved = Counter(str(entry.get("anywhere")) for entry in entries if _is_gone(entry, directory))
    fresh = _unknown(report.findings, left, lambda finding: content_hash(report, finding, name(finding)))
    fresh = _unknown(fresh, moved, lambda finding: content_hash(report, finding, ANYWHERE))
    held = len(report.findings) - len(fresh)
    if held:
        print(f"Left out {counted(held, 'finding')} that {holder} has.", file=sys.stderr)
    return replace(report, findings=tuple(fresh))


def entries_of(report: Report, name: Naming) -> list[Entry]:
    """Return what is kept of the findings of a report."""
    return [
        {
            "hash": content_hash(report, item, name(item)),
            "anywhere": content_hash(report, item, ANYWHERE),
            "code": item.code,
            "path": name(item).replace("\\", "/"),
            "message": item.message,
        }
        for item in report.findings
        if item.code != UNREADABLE
    ]


def _unknown(findings: Iterable[Finding], left: Counter[str], mark: Callable[[Finding], str]) -> list[Finding]:
    """The findings for which there is no mark left; each that there is is taken."""
    fresh = []
    for finding in findings:
        own = mark(finding)
        if finding.code != UNREADABLE and left[own] > 0:
            left[own] -= 1
        else:
            fresh.append(finding)
    return fresh


def _is_gone(entry: Entry, directory: str) -> bool:
    """Whether the file of an entry is not there any more."""
    return not os.path.exists(os.path.join(directory, str(entry.get("path"))))


def _may_be_one(path: str) -> bool:
    """Whether a file is a baseline, an empty file, or a baseline that was broken: no other is written over."""
    data = content(path)
    return b'"findings"' in data or (os.path.isfile(path) and not data.strip())


def _relative(finding: Finding, baseline: str) -> str:
    """Return the finding's path from the baseline's directory, so that it is the same wherever gclint is run."""
    return os.path.relpath(finding.location.path, _directory(baseline))


def _directory(baseline: str) -> str:
    return os.path.dirname(os.path.abspath(baseline))


def _text(report: Report, path: str) -> str:
    entries = entries_of(report, lambda finding: _relative(finding, path))
    return json.dumps({"version": VERSION, "findings": entries}, indent=1) + "\n"


def _entries(path: str) -> list[Entry]:
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        if data["version"] != VERSION:
            raise UsageError(f"{path}: a baseline of another version; write it anew with --update-baseline")
        return [{**item, "hash": str(item["hash"])} for item in data["findings"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(f"{path}: not a baseline of gclint; write it anew with --update-baseline") from None
