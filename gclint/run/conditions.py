"""Conditions: under which guards an expression is true, and under which it is false."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from ..ir.syntax import LOOPS
from .comparison import Branch, compare, truths
from .events import Compared
from .guards import ALWAYS, Guard, compatible, complement, conj, either
from .values import Const, Value

if TYPE_CHECKING:
    from .interpreter import Interpreter

T = TypeVar("T")

ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
COMPARISONS = (*ORDERS, ast.Eq)


def decide(it: Interpreter, node: ast.expr) -> tuple[Guard | None, Guard | None]:
    """The guards, beside that of the walk, under which a condition holds and does not; None for what cannot be."""
    found = {truth: guard for guard, truth in branches(it, node)}
    return found.get(True), found.get(False)


def branches(it: Interpreter, node: ast.expr) -> list[Branch]:
    """The feasible outcomes of a condition under the current guard, at most one of each truth, as (guard, truth)."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [(guard, not truth) for guard, truth in branches(it, node.operand)]
    if isinstance(node, ast.BoolOp):
        return _connected(it, node)
    if isinstance(node, ast.Compare):
        return comparison(it, node)[0]
    value = it.evaluate(node)
    return _met(
        it, node, _together(it, [(guard | sure, truth) for guard, item in value for sure, truth in truths(it, item)])
    )


def comparison(it: Interpreter, node: ast.Compare) -> tuple[list[Branch], list[Value]]:
    """The outcomes of a comparison in the same way, and what is compared."""
    values = [it.evaluate(part) for part in (node.left, *node.comparators)]
    return _met(it, node, _compared(it, node, values)), values


def _met(it: Interpreter, node: ast.expr, found: list[Branch]) -> list[Branch]:
    met = it.decided(node, found)
    return found if met is None else [(ALWAYS, met)]


def _together(it: Interpreter, found: list[Branch]) -> list[Branch]:
    """The feasible ones, those of the same truth as one. One of them holds: where there is only one truth it is sure,
    else one is the other's opposite, and the one with fewer conditions is worked out. What the walk's guard says goes
    without saying, lest the opposite deny it too.
    """
    ways: dict[bool, list[Guard]] = {}
    for guard, truth in found:
        if compatible(guard, it.guard):
            ways.setdefault(truth, []).append(guard - it.guard)
    if len(ways) < 2:
        return [(ALWAYS, truth) for truth in ways]
    simple = min(ways, key=lambda truth: sum(map(len, ways[truth])) + len(ways[truth]))
    guard = ways[simple][0] if len(ways[simple]) == 1 else either(ways[simple])
    return [(guard, simple), (complement(guard), not simple)] if simple else [(complement(guard), True), (guard, False)]


def _compared(it: Interpreter, node: ast.Compare, values: list[Value]) -> list[Branch]:
    """`a < b`, and `a < b < c`, in which each is evaluated once."""
    if len(node.ops) == 1:
        found = _together(it, compare(it, values[0], node.ops[0], values[1], node))
        if it.loops and ((len(found) > 1 and isinstance(node.ops[0], COMPARISONS)) or _is_none_yet(it, node, values)):
            it.emit(Compared(it.moment(node), values[0], values[1]))
        return found

    def compare_at(place: int) -> list[Branch]:
        one = ast.copy_location(ast.Compare(node.left, [node.ops[place]], [node.comparators[place]]), node)
        return _together(it, compare(it, values[place], node.ops[place], values[place + 1], one))

    return _in_turn(it, range(len(node.ops)), compare_at, True)


def _is_none_yet(it: Interpreter, node: ast.Compare, values: list[Value]) -> bool:
    """Whether something that a loop binds, or an attribute, is asked whether it is None, and is."""
    if not isinstance(node.ops[0], (ast.Is, ast.IsNot)) or any(value.only() != Const(None) for value in values):
        return False
    held = node.left
    bound = [it.module.bound_in(each.node).stored for each in it.loops[-1:] if isinstance(each.node, LOOPS)]
    return isinstance(held, ast.Attribute) or (isinstance(held, ast.Name) and any(held.id in names for names in bound))


def _connected(it: Interpreter, node: ast.BoolOp) -> list[Branch]:
    """`a and b`, `a or b`."""
    return _in_turn(it, node.values, lambda part: branches(it, part), isinstance(node.op, ast.And))


def _in_turn(
    it: Interpreter, parts: Sequence[T], outcomes_of: Callable[[T], list[Branch]], goes_on_where: bool
) -> list[Branch]:
    """The outcomes of parts of which each is looked at only where those before it are all true, or all false."""
    so_far, found = ALWAYS, list[Branch]()
    for part in parts:
        outcomes: list[Branch] = []
        with it.under(so_far) as possible:
            if possible:
                outcomes = outcomes_of(part)
        goes_on = None
        for guard, truth in outcomes:
            both = conj(so_far, guard)
            if both is not None and truth == goes_on_where:
                goes_on = both
            elif both is not None:
                found.append((both, truth))
        if goes_on is None:
            return _together(it, found)
        so_far = goes_on
    return _together(it, [*found, (so_far, goes_on_where)])
