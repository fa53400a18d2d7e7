"""Unified diffs: those of difflib, but for what it tells of files in which lines are frequent."""

from __future__ import annotations

import difflib
import random

from gclint.fix.diff import unified_lines


def test_it_is_what_difflib_tells() -> None:
    choice = random.Random(0)

    def some(most: int) -> list[str]:
        return [f"{choice.randint(0, 8)}\n" for _ in range(choice.randint(0, most))]

    for _ in range(500):
        old = some(40)
        new = list(old)
        for _ in range(choice.randint(0, 4)):
            at = choice.randint(0, len(new))
            new[at : at + choice.randint(0, 3)] = some(3)
        assert list(unified_lines(old, new, "f")) == list(difflib.unified_diff(old, new, "a/f", "b/f"))


def test_a_line_among_many_alike_is_one_line() -> None:
    old = ["\n", ")\n", "f(\n"] * 200
    new = [*old[:300], "changed\n", *old[301:]]
    told = list(unified_lines(old, new, "f"))
    assert [line for line in told if line[0] in "+-"] == ["--- a/f\n", "+++ b/f\n", "-\n", "+changed\n"]


def test_a_last_line_without_an_end_says_so() -> None:
    told = "".join(unified_lines(["a\n", "b"], ["a\n", "c"], "f"))
    mark = "\\ No newline at end of file\n"
    assert told == f"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n{mark}+c\n{mark}"
