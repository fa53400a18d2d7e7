"""Comparison: whether one thing is true, and how two compare, each as the guards that decide it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from . import counters, environment, ordering
from .elements import COUNTS, is_filled
from .guards import ALWAYS, CUDA, DISTRIBUTED, NEVER, ROCM, Atom, Guard, Words, complement, conj, either
from .values import MISSING, Alternative, Const, External, Method, Missing, Object, Value, release_in

if TYPE_CHECKING:
    from .interpreter import Interpreter

Branch = tuple[Guard, bool]

_EXTERNAL_ATOMS = {"torch.version.hip": ROCM, "torch.version.cuda": CUDA}
MOST_MEMBERS = 40


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
        return [(ALWAYS, True)] if atom is None else _both(atom)
    if isinstance(item, Method) and _may_be_any(item):
        return _both(_read_off(item))
    if not isinstance(item, Object):
        return [(ALWAYS, True)]
    if "answer" in item.state:
        return [(guard, truth) for guard, part in item.state["answer"] for _, truth in truths(it, part)]
    if item.kind in _UNDECIDED or _may_be_empty(item):
        return _both(item_atom(item))
    held = item.items if item.items is not None else item.entries.values() if item.entries is not None else None
    if held is None:
        return [(ALWAYS, True)]
    there = either(either(value.where(_is_there)) for value in held)
    return [(guard, truth) for guard, truth in ((there, True), (complement(there), False)) if guard != NEVER]


def _may_be_any(item: Alternative) -> bool:
    """Whether it is read off something unknown, under a name that a method of some library has."""
    return isinstance(item, Method) and item.receiver.kind in _UNDECIDED


def _read_off(item: Method) -> Atom:
    """The condition "what is read off this unknown is true"."""
    held = item.receiver
    text = f"{held.text or '[...]'}.{item.name}"
    return Atom(f"#{held.id}.{item.name}", f"if `{text}`", f"unless `{text}`", each=held.each, unread=_is_unread(held))


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
        unread=_is_unread(item),
        of=(_named(item),),
    )


def _named(item: Alternative) -> object:
    """What stands for something in a condition, which outlives the walk: a key for an object, a list of literals' own.

    The conditions of a walk are kept until the next one; what they are about is not.
    """
    if not isinstance(item, Object):
        return item
    held = _literals_of(item)
    return f"#{item.id}" if held is None else tuple(held[1])


def _is_unread(*items: Alternative) -> bool:
    """Whether one of these is of a configuration that is loaded from a file or a hub, or is a list that the program
    fills by what nobody knows, or the number of its elements.
    """
    for item in items:
        part = item if isinstance(item, Object) else None
        if part is not None and (COUNTS in part.state or is_filled(part)):
            return True
        while part is not None:
            if part.kind == "config" and isinstance(part.type, str) and part.type.endswith(".from_pretrained"):
                return True
            part = part.parent
    return False


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
    return found


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
    told = counters.decided(first, operator, second)
    if told is not None:
        return [(ALWAYS, told)]
    if isinstance(operator, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
        return [(guard, truth != negative) for guard, truth in equality(it, first, second, node)]
    return _ordered(it, first, operator, second, node)


def _ordered(
    it: Interpreter, first: Alternative, operator: ast.cmpop, second: Alternative, node: ast.expr
) -> list[Branch]:
    """`<` and its like: of lists whose elements are literals as Python has it, of the project's objects as they say."""
    one, other = _literals_of(first), _literals_of(second)
    if one is not None and other is not None and one[0] == other[0]:
        return [(ALWAYS, _decide(one[1], operator, other[1]))]
    told = ordering.by_method(it, first, operator, second, node)
    if told is None:
        return _text_atom(it, first, second, node)
    value, opposite = told
    found = [(conj(guard, decided), truth != opposite) for guard, item in value for decided, truth in truths(it, item)]
    return [(guard, truth) for guard, truth in found if guard is not None]


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


def is_undecided(item: Object) -> bool:
    """Whether it is something of which nobody knows whether it is true, or what it equals."""
    return item.kind in _UNDECIDED


def known_literal(it: Interpreter, item: Alternative) -> Alternative:
    """The literal that something unknown equals wherever the walk stands now; itself where that is not known."""
    if not isinstance(item, Object) or item.kind not in _UNDECIDED:
        return item
    subject = f"#{item.id}"
    told = next((atom.literal for atom, truth in it.guard if truth and atom.subject == subject), "")
    try:
        return Const(ast.literal_eval(told)) if told else item
    except (ValueError, SyntaxError):
        return item


