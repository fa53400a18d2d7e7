"""The page of what is known, by event and by cause."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.knowledge.facts import EVENTS, LOOP, STATES

FOLDERS = re.compile(r"(?<![\w.:/])/(?:[\w.+@-]+/)+")
LONGEST = 120
INTRODUCTION = Path(__file__).with_name("introduction.md")


def totals(results: Iterable[Mapping[str, Any]]) -> str:
    """How many facts are in which state, and the share that is the same."""
    counted = Counter(each["state"] for made in results for each in made.get("facts", ()))
    every = sum(counted.values())
    share = f"{counted['same'] / every:.0%}" if every else "nothing observed"
    return f"{share} of {every}: " + ", ".join(f"{name} {counted[name]}" for name in STATES)


def page(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The page as Markdown: the total, by event, by cause, by program."""
    parts = [INTRODUCTION.read_text(encoding="utf-8"), f"**{totals(results.values())}.** {_by_loops(results)}\n"]
    parts += ["\n## By event\n", *_by_event(results)]
    parts += ["\n## By program\n", *_by_program(results)]
    return "\n".join(parts) + "\n"


def shortly(failed: str) -> str:
    """An error in a row of a table: of what it names only the last part of a path, and no more than fits."""
    told = FOLDERS.sub("", failed.removeprefix("RuntimeError: ").removeprefix("raised: ")).replace("|", "\\|")
    return textwrap.shorten(told, LONGEST, placeholder=" ...")


def _by_loops(results: Mapping[str, Mapping[str, Any]]) -> str:
    """What is left where a library's trainer does everything at its line, of which only the start is told."""
    told = [each for made in results.values() for each in made.get("facts", ())]
    own = [each for each in told if each["about"] != LOOP]
    ran = sum(bool(made.get("facts")) for made in results.values())
    return (
        f"{ran} of {len(results)} programs took steps here. {len(told) - len(own)} of the facts are those of a "
        f"library's trainer, at the line that starts it; of the others: {totals([{'facts': own}])}."
    )


def _by_event(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    facts = [each for made in results.values() for each in made.get("facts", ())]
    lines = [f"| event | {' | '.join(STATES)} |", "|---|" + "---|" * len(STATES)]
    for event in EVENTS:
        counted = Counter(each["state"] for each in facts if each["event"] == event)
        if counted:
            lines.append(f"| {event} | " + " | ".join(str(counted[name] or "") for name in STATES) + " |")
    return lines


def _by_program(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    lines = ["| program | " + " | ".join(STATES) + " | not observed | |", "|---|" + "---|" * (len(STATES) + 2)]
    for name, made in results.items():
        counted = Counter(each["state"] for each in made.get("facts", ()))
        counts = " | ".join(str(counted[state] or "") for state in STATES)
        lines.append(f"| {name} | {counts} | {made.get('not observed', '')} | {shortly(made.get('failed', ''))} |")
    return lines
