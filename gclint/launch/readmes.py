"""READMEs as launchers: the commands that stand in them as code, as a reader copies them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gclint.launch.launched import Invocation
from gclint.launch.shell_script import Shell

OPEN = "$left_open"
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})[^`]*")
_INDENTED = re.compile(r"(?: {4}|\t)\s*\S")
_ALONE = re.compile(r"[ \t]*(?:(?:[-*+]|\d+[.)])[ \t]+)?`([^`]+)`[ \t]*")
_PROMPT = re.compile(r"[ \t]*(?:\([\w.-]+\)[ \t]*)?(?:[$%][ \t]+|>[ \t]+|!(?=\w))")
# what a reader has to fill in: <path>, {a|b}, {a,b}
_TO_FILL = re.compile(r"<[A-Za-z][^<>\n]*>|\{[\w./-]+(?:[|,/][\w./-]+)+\}")
# options that may be left out, and more of them: [--amp], [options], ...
_OPTIONAL = re.compile(r"\[[-A-Za-z.].*|\.\.\.|…")


class Block(NamedTuple):
    """Lines of a README that are code, and the number of the first."""

    line: int
    text: str


def readme_invocations(text: str, shell: Callable[[], Shell]) -> Iterator[Invocation]:
    """The commands in the blocks of a README, each block in a shell of its own: many say that they are Python. What a
    reader has to fill in is left open; a command that shows what may be left out is none.
    """
    for block in blocks(text):
        for found in shell().run(block.text, block.line):
            if not any(_OPTIONAL.match(word) for word in found.words):
                yield found


def blocks(text: str) -> Iterator[Block]:
    """The blocks of Markdown or reStructuredText that may hold commands: fenced, indented, or a line within backticks;
    of a block with prompts only what stands behind them. Each line keeps its number.
    """
    for first, lines in _code(text.splitlines()):
        typed = _typed(lines) if any(_PROMPT.match(line) for line in lines) else lines
        yield Block(first, _TO_FILL.sub(OPEN, "\n".join(typed)))


def _code(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    at = 0
    while at < len(lines):
        fence = _FENCE.fullmatch(lines[at])
        alone = _ALONE.fullmatch(lines[at])
        start = at
        if fence:
            at = next((end for end in range(start + 1, len(lines)) if _closes(lines[end], fence[1])), len(lines))
            yield start + 2, lines[start + 1 : at]
        elif alone:
            yield start + 1, [alone[1]]
        elif _INDENTED.match(lines[at]) or _PROMPT.match(lines[at]):
            while at + 1 < len(lines) and (_INDENTED.match(lines[at + 1]) or lines[at].endswith("\\")):
                at += 1
            yield start + 1, lines[start : at + 1]
        at += 1


def _closes(line: str, fence: str) -> bool:
    return line.strip(" \t>").startswith(fence) and not line.strip(" \t>").strip(fence[0])


def _typed(lines: list[str]) -> Iterator[str]:
    """The lines behind a prompt, and those that go on with one; what a program answers is left empty."""
    goes_on = False
    for line in lines:
        prompt = _PROMPT.match(line)
        typed = line[prompt.end() :] if prompt else line if goes_on else ""
        goes_on = typed.rstrip().endswith("\\")
        yield typed
