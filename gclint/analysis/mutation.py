"""What statements change in place: tensors under the names that they came in by, and an object's own state."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from .events import LibraryCall
from .run import Run
from .syntax import dotted

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
    """The calls of a run that are given inplace=True, however they are given it."""
    return frozenset(
        event.site.node_id
        for event in run.of_type(LibraryCall)
        if event.call is not None and event.call.get("inplace").constant() is True
    )


def in_place_call(call: cst.Call, told: frozenset[int] = frozenset()) -> str:
    """The dotted thing that a call changes in place (`x.add_(1)`, `relu(x, inplace=True)`); "" for none.

    `told` are calls known to be given inplace=True in another way.
    """
    if id(call) in told and call.args and call.args[0].keyword is None:
        return dotted(call.args[0].value)
    if isinstance(call.func, cst.Attribute):
        name = call.func.attr.value
        if name.endswith("_") and not name.startswith("_") and not name.endswith("__") and name not in NOT_IN_PLACE:
            return dotted(call.func.value)
    for item in call.args:
        if item.keyword is not None and item.keyword.value == "inplace" and dotted(item.value) == "True":
            return dotted(call.args[0].value) if call.args[0].keyword is None else ""
    return ""


def changed_inputs(
    statements: list[cst.CSTNode], names: set[str], told: frozenset[int] = frozenset()
) -> Iterator[tuple[cst.CSTNode, str]]:
    """The nodes that change, in place, what one of the names held at the start, with that name.

    A name that is bound to something new on the way is left alone from there on.
    """
    held = set(names)
    for statement in statements:
        yield from _changes(statement, held, told)


def _changes(node: cst.CSTNode, held: set[str], told: frozenset[int]) -> Iterator[tuple[cst.CSTNode, str]]:
    if isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
        return
    if isinstance(node, cst.Assign):
        yield from _changes(node.value, held, told)
        for target in node.targets:
            place = target.target
            if isinstance(place, cst.Subscript) and dotted(place.value) in held:
                yield node, dotted(place.value)
            for name in _bound(place):
                if _alias_of(node.value) not in held:
                    held.discard(name)
        return
    if isinstance(node, cst.AugAssign):
        yield from _changes(node.value, held, told)
        if dotted(node.target) in held:
            yield node, dotted(node.target)
        return
    for child in node.children:
        yield from _changes(child, held, told)
    if isinstance(node, cst.Call):
        name = in_place_call(node, told)
        if name in held:
            yield node, name


def _bound(target: cst.BaseExpression) -> Iterator[str]:
    if isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _bound(element.value)
    elif isinstance(target, cst.Name):
        yield target.value


def _alias_of(value: cst.BaseExpression) -> str:
    """The name whose data an expression shares; "" for a fresh value."""
    while (
        isinstance(value, cst.Call)
        and isinstance(value.func, cst.Attribute)
        and (value.func.attr.value in ALIASES or value.func.attr.value.endswith("_"))
    ):
        value = value.func.value
    return dotted(value)


def own_changes(node: cst.CSTNode, receiver: str) -> Iterator[tuple[cst.CSTNode, str]]:
    """The nodes that make an object's attribute depend on what it was: `self.n += 1`, `self.seen.append(x)`."""
    if isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
        return
    lead = f"{receiver}."
    if isinstance(node, cst.AugAssign) and dotted(node.target).startswith(lead):
        yield node, dotted(node.target)
    elif isinstance(node, cst.Assign):
        for target in node.targets:
            name = dotted(target.target)
            if name.startswith(lead) and name in _read(node.value) and not _moved(node.value, name):
                yield node, name
    elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        name = dotted(node.func.value)
        if name.startswith(lead) and (node.func.attr.value in GROWS or in_place_call(node) == name):
            yield node, name
    for child in node.children:
        yield from own_changes(child, receiver)


def _moved(value: cst.BaseExpression, name: str) -> bool:
    """Whether a value is what the name holds, at most in another place or dtype: `self.table.to(x.device)`."""
    while isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and value.func.attr.value in MOVES:
        value = value.func.value
    return dotted(value) == name


def _read(node: cst.CSTNode) -> set[str]:
    found = {dotted(node)} if isinstance(node, cst.Attribute) else set()
    for child in node.children:
        found |= _read(child)
    return found
