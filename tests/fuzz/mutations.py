"""Mutations: small changes of a text, at random, that may or may not leave it a program."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

Mutation = Callable[[str, Random], str]
_NAME = re.compile(r"\b[A-Za-z_]\w*\b")
_HEADERS = (
    "if flag:",
    "else:",
    "try:",
    "def wrapped(*args, **kwargs):",
    "async def wrapped():",
    "class Wrapped:",
    "for _ in range(3):",
    "while True:",
    "with open(name) as file:",
    "match value:",
)
_TRIED = ("except Exception:\n{0}    pass\n", "except* ValueError:\n{0}    pass\n", "finally:\n{0}    pass\n")


def mutated(text: str, random: Random) -> str:
    """Return the text after one to three mutations."""
    for _ in range(random.randint(1, 3)):
        text = random.choice(list(MUTATIONS.values()))(text, random)
    return text


def _deleted(text: str, random: Random) -> str:
    lines = text.splitlines(keepends=True)
    if lines:
        del lines[random.randrange(len(lines))]
    return "".join(lines)


def _doubled(text: str, random: Random) -> str:
    lines = text.splitlines(keepends=True)
    if lines:
        lines.insert(random.randrange(len(lines)), random.choice(lines))
    return "".join(lines)


def _swapped(text: str, random: Random) -> str:
    lines = text.splitlines(keepends=True)
    if len(lines) > 1:
        one, other = random.sample(range(len(lines)), 2)
        lines[one], lines[other] = lines[other], lines[one]
    return "".join(lines)


def _wrapped(text: str, random: Random) -> str:
    """The text with a run of lines as the block of a new statement."""
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    first = random.randrange(len(lines))
    last = min(len(lines), first + random.randint(1, 12))
    before = re.match(r"[ \t]*", lines[first])
    indent = before[0] if before else ""
    header = random.choice(_HEADERS)
    block = [f"{indent}{header}\n", *(f"    {line}" for line in lines[first:last])]
    if header == "try:":
        block.append(indent + random.choice(_TRIED).format(indent))
    return "".join([*lines[:first], *block, *lines[last:]])


def _aliased(text: str, random: Random) -> str:
    """The text with one import bound to another name, there alone or wherever the name stands."""
    imports = re.findall(r"^[ \t]*(?:from \S+ )?import (\w+)[ \t]*$", text, re.MULTILINE)
    if not imports:
        return text
    name = random.choice(imports)
    if random.random() < 0.5:
        text = re.sub(rf"\b{name}\b(?!\s*$|\s+import)", "other", text, flags=re.MULTILINE)
    return re.sub(rf"(import {name})[ \t]*$", r"\1 as other", text, flags=re.MULTILINE)


def _renamed(text: str, random: Random) -> str:
    """The text with one name in place of another, once."""
    names = list(_NAME.finditer(text))
    if len(names) < 2:
        return text
    at, other = random.choice(names), random.choice(names)
    return text[: at.start()] + other[0] + text[at.end() :]


def _reindented(text: str, random: Random) -> str:
    width = random.choice(["\t", "  ", " ", "        "])
    return re.sub(r"^(?:    )+", lambda found: width * (len(found[0]) // 4), text, flags=re.MULTILINE)


def _shifted(text: str, random: Random) -> str:
    """The text with one run of lines deeper or less deep."""
    lines = text.splitlines(keepends=True)
    first = random.randrange(len(lines) + 1)
    last = first + random.randint(1, 6)
    deeper = random.random() < 0.5
    moved = [f"    {line}" if deeper else line.removeprefix("    ") for line in lines[first:last]]
    return "".join([*lines[:first], *moved, *lines[last:]])


def _truncated(text: str, random: Random) -> str:
    return text[: random.randrange(len(text) + 1)]


def _cut(text: str, random: Random) -> str:
    """The text without a run of characters."""
    first = random.randrange(len(text) + 1)
    return text[:first] + text[first + random.randint(1, 30) :]


def _newlines(text: str, random: Random) -> str:
    ends = random.choice([("\r\n",), ("\n", "\r\n"), ("\r",), ("\n", "\n\x0c\n")])
    return re.sub(r"\r?\n", lambda _: random.choice(ends), text)


def _joined(text: str, random: Random) -> str:
    """The lines folded onto those before them, by semicolons."""
    return re.sub(r"(?<![:,(\[{\n])\n(?=[a-z])", lambda _: random.choice(["\n", "; "]), text)


MUTATIONS: dict[str, Mutation] = {
    "delete": _deleted,
    "double": _doubled,
    "swap": _swapped,
    "wrap": _wrapped,
    "re-alias": _aliased,
    "rename": _renamed,
    "re-indent": _reindented,
    "shift": _shifted,
    "truncate": _truncated,
    "cut": _cut,
    "newlines": _newlines,
    "fold": _joined,
}
