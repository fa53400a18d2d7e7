"""Conditions: under which guards an expression is true, and under which it is false."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from . import environment
from .guards import ALWAYS, CUDA, DISTRIBUTED, ROCM, Atom, Guard, Words, common, compatible, complement, conj
from .values import MAX_ALTERNATIVES, Alternative, Const, External, Missing, Object, Value, release_in

if TYPE_CHECKING:
    from .interpreter import Interpreter

Branch = tuple[Guard, bool]

_EXTERNAL_ATOMS = {"torch.version.hip": ROCM, "torch.version.cuda": CUDA}
MAX_BRANCHES = 6
MOST_EXCLUDED = 30


def branches(it: Interpreter, node: ast.expr) -> list[Branch]:
    """The feasible outcomes of a condition under the current guard, as (guard, truth)."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [(guard, not truth) for guard, truth in branches(it, node.operand)]
    if isinstance(node, ast.BoolOp):
        return _connected(it, node, len(node.values))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _few(it, compare(it, it.evaluate(node.left), node.ops[0], it.evaluate(node.comparators[0]), node))
    if isinstance(node, ast.Compare):
        compared = [it.evaluate(part) for part in (node.left, *node.comparators)]
        return _opaque(it, node, release_in(*(item for value in compared for _, item in value)))
    value = it.evaluate(node)
    found = [(guard | decided, truth) for guard, item in value for decided, truth in truths(it, item)]
    return _few(it, _feasible(it, found))


def _few(it: Interpreter, found: list[Branch]) -> list[Branch]:
    """No more than `MAX_BRANCHES` outcomes: what follows is walked for each. Of too many of one truth there is one,
    with what all of them have in common, under which none of the other truth's holds; not where much is excluded
    already, as that takes longer to reason about than to walk.
    """
    excluded = sum(atom.parts is not None for atom, _ in it.guard)
    if len(found) <= (MAX_BRANCHES if excluded <= MOST_EXCLUDED else 2 * MAX_ALTERNATIVES):
        return found
    ways = {truth: [guard for guard, decided in found if decided == truth] for truth in (True, False)}
    rare = len(ways[True]) <= len(ways[False])
    none = frozenset[tuple[Atom, bool]]().union(*(complement(guard - it.guard) for guard in ways[rare]))
    kept = [(guard, rare) for guard in ways[rare]]
    if len(kept) >= MAX_BRANCHES:
        kept = [(common(ways[rare]) | complement(none), rare)]
    return _feasible(it, [*kept, (common(ways[not rare]) | none, not rare)])


def _feasible(it: Interpreter, found: list[Branch]) -> list[Branch]:
    kept = [(guard, truth) for guard, truth in found if compatible(guard, it.guard)]
    return list(dict.fromkeys(kept))


def _connected(it: Interpreter, node: ast.BoolOp, count: int) -> list[Branch]:
    """The outcomes of the first `count` parts."""
    if count == 1:
        return branches(it, node.values[0])
    is_and = isinstance(node.op, ast.And)
    found: list[Branch] = []
    for guard, truth in _connected(it, node, count - 1):
        if truth != is_and:
            found.append((guard, truth))
            continue
        with it.under(guard) as possible:
            if not possible:
                continue
            for inner, decided in branches(it, node.values[count - 1]):
                both = conj(guard, inner)
                if both is not None:
                    found.append((both, decided))
    return _few(it, found)


def _opaque(it: Interpreter, node: ast.expr, about: str = "") -> list[Branch]:
    atom = Atom(f"{it.module.path}:{id(node)}", *_words(it, node), each=_each(it), about=about)
    return _feasible(it, [(frozenset({(atom, True)}), True), (frozenset({(atom, False)}), False)])


def _each(it: Interpreter, *items: Alternative) -> bool:
    return any(isinstance(item, Object) and item.each for item in items)


