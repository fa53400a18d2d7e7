"""Exceptions: what ends because an expression raises, and what catches it.

The one exception that an expression is known to raise is the KeyError of an environment variable that is not set.
"""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING

from . import execution, imports
from .guards import Atom, Guard, compatible, complement
from .syntax import Try, With, dotted
from .values import of

if TYPE_CHECKING:
    from .interpreter import Interpreter
    from .syntax import Module

_OF_A_KEY = frozenset({"KeyError", "LookupError", "Exception", "BaseException"})
_OF_AN_IMPORT = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


def goes_on(it: Interpreter) -> bool:
    """Narrow the guard to where no expression has raised; False where none is left."""
    if it.has_ended():
        return False
    for guard in it.ended:
        if compatible(guard, it.guard):
            it.guard |= complement(guard - it.guard)
    return True


def suppressed(it: Interpreter, statement: With, before: int) -> bool:
    """Whether a `with` block lets nothing out of what was raised in it, and nothing of it is left to be caught."""
    if len(it.ended) == before or not any(_suppresses(item.context_expr) for item in statement.items):
        return False
    del it.ended[before:]
    return True


def walk_try(it: Interpreter, statement: Try) -> bool:
    """A `try` statement: each handler under the condition that it is needed, unless that is known."""
    it.handlers.append(it.site(statement))
    before = len(it.ended)
    end = execution.execute(it, statement.body)
    it.handlers.pop()
    alive = [] if end is None else [end]
    caught: list[Guard | None] = []
    for handler in () if imports.succeeds(it, statement.body) else statement.handlers:
        about = imports.tried(statement.body) if _catches(handler.type, _OF_AN_IMPORT) else ""
        words = partial(_raised, it.module, handler)
        maybe = frozenset({(Atom(f"except:{id(handler)}", words, "", about=about), True)})
        if len(it.ended) > before and _catches(handler.type, _OF_A_KEY):
            certain = it.has_ended()
            known = [guard - it.guard for guard in it.ended[before:]]
            del it.ended[before:]
            alive += [after for way in known if (after := _handled(it, handler, way)) is not None]
            if certain:
                continue
        caught.append(_handled(it, handler, maybe))
    if end is not None and statement.orelse:
        end = execution.execute(it, statement.orelse)
        alive = [*([] if end is None else [end]), *alive[1:]]
    execution.execute(it, statement.finalbody)
    return execution.narrow(it, alive or [guard for guard in caught if guard is not None])


def _handled(it: Interpreter, handler: ast.ExceptHandler, way: Guard) -> Guard | None:
    """Walk a handler under a guard; returns the guard under which control goes on after it."""
    with it.under(way) as possible:
        if not possible:
            return None
        if handler.name is not None:
            it.bind(handler.name, of(it.unknown("exception", it.site(handler))))
        return execution.execute(it, handler.body)


def _raised(module: Module, handler: ast.ExceptHandler) -> str:
    kind = module.code(handler.type) if handler.type is not None else "an exception"
    return f"if {kind} is raised"


def _suppresses(manager: ast.expr) -> bool:
    """Whether a context manager is `suppress(KeyError)`, or suppresses more than that."""
    if not isinstance(manager, ast.Call) or dotted(manager.func).rsplit(".", 1)[-1] != "suppress":
        return False
    return any(_catches(argument, _OF_A_KEY) for argument in manager.args)


def _catches(kind: ast.expr | None, names: frozenset[str]) -> bool:
    """Whether an `except` of this type, None for a bare one, catches what these names do, as far as its words tell."""
    if isinstance(kind, ast.Tuple):
        return any(_catches(element, names) for element in kind.elts)
    return kind is None or dotted(kind) in names
