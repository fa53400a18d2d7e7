"""A notebook as one Python module, and edits of that module written back into the cells' JSON.

Every code cell follows a marker line of its own, so a line of the module belongs to exactly one cell, and
an edit that touches a marker is refused. Only the `source` of a changed cell is rewritten in the file:
outputs, ids, metadata, indentation and the final newline are never parsed and printed again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from gclint.source.lines import split_lines
from gclint.source.magics import MARK, restored, without_magics, without_what_fails
from gclint.source.notebook_json import BadNotebook, Cell, find_cells, offset_of, rewrite_cell
from gclint.source.syntax import is_python

__all__ = ["BadNotebook", "Notebook", "read_notebook"]


@dataclass(frozen=True)
class Part:
    """A code cell in the module: its number from 1, its marker line from 1, and the magics it had."""

    cell: Cell
    marker: str
    line: int
    magics: dict[str, str]
    ended: bool


@dataclass(frozen=True)
class Notebook:
    """The module `text` of a notebook whose JSON is `raw`."""

    raw: str
    text: str
    parts: tuple[Part, ...]

    def place(self, line: int) -> tuple[int | None, int]:
        """Return the cell (numbered from 1 over all cells) and the line in it (from 1) of a module line."""
        index = bisect_right([part.line for part in self.parts], line) - 1
        if index < 0:
            return None, line
        part = self.parts[index]
        return part.cell.number, max(1, line - part.line)

    def file_line(self, line: int) -> int:
        """Return the line of the file's JSON (from 1) in which a module line stands."""
        index = bisect_right([part.line for part in self.parts], line) - 1
        if index < 0:
            return 1
        part = self.parts[index]
        return 1 + self.raw.count("\n", 0, offset_of(self.raw, part.cell, max(0, line - part.line - 1)))

    @property
    def magics(self) -> tuple[tuple[int, str], ...]:
        """The IPython lines that the module has as comments: (module line from 1, text as in the cell)."""
        found = []
        for number, line in enumerate(split_lines(self.text), start=1):
            index = bisect_right([part.line for part in self.parts], number) - 1
            original = self.parts[index].magics.get(line.rstrip("\r\n")) if index >= 0 else None
            if original is not None:
                found.append((number, original))
        return tuple(found)

    def columns(self, line: int, start: int, end: int) -> tuple[int, int]:
        """The columns in a cell's line of two columns in the module's; of a magic as a whole, its first and last."""
        own, text = dict(self.magics).get(line), split_lines(self.text)[line - 1].rstrip("\r\n")
        if own is None:
            return start, end
        added = len(text) - len(own)
        first = 1 + len(text) - len(text.lstrip())
        inside = start - added >= first
        return (start - added, end - added) if inside else (first, len(own) + 1)

    def write(self, new_text: str) -> str:
        """Return the JSON with the cells as `new_text` has them; raises `BadNotebook` for a lost marker."""
        bodies = self._bodies(new_text)
        pieces, done = [], 0
        for part, body in zip(self.parts, bodies, strict=True):
            source = _source_of(part, body)
            if source == part.cell.source:
                continue
            pieces += [self.raw[done : part.cell.start], rewrite_cell(self.raw, part.cell, source)]
            done = part.cell.end
        return "".join([*pieces, self.raw[done:]])

    def _bodies(self, new_text: str) -> list[list[str]]:
        bodies: list[list[str]] = []
        before: list[str] = []
        for line in split_lines(new_text):
            if len(bodies) < len(self.parts) and line == self.parts[len(bodies)].marker:
                bodies.append(before)
                before = []
            elif bodies:
                bodies[-1].append(line)
            else:
                before.append(line)
        if len(bodies) != len(self.parts) or before:
            raise BadNotebook("an edit crosses cells of the notebook", 1, "edit the cells by hand")
        return bodies


def read_notebook(raw: str) -> Notebook:
    """Return the notebook in the JSON text `raw`; raises `BadNotebook` where it is none (format 4 is read).

    A notebook in another language than Python has no code cells here. Nothing of a cell that is no Python is run, as
    Jupyter runs nothing of it: shell text, prose, a blank to be filled in.
    """
    cells = find_cells(raw)
    whole = _joined(raw, cells, without_magics)
    return whole if is_python(whole.text) else _joined(raw, cells, without_what_fails)


def _joined(raw: str, cells: list[Cell], replaced_in: Callable[[list[str]], dict[int, str]]) -> Notebook:
    """The notebook of these cells, less the lines that are replaced."""
    marker = _unused_marker(cells)
    pieces: list[str] = []
    parts: list[Part] = []
    line = 1
    for cell in cells:
        head = f"{marker} {cell.number}\n"
        lines = split_lines(cell.source)
        ended = not lines or lines[-1][-1] in "\r\n"
        if not ended:
            lines[-1] += "\n"
        replaced = replaced_in(lines)
        magics = {new.rstrip("\r\n"): lines[i].rstrip("\r\n") for i, new in replaced.items()}
        parts.append(Part(cell, head, line, magics, ended))
        pieces += [head, *(replaced.get(i, text) for i, text in enumerate(lines))]
        line += 1 + len(lines)
    return Notebook(raw, "".join(pieces), tuple(parts))


def _unused_marker(cells: list[Cell]) -> str:
    marker = "# %% cell"
    while any(marker in cell.source for cell in cells):
        marker += "_"
    return marker


def _source_of(part: Part, body: list[str]) -> str:
    lines = []
    for line in body:
        text = line.rstrip("\r\n")
        own = part.magics.get(text, text if MARK in part.cell.source else restored(text))
        lines.append(own + line[len(text) :])
    source = "".join(lines)
    return source if part.ended or not source.endswith("\n") else source[:-1]
