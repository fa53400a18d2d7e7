"""Whether a function works out which names what it loads lacks, or has too many of."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gclint.analysis.closures import calls_in, enclosing_function, read_names
from gclint.analysis.comprehensions import memberships
from gclint.analysis.meaning import definition, method_called
from gclint.analysis.syntax import Module, Site, dotted, nodes

SETS = ("set", "frozenset", "keys")
DIFFERENCES = ("difference", "symmetric_difference")


def works_out(site: Site) -> bool:
    """Whether the function around a load lists names of a model that something lacks, or names that the loaded dict,
    or one that it was made of, lacks.
    """
    module, around = site.module, enclosing_function(site.module, site.node)
    loaded = _made_of(around, site.node)
    return any(_lists(module, node, loaded) or _subtracts(module, node, loaded) for node in nodes(around))


def _lists(module: Module, node: cst.CSTNode, loaded: set[str]) -> bool:
    if isinstance(node, (cst.ListComp, cst.SetComp, cst.GeneratorExp)):
        lacking = [target.comparator for target in memberships(node.for_in) if isinstance(target.operator, cst.NotIn)]
        found = any(dotted(holder).partition(".")[0] in loaded for holder in lacking)
        return bool(lacking) and (found or of_a_model(module, node.for_in.iter))
    if isinstance(node, cst.For):
        lacking = [target.comparator for target in memberships(node.body) if isinstance(target.operator, cst.NotIn)]
        return bool(lacking) and of_a_model(module, node.iter)
    return False


def _subtracts(module: Module, node: cst.CSTNode, loaded: set[str]) -> bool:
    """Whether a node is the difference of two sets of names, of which one is that of a model or of what is loaded."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Subtract, cst.BitXor)):
        sides = [node.left, node.right]
    elif isinstance(node, cst.Call) and node.args and _is_difference(module, node):
        method = definition(module, node.func)
        sides = [method.value if isinstance(method, cst.Attribute) else node.func, node.args[0].value]
    else:
        return False
    meant = [definition(module, side) for side in sides]
    if not any(_is_set(module, side) for side in meant):
        return False
    return any(of_a_model(module, side) or loaded & set(read_names(side)) for side in meant)


def _is_difference(module: Module, node: cst.Call) -> bool:
    """Whether a call is of such a method, also of one that was kept in a variable."""
    if isinstance(node.func, cst.Attribute):
        return node.func.attr.value in DIFFERENCES
    return "difference" in module.text and method_called(module, node)[1] in DIFFERENCES


def _is_set(module: Module, node: cst.BaseExpression) -> bool:
    name = dotted(node.func).rsplit(".", 1)[-1] if isinstance(node, cst.Call) else ""
    return name in SETS or isinstance(node, cst.SetComp)


def of_a_model(module: Module, names: cst.BaseExpression) -> bool:
    """Whether an expression draws on what a model's own method gives, such as its names."""
    calls = list(calls_in(definition(module, names)))
    for call in list(calls):
        if isinstance(call.func, cst.Attribute):
            calls += calls_in(definition(module, call.func.value))
    return any(method_called(module, call)[1] in ("state_dict", "named_parameters") for call in calls)


def _made_of(around: cst.CSTNode, load: cst.CSTNode) -> set[str]:
    """The names that what is loaded was made of, or filled from, in a function."""
    found = set(read_names(load.args[0].value)) if isinstance(load, cst.Call) and load.args else set()
    while True:
        more = {name for node in nodes(around) for name in _given(node, found)} - found
        if not more:
            return found
        found |= more


def _given(node: cst.CSTNode, wanted: set[str]) -> Iterator[str]:
    """The names that a statement reads to give one of the wanted names its value, or an entry."""
    targets: list[cst.CSTNode]
    if isinstance(node, cst.Assign):
        targets, value = [part.target for part in node.targets], node.value
    elif isinstance(node, (cst.AnnAssign, cst.AugAssign)) and node.value is not None:
        targets, value = [node.target], node.value
    elif isinstance(node, cst.For):
        targets, value = [node.target], node.iter
    elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "update":
        targets, value = [node.func.value], node
    else:
        return
    if any(name in wanted for target in targets for name in _filled(target)):
        yield from read_names(value)


def _filled(target: cst.CSTNode) -> Iterator[str]:
    """The names that an assignment gives a value, or an entry."""
    if isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _filled(element.value)
    elif isinstance(target, (cst.Subscript, cst.Attribute)):
        yield from _filled(target.value)
    elif isinstance(target, cst.Name):
        yield target.value
