"""Comprehensions: what they draw from, which elements they keep, and what their keys are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..ir.syntax import Comprehension, nodes, parts
from . import changes, conditions, elements, names
from .closures import read_names
from .events import Loop
from .guards import NEVER, narrowed
from .values import OF_ELEMENT, TRUE, Object, Scope, Value, of, union

if TYPE_CHECKING:
    from .interpreter import Interpreter

MOST_ELEMENTS = 64


def comprehend(it: Interpreter, node: Comprehension) -> Value:
    """A list or dict of which one element stands for all, with what the elements and the keys came from."""
    outer, it.frame.scope = it.frame.scope, Scope(parent=it.scope)
    made = it.new("dict" if isinstance(node, ast.DictComp) else "list", "", "", it.site(node))
    if isinstance(node, ast.SetComp):
        made.state["unordered"] = TRUE
    elif isinstance(node, ast.GeneratorExp):
        elements.once(made)
    if _is_of_an_element(it, node):
        made.state[OF_ELEMENT] = TRUE
    held: list[Value] = []
    try:
        iterable = it.evaluate(node.generators[0].iter)
        for item in iterable.objects():
            if elements.is_drained(it, item):
                made.state[elements.DRAINED] = of(item)
        if _one_by_one(it, node, made, iterable):
            return of(made)
        made.each = made.open = True
        sources, filtered, named = _walk(it, node.generators, made, node, held, iterable)
        elements.drain(it, iterable)
    finally:
        it.frame.scope = outer
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


def _is_of_an_element(it: Interpreter, node: Comprehension) -> bool:
    """Whether a comprehension takes an element of a loop around it."""
    own = {each.id for each in nodes(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    values = (it.scope.lookup(name) for name in dict.fromkeys(read_names(node)) if name not in own)
    return any(item.each and item.items is None for value in values if value is not None for item in value.objects())


def _one_by_one(it: Interpreter, node: Comprehension, made: Object, iterable: Value) -> bool:
    """Fill a list or dict with the elements of what is known, each under the guard in which it is kept; False where
    what it draws from is not known, or too much.
    """
    (clause, *others) = node.generators
    each = elements.rounds(it, iterable)
    if others or each is None or len(each) > MOST_ELEMENTS:
        return False
    if isinstance(node, ast.DictComp):
        made.entries = {}
    else:
        made.items = []
    held, it.loops = it.loops, [*it.loops, Loop(node)]
    mark, start = len(it.jumps), it.guard
    for guard, value in each:
        it.guard = narrowed(start, guard)
        if not it.is_dead:
            names.assign(it, clause.target, value)
            _keep(it, node, clause.ifs, made)
        it.go_on(start, mark)
    it.loops = held
    elements.drain(it, iterable)
    made.origins |= elements.origins_of([iterable])
    for item in iterable.objects():
        if made.entries is not None and "names_of" in item.state:
            made.state["names_of"] = item.state["names_of"]
    return True


def _keep(it: Interpreter, node: Comprehension, tests: list[ast.expr], made: Object) -> None:
    """Keep one element where all tests hold."""
    for test in tests:
        holds, _ = conditions.decide(it, test)
        it.guard = NEVER if holds is None else narrowed(it.guard, holds)
    if isinstance(node, ast.DictComp):
        key, value = it.evaluate(node.key), it.evaluate(node.value)
        if not it.is_dead:
            changes.store(it, made, key, value, it.site(node.value))
    else:
        value = it.evaluate(node.elt)
        if not it.is_dead:
            changes.add(it, made, value)
            made.origins |= elements.origins_of([value])


def _walk(
    it: Interpreter,
    clauses: list[ast.comprehension],
    made: Object,
    node: Comprehension,
    holders: list[Value],
    iterable: Value,
) -> tuple[list[Object], bool, list[Object]]:
    """What a comprehension draws from, whether it filters, and what its keys or elements are.

    `iterable` is what the first clause draws from; `holders` gets what the elements, or their keys, must be in or must
    not be in.
    """
    clause, *inner_clauses = clauses
    names.assign(it, clause.target, elements.element(it, iterable, clause.iter))
    sources, filtered = iterable.objects(), bool(clause.ifs)
    named: list[Object] = []
    held, it.loops = it.loops, [*it.loops, Loop(node)]
    guard = it.guard
    for condition in clause.ifs:
        holds, _ = conditions.decide(it, condition)
        it.guard = NEVER if holds is None else narrowed(it.guard, holds)
        holders += [it.evaluate(holder) for holder in memberships(condition)]
    if inner_clauses:
        inner, inner_filtered, named = _walk(it, inner_clauses, made, node, holders, it.evaluate(inner_clauses[0].iter))
        sources, filtered = sources + inner, filtered or inner_filtered
    elif isinstance(node, ast.DictComp):
        key, value = it.evaluate(node.key), it.evaluate(node.value)
        made.entries = {}
        made.attributes[elements.ANY] = value
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
