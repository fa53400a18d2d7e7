"""Definitions: functions and classes of the project, with their decorators."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..ir.syntax import FunctionDef, dotted
from . import evaluation
from .calls import Call
from .values import Alternative, Class, External, Function, Object, Value, of

if TYPE_CHECKING:
    from .interpreter import Interpreter

DECORATOR_STEPS = 400
ONCE_BOUND = "once bound"  # of the run's facts: what decorators start when the function has its name


def define_function(it: Interpreter, node: FunctionDef) -> bool:
    """`def f(...)`: bind its name to what its decorators make of it; what sets a property stands beside its reader."""
    extended = next((found for each in node.decorator_list if (found := _extended(it, each)) is not None), None)
    defined = evaluation.function_value(it, node)
    if extended is None:
        it.bind(node.name, _decorated(it, defined, node.decorator_list))
        for start in it.run.facts.pop(ONCE_BOUND, ()):
            start()
    else:
        read, how = extended
        it.bind(node.name, read)
        it.bind(f"{node.name}.{how}", of(defined))
    return True


def once_bound(it: Interpreter, start: Callable[[], object]) -> None:
    """Start something that a decorator runs, which may take more steps than a decorator does."""
    it.run.facts.setdefault(ONCE_BOUND, []).append(start)


def _extended(it: Interpreter, decorator: ast.expr) -> tuple[Value, str] | None:
    """What reads the property to which `@name.setter` or `@name.deleter` adds, and which of them it is."""
    if not isinstance(decorator, ast.Attribute) or decorator.attr not in ("setter", "deleter"):
        return None
    read = it.scope.names.get(decorator.value.id) if isinstance(decorator.value, ast.Name) else None
    held = read.only() if read is not None else None
    known = isinstance(held, Function) and "property" in it.library.decorators(held)
    return (read, decorator.attr) if read is not None and known else None


def _decorated(it: Interpreter, defined: Function | Class, decorators: list[ast.expr]) -> Value:
    """What decorators make of a function or class; of one that does too much to be followed, what it was given."""
    value = of(defined)
    for decorator in reversed(decorators):
        held, stopped, allowed = it.reserve, it.stopped, min(it.steps, DECORATOR_STEPS)
        it.steps, it.reserve = allowed, held + it.steps - allowed
        made = _applied(it, value, defined, decorator)
        value, left = value if it.steps < 0 else made, it.steps + it.reserve
        it.reserve, it.stopped = min(held, left), stopped
        it.steps = left - it.reserve
    return value


def _applied(it: Interpreter, value: Value, defined: Function | Class, decorator: ast.expr) -> Value:
    made = it.evaluate(decorator)
    for _, item in made:
        if isinstance(item, Function):
            result = it.call(made, Call(it, it.site(decorator), "decorator", [value]))
            return result if any(isinstance(part, type(defined)) for _, part in result) else value
        if isinstance(item, Object) and item.kind == "context":
            it.decorations.setdefault(defined.node_id, []).append(item)
            return value
    replaced = it.library.decorated(it, made, value, it.site(decorator))
    return replaced if replaced is not None else value


def define_class(it: Interpreter, node: ast.ClassDef) -> bool:
    """`class C(...)`: walk its body in a scope of its own."""
    bases: list[Alternative] = []
    for argument in node.bases:
        bases.extend(item for _, item in it.evaluate(argument) if isinstance(item, (Class, External)))
    scope = it.within(it.scope, {}, is_class=True)
    outer, it.frame.scope = it.frame.scope, scope
    it.execute(node.body)
    it.frame.scope = outer
    decorators = tuple(_decorator_name(decorator) for decorator in node.decorator_list)
    made = Class(node, it.module, scope.names, tuple(bases), decorators, id(node))
    for name, value in scope.names.items():
        scope.names[name] = Value((guard, _owned(item, made)) for guard, item in value)
    it.bind(node.name, _decorated(it, made, node.decorator_list))
    return True


def _owned(item: Alternative, owner: Class) -> Alternative:
    if isinstance(item, Function) and item.owner is None:
        return Function(item.node, item.module, item.scope, item.defaults, owner, item.receiver, item.node_id)
    return item


def _decorator_name(decorator: ast.expr) -> str:
    return dotted(decorator.func if isinstance(decorator, ast.Call) else decorator).rsplit(".", 1)[-1]
