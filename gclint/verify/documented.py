"""The command by which a project's README starts a program, where no launcher does."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gclint.launch import Launch
from gclint.launch.command_line import launch_of_command

DEPTH = 3
PROMPT = re.compile(r"^\s*(?:[$>%]\s+|`+)?|`+\s*$")


def documented_launch(program: Path, root: Path) -> Launch:
    """The first command of a README in or above the program's folder that starts it, else the file by itself."""
    wanted = os.path.realpath(program)
    for readme in _readmes(program, root):
        for line in _commands(readme):
            launch = _launch(line, readme.parent, root)
            if launch is not None and os.path.realpath(launch.program) == wanted:
                return launch
    return Launch(program, 1, program, "python", world_size=1, distributed=False, directory=program.parent)


def _readmes(program: Path, root: Path) -> Iterator[Path]:
    folder = program.resolve().parent
    for each in (folder, *folder.parents)[: DEPTH + 1]:
        if each.is_relative_to(root.resolve()):
            yield from sorted(path for path in each.glob("[Rr][Ee][Aa][Dd][Mm][Ee]*") if path.is_file())


def _commands(readme: Path) -> Iterator[str]:
    try:
        text = readme.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        if ".py" in line or " -m " in line:
            yield PROMPT.sub("", line)


def _launch(line: str, here: Path, root: Path) -> Launch | None:
    """What a line starts from the README's folder or the project's root; None for prose and for open places."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return None
    if not words or any(sign in word for word in words for sign in ("<", "[", "{", "...", "/path/to")):
        return None
    for folder in (here, root):
        launch = launch_of_command(words, {}, os.fspath(folder))
        if launch is not None:
            return replace(launch, directory=folder)
    return None
