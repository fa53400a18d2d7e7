"""The page of the results, docs/real-programs.md: how it was measured, the table, the share, what was not reached."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.real_programs.rows import Row
from tests.real_programs.runs import Result

INTRODUCTION = Path(__file__).with_name("introduction.md")
LONGEST = 240
COLOURS = re.compile(r"\x1b\[[\d;]*m")
PATHS = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+(?=[\w.+-]+)")
Told = Sequence[tuple[Row, Result]]


def page(told: Told) -> str:
    """The whole page as Markdown."""
    parts = [INTRODUCTION.read_text(encoding="utf-8").rstrip(), _share(told), _table(told), _not_reached(told)]
    return "\n\n".join(parts) + "\n"


def is_right(row: Row, result: Result) -> bool:
    """Whether a row's program took its steps and got the verdict that was stated before."""
    return result.reached and result.verdict == row.verdict


def is_wrong(row: Row, result: Result) -> bool:
    """Whether a verdict was given, and it is another than the one stated before; `unverified` claims nothing."""
    return bool(result.proof) and result.verdict not in (row.verdict, "unverified")


def line(row: Row, result: Result) -> str:
    """One line of the table: program, failure, code, evidence, verdict, whether it is right, seconds, reason."""
    judged = "right" if is_right(row, result) else "wrong" if is_wrong(row, result) else "-"
    reason = plain(f"{result.reason}; {row.why}" if row.why and judged == "right" else result.reason)
    cells = (row.name, row.failure, row.code, result.evidence, result.verdict, judged, f"{result.seconds:.0f}", reason)
    return "| " + " | ".join(each.replace("|", "\\|") for each in cells) + " |"


def plain(text: str) -> str:
    """One line without this machine's directories, not too long."""
    text = PATHS.sub("", " ".join(COLOURS.sub("", text).split())).replace("<", "\\<")
    return text if len(text) <= LONGEST else text[: LONGEST - 4].rstrip() + " ..."


def _share(told: Told) -> str:
    right = sum(is_right(row, each) for row, each in told)
    wrong = [row.name for row, each in told if is_wrong(row, each)]
    silent = sum(bool(each.proof) and each.verdict == "unverified" for _, each in told)
    codes = Counter(row.code for row, _ in told)
    counted = ", ".join(f"{code} {count}" for code, count in codes.most_common())
    revisions = ", ".join(f"`{each}`" for each in dict.fromkeys(each.revision for _, each in told if each.revision))
    return (
        f"## Result\n\n**{right} of {len(told)}** programs ({right / max(1, len(told)):.0%}) took optimizer steps of "
        f"their own and got the verdict that was stated before. `unverified`: {silent}. Wrong verdicts: {len(wrong)}"
        f"{' (' if wrong else ''}{', '.join(wrong)}{')' if wrong else ''}.\n\n"
        f"Rows by code: {counted}. Measured with gclint at {revisions}."
    )


def _table(told: Told) -> str:
    head = "| program | failure | code | evidence | verdict | | seconds | reason |\n|---|---|---|---|---|---|---|---|"
    return "\n".join(["## Table", "", head, *(line(row, each) for row, each in told)])


def _not_reached(told: Told) -> str:
    left = [f"- **{row.name}**: {plain(each.reason)}" for row, each in told if not is_right(row, each)]
    return "\n".join(["## Not reached, or not with the right verdict", "", *(left or ["None."])])
