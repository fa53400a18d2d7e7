"""Entries: how each file of a project is started, by launchers, by itself, or by the commands it installs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gclint.launch import Command, Launch, commands, launches

if TYPE_CHECKING:
    from .project import Project

MAX_LAUNCHES = 3
STARTS = re.compile(rb"^if\b.*__name__.*__main__|^if\b.*__main__.*__name__", re.MULTILINE)


class Entry(NamedTuple):
    """One way a program starts: the launch, None when no launcher starts it so, and the function that is called
    in its module, "" where the file is run as a script.
    """

    launch: Launch | None = None
    function: str = ""


def _starts(data: bytes) -> bool:
    return b"__main__" in data and STARTS.search(data) is not None


class Entries:
    """The entries of a project's files; launchers and manifests are read once per program root."""

    def __init__(self, project: Project):
        self._project = project
        self._launches: dict[Path, dict[str, list[Launch]]] = {}
        self._commands: dict[Path, dict[str, list[Command]]] = {}

    def of(self, path: str) -> list[Entry]:
        """How the file starts, several processes first; empty for a module that only others import."""
        source = self._project.sources.get(path)
        if source is None:
            return []
        found = [Entry(launch, launch.function) for launch in self.launches(path)]
        if not found and (source.kind == "notebook" or _starts(source.data)):
            found.append(Entry())
        launched = {entry.function for entry in found}
        for command in self._commands_of(path):
            if command.function not in launched:
                found.append(Entry(None, command.function))
                launched.add(command.function)
        return found

    def launches(self, path: str) -> list[Launch]:
        """The launchers that start the file, at most `MAX_LAUNCHES`, several processes first."""
        near = self._launches_in(self._project.program_root(path)).get(path, [])
        told = {(launch.path, launch.line) for launch in near}
        everywhere = self._launches_in(self._project.root).get(path, [])
        own = [*near, *(item for item in everywhere if (item.path, item.line) not in told)]
        own.sort(key=lambda launch: (not launch.distributed, str(launch.path), launch.line))
        return own[:MAX_LAUNCHES]

    def _launches_in(self, root: Path) -> dict[str, list[Launch]]:
        """The launchers below a directory, by the file that they start (an absolute path)."""
        if root not in self._launches:
            self._launches[root] = found = dict[str, list[Launch]]()
            for launch in launches(root):
                found.setdefault(os.path.realpath(launch.program), []).append(launch)
        return self._launches[root]

    def _commands_of(self, path: str) -> list[Command]:
        root = self._project.program_root(path)
        if root not in self._commands:
            self._commands[root] = found = dict[str, list[Command]]()
            for command in commands(root):
                found.setdefault(os.path.realpath(command.program), []).append(command)
        return self._commands[root].get(path, [])
