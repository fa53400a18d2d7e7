"""Closures: which names a function takes from around it, and which of those a loop binds anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from ..finding import Edit
from .syntax import Module, Site, dotted, parts
from .values import Function

COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp)
LITERALS = (cst.Integer, cst.Float, cst.SimpleString)


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
    for child in parts(node):
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
    for child in parts(node):
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

    Empty for a function made by a factory: there each round has a scope of its own. A comprehension around
    the definition counts whether it is among the loops or not.
    """
    rebound = {name for loop in rebinding_loops(function, loops) for name in varying_names(loop)}
    free = free_names(function.node) if rebound else []
    return [name for name in free if name in rebound and name not in function.defaults]


def rebinding_loops(function: Function, loops: Iterable[cst.CSTNode]) -> list[cst.CSTNode]:
    """The loops around a function's definition, in the function that defines it, innermost first."""
    around: list[cst.CSTNode] = []
    module, held = function.module, list(loops)
    for outer in module.ancestors(function.node):
        if isinstance(outer, (cst.FunctionDef, cst.Lambda)):
            break
        walked = isinstance(outer, (cst.For, cst.While)) and any(outer is loop for loop in held)
        if isinstance(outer, COMPREHENSIONS) or (walked and not leaves_after(module, function.node, outer)):
            around.append(outer)
    return around


def varying_names(loop: cst.CSTNode) -> set[str]:
    """The names that a loop binds in every round to what may be another value than in the last."""
    if isinstance(loop, COMPREHENSIONS):
        found: set[str] = set()
        clause: cst.CompFor | None = loop.for_in
        while clause is not None:
            found |= set(_names_in(clause.target))
            clause = clause.inner_for_in
        return found
    fixed = {
        target.target.value
        for node in _statements(loop)
        if isinstance(node, cst.Assign) and _is_literal(node.value)
        for target in node.targets
        if isinstance(target.target, cst.Name)
    }
    own = [name for node in _statements(loop) for name in _own_names(node)]
    return {name for name in own if name not in fixed or own.count(name) > 1}


def _own_names(node: cst.CSTNode) -> Iterator[str]:
    if isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.NamedExpr)):
        yield from _names_in(node.target)
    elif isinstance(node, cst.AsName):
        yield from _names_in(node.name)
    elif isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        yield node.name.value


def _statements(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in parts(node):
        if isinstance(child, (cst.FunctionDef, cst.ClassDef)):
            yield child
        elif not isinstance(child, (cst.Lambda, *COMPREHENSIONS, cst.GeneratorExp)):
            yield from _statements(child)


def _is_literal(node: cst.BaseExpression) -> bool:
    return isinstance(node, LITERALS) or dotted(node) in ("True", "False", "None")


def leaves_after(module: Module, node: cst.CSTNode, loop: cst.CSTNode) -> bool:
    """Whether the block that holds a node ends the loop: then only one round gets there."""
    statement = module.statement(node)
    while statement is not None and statement is not loop:
        block = module.parents.get(statement)
        last = block.body[-1] if isinstance(block, cst.IndentedBlock) else None
        if isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], (cst.Break, cst.Return)):
            return True
        outer = module.parents.get(statement)
        statement = module.statement(outer) if outer is not None else None
    return False


def parameter_edit(function: Function, text: str) -> Edit:
    """The edit that gives a function one more parameter, with a default, behind those filled by place."""
    params, module = function.node.params, function.module
    if isinstance(params.star_kwarg, cst.Param):
        place = Site.at(module, params.star_kwarg).location()
        return Edit(place.path, place.line, place.column, place.line, place.column, f"{text}, ")
    stars = [params.star_arg] if isinstance(params.star_arg, cst.Param) else []
    given = [*params.posonly_params, *params.params, *stars, *params.kwonly_params]
    if given:
        place = Site.at(module, given[-1].default or given[-1]).location()
        line, column = place.end_line, place.end_column
        return Edit(place.path, line, column, line, column, f", {text}")
    if isinstance(function.node, cst.Lambda):
        place = Site.at(module, function.node).location()
        column = place.column + len("lambda")
        return Edit(place.path, place.line, column, place.line, column, f" {text}")
    place = Site.at(module, function.node.name).location()
    column = module.lines[place.end_line - 1].index("(", place.end_column - 1) + 2
    return Edit(place.path, place.end_line, column, place.end_line, column, text)


def forwarding(function: Function, instead: dict[str, str] | None = None) -> list[str] | None:
    """The parts of a call that a function only passes its arguments on to: `f`, what it adds, keywords.

    None when the function does anything besides. Names bound by a default are spelled out as that default,
    and arguments whose text is in `instead` as that text.
    """
    call = _only_call(function)
    if call is None:
        return None
    params, module = function.node.params, function.module
    given = [*params.posonly_params, *params.params, *params.kwonly_params]
    spelled = {item.name.value: module.code(item.default) for item in given if item.default is not None}
    passed = [item.name.value for item in given if item.default is None]
    if isinstance(params.star_arg, cst.Param):
        passed.append("*" + params.star_arg.name.value)
    if params.star_kwarg is not None:
        passed.append("**" + params.star_kwarg.name.value)
    spelled |= instead or {}
    parts, seen = [module.code(call.func)], []
    for argument in call.args:
        text = argument.star + module.code(argument.value)
        if argument.keyword is None and text in passed:
            seen.append(text)
        elif (
            argument.star
            or (argument.keyword is None and seen)
            or (set(read_names(argument.value)) & {name.lstrip("*") for name in passed})
        ):
            return None
        else:
            word = f"{argument.keyword.value}=" if argument.keyword is not None else ""
            parts.append(word + spelled.get(text, text))
    return parts if seen == passed else None


def _only_call(function: Function) -> cst.Call | None:
    node = function.node
    if isinstance(node, cst.Lambda):
        return node.body if isinstance(node.body, cst.Call) else None
    lines = [line for line in node.body.body if isinstance(line, cst.SimpleStatementLine)]
    if len(lines) != 1 or len(node.body.body) != 1 or node.decorators:
        return None
    only = lines[0].body[0]
    return only.value if isinstance(only, cst.Return) and isinstance(only.value, cst.Call) else None


def partial_name(module: Module) -> tuple[str, str]:
    """How a module spells functools.partial, and the import line it takes ("" when it is there)."""
    for line in module.lines:
        text = line.strip()
        if text.startswith("from functools import") and "partial" in text.replace(",", " ").split():
            return "partial", ""
    return "functools.partial", "import functools"


def contains(node: cst.CSTNode, wanted: cst.CSTNode, module: Module) -> bool:
    """Whether a node lies inside another."""
    return node is wanted or any(outer is node for outer in module.ancestors(wanted))


def enclosing_function(module: Module, node: cst.CSTNode) -> cst.CSTNode:
    """The function around a node, else the module."""
    around = module.ancestors(node)
    return next((outer for outer in around if isinstance(outer, cst.FunctionDef)), module.tree)


def calls_in(node: cst.CSTNode) -> Iterator[cst.Call]:
    """The calls in a node, itself among them."""
    if isinstance(node, cst.Call):
        yield node
    for child in parts(node):
        yield from calls_in(child)
