"""Edits of a document's text: another value in the place of one, a key added beside its siblings.

An edit is an offset, an end and a text; what it comes to is proven where fixes are applied (`proof`).
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from .literals import key_spelled, spelled
from .parts import KeyPath, Part, Parts, within

_OWN_LINE = re.compile(r"[ \t]*(?:-[ \t]+)*")


class Change(NamedTuple):
    """The text from `start` to `end` becomes `text`."""

    start: int
    end: int
    text: str


def replaced(kind: str, text: str, part: Part, value: Any) -> Change | None:
    """Another value where one is written; None where the document cannot hold it."""
    made = spelled(kind, value, text[part.value : part.end])
    if made is None:
        return None
    if part.value == part.end and not text[: part.value].endswith((" ", "\t", "\n")):
        made = f" {made}"
    return Change(part.value, part.end, made)


def added(kind: str, text: str, parts: Parts, keys: KeyPath, name: str, value: Any) -> Change | None:
    """A key more in the mapping at `keys`, behind the last that is written in it.

    None where the mapping is not written there itself (it is an alias, or implied), or cannot hold the value.
    """
    whole = parts.get(keys)
    if whole is None and kind == "toml":
        return _dotted(text, parts, keys, name, value)
    if whole is None or whole.shape == "scalar" or (*keys, name) in parts:
        return None
    held = within(parts, keys)
    last = list(held.items())[-1][1] if held else None
    if whole.shape == "flow":
        return _in_brackets(kind, text, whole, last, name, value)
    if kind == "toml":
        return _in_table(text, parts, keys, last, name, value)
    return _in_block(text, parts, last, name, value) if last is not None else None


def _in_brackets(kind: str, text: str, whole: Part, last: Part | None, name: str, value: Any) -> Change | None:
    made = spelled(kind, value)
    if made is None or text[whole.value] != "{":
        return None
    if last is None:
        pair = f"{key_spelled(kind, name)}{' = ' if kind == 'toml' else ': '}{made}"
        return Change(whole.value, whole.end, "{ " + pair + " }" if kind == "toml" else "{" + pair + "}")
    between = text[last.key_end : last.value]
    between = between if between.strip() in (":", "=") and "\n" not in between else ": "
    pair = f"{key_spelled(kind, name, text[last.start : last.key_end])}{between}{made}"
    lead = text[text.rfind("\n", 0, last.start) + 1 : last.start]
    several = "\n" in text[whole.value : last.start]
    comma = f",\n{lead}" if several and not lead.strip() else ", " if " " in between or kind != "json" else ","
    return Change(last.end, last.end, comma + pair)


def _in_block(text: str, parts: Parts, last: Part, name: str, value: Any) -> Change | None:
    """A line more in a block mapping of YAML; a mapping in it is written in lines of its own."""
    line = text.rfind("\n", 0, last.start) + 1
    lead = text[line : last.start]
    if not _OWN_LINE.fullmatch(lead):
        return None
    lead = " " * len(lead)
    lines = _block(key_spelled("yaml", name, text[last.start : last.key_end]), value, lead, _step(text, parts))
    end = _end_of_line(text, last.end)
    return Change(end, end, "".join(f"\n{each}" for each in lines)) if lines is not None else None


def _block(key: str, value: Any, lead: str, step: str) -> list[str] | None:
    if isinstance(value, dict) and value:
        inner = [_block(key_spelled("yaml", name), item, lead + step, step) for name, item in value.items()]
        below = [line for each in inner if each is not None for line in each]
        return [f"{lead}{key}:", *below] if None not in inner else None
    made = spelled("yaml", value)
    return [f"{lead}{key}: {made}"] if made is not None else None


def _step(text: str, parts: Parts) -> str:
    """How far the document's mappings are indented below their keys."""
    for keys, part in parts.items():
        outer = parts.get(keys[:-1]) if keys else None
        if outer is not None and outer.shape == "block" and outer.start < outer.value and isinstance(keys[-1], str):
            by = _column(text, part.start) - _column(text, outer.start)
            if by > 0:
                return " " * by
    return "  "


def _in_table(text: str, parts: Parts, keys: KeyPath, last: Part | None, name: str, value: Any) -> Change | None:
    """A line more in a table of TOML, behind its last key; in the first table before the head of the next."""
    made = spelled("toml", value)
    if made is None:
        return None
    if last is None or text.startswith("[", last.start):
        if not keys:
            return Change(0, 0, f"{key_spelled('toml', name)} = {made}\n\n")
        end, lead, between, like = _end_of_line(text, parts[keys].value), "", " = ", ""
    else:
        end, lead = _end_of_line(text, last.end), text[text.rfind("\n", 0, last.start) + 1 : last.start]
        between, like = text[last.key_end : last.value], text[last.start : last.key_end]
    return Change(end, end, f"\n{lead}{key_spelled('toml', name, like)}{between}{made}")


def _dotted(text: str, parts: Parts, keys: KeyPath, name: str, value: Any) -> Change | None:
    """A line more for a table of TOML that only dotted keys give."""
    held = sorted(part for path, part in parts.items() if path[:-1] == keys)
    before, dot, _ = text[held[-1].start : held[-1].key_end].rpartition(".") if held else ("", "", "")
    made = spelled("toml", value)
    if made is None or not dot or '"' in before or "'" in before:
        return None
    end, lead = _end_of_line(text, held[-1].end), text[text.rfind("\n", 0, held[-1].start) + 1 : held[-1].start]
    between = text[held[-1].key_end : held[-1].value]
    return Change(end, end, f"\n{lead}{before}.{key_spelled('toml', name)}{between}{made}")


def _column(text: str, offset: int) -> int:
    return offset - text.rfind("\n", 0, offset) - 1


def _end_of_line(text: str, offset: int) -> int:
    found = re.compile(r"[^\r\n]*").match(text, offset)
    return found.end() if found is not None else offset