def equality(it: Interpreter, first: Alternative, second: Alternative, node: ast.expr | None = None) -> list[Branch]:
    """Whether one thing equals another; of an unknown and a literal that is one condition, first where it holds."""
    if isinstance(first, Object) and first.kind in _UNDECIDED | {"world_size", "local_rank"}:
        if isinstance(second, Const):
            item_atom(first)  # which an equality decides
            subject, literal = f"#{first.id}", repr(second.value)
            atom = Atom(
                f"{subject}=={literal}",
                lambda: f"if `{first.text or '[...]'} == {literal}`",
                lambda: f"unless `{first.text or '[...]'} == {literal}`",
                subject,
                literal,
                first.each,
                release_in(first),
                _is_unread(first),
                (_named(first), second),
                "Eq",
            )
            return _both(atom)
        return _text_atom(it, first, second, node) if node is not None else _both(item_atom(first))
    if isinstance(second, Object) and second.kind in _UNDECIDED and node is not None:
        return _text_atom(it, first, second, node)
    if node is not None and (_may_be_any(first) or _may_be_any(second)):
        return _text_atom(it, first, second, node)
    if isinstance(first, Const) != isinstance(second, Const):
        return [(ALWAYS, False)]
    if isinstance(first, Const) and isinstance(second, Const):
        return [(ALWAYS, bool(first.value == second.value))]
    if first != second and node is not None and _is_collection(first) and _is_collection(second):
        return _same_contents(it, first, second, node)
    return [(ALWAYS, first == second)]


def _is_collection(item: Alternative) -> bool:
    return isinstance(item, Object) and (item.items is not None or item.entries is not None)


def _same_contents(it: Interpreter, first: Alternative, second: Alternative, node: ast.expr) -> list[Branch]:
    """Whether two collections are equal: known of lists whose elements are literals, and of their identity."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        return [(ALWAYS, False)]
    held = _literals_of(first), _literals_of(second)
    return _text_atom(it, first, second, node) if None in held else [(ALWAYS, held[0] == held[1])]


def _literals_of(item: Alternative) -> tuple[str, list[object]] | None:
    """The kind of a list and its elements, where these are literals."""
    if not isinstance(item, Object) or item.items is None or item.each or item.open:
        return None
    literals = [value.only() for value in item.items]
    known = [each.value for each in literals if isinstance(each, Const)]
    return (item.kind, known) if len(known) == len(literals) else None


def _membership(it: Interpreter, item: Alternative, holder: Alternative, node: ast.expr) -> list[Branch]:
    if isinstance(holder, External) and holder.name == "os.environ" and isinstance(item, Const):
        known = environment.membership(it, str(item.value))
        if known is not None:
            return known
    if isinstance(item, Const) and isinstance(holder, Const) and isinstance(holder.value, str):
        return [(ALWAYS, str(item.value) in holder.value)]
    if isinstance(holder, Object) and not holder.open and not holder.each:
        members = _members(holder)
        if members is not None and isinstance(item, Const):  # of any number of literals
            members = [pair for pair in members if not isinstance(pair[1], Const) or pair[1].value == item.value]
        if members is not None and _is_plain(item) and len(members) <= MOST_MEMBERS:
            return _among(it, item, members, node)
    return _text_atom(it, item, holder, node)


def _is_plain(item: Alternative) -> bool:
    return isinstance(item, Const) or (isinstance(item, Object) and item.kind in _UNDECIDED)


def _members(holder: Object) -> list[tuple[Guard, Alternative]] | None:
    """What a collection holds, each under the guard in which it is there; None where that is not known."""
    if holder.entries is not None:
        there = [(either(held.where(_is_there)), key) for key, held in holder.entries.items()]
        return [(guard, Const(key)) for guard, key in there]
    if holder.items is None:
        return None
    found = [(guard, part) for value in holder.items for guard, part in value if part is not MISSING]
    return found if all(isinstance(part, Const) for _, part in found) else None


def _is_there(item: Alternative) -> bool:
    return item is not MISSING


def _among(
    it: Interpreter, item: Alternative, members: list[tuple[Guard, Alternative]], node: ast.expr
) -> list[Branch]:
    """Whether something is one of these: it is the first, or the second, ..., or none of them."""
    ways: list[Guard] = []
    for guard, member in members:
        for decided, truth in equality(it, item, member, node):
            both = conj(guard, decided) if truth else None
            if both is not None:
                ways.append(both)
    found = either(ways)
    return [(found, True), (complement(found), False)]


def _text_atom(it: Interpreter, first: Alternative, second: Alternative, node: ast.expr) -> list[Branch]:
    """A comparison by its text: that of `!=`, `is not` and `not in` is the opposite of their counterpart's."""

    def key(item: Alternative) -> str:
        return f"#{item.id}" if isinstance(item, Object) else repr(item)

    operator = type(node.ops[0]) if isinstance(node, ast.Compare) else type(node)
    held, denied = _words(it, node)
    if operator in _POSITIVE:
        held, denied = denied, held
    name = _POSITIVE.get(operator, operator).__name__
    each, about, unread = _each(it, first, second), release_in(first, second), _is_unread(first, second)
    text = f"{key(first)} {name} {key(second)}"
    return _both(
        Atom(text, held, denied, each=each, about=about, unread=unread, of=(_named(first), _named(second)), test=name)
    )
