"""Comprehensions: what they draw from, which elements they keep, and what their keys are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import conditions, containers, names
from .syntax import Comprehension, parts
from .values import Object, Scope, Value, of, union

if TYPE_CHECKING:
    from .interpreter import Interpreter


def comprehend(it: Interpreter, node: Comprehension) -> Value:
    """A list or dict of which one element stands for all, with what the elements and the keys came from."""
    it.frame.scope = Scope(parent=it.scope)
    made = it.new("dict" if isinstance(node, ast.DictComp) else "list", "", "", it.site(node))
    made.each = made.open = True
    held: list[Value] = []
    try:
        sources, filtered, named = _walk(it, node.generators, made, node, held)
    finally:
        parent = it.frame.scope.parent
        assert parent is not None
        it.frame.scope = parent
    made.origins |= frozenset(origin for item in sources for origin in item.origins)
    it.library.propagate(sources, made)
    made.state.pop("names_of", None)
    for item in named:
        if "names_of" in item.state:
            made.state["names_of"] = item.state["names_of"]
    if filtered:
        made.state["filtered"] = of(made)
    if held:
        made.state["filtered_by"] = union([*held, made.known("filtered_by")])
    return of(made)


def _walk(
    it: Interpreter, clauses: list[ast.comprehension], made: Object, node: Comprehension, holders: list[Value]
) -> tuple[list[Object], bool, list[Object]]:
    """What a comprehension draws from, whether it filters, and what its keys or elements are.

    `holders` gets what the elements, or their keys, must be in or must not be in.
    """
    clause, *inner_clauses = clauses
    iterable = it.evaluate(clause.iter)
    names.assign(it, clause.target, containers.element(it, iterable, clause.iter))
    sources, filtered = iterable.objects(), bool(clause.ifs)
    named: list[Object] = []
    held, it.loops = it.loops, [*it.loops, node]
    guard = it.guard
    for condition in clause.ifs:
        chosen = [way for way, truth in conditions.branches(it, condition) if truth]
        if chosen:
            it.guard = it.guard | chosen[0]
        holders += [it.evaluate(holder) for holder in memberships(condition)]
    if inner_clauses:
        inner, inner_filtered, named = _walk(it, inner_clauses, made, node, holders)
        sources, filtered = sources + inner, filtered or inner_filtered
    elif isinstance(node, ast.DictComp):
        key, value = it.evaluate(node.key), it.evaluate(node.value)
        made.entries = {}
        made.attributes[containers.ANY] = value
        named = key.objects()
        sources = sources + named + value.objects()
    else:
        made.items = [it.evaluate(node.elt)]
        named = made.items[0].objects()
        sources = sources + named
    it.guard, it.loops = guard, held
    return sources, filtered, named


def memberships(node: ast.AST) -> Iterator[ast.expr]:
    """What a condition looks for something in: the right side of its `in` and `not in`."""
    if isinstance(node, ast.Compare):
        for operator, holder in zip(node.ops, node.comparators, strict=True):
            if isinstance(operator, (ast.In, ast.NotIn)):
                yield holder
    for part in parts(node):
        yield from memberships(part)
