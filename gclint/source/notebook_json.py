"""Where a notebook's JSON keeps its code cells, as spans of the text, and how one of them is rewritten."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from gclint.source.lines import split_lines
from gclint.source.syntax import MARKERS, UNFINISHED

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
Span = tuple[int, int]
NOT_OF_FORMAT_4 = "no list of cells: not a notebook of format 4"
CONVERT = "convert it: jupyter nbconvert --to notebook --nbformat 4"


class BadNotebook(ValueError):
    """Not a notebook that can be read; `line` from 1 of the JSON, and what to do."""

    def __init__(self, what: str, line: int, remedy: str) -> None:
        super().__init__(what)
        self.line, self.remedy = line, remedy


@dataclass(frozen=True)
class Cell:
    """A code cell: its number from 1 among all cells, its source, the span of that source's JSON value.

    `items` are the spans of the value's elements, empty when the value is one string.
    """

    number: int
    source: str
    start: int
    end: int
    items: tuple[Span, ...] = ()


def find_cells(raw: str) -> list[Cell]:
    """Return the Python code cells of the notebook in `raw`; raises `BadNotebook`."""
    try:
        top = dict(_members(raw, _after_space(raw, 0)))
        if "cells" not in top:
            raise BadNotebook(NOT_OF_FORMAT_4, 1, CONVERT)
        if not _is_python(raw, top.get("metadata")):
            return []
        cells = [_cell(raw, number, span) for number, span in enumerate(_elements(raw, top["cells"][0]), start=1)]
        return [cell for cell in cells if cell is not None]
    except (json.JSONDecodeError, RecursionError, IndexError):
        raise _why_not(raw) from None


def _why_not(raw: str) -> BadNotebook:
    """Why `raw` is no notebook."""
    try:
        json.loads(raw)
    except json.JSONDecodeError as error:
        marker = next((line for line, text in enumerate(raw.splitlines(), start=1) if text.startswith(MARKERS[0])), 0)
        if marker:
            return BadNotebook(UNFINISHED, marker, "finish the merge")
        return BadNotebook(f"not valid JSON: {error.msg}", error.lineno, "save it again in Jupyter, or exclude it")
    except RecursionError:
        return BadNotebook("not valid JSON: nested too deeply", 1, "save it again in Jupyter, or exclude it")
    return BadNotebook(NOT_OF_FORMAT_4, 1, CONVERT)


def offset_of(raw: str, cell: Cell, line: int) -> int:
    """Return where in `raw` the element of the cell's source begins that holds its `line` (from 0)."""
    for start, _ in cell.items:
        line -= max(1, len(split_lines(_DECODER.raw_decode(raw, start)[0])))
        if line < 0:
            return start
    return cell.start


def rewrite_cell(raw: str, cell: Cell, source: str) -> str:
    """Return the JSON value of `cell` with `source` in it, keeping the elements that stay and the layout."""
    ascii_only = raw.isascii()
    if not cell.items:
        value = json.dumps(source, ensure_ascii=ascii_only)
        return value if raw[cell.start] == '"' else f"[{value}]"
    old = [_DECODER.raw_decode(raw, start)[0] for start, _ in cell.items]
    new = split_lines(source) or [""]
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    kept = [raw[start:end] for start, end in cell.items]
    middle = [json.dumps(line, ensure_ascii=ascii_only) for line in new[head : len(new) - tail]]
    texts = [*kept[:head], *middle, *kept[len(kept) - tail :]]
    return raw[cell.start : cell.items[0][0]] + _between(raw, cell).join(texts) + raw[cell.items[-1][1] : cell.end]


def _between(raw: str, cell: Cell) -> str:
    if len(cell.items) > 1:
        return raw[cell.items[0][1] : cell.items[1][0]]
    return "," + (raw[cell.start + 1 : cell.items[0][0]] or " ")


def _shared(one: list[str], other: list[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _after_space(raw: str, position: int) -> int:
    match = _SPACE.match(raw, position)
    return match.end() if match else position


def _expect(raw: str, position: int, character: str) -> int:
    if raw[position : position + 1] != character:
        raise json.JSONDecodeError(f"expected {character}", raw, position)
    return _after_space(raw, position + 1)


def _members(raw: str, start: int) -> list[tuple[str, Span]]:
    """Return the keys of the object at `start` with the spans of their values."""
    position = _expect(raw, start, "{")
    found: list[tuple[str, Span]] = []
    while raw[position] != "}":
        key, position = _DECODER.raw_decode(raw, position)
        position = _expect(raw, _after_space(raw, position), ":")
        _, end = _DECODER.raw_decode(raw, position)
        found.append((key, (position, end)))
        position = _after_space(raw, end)
        if raw[position] == ",":
            position = _after_space(raw, position + 1)
    return found


def _elements(raw: str, start: int) -> list[Span]:
    """Return the spans of the elements of the array at `start`."""
    position = _expect(raw, start, "[")
    found: list[Span] = []
    while raw[position] != "]":
        _, end = _DECODER.raw_decode(raw, position)
        found.append((position, end))
        position = _after_space(raw, end)
        if raw[position] == ",":
            position = _after_space(raw, position + 1)
    return found


def _is_python(raw: str, metadata: Span | None) -> bool:
    if metadata is None:
        return True
    value = json.loads(raw[metadata[0] : metadata[1]])
    if not isinstance(value, dict):
        return True
    kernel, info = value.get("kernelspec"), value.get("language_info")
    language = kernel.get("language") if isinstance(kernel, dict) else None
    language = language or (info.get("name") if isinstance(info, dict) else None)
    return language is None or str(language).lower() in {"python", "ipython", "python3"}


def _cell(raw: str, number: int, span: Span) -> Cell | None:
    if raw[span[0]] != "{":
        raise BadNotebook(f"cell {number} is not an object", 1, "open and save it in Jupyter")
    members = dict(_members(raw, span[0]))
    kind, source = members.get("cell_type"), members.get("source")
    if kind is None or source is None or json.loads(raw[kind[0] : kind[1]]) != "code":
        return None
    value = json.loads(raw[source[0] : source[1]])
    if isinstance(value, str):
        return Cell(number, value, *source)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadNotebook(f"the source of cell {number} is not text", 1, "open and save it in Jupyter")
    return Cell(number, "".join(value), *source, items=tuple(_elements(raw, source[0])))
