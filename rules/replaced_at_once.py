"""Options that a program replaces right after it has parsed them, before any code comes to read them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.ir.syntax import DEFINITIONS, FUNCTIONS, Site, nodes
from gclint.run.calls import Call
from gclint.run.closures import enclosing_function
from gclint.run.events import LibraryCall
from gclint.run.run import Run

from .option_places import is_its_own


def replaced_at_once(name: str, option: Call, parsed: LibraryCall, run: Run) -> bool:
    """Whether a statement behind the one that parses puts something in the place of an option, in the same block, where
    the option is made in that function too: what stands between takes other options of the namespace, and calls nothing
    but libraries with them. Where a function only makes and parses them, it is the one statement that calls it.
    """
    place = parsed.site
    if option.site.module is not place.module or _function(option.site) is not _function(place):
        return False
    line = _line_that_has_them(place)
    if line is None or len(line.targets) != 1:
        return False
    kept = line.targets[0]
    called = {event.site.node for event in run.of_type(LibraryCall)}
    for later in _behind(line, place) if isinstance(kept, ast.Name) else ():
        if not _takes_others(later, kept, name, called):
            return False
        if _replaces(later, kept, name):
            return True
    return False


def _line_that_has_them(place: Site) -> ast.Assign | None:
    """The statement that binds what is parsed: there, or where the function is called that gives it back."""
    line, bound = place.module.statement(place.node), place.node
    if isinstance(line, ast.Return) and line.value is bound:
        function = _function(place)
        name = function.name if isinstance(function, FUNCTIONS) else ""
        calls = [
            each
            for each in nodes(place.module.tree)
            if isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load)
        ]
        if len(calls) != 1 or not is_its_own(calls[0], place.module):
            return None
        line, bound = place.module.statement(calls[0]), place.module.parents[calls[0]]
    return line if isinstance(line, ast.Assign) and line.value is bound and isinstance(bound, ast.Call) else None


def _replaces(line: ast.stmt, kept: ast.expr, name: str) -> bool:
    """Whether a statement sets an option: itself, or in each of its branches that does not raise."""
    if isinstance(line, ast.If):
        return all(
            bool(block) and (isinstance(block[-1], ast.Raise) or any(_replaces(each, kept, name) for each in block))
            for block in (line.body, line.orelse)
        )
    return isinstance(line, ast.Assign) and any(_is_option(each, kept, name) for each in line.targets)


def _function(site: Site) -> ast.AST:
    return enclosing_function(site.module, site.node)


def _behind(line: ast.stmt, place: Site) -> Iterator[ast.stmt]:
    """The statements that follow one in its block."""
    block = place.module.block(line)
    yield from block[block.index(line) + 1 :]


def _is_option(node: ast.AST, kept: ast.expr, name: str) -> bool:
    """Whether something is an option of the namespace that a variable holds."""
    held = node.value if isinstance(node, ast.Attribute) and node.attr == name else None
    return isinstance(held, ast.Name) and isinstance(kept, ast.Name) and held.id == kept.id


def _takes_others(line: ast.stmt, kept: ast.expr, name: str, called: set[ast.AST]) -> bool:
    """Whether a statement does nothing with the namespace but to take or to set options, and does not take this one."""
    if any(isinstance(part, (*DEFINITIONS, ast.Lambda, ast.Return, ast.With, ast.Try)) for part in ast.walk(line)):
        return False
    parts = [*nodes(line)]
    taken = {part.value for part in parts if isinstance(part, ast.Attribute)}
    passed = any(
        isinstance(part, ast.Name) and isinstance(kept, ast.Name) and part.id == kept.id and part not in taken
        for part in parts
    )
    read = any(_is_option(part, kept, name) and isinstance(getattr(part, "ctx", None), ast.Load) for part in parts)
    return not passed and not read and all(part in called for part in parts if isinstance(part, ast.Call))
