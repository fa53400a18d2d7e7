"""What `gclint check` does, and what notebooks, bots and larger engines call."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gclint.check.findings import Judge, Judgement, judge_batch, judge_for, unreadable
from gclint.check.last_report import InstalledRules, Recall
from gclint.check.request import Gathered, Request, gather
from gclint.check.selection import OWN_RULES, check_codes
from gclint.config import checked
from gclint.finding import Finding
from gclint.report.content import Report
from gclint.source.folders import listed_once
from gclint.source.remembered import Files
from gclint.source.source import Source, Unreadable, read
from gclint.timing import stage


def check_paths(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (".",), **given: Any) -> Report:
    """Return what is found in the files and directories `paths`, or in the one that is given.

    `given` are keys of `gclint.config.Settings` (`select=("GCL2",)`, `target={"torch": "2.5"}`) that take
    the place of the configuration's own. Raises `gclint.config.BadConfig`. Nothing of the files is
    executed.
    """
    several = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    return check(Request([os.fspath(path) for path in several], checked(given)))


def check_source(text: str | bytes, path: str | os.PathLike[str] = "stdin.py", **given: Any) -> Report:
    """Return what is found in `text`, judged as if it stood in the file `path`; `given` as for
    `check_paths`.
    """
    data = text.encode() if isinstance(text, str) else text
    name = os.fspath(path)
    return check(Request((name,), checked(given), stdin=data, stdin_name=name))


def check(request: Request, judge: Judge | None = None, files: Files | None = None) -> Report:
    """Return what is found in the files of `request`, by a `judge` with those that `files` remembers unread; raises
    `gclint.config.BadConfig`.
    """
    with listed_once():
        report = _check_recalled(request) if judge is None else _judged(gathered_for(request, judge, files), judge)
    return replace(report, asked=request.asked)


def _judged(gathered: Gathered, judge: Judge) -> Report:
    made = Judgement()
    for batch in gathered.batches:
        one = judge_batch(batch, judge)
        made.findings += one.findings
        made.problems += one.problems
    return report_of(gathered, made, judge)


def _check_recalled(request: Request) -> Report:
    """Return the report of the last check where it still holds, else check and remember."""
    with stage("recalling the last report"):
        recall = Recall(request)
        known = recall.report()
    if known is not None:
        findings, files = known
        return Report(tuple(findings), (), files, _sources(findings, {}), InstalledRules())
    judge = judge_for(request)
    report = _judged(gathered_for(request, judge, recall.files), judge)
    recall.keep(report)
    return report


def gathered_for(request: Request, judge: Judge, files: Files | None = None) -> Gathered:
    """Return the files of `request`, those that `files` remembers unread, its codes checked against the rules there
    are; raises `BadConfig`.
    """
    with stage("finding and reading files"):
        gathered = gather(request, files)
    codes = judge.codes()
    for batch in gathered.batches:
        check_codes(batch.settings, codes, request.given)
    return gathered


def report_of(gathered: Gathered, made: Judgement, judge: Judge, changed: Mapping[str, Source] | None = None) -> Report:
    """Return the report of what was judged, with the files that could not be read and every text it
    shows.
    """
    findings = [
        *made.findings,
        *(unreadable(item.path, item.what, item.remedy, item.line) for item in gathered.unreadable),
    ]
    ordered = tuple(sorted(set(findings), key=lambda item: (*item.key, item.message)))
    known = {path: source for batch in gathered.batches for path, source in batch.sources.items()}
    known |= changed or {}
    return Report(
        ordered,
        tuple(dict.fromkeys([*judge.problems, *made.problems])),
        gathered.files,
        _sources(ordered, known),
        {rule.code: rule for rule in (*judge.rules, *OWN_RULES)},
    )


def without(report: Report, findings: Iterable[Finding]) -> Report:
    """Return `report` without these findings."""
    dropped = set(findings)
    return replace(report, findings=tuple(item for item in report.findings if item not in dropped))


def read_beside(path: str, root: Path) -> Source | None:
    """Return the file `path` that a finding or an edit names, None unless it can be read and lies below
    `root`.
    """
    absolute = os.path.realpath(path)
    if not absolute.startswith(os.path.realpath(root).rstrip(os.sep) + os.sep):
        return None
    try:
        return read(absolute, path)
    except Unreadable:
        return None


def _sources(findings: Iterable[Finding], known: Mapping[str, Source]) -> dict[str, Source]:
    paths = set()
    for finding in findings:
        paths |= {finding.location.path, *(place.path for place in finding.related)}
        paths |= {edit.path for fix in finding.fixes for edit in fix.edits}
    found = {}
    for path in sorted(paths):
        source = known.get(path)
        if source is None:
            try:
                source = read(path)
            except Unreadable:
                continue
        found[path] = source
    return found
