"""IPython's own syntax in a code cell, replaced line by line by Python that does nothing."""

from __future__ import annotations

import re

from gclint.source.syntax import is_python

MARK = "# magic: "
_PYTHON_BODY = frozenset({"time", "timeit", "capture", "prun", "debug"})
_LINE_MAGIC = re.compile(r"^(?P<indent>[ \t]*)(?P<rest>(?:[%!?]|.*\S\?{1,2}\s*$).*)")
_ASSIGNED = re.compile(r"^(?P<indent>[ \t]*)(?P<target>[\w.,\[\]'\" ]+?)\s*=\s*(?P<rest>[%!].*)")
_REPLACED = re.compile(rf"^(?P<indent>[ \t]*)(?:pass  )?{MARK}(?P<rest>.*)")
_QUOTES = re.compile(r"'''|\"\"\"|'(?:\\.|[^'\\\r\n])*'|\"(?:\\.|[^\"\\\r\n])*\"|#[^\r\n]*|[()\[\]{}]")


def without_magics(lines: list[str]) -> dict[int, str]:
    """Return the lines to replace, by index from 0, in the cell made of `lines` (with their endings).

    A `%%cell` magic comments out the whole cell, unless its body is Python (`%%time` and the like).
    """
    replaced: dict[int, str] = {}
    start = 0
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is not None and lines[first].startswith("%%"):
        name = lines[first][2:].split(maxsplit=1)
        if not name or name[0] not in _PYTHON_BODY:
            return {i: _commented(lines[i]) for i in range(first, len(lines))}
        replaced[first] = _commented(lines[first])
        start = first + 1
    inside, continued = "", False
    for index in range(start, len(lines)):
        line = lines[index]
        if continued or (not inside and _replacement(line)):
            replaced[index] = _commented(line) if continued else _replacement(line)
            continued = line.rstrip().endswith("\\")
            continue
        inside = _state_after(line, inside)
    return replaced


def without_what_fails(lines: list[str]) -> dict[int, str]:
    """Return the lines to replace as `without_magics` does: all of a cell that is no Python without them either."""
    replaced = without_magics(lines)
    if is_python("".join(replaced.get(index, line) for index, line in enumerate(lines))):
        return replaced
    return {index: _commented(line) for index, line in enumerate(lines) if line.strip()}


def restored(line: str) -> str:
    """Return the line of a cell that one of the module stands for as a magic; the line itself for any other."""
    found = _REPLACED.match(line)
    return found["indent"] + found["rest"] if found else line


def _replacement(line: str) -> str:
    body, ending = _split_ending(line)
    if body.lstrip().startswith("#"):
        return ""
    magic = _LINE_MAGIC.match(body)
    if magic:
        return f"{magic['indent']}pass  {MARK}{magic['rest']}{ending}"
    magic = _ASSIGNED.match(body)
    if magic:
        return f"{magic['indent']}{magic['target']} = __magic__  {MARK}{magic['rest']}{ending}"
    return ""


def _commented(line: str) -> str:
    body, ending = _split_ending(line)
    return f"{MARK}{body}{ending}"


def _split_ending(line: str) -> tuple[str, str]:
    body = line.rstrip("\r\n")
    return body, line[len(body) :]


def _state_after(line: str, inside: str) -> str:
    """Return what the next line begins in: a triple quote, open brackets, or "" for plain code."""
    position = 0
    while position < len(line):
        if inside[:1] in {"'", '"'}:
            end = line.find(inside, position)
            if end < 0:
                return inside
            position, inside = end + 3, inside[3:]
            continue
        token = _QUOTES.search(line, position)
        if not token:
            break
        position, text = token.end(), token[0]
        if text in {"'''", '"""'}:
            inside = text + inside
        elif text in "([{":
            inside = inside + text
        elif text in ")]}":
            inside = inside[:-1]
    return inside
