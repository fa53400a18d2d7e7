"""What statements change in place: tensors under the names that they came in by, and an object's own state."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..ir.syntax import DEFINITIONS, dotted, keyword, parts
from .events import LibraryCall
from .run import Run

ALIASES = (
    "view",
    "reshape",
    "transpose",
    "permute",
    "squeeze",
    "unsqueeze",
    "flatten",
    "t",
    "detach",
    "to",
    "contiguous",
    "expand",
    "view_as",
)
NOT_IN_PLACE = ("requires_grad_", "retain_grad_", "share_memory_")
MOVES = ("to", "cuda", "cpu", "type_as", "contiguous", "detach", "clone")
GROWS = ("append", "extend", "insert", "update", "add")


def told_in_place(run: Run) -> frozenset[int]:
    """The calls of a run that change their first argument in place: those that are given inplace=True, however they
    are given it, and those of torch's functions that are named for it (`torch.relu_`).
    """
    return frozenset(
        event.site.node_id
        for event in run.of_type(LibraryCall)
        if event.call is not None
        and event.call.receiver is None
        and (
            event.call.get("inplace").constant() is True
            or (event.name.startswith("torch.") and _is_in_place(event.name.rpartition(".")[2]))
        )
    )


def _is_in_place(name: str) -> bool:
    """Whether a function or method of torch is named as those are that work in place."""
    return name.endswith("_") and not name.startswith("_") and not name.endswith("__") and name not in NOT_IN_PLACE


def in_place_call(call: ast.Call, told: frozenset[int] = frozenset()) -> str:
    """The dotted thing that a call changes in place (`x.add_(1)`, `relu(x, inplace=True)`); "" for none.

    `told` are calls known to be given inplace=True in another way.
    """
    first = call.args[0] if call.args else None
    if id(call) in told and first is not None:
        return dotted(first)
    if isinstance(call.func, ast.Attribute) and _is_in_place(call.func.attr):
        return dotted(call.func.value)
    given = keyword(call, "inplace")
    return (
        dotted(first)
        if given is not None and isinstance(given.value, ast.Constant) and given.value.value is True
        else ""
    )


def changed_inputs(
    statements: Iterable[ast.AST], names: set[str], told: frozenset[int] = frozenset()
) -> Iterator[tuple[ast.AST, str]]:
    """The nodes that change, in place, what one of the names held at the start, with that name.

    A name that is bound to something new on the way is left alone from there on.
    """
    held, kept = set(names), dict[str, str]()
    for statement in statements:
        yield from _changes(statement, held, kept, told)


def _changes(
    node: ast.AST, held: set[str], kept: dict[str, str], told: frozenset[int]
) -> Iterator[tuple[ast.AST, str]]:
    """The changes in a node; `kept` are names of methods that work in place, each with what it changes."""
    if isinstance(node, (*DEFINITIONS, ast.Lambda)):
        return
    if isinstance(node, ast.Assign):
        yield from _changes(node.value, held, kept, told)
        for place in node.targets:
            if isinstance(place, ast.Subscript) and dotted(place.value) in held:
                yield node, dotted(place.value)
            for name in _bound(place):
                if _alias_of(node.value) not in held:
                    held.discard(name)
                kept.pop(name, None)
                if isinstance(node.value, ast.Attribute) and _is_in_place(node.value.attr):
                    kept[name] = dotted(node.value.value)
        return
    if isinstance(node, ast.AugAssign):
        yield from _changes(node.value, held, kept, told)
        if dotted(node.target) in held:
            yield node, dotted(node.target)
        return
    for child in parts(node):
        yield from _changes(child, held, kept, told)
    if isinstance(node, ast.Call):
        name = in_place_call(node, told) or kept.get(dotted(node.func), "")
        if name in held:
            yield node, name


def _bound(target: ast.expr) -> Iterator[str]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _bound(element)
    elif isinstance(target, ast.Starred):
        yield from _bound(target.value)
    elif isinstance(target, ast.Name):
        yield target.id


def _alias_of(value: ast.expr) -> str:
    """The name whose data an expression shares; "" for a fresh value."""
    while (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and (value.func.attr in ALIASES or value.func.attr.endswith("_"))
    ):
        value = value.func.value
    return dotted(value)


def own_changes(node: ast.AST, receiver: str) -> Iterator[tuple[ast.AST, str]]:
    """The nodes that make an object's attribute depend on what it was: `self.n += 1`, `self.seen.append(x)`.

    A loop that runs until what it changes is as it should be (`while n >= self.end: self.end *= 2`) changes nothing
    when it is come to again.
    """
    if isinstance(node, (*DEFINITIONS, ast.Lambda)):
        return
    if isinstance(node, ast.While):
        inner = [change for part in (*node.body, *node.orelse) for change in own_changes(part, receiver)]
        yield from [] if _read(node.test) & {name for _, name in inner} else inner
        return
    lead = f"{receiver}."
    if isinstance(node, ast.AugAssign) and dotted(node.target).startswith(lead):
        yield node, dotted(node.target)
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            name = dotted(target)
            if name.startswith(lead) and name in _read(node.value) and not _moved(node.value, name):
                yield node, name
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = dotted(node.func.value)
        if name.startswith(lead) and (node.func.attr in GROWS or in_place_call(node) == name):
            yield node, name
    for child in parts(node):
        yield from own_changes(child, receiver)


def _moved(value: ast.expr, name: str) -> bool:
    """Whether a value is what the name holds, at most in another place or dtype: `self.table.to(x.device)`."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in MOVES:
        value = value.func.value
    return dotted(value) == name


def _read(node: ast.AST) -> set[str]:
    found = {dotted(node)} if isinstance(node, ast.Attribute) else set()
    for child in parts(node):
        found |= _read(child)
    return found
