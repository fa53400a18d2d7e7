"""One trial: a text through check and fix, and what must hold of it."""

from __future__ import annotations

import itertools
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import fixtures
from gclint.check.engine import check
from gclint.check.findings import Judge, Judgement, judge_batch
from gclint.check.request import Batch, Request
from gclint.finding import Edit, Finding
from gclint.fix.converge import ENDLESS, REMAINS, UNDOES
from gclint.fix.job import Outcome, fix
from gclint.source.lines import line_starts
from gclint.source.syntax import syntax_error

SECONDS = 60.0


class TimedOut(Exception):
    """A trial took longer than `SECONDS`."""


@dataclass
class Result:
    """What came of a trial; `wrong` says what does not hold, "" where everything does."""

    parses: bool = False
    findings: int = 0
    applied: int = 0
    refused: int = 0
    wrong: str = ""


@dataclass
class Round:
    """The texts that one round of fixing started from, by path, and what was found in them."""

    texts: dict[str, str]
    findings: list[Finding] = field(default_factory=list)


def tried(text: str, original: str, judge: Judge) -> Result:
    """Check and fix a file with this text, staged as the `original` asks, with every fix that there is, and again."""
    try:
        with tempfile.TemporaryDirectory() as place, _limited():
            path = fixtures.stage(original, Path(place))
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            return _tried(path, fixtures.target_of(original), judge)
    except Exception as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
        return Result(wrong=f"{type(error).__name__}: {error} ({where})")


def _tried(path: Path, target: Mapping[str, str], judge: Judge) -> Result:
    request = Request([str(path)], {"target": target, "preview": True}, isolated=True, cache=False)
    report = check(request, judge)
    result = Result(not any(item.code == "GCL000" for item in report.findings), len(report.findings))
    if report.problems:
        result.wrong = f"problem: {report.problems[0]}"
        return result
    before = path.read_bytes()
    outcome, rounds = _fixed(request, judge)
    result.applied, result.refused = len(outcome.applied), len(outcome.refused)
    result.wrong = _wrong(outcome, rounds, before, path)
    if not result.wrong and outcome.written:
        again, _ = _fixed(request, judge)
        result.wrong = f"a second fix applies {again.applied[0].finding.code}" if again.applied else ""
    return result


def _fixed(request: Request, judge: Judge) -> tuple[Outcome, list[Round]]:
    rounds: list[Round] = []

    def recorded(batch: Batch, judge: Judge, changed: Mapping[str, Any] | None = None) -> Judgement:
        made = judge_batch(batch, judge, changed)
        sources = {**batch.sources, **(changed or {})}
        rounds.append(Round({path: source.text for path, source in sources.items()}, made.findings))
        return made

    with mock.patch("gclint.fix.job.judge_batch", recorded):
        return fix(request, unsafe=True, judge=judge), rounds


def _wrong(outcome: Outcome, rounds: list[Round], before: bytes, path: Path) -> str:
    if outcome.report.problems:
        return f"problem: {outcome.report.problems[0]}"
    if not outcome.applied:
        return "" if path.read_bytes() == before else "written without a fix"
    after = path.read_bytes().decode("utf-8")
    broken = syntax_error(after.removeprefix("\ufeff"))
    if broken:
        return f"the fixed file does not parse: {broken}"
    if all(each.texts[str(path)] != after.removeprefix("\ufeff") for each in rounds):
        return "what is written is not what was judged"
    if any(each.why in (REMAINS, UNDOES, ENDLESS) for each in outcome.refused):
        return ""
    for one, other in itertools.pairwise(rounds):
        held = {id(item) for item in one.findings}
        edits = {edit for chosen in outcome.applied if id(chosen.finding) in held for edit in chosen.fix.edits}
        if _plain(_spliced(one.texts[str(path)], edits)) != _plain(other.texts[str(path)]):
            return "changed outside its edits"
    return ""


def _spliced(text: str, edits: set[Edit]) -> str:
    """The text with the edits made, the last place first."""
    starts = line_starts(text)

    def at(line: int, column: int) -> int:
        return starts[line - 1] + column - 1 if line <= len(starts) else len(text)

    for edit in sorted(edits, key=lambda e: (e.line, e.column, e.end_line, e.end_column), reverse=True):
        first, last = at(edit.line, edit.column), at(edit.end_line, edit.end_column)
        text = text[:first] + edit.text + text[last:]
    return text


def _plain(text: str) -> str:
    """The text with one kind of newline: an edit's lines end as the file's do."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


@contextmanager
def _limited() -> Iterator[None]:
    """Raise `TimedOut` in the block after `SECONDS` of it."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimedOut(f"longer than {SECONDS:.0f} s")

    held = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, held)