def truths(it: Interpreter, item: Alternative) -> list[Branch]:
    """Whether one alternative is true, with the guard that decides it when nothing else does."""
    if isinstance(item, Const):
        return [(ALWAYS, bool(item.value))]
    if isinstance(item, Missing):
        return [(ALWAYS, False)]
    if isinstance(item, External):
        atom = _EXTERNAL_ATOMS.get(item.name)
        if atom is None:
            return [(ALWAYS, True)]
        return _both(atom)
    if not isinstance(item, Object):
        return [(ALWAYS, True)]
    if item.kind in _UNDECIDED or _may_be_empty(item):
        return _both(item_atom(item))
    return [(ALWAYS, all(held or held is None for held in (item.items, item.entries)))]


def _may_be_empty(item: Object) -> bool:
    """Whether it is a collection of which nobody knows that it has an element."""
    collections = [held for held in (item.items, item.entries) if held is not None]
    if not collections or (item.site is not None and isinstance(item.site.node, ast.GeneratorExp)):
        return False
    return item.each or (item.open and not any(collections))


_UNDECIDED = {"unknown", "part", "option", "data"}


def item_atom(item: Object) -> Atom:
    """The condition "this unknown is true"."""
    return Atom(
        f"#{item.id}",
        lambda: f"if `{item.text or 'a value'}`",
        lambda: f"unless `{item.text or 'a value'}`",
        each=item.each,
        about=release_in(item),
    )


def _words(it: Interpreter, node: ast.expr) -> tuple[Words, Words]:
    module = it.module
    return lambda: f"if `{module.code(node)}`", lambda: f"unless `{module.code(node)}`"


def _both(atom: Atom) -> list[Branch]:
    return [(frozenset({(atom, True)}), True), (frozenset({(atom, False)}), False)]


def compare(it: Interpreter, left: Value, operator: ast.cmpop, right: Value, node: ast.expr) -> list[Branch]:
    """The outcomes of one comparison."""
    found: list[Branch] = []
    for left_guard, first in left:
        for right_guard, second in right:
            both = conj(left_guard, right_guard)
            if both is None:
                continue
            for decided, truth in _compare_items(it, first, operator, second, node):
                found.append((both | decided, truth))
    return _feasible(it, found)


