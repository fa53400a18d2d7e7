"""What objects of the project's own classes give to a loop: by `__iter__`, and by `__next__` of what that gives."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..ir.syntax import dotted
from . import counters, elements, names
from .catching import Handlers, catches
from .jumps import RAISE
from .values import NOTHING, Alternative, Class, External, Function, Object, Value, const, of, union

if TYPE_CHECKING:
    from .interpreter import Interpreter

Take = Callable[[Value], None]

ITER, NEXT = "__iter__", "__next__"
STOP = of(External("builtins.StopIteration"))
PLAIN = "instance"
"""The kind of objects of a class that extends none of a library's that is known."""
COUNTED = "builtins.enumerate"
SHOWN = "tqdm."
"""What goes over its first argument as a loop comes to each element."""


def gone_over(it: Interpreter, value: Value, node: ast.AST) -> Value:
    """What a loop goes over that goes over a value; nothing where each element was consumed as it was yielded."""
    if not any(_has(item, ITER) for _, item in value):
        return value
    parts = []
    for guard, item in value.possible(it.guard):
        if not isinstance(item, Object) or not _has(item, ITER):
            parts.append(of(item).under(guard))
            continue
        with it.under(guard) as possible:
            if possible:
                parts.append(_given(it, item, node).under(guard))
    return union(parts)


def all_of_it(it: Interpreter, item: Object, node: ast.AST) -> Value | None:
    """What an object gives all at once, whoever would take each as it comes; None for what is no such object."""
    if not _has(item, ITER):
        return None
    taker = it.consumers.pop(id(node), None)
    given = gone_over(it, of(item), node)
    if taker is not None:
        it.consumers[id(node)] = taker
    return given


def _given(it: Interpreter, item: Object, node: ast.AST) -> Value:
    parts = []
    for guard, held in names.call_method(it, item, ITER, it.site(node), []):
        if isinstance(held, Object) and _has(held, NEXT):
            parts.append(_one_after_the_other(it, held, node).under(guard))
        else:
            parts.append((of(held) if held is item else gone_over(it, of(held), node)).under(guard))
    return union(parts)


def _one_after_the_other(it: Interpreter, item: Object, node: ast.AST) -> Value:
    """A list of which one element stands for all that `__next__` gives, until it says that there is no more."""
    made, mark, before = it.new("list", "", "", it.site(node)), len(it.jumps), it.guard
    it.handlers.append(Handlers(it.site(node), [STOP]))
    made.items = [names.call_method(it, item, NEXT, it.site(node), [])]
    it.handlers.pop()
    it.jumps[mark:] = [each for each in it.jumps[mark:] if each.kind != RAISE or not catches(STOP, each.raised)]
    it.go_on(before, mark)
    made.each = True
    return of(made)


def _has(item: Alternative, method: str) -> bool:
    """Whether something is of a class of the project that has a method of its own."""
    if not isinstance(item, Object) or item.kind != PLAIN or not isinstance(item.type, Class):
        return False
    held = names.class_attribute(item.type, method)
    return held is not None and isinstance(held.only(), Function)


@contextmanager
def consumed(it: Interpreter, iterable: ast.expr, take: Take) -> Iterator[None]:
    """Meanwhile what is yielded where a loop's iterable is evaluated is taken at once, also behind what goes over it as
    the loop does.
    """
    node: ast.expr | None = iterable
    places = []
    while node is not None:
        it.consumers[id(node)] = take
        places.append(id(node))
        name, inner = _first_argument(it, node)
        counts = name == COUNTED
        take = _paired(it, node, take) if counts else take
        node = inner if counts or (name.startswith(SHOWN) and name.endswith(SHOWN[:-1])) else None
    try:
        yield
    finally:
        for place in places:
            it.consumers.pop(place, None)


def _first_argument(it: Interpreter, node: ast.expr) -> tuple[str, ast.expr | None]:
    """The library function that an expression calls, and what it is given first; "" where it is no such call."""
    if not isinstance(node, ast.Call) or not node.args or not dotted(node.func):
        return "", None
    return names.external_name(it.evaluate(node.func)), node.args[0]


def _paired(it: Interpreter, node: ast.expr, take: Take) -> Take:
    plain = isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords
    start = const(0) if plain else NOTHING

    def with_number(value: Value) -> None:
        number = it.unknown("i", it.site(node))
        number.each = True
        counters.indices(number, start)
        pair = it.new("tuple", "", "", it.site(node))
        pair.items = [of(number), value]
        pair.origins = elements.origins_of([value])
        take(of(pair))

    return with_number
