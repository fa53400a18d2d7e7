"""The page of failures that repositories have as they are, docs/evidence.md: what was seen, and how to see it again."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.real_programs.page import Told, plain
from tests.real_programs.rows import Row
from tests.real_programs.runs import Result

INTRODUCTION = Path(__file__).with_name("evidence.md")
HEAD = "| repository | commit | place | code | symptom seen | verdict |\n|---|---|---|---|---|---|"
Found = tuple[Row, Result, dict[str, Any]]


def evidence(told: Told) -> str:
    """The whole page as Markdown: of the rows without a plant, each place that was proved."""
    own = [(row, result) for row, result in told if not row.plant]
    parts = [INTRODUCTION.read_text(encoding="utf-8").rstrip(), _result(own), _table(own), _repeated(own), _left(own)]
    return "\n\n".join(parts) + "\n"


def confirmed(told: Told) -> Iterator[Found]:
    """Each place that a row's program confirmed by steps of its own."""
    for row, result in told:
        for proof in result.proofs if result.reached else ():
            if proof["verdict"] == "confirmed":
                yield row, result, proof


def _result(told: Told) -> str:
    found = list(confirmed(told))
    codes = ", ".join(f"{code} {count}" for code, count in Counter(each["code"] for *_, each in found).most_common())
    verdicts = ", ".join(f"`{name}` {count}" for name, count in Counter(each.verdict for _, each in told).most_common())
    revisions = ", ".join(f"`{each}`" for each in dict.fromkeys(each.revision for _, each in told if each.revision))
    return (
        f"## Result\n\n**{len(found)} findings in {len({row.repository for row, *_ in found})} repositories** are "
        f"confirmed: {codes}.\n\nPrograms run: {len(told)}, by the verdict of the first that was decided: {verdicts}. "
        f"Measured with gclint at {revisions}."
    )


def _table(told: Told) -> str:
    return "\n".join(["## Confirmed", "", HEAD, *(_line(*each) for each in confirmed(told))])


def _line(row: Row, result: Result, proof: dict[str, Any]) -> str:
    place = f"{proof['filename']}:{proof['row']}"
    symptom = plain(proof["reason"].removeprefix("before: ").partition("; after: ")[0])
    link = f"[{row.repository}](https://github.com/{row.repository})"
    cells = (link, f"`{row.commit[:7]}`", f"`{place}`", proof["code"], symptom, proof["verdict"])
    return "| " + " | ".join(each.replace("|", "\\|") for each in cells) + " |"


def _repeated(told: Told) -> str:
    shown = {row.name: row for row, *_ in confirmed(told)}.values()
    lines = [f"- {row.repository}, *{row.name}*:\n\n        {_command(row)}\n" for row in shown]
    return "\n".join(["## Each in one command", "", *lines]).rstrip()


def _command(row: Row) -> str:
    words = ["python", "-m", "tests.real_programs", "--checkouts", "DIR", "--only", row.name]
    return f"sh tests/real_programs/checkout.sh DIR {row.repository} {row.commit} && {shlex.join(words)}"


def _left(told: Told) -> str:
    left = [(row, result) for row, result in told if result.verdict != "confirmed" or not result.reached]
    lines = [
        f"- {row.repository}, *{row.name}* ({row.code}): {each.verdict}, {plain(each.reason)}" for row, each in left
    ]
    return "\n".join(["## Tried, and not confirmed", "", *(lines or ["None."])])