def _compare_items(
    it: Interpreter, first: Alternative, operator: ast.cmpop, second: Alternative, node: ast.expr
) -> list[Branch]:
    if isinstance(second, Object) and isinstance(first, Const) and not isinstance(operator, (ast.In, ast.NotIn)):
        return _compare_items(it, second, _MIRRORED.get(type(operator), operator), first, node)
    negative = isinstance(operator, tuple(_POSITIVE))
    if isinstance(operator, (ast.In, ast.NotIn)):
        return [(guard, truth != negative) for guard, truth in _membership(it, first, second, node)]
    if isinstance(first, Const) and isinstance(second, Const):
        return [(ALWAYS, _decide(first.value, operator, second.value))]
    if isinstance(first, Object) and first.kind in ("world_size", "local_rank") and isinstance(second, Const):
        known = _process_count(first.kind, operator, second.value)
        if known is not None:
            return [(guard, truth == known) for guard, truth in _both(DISTRIBUTED)]
    if isinstance(operator, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
        return [(guard, truth != negative) for guard, truth in _equality(it, first, second, node)]
    return _text_atom(it, first, second, node)


_POSITIVE: dict[type, type] = {ast.NotEq: ast.Eq, ast.IsNot: ast.Is, ast.NotIn: ast.In}
_MIRRORED: dict[type, ast.cmpop] = {
    ast.Lt: ast.Gt(),
    ast.Gt: ast.Lt(),
    ast.LtE: ast.GtE(),
    ast.GtE: ast.LtE(),
}


def _decide(first: Any, operator: ast.cmpop, second: Any) -> bool:
    try:
        if isinstance(operator, ast.Lt):
            return bool(first < second)
        if isinstance(operator, ast.Gt):
            return bool(first > second)
        if isinstance(operator, ast.LtE):
            return bool(first <= second)
        if isinstance(operator, ast.GtE):
            return bool(first >= second)
    except (TypeError, ValueError):
        return False
    equal = bool(first == second)
    return not equal if isinstance(operator, (ast.NotEq, ast.IsNot)) else equal


def _process_count(kind: str, operator: ast.cmpop, literal: Any) -> bool | None:
    """What truth of the comparison means "more than one process"; None when it does not decide that."""
    if not isinstance(literal, (int, str)):
        return None if literal is not None else isinstance(operator, (ast.IsNot, ast.NotEq))
    literal = int(literal) if str(literal).lstrip("-").isdigit() else 0
    name = type(operator).__name__
    if kind == "world_size":
        more = {("Gt", 1), ("NotEq", 1), ("GtE", 2)}
        one = {("Eq", 1), ("LtE", 1), ("Lt", 2)}
    else:
        more = {("NotEq", -1), ("GtE", 0), ("Gt", -1)}
        one = {("Eq", -1), ("Lt", 0), ("LtE", -1)}
    if (name, literal) in more:
        return True
    return False if (name, literal) in one else None


def _equality(it: Interpreter, first: Alternative, second: Alternative, node: ast.expr) -> list[Branch]:
    if isinstance(first, Object) and first.kind in _UNDECIDED | {"world_size", "local_rank"}:
        if isinstance(second, Const):
            subject, literal = f"#{first.id}", repr(second.value)
            atom = Atom(
                f"{subject}=={literal}",
                lambda: f"if `{first.text} == {literal}`",
                lambda: f"unless `{first.text} == {literal}`",
                subject,
                literal,
                first.each,
                release_in(first),
            )
            return _both(atom)
        return _text_atom(it, first, second, node)
    if isinstance(second, Object) and second.kind in _UNDECIDED:
        return _text_atom(it, first, second, node)
    if isinstance(first, Const) != isinstance(second, Const):
        return [(ALWAYS, False)]
    return [(ALWAYS, first == second)]


def _membership(it: Interpreter, item: Alternative, holder: Alternative, node: ast.expr) -> list[Branch]:
    if isinstance(holder, External) and holder.name == "os.environ" and isinstance(item, Const):
        known = environment.membership(it, str(item.value))
        if known is not None:
            return known
    if isinstance(item, Const) and isinstance(holder, Const) and isinstance(holder.value, str):
        return [(ALWAYS, str(item.value) in holder.value)]
    if isinstance(holder, Object) and not holder.open and not holder.each:
        if holder.entries is not None and isinstance(item, Const):
            return [(ALWAYS, item.value in holder.entries)]
        members = [value.only() for value in holder.items or []]
        if members and all(isinstance(member, Const) for member in members):
            if isinstance(item, Const):
                return [(ALWAYS, item in members)]
            if isinstance(item, Object) and item.kind in _UNDECIDED and len(members) < MAX_BRANCHES:
                return _one_of(it, item, members, node)
    return _text_atom(it, item, holder, node)


def _one_of(it: Interpreter, item: Object, members: list[Alternative | None], node: ast.expr) -> list[Branch]:
    """Whether an unknown is one of some literals: it is the first, or the second, ..., or none of them."""
    found: list[Branch] = []
    none: Guard = ALWAYS
    for member in members:
        if member is not None:
            ((yes, _), (no, _)) = _equality(it, item, member, node)
            found.append((yes, True))
            none |= no
    return [*found, (none, False)]


def _text_atom(it: Interpreter, first: Alternative, second: Alternative, node: ast.expr) -> list[Branch]:
    """A comparison by its text: that of `!=`, `is not` and `not in` is the opposite of their counterpart's."""

    def key(item: Alternative) -> str:
        return f"#{item.id}" if isinstance(item, Object) else repr(item)

    operator = type(node.ops[0]) if isinstance(node, ast.Compare) else type(node)
    held, denied = _words(it, node)
    if operator in _POSITIVE:
        held, denied = denied, held
    name = _POSITIVE.get(operator, operator).__name__
    each, about = _each(it, first, second), release_in(first, second)
    return _both(Atom(f"{key(first)} {name} {key(second)}", held, denied, each=each, about=about))
