"""What the cells of a notebook install before they run: `!pip`, `%pip`, `!uv pip`, `%conda`, `%%bash` cells."""

from __future__ import annotations

from dataclasses import replace

from gclint.pins.commands import read_shell
from gclint.pins.pin import FilePins, Pin

SHELL = ("!", "%", "$")


def read_notebook_cells(text: str) -> FilePins:
    """The pins of the install commands of a notebook, by cell; the first word on a package is kept."""
    if "install" not in text:
        return FilePins()
    from gclint.source.notebook_json import BadNotebook, find_cells

    try:
        cells = find_cells(text)
    except BadNotebook:
        return FilePins()
    pins: dict[str, Pin] = {}
    includes: list[str] = []
    for cell in cells:
        found = read_shell(_commands(cell.source))
        includes += found.includes
        for pin in found.pins:
            pins.setdefault(pin.package, replace(pin, cell=cell.number))
    return FilePins(tuple(pins.values()), tuple(includes))


def _commands(source: str) -> str:
    """A cell's lines that a shell runs, the others blank; all of a cell of shell."""
    if source.startswith(("%%bash", "%%sh", "%%script")):
        return source
    lines, goes_on = [], False
    for line in source.splitlines():
        command = goes_on or line.lstrip().startswith(SHELL) or line.startswith(("pip install", "conda install"))
        goes_on = command and line.rstrip().endswith("\\")
        lines.append(line if command else "")
    return "\n".join(lines)
