"""Notebooks as launchers: `!torchrun train.py` lines and `%%bash` cells, with the environment set above them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from gclint.launch.launched import Invocation, Setting
from gclint.launch.shell_script import Shell
from gclint.source.source import Unreadable, read

SETS = re.compile(r"%(?:set_)?env\s+([A-Za-z_]\w*)(?:\s*=\s*|\s+)(.*\S)\s*")
ASSIGNS = re.compile(r"os\.environ\[['\"](\w+)['\"]\]\s*=\s*['\"]([^'\"]*)['\"]\s*(?:#.*)?")
SHELL_CELL = re.compile(r"%%(?:bash|sh|script\s+(?:ba|z)?sh)\b.*")


def notebook_invocations(path: Path, shell: Shell) -> Iterator[Invocation]:
    """The commands of a notebook in order, each line of shell in a shell of its own; lines are those of its module."""
    try:
        source = read(path)
    except Unreadable:
        return
    magics = dict(source.notebook.magics) if source.notebook is not None else {}
    exported: dict[str, Setting] = {}
    directory = ""
    cell, cell_text, cell_line = None, "", 0
    for number, line in enumerate([*source.lines, ""], start=1):
        magic = magics.get(number, "")
        if cell is not None:
            if number in magics and source.place(number)[0] == cell:
                cell_text += magic + "\n"
                continue
            yield from _shell(shell, exported, directory).run(cell_text, cell_line)
            cell = None
        if SHELL_CELL.fullmatch(magic):
            cell, cell_text, cell_line = source.place(number)[0], "", number + 1
        elif found := SETS.fullmatch(magic) or ASSIGNS.fullmatch(line.strip()):
            exported[found[1]] = Setting(found[1], found[2], number, path)
        elif magic.startswith("%cd "):
            directory = magic.removeprefix("%cd ").strip()
        elif magic.lstrip().startswith("!"):
            text = magic.lstrip().lstrip("!")
            later = number
            while text.rstrip().endswith("\\") and (later := later + 1) in magics:
                text += "\n" + magics[later]
            yield from _shell(shell, exported, directory).run(text, number)


def _shell(like: Shell, exported: dict[str, Setting], directory: str) -> Shell:
    made = Shell(like.path, like.source, {name: item.value for name, item in exported.items()})
    made.exported, made.directory = dict(exported), directory
    return made
