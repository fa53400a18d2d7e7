"""Exceptions: what catches what is known to be raised, and under which condition a handler runs for anything else."""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ..ir.syntax import Try, dotted
from . import imports
from .catching import Handlers, catches
from .guards import Atom, Guard, either, narrowed
from .jumps import RAISE, Jump, left
from .values import NOTHING, External, Value, of, union

if TYPE_CHECKING:
    from ..ir.syntax import Module
    from .interpreter import Interpreter

_LACKING = of(External("builtins.AttributeError"))
_OF_AN_IMPORT = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


def walk_try(it: Interpreter, statement: Try) -> None:
    """A `try` statement. What is known to be raised goes to the first handler that catches it; where something in the
    block may raise besides, each handler runs under the condition that it is needed.
    """
    held, mark, risks = it.guard, len(it.jumps), it.risks
    kinds = [it.evaluate(handler.type) if handler.type is not None else None for handler in statement.handlers]
    it.handlers.append(tried := Handlers(it.site(statement), kinds, risks))
    it.execute(statement.body)
    it.handlers.pop()
    end = it.guard
    unsure = it.risks > risks and not imports.succeeds(it, statement.body)
    atoms = [_needed(it, statement, handler) for handler in statement.handlers] if unsure else []
    nothing_raised: Guard = frozenset((atom, False) for atom in atoms)
    others = [_unless(jump, nothing_raised) for jump in it.jumps[mark:] if jump.kind != RAISE]
    raised = [_unless(jump, nothing_raised) for jump in it.jumps[mark:] if jump.kind == RAISE]
    del it.jumps[mark:]
    made: list[Jump] = []
    for place, (handler, kind) in enumerate(zip(statement.handlers, kinds, strict=True)):
        caught = [jump for jump in raised if kind is None or catches(kind, jump.raised)]
        raised = [jump for jump in raised if jump not in caught]
        if caught:
            it.guard = either(jump.guard for jump in caught)
            _handle(it, handler, mark, union(jump.raised.under(jump.guard - held) for jump in caught), made)
        if unsure and not falls_back(statement, handler):
            it.guard = narrowed(held, frozenset({(atoms[place], True)}))
            it.doubted.append(tried if kind is None or catches(kind, _LACKING) else Handlers(tried.site, []))
            _handle(it, handler, mark, NOTHING, made)
            it.doubted.pop()
    it.guard = end
    it.execute(statement.orelse)
    jumps = [*others, *raised, *made, *it.jumps[mark:]]
    it.jumps[mark:] = jumps
    it.guard = left(held, jumps)
    if statement.finalbody:
        going_on, it.guard = it.guard, held
        start = len(it.jumps)
        it.execute(statement.finalbody)
        it.go_on(going_on, start)


def _unless(jump: Jump, guard: Guard) -> Jump:
    return replace(jump, guard=narrowed(jump.guard, guard))


def _handle(it: Interpreter, handler: ast.ExceptHandler, mark: int, raised: Value, made: list[Jump]) -> None:
    """Walk a handler; its own jumps go to `made`."""
    if it.is_dead:
        return
    if handler.name is not None:
        it.bind(handler.name, raised or of(it.unknown("exception", it.site(handler))))
    held, it.handled = it.handled, raised
    it.execute(handler.body)
    it.handled = held
    made += it.jumps[mark:]
    del it.jumps[mark:]


def _needed(it: Interpreter, statement: Try, handler: ast.ExceptHandler) -> Atom:
    """The condition that something unknown raises what a handler catches."""
    about = imports.tried(statement.body) if _is_for_imports(handler.type) else ""
    return Atom(f"except:{id(handler)}", partial(_raised, it.module, handler), "", about=about)


def falls_back(statement: Try, handler: ast.ExceptHandler) -> bool:
    """Whether a handler awaits that a release takes an argument no more, or not yet: it is for errors of arguments, and
    calls what the block calls with others. It does not run with a release that takes them.
    """
    names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    if "TypeError" not in (kinds := [dotted(name) for name in names if name is not None]):
        return False
    tried, again = _given(statement.body), _given(handler.body)
    return not {"Exception", "BaseException"} & {*kinds} and any(
        name in tried and keywords != tried[name] for name, keywords in again.items()
    )


def _given(body: list[ast.stmt]) -> dict[str, set[str | None]]:
    """The keywords that a block gives to each function that it calls by name."""
    calls = [node for part in body for node in ast.walk(part) if isinstance(node, ast.Call)]
    return {name: {keyword.arg for keyword in call.keywords} for call in calls if (name := dotted(call.func))}


def _raised(module: Module, handler: ast.ExceptHandler) -> str:
    kind = module.code(handler.type) if handler.type is not None else "an exception"
    return f"if {kind} is raised"


def _is_for_imports(kind: ast.expr | None) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(_is_for_imports(element) for element in kind.elts)
    return kind is None or dotted(kind) in _OF_AN_IMPORT
