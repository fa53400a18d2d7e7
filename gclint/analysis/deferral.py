"""Deferral: a module of the project whose import does nothing but bind names is walked when one of them is read.

What such an import sets off all the same, the libraries and the other modules that it imports in turn, happens at
once. Whether a module is quiet in this way is told from its text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

from .units import ONLY_WHEN_STARTED, Sheet

if TYPE_CHECKING:
    from .mentions import Mentions
    from .project import Project

CHANGES_THE_PROCESS = (
    *("environ[", "environ.", "putenv", "setattr(", "torch.backends", "sys.path", "addsitedir"),
    *("set_default", "init_process_group", "set_device"),
)
TAKES_WHAT_MAY_BE_REPLACED = ("utils.checkpoint", "torch.utils import", "torch.utils as", "torch import utils")
_ACTS = re.compile(
    r"^[ \t]*(?!warnings\.|logger\.|logging\.|print\(|super\()[A-Za-z_][\w.]*\("
    r"|^[ \t]*[A-Za-z_][\w.]*\.\w+[ \t]*[-+|]?=(?!=)",
    re.MULTILINE,
)
_ASSIGNS = re.compile(r"[A-Za-z_][\w.]*[ \t]*=(?!=)")
_LOOPS = re.compile(r"(?:for|while|with|del|async|match)\b")
_REGISTERS = re.compile(r"regist|subscribe", re.IGNORECASE)
_CALLED = re.compile(r"([A-Za-z_]\w*)\(")


class Deferral:
    """Which modules of a project are quiet. A quiet module's top level does not call `words`, nor assigns what
    one of the project's functions or classes of these `names` gives. With no words, none is quiet. `asked` has
    what was answered.
    """

    def __init__(self, project: Project, mentions: Mentions, words: Iterable[str], names: Container[str]):
        self._project = project
        self._mentions = mentions
        self._words = frozenset(words)
        self._names = names
        self.asked: dict[str, bool] = {}
        self._quiet: dict[str, bool] = {}
        self._imported: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}

    def is_quiet(self, path: str) -> bool:
        """Whether nothing but names comes of importing a file of the project, besides what it imports itself."""
        if path not in self._quiet:
            sheet = self._project.sheet(path)
            self._quiet[path] = bool(self._words) and sheet is not None and self._judged(sheet)
        self.asked[path] = self._quiet[path]
        return self._quiet[path]

    def imported(self, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What importing a file imports: libraries' modules by name, and the project's by file."""
        self._project.consulted.add(path)
        if path not in self._imported:
            libraries: dict[str, None] = {}
            files: dict[str, None] = {}
            sheet = self._project.sheet(path)
            for item in sheet.executed if sheet is not None else ():
                found = [os.path.realpath(file) for file in self._mentions.reads(path, item) if file]
                files |= dict.fromkeys(found)
                if not found and item.level == 0:
                    libraries[item.module] = None
            self._imported[path] = (tuple(libraries), tuple(files))
        return self._imported[path]

    def _judged(self, sheet: Sheet) -> bool:
        units = [unit for held in sheet.units.values() for unit in held]
        registers = any(_REGISTERS.search(unit.decorators) for unit in units if unit.decorators)
        return not registers and not any(map(self._acts, sheet.statements))

    def _acts(self, statement: str) -> bool:
        if ONLY_WHEN_STARTED.match(statement):
            return False
        if any(word in statement for word in TAKES_WHAT_MAY_BE_REPLACED):
            return True
        if statement.startswith(("import ", "from ")):
            return False
        if any(word in statement.replace("environ.get(", "") for word in CHANGES_THE_PROCESS):
            return True
        acts = _LOOPS.match(statement) is not None or _ACTS.search(statement) is not None
        called = _CALLED.findall(statement)
        assigns = _ASSIGNS.match(statement) is not None
        return acts or any(name in self._words or (assigns and name in self._names) for name in called)
