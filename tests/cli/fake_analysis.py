"""A stand-in for the analysis: `boom(` fails, `shaky(` is fragile, `raise_here` is a bug of a rule."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gclint.check.findings import Judge
from gclint.finding import Condition, Edit, Finding, Fix, Location
from gclint.report.content import Problem

SYMPTOM = "RuntimeError: it went boom"


@dataclass
class FakeRule:
    code: str
    name: str
    words: tuple[tuple[str, ...], ...]
    docs: str = "What it does.\n\nAt length."
    certainty: str = "fails"
    fixable: str = "safe"
    summary: str = "What it does."


@dataclass
class FakeAnalysis:
    findings: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


RULES = (
    FakeRule("GCL101", "goes-boom", (("boom", "endless", "broken", "raise_here"),)),
    FakeRule("GCL201", "is-shaky", (("shaky",),), certainty="fragile"),
)


def analyse(sources, root, target, rules, memory=""):
    codes = {rule.code for rule in rules}
    made = FakeAnalysis()
    for source in sources:
        for number, line in enumerate(source.lines, start=1):
            for match in re.finditer(r"boom\(|shaky\(|raise_here|endless\(|broken\(", line):
                found = finding(source.path, number, match.start() + 1, match[0], target)
                if found is not None and found.code in codes:
                    made.findings.append(found)
            if "raise_here" in line:
                made.problems.append(Problem(source.path, "rule GCL101 raised", "please report it", number))
    return made


def finding(path, line, column, word, target):
    end = column + len(word)
    place = Location(path, line, column, line, end, "here")
    if word == "shaky(":
        return Finding(
            "GCL201",
            "is-shaky",
            "This may shake",
            place,
            "fragile",
            stated=Condition(("started on more than one process",)),
            fixes=(Fix("steady", "Steady it", (edit(path, line, column, end, "steady("),), "unsafe"),),
        )
    new = {"boom(": "calm(", "endless(": "endless(", "broken(": "calm((", "raise_here": "x"}[word]
    fixes = (
        Fix("calm", "Calm it", (edit(path, line, column, end, new),)),
        Fix("quiet", "Quiet it", (edit(path, line, column, end, "quiet("),), "unsafe", "slower"),
    )
    if word == "endless(":
        fixes = (Fix("more", "Again", (edit(path, line, end, end, "1 + "),)),)
    return Finding(
        "GCL101",
        "goes-boom",
        "This goes boom",
        place,
        "fails",
        SYMPTOM,
        fixes=fixes,
        target=tuple(sorted(target.items())),
    )


def edit(path, line, column, end_column, text):
    return Edit(path, line, column, line, end_column, text)


JUDGE = Judge(analyse, RULES)
UNGATED = Judge(analyse, RULES, gated=False)
