"""Environment variables that a launcher sets, as places: in a script, a Makefile, an image, a workflow, a notebook."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from ..compiled import interpreted
from ..finding import Edit
from ..ir.syntax import Site, Span
from .pages import Page, Written

if TYPE_CHECKING:
    from ..launch import Setting
    from .interpreter import Interpreter

_SIGN = r"(?:\s*[:?]?[=:]\s*|\s+)"
_PLAIN = re.compile(r"[\w./:-]+")


@interpreted
class VariableNode(Written):
    """A variable and its value, on one line."""

    def __init__(self, page: Page, line: int, start: int, value: int, end: int):
        super().__init__()
        self.page, self.value = page, value
        self.span = Span(line, start, line, end)

    def replaced(self, value: Any) -> Edit | None:
        """Give it another value; None for one that would have to be quoted."""
        text = str(int(value)) if isinstance(value, bool) else str(value)
        if not _PLAIN.fullmatch(text):
            return None
        return self.page.edit((self.span.line, self.value), (self.span.line, self.span.end_column), text)


def variable(it: Interpreter, name: str) -> Site | None:
    """Where the launcher sets a variable; None where it does not, or not in words on one line."""
    launch = next(iter(it.run.launch_places), None)
    setting: Setting | None = launch.variable(name) if launch is not None else None
    source = it.project.source(os.path.realpath(setting.path)) if setting is not None else None
    if setting is None or source is None or not 0 < setting.line <= len(source.lines):
        return None
    text = source.lines[setting.line - 1]
    found = [
        match
        for match in re.finditer(rf"(?<![\w$]){name}[\"']?{_SIGN}[\"']?({re.escape(setting.value)})", text)
        if not re.match(r"[\w./:-]", text[match.end() :])
    ]
    if len(found) != 1 or not setting.value:
        return None
    page = Page(source.path, source.text)
    start, value = found[0].start() + 1, found[0].start(1) + 1
    return Site.at(page, VariableNode(page, setting.line, start, value, found[0].end() + 1))
