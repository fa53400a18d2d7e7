"""The format for agents: what to mend first, the states that made it, its edit as a patch, what proves it; bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gclint.finding import Finding, Location
from gclint.fix.edits import Chosen
from gclint.fix.patch import NoPatch, patch_of
from gclint.report.content import Report, certainty_of, place_text
from gclint.report.escape import printable
from gclint.report.mending import Mending, by_hand, by_urgency, mending_of, proof_of
from gclint.report.style import Style
from gclint.report.tally import tally

MOST_OF_A_FINDING = 4_000
MOST_OF_A_REPORT = 24_000
MOST_STATES = 6
_NEXT = "Mend the first and check again: what mends one finding can mend others, or uncover them."


def render(report: Report, style: Style) -> str:
    """Return the findings in the order in which to mend them, as many as there is room for, and what was left out."""
    findings = by_urgency(report)
    text = tally(report, Style()) + "\n"
    shown = 0
    for finding in findings:
        block = _block(report, finding, f"[{shown + 1}/{len(findings)}]")
        if shown and len(text) + len(block) > MOST_OF_A_REPORT:
            break
        text += f"\n{block}"
        shown += 1
    left = Counter(finding.code for finding in findings[shown:])
    if left:
        counts = ", ".join(f"{count} {code}" for code, count in sorted(left.items()))
        text += f"\n{left.total()} more not shown here ({counts}): --select CODE, or a path, shows fewer.\n"
    return f"{text}\n{_NEXT}\n" if len(findings) > 1 else text


def brief(text: str, most: int) -> str:
    """Return `text`, printable, on one line, and cut where it is longer than `most` characters."""
    return _cut(printable(" ".join(text.split())), most)


def code_of(report: Report, place: Location) -> str:
    """Return the source line that a place begins on, cut where it is long."""
    return _cut(printable(report.line_text(place).strip()), 100)


def states_of(report: Report, finding: Finding) -> list[str]:
    """Return the places that took part: the file and line, the code, and what it does there."""
    return [
        f"{place_text(report.shown(place))} `{code_of(report, place)}` {brief(place.message, 100)}".rstrip()
        for place in finding.related
    ]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _block(report: Report, finding: Finding, number: str) -> str:
    mending = mending_of(report, finding)
    parts = [*_facts(report, finding, number), *_way(report, finding, mending)]
    text = "\n".join(parts) + "\n"
    if mending is not None:
        text += _patch(report, finding, mending, MOST_OF_A_FINDING - len(text))
    return text if len(text) <= MOST_OF_A_FINDING else f"{text[: MOST_OF_A_FINDING - 4]}...\n"


def _facts(report: Report, finding: Finding, number: str) -> Iterator[str]:
    place = place_text(report.shown(finding.location))
    yield f"{number} {finding.code} {finding.name} ({certainty_of(finding)}) at {place}"
    yield f"message: {brief(finding.message, 500)}"
    for label, text in (
        ("effect", finding.symptom),
        ("condition", finding.stated.brief),
        ("judged for", finding.versions),
        ("this run", finding.this_run),
    ):
        if text:
            yield f"{label}: {brief(text, 250)}"
    if line := code_of(report, finding.location):
        yield f"line: {line}"
    states = states_of(report, finding)
    if states:
        yield "states:"
        yield from (f"  {state}" for state in states[:MOST_STATES])
    if len(states) > MOST_STATES:
        yield f"  {len(states) - MOST_STATES} more"


def _way(report: Report, finding: Finding, mending: Mending | None) -> Iterator[str]:
    """How it is mended: the edit and the commands that prove and write it, else what to do by hand."""
    if mending is None:
        help = by_hand(report, finding)
        if help:
            yield "edit: none by gclint; do this by hand:"
            yield from (f"  {printable(line)}" for line in brief_lines(help, 1000))
        yield f"prove: {proof_of(report, finding) or 'the same rehearsal again'}"
        return
    fix = mending.fix
    needs = "" if fix.applicability == "safe" and fix.automatic else ", needs judgement"
    cost = f" ({fix.cost})" if fix.cost else ""
    yield f"edit: {brief(fix.title + cost, 250)} [{fix.name}{needs}]"
    for other in [each for each in finding.fixes if each is not fix][:4]:
        yield f"or: {brief(other.title, 120)} [{other.name}]"
    yield f"prove: {proof_of(report, finding)}"
    yield f"write: {mending.command()}"


def brief_lines(text: str, most: int) -> list[str]:
    """Return the lines of `text`, as many as `most` characters hold."""
    lines = text[:most].split("\n")
    return [*lines[:-1], "..."] if len(text) > most else lines


def _patch(report: Report, finding: Finding, mending: Mending, room: int) -> str:
    """The edit as a patch, whole or not at all."""
    try:
        patch = patch_of(Chosen(finding, mending.fix), report.sources)
    except NoPatch as why:
        return f"patch: none, {brief(str(why), 200)}\n"
    where = f", in {patch.directory}" if patch.directory else ""
    text = f"patch (git apply, or patch -p1{where}):\n```diff\n{patch.text}```\n"
    return text if len(text) <= room else f"patch: {patch.text.count(chr(10))} lines, too long to show; use `write`\n"
