"""Closures: which names a function takes from around it, and which of those a loop binds anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from .syntax import Module
from .values import Function


def free_names(node: cst.FunctionDef | cst.Lambda) -> list[str]:
    """The names that a function reads and does not bind itself, in order of appearance."""
    params = node.params
    own = {param.name.value for param in (*params.posonly_params, *params.params, *params.kwonly_params)}
    for star in (params.star_arg, params.star_kwarg):
        if isinstance(star, cst.Param):
            own.add(star.name.value)
    own |= set(bound_names(node.body))
    return list(dict.fromkeys(name for name in read_names(node.body) if name not in own))


def read_names(node: cst.CSTNode) -> Iterator[str]:
    """The names read in a node, attribute and keyword names left out."""
    if isinstance(node, cst.Name):
        yield node.value
        return
    if isinstance(node, cst.Attribute):
        yield from read_names(node.value)
        return
    for child in node.children:
        if isinstance(node, cst.Arg) and child is node.keyword:
            continue
        if isinstance(node, cst.Param) and child is node.name:
            continue
        yield from read_names(child)


def bound_names(node: cst.CSTNode) -> Iterator[str]:
    """The names that statements in a node bind, inner functions and classes left out."""
    if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        yield node.name.value
        return
    if isinstance(node, (cst.Lambda, cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)):
        return
    if isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.NamedExpr)):
        yield from _names_in(node.target)
    if isinstance(node, cst.AsName):
        yield from _names_in(node.name)
    for child in node.children:
        yield from bound_names(child)


def _names_in(target: cst.BaseExpression | cst.BaseAssignTargetExpression) -> Iterator[str]:
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _names_in(element.value)
    elif isinstance(target, cst.StarredElement):
        yield from _names_in(target.value)


def late_bound(function: Function, loops: Iterable[cst.CSTNode]) -> list[str]:
    """The free names of a function that a loop around its definition binds anew in every round.

    Empty for a function made by a factory: there each round has a scope of its own.
    """
    module: Module = function.module
    around = []
    for outer in module.ancestors(function.node):
        if isinstance(outer, (cst.FunctionDef, cst.Lambda)):
            break
        if isinstance(outer, (cst.For, cst.While)) and any(outer is loop for loop in loops):
            around.append(outer)
    rebound = {name for loop in around for name in bound_names(loop)}
    return [name for name in free_names(function.node) if name in rebound and name not in function.defaults]


def contains(node: cst.CSTNode, wanted: cst.CSTNode, module: Module) -> bool:
    """Whether a node lies inside another."""
    return node is wanted or any(outer is node for outer in module.ancestors(wanted))


def enclosing_function(module: Module, node: cst.CSTNode) -> cst.CSTNode:
    """The function around a node, else the module."""
    return next((outer for outer in module.ancestors(node) if isinstance(outer, cst.FunctionDef)), module.tree)


def calls_in(node: cst.CSTNode) -> Iterator[cst.Call]:
    """The calls in a node, itself among them."""
    if isinstance(node, cst.Call):
        yield node
    for child in node.children:
        yield from calls_in(child)
