"""`with` blocks: the managers of libraries, and those of the project, whose code runs before and after the block."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..ir.syntax import With
from . import names
from .catching import catches
from .guards import Guard, either
from .jumps import RAISE
from .values import NONE, Class, Object, Value, const

if TYPE_CHECKING:
    from .interpreter import Interpreter


def walk_with(it: Interpreter, statement: With) -> None:
    """A `with` statement."""
    _within(it, statement, statement.items)


def _within(it: Interpreter, statement: With, items: Sequence[ast.withitem]) -> None:
    """Enter the managers one in the other, and walk the block in the innermost."""
    if not items:
        it.execute(statement.body)
        return
    first, *others = items
    node = first.context_expr

    def consume(value: Value) -> None:
        if first.optional_vars is not None:
            names.assign(it, first.optional_vars, value)
        _within(it, statement, others)

    it.consumers[id(node)] = consume
    value = it.evaluate(node)
    it.consumers.pop(id(node), None)
    if value:
        with it.under(either(guard for guard, _ in value)) as possible:
            if possible and not it.is_dead:
                _enter(it, statement, first, others, value)


def _enter(it: Interpreter, statement: With, item: ast.withitem, others: Sequence[ast.withitem], value: Value) -> None:
    node = item.context_expr
    managers = value.objects() or [it.unknown(it.module.code(node), it.site(node))]
    for manager in managers:
        manager.state["depth"] = const(len(it.loops))
    it.contexts.extend(managers)
    only = managers[0] if len(managers) == 1 else None
    own = only if only is not None and _has_own(only, "__enter__") and _has_own(only, "__exit__") else None
    given = it.library.entered(it, value, it.site(node))
    if own is not None:
        given = names.call_method(it, own, "__enter__", it.site(node), [])
    if item.optional_vars is not None:
        names.assign(it, item.optional_vars, given)
    held, mark = it.guard, len(it.jumps)
    _within(it, statement, others)
    del it.contexts[len(it.contexts) - len(managers) :]
    if own is not None:
        it.guard = held
        names.call_method(it, own, "__exit__", it.site(node), [NONE, NONE, NONE])
        it.go_on(held, mark)
    for manager in managers:
        if manager.kind == "suppress":
            _suppress(it, manager, held, mark)


def _has_own(manager: Object, name: str) -> bool:
    return isinstance(manager.type, Class) and names.class_attribute(manager.type, name) is not None


def _suppress(it: Interpreter, manager: Object, held: Guard, mark: int) -> None:
    """`contextlib.suppress`: what it is given is caught, and the walk goes on after the block."""
    kinds = manager.items or []
    it.jumps[mark:] = [
        jump for jump in it.jumps[mark:] if jump.kind != RAISE or not any(catches(kind, jump.raised) for kind in kinds)
    ]
    it.go_on(held, mark)
