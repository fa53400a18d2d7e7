"""Deferral: a module of the project whose import does nothing but bind names is walked when one of them is read.

What such an import sets off all the same, the libraries and the other modules that it imports in turn, happens at
once. Whether a module is quiet in this way is told from its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .units import Sheet
from .values import Deferred, Value, of, union

if TYPE_CHECKING:
    from .interpreter import Interpreter
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
_NEVER_WHEN_IMPORTED = re.compile(r"if[ \t]+__name__[ \t]*==")
_LOOPS = re.compile(r"(?:for|while|with|del|async|match)\b")
_REGISTERS = re.compile(r"regist|subscribe|add_", re.IGNORECASE)
_CALLED = re.compile(r"([A-Za-z_]\w*)\(")


class Deferral:
    """Which modules of a project are quiet. `words` are those that a quiet module's top level does not use."""

    def __init__(self, project: Project, words: Iterable[str] = ()):
        self._project = project
        self._words = frozenset(words)
        self._quiet: dict[str, Sheet | None] = {}

    def of(self, path: str) -> Sheet | None:
        """The units of a quiet module; None for one that has to be walked when it is imported."""
        if path not in self._quiet:
            text = self._project.text(path)
            self._quiet[path] = self._judged(path, text) if text is not None else None
        return self._quiet[path]

    def _judged(self, path: str, text: str) -> Sheet | None:
        sheet = Sheet(path, text)
        units = [unit for held in sheet.units.values() for unit in held]
        if any(_REGISTERS.search(unit.decorators) for unit in units) or any(map(self._acts, sheet.statements)):
            return None
        return sheet

    def _acts(self, statement: str) -> bool:
        if _NEVER_WHEN_IMPORTED.match(statement):
            return False
        if any(word in statement for word in TAKES_WHAT_MAY_BE_REPLACED):
            return True
        if statement.startswith(("import ", "from ")):
            return False
        if any(word in statement.replace("environ.get(", "") for word in CHANGES_THE_PROCESS):
            return True
        acts = _LOOPS.match(statement) is not None or _ACTS.search(statement) is not None
        return acts or not self._words.isdisjoint(_CALLED.findall(statement))


def forced(it: Interpreter, value: Value) -> Value:
    """The value with what imports left open filled in, by walking the modules that they read."""
    if not any(isinstance(item, Deferred) for _, item in value):
        return value
    parts = [
        _filled(it, item).under(guard) if isinstance(item, Deferred) else Value([(guard, item)])
        for guard, item in value
    ]
    return union(parts)


def _filled(it: Interpreter, item: Deferred) -> Value:
    """What the import would have bound, had its module been walked then."""
    from .imports import member_of

    if item in it.filling:
        return of(it.unknown(item.member))
    held = (it.guard, it.frames, it.handlers, it.steps)
    before = set(it.modules)
    it.filling.add(item)
    it.guard, it.frames, it.handlers = item.guard, it.frames[:1], []
    try:
        return forced(it, member_of(it, item.path, item.member) if item.member else it.import_module(item.path))
    finally:
        it.filling.discard(item)
        it.guard, it.frames, it.handlers, it.steps = held
        if it.run.entry is item.site.module:
            for path in it.modules.keys() - before:
                it.run.import_sites.setdefault(path, item.site)
