"""Closures: which names a function takes from around it, and which of those a loop binds anew."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ..finding import Edit
from ..ir.syntax import (
    COMPREHENSIONS,
    DEFINITIONS,
    FORS,
    FUNCTIONS,
    LOOPS,
    FunctionDef,
    Module,
    Site,
    arguments,
    nodes,
    parameters,
    parts,
)
from .events import Loop
from .values import Function

OWN_ROUNDS = (ast.ListComp, ast.SetComp, ast.DictComp)
_INNER = (ast.Lambda, *COMPREHENSIONS)


def free_names(node: FunctionDef | ast.Lambda) -> list[str]:
    """The names that a function reads and does not bind itself, in order of appearance."""
    body = body_of(node)
    own = {each.arg for each in nodes(node.args) if isinstance(each, ast.arg)}
    own.update(name for part in body for name in bound_names(part))
    return list(dict.fromkeys(name for part in body for name in _read_outside(part) if name not in own))


def _read_outside(node: ast.AST) -> Iterator[str]:
    """The names that a node has and that no comprehension or lambda in it binds itself."""
    if isinstance(node, ast.Name):
        yield node.id
    own, first = set[str](), None
    if isinstance(node, COMPREHENSIONS):
        own, first = {name for clause in node.generators for name in _names_in(clause.target)}, node.generators[0].iter
    elif isinstance(node, ast.Lambda):
        own = {each.arg for each in nodes(node.args) if isinstance(each, ast.arg)}
    if first is not None:  # which is worked out before any of them is bound
        yield from _read_outside(first)
    for child in parts(node):
        yield from (name for name in _read_outside(child) if name not in own)


def body_of(node: FunctionDef | ast.Lambda | ast.Module) -> Sequence[ast.AST]:
    """The statements of a function or a module, or the expression of a lambda."""
    return [node.body] if isinstance(node, ast.Lambda) else node.body


def read_names(node: ast.AST) -> Iterator[str]:
    """The names in a node, attribute and keyword names left out."""
    return (each.id for each in nodes(node) if isinstance(each, ast.Name))


def bound_names(node: ast.AST) -> Iterator[str]:
    """The names that statements in a node bind, inner functions and classes left out."""
    if isinstance(node, DEFINITIONS):
        yield node.name
        return
    if isinstance(node, _INNER):
        return
    yield from _own_names(node)
    for child in parts(node):
        yield from bound_names(child)


def names_bound(module: Module, scope: FunctionDef | ast.Lambda | ast.Module) -> Counter[str]:
    """How often a function or a module binds each of its names, parameters left out."""
    return module.once(_names_bound, scope)


def _names_bound(scope: FunctionDef | ast.Lambda | ast.Module) -> Counter[str]:
    return Counter(name for part in body_of(scope) for name in bound_names(part))


def _own_names(node: ast.AST) -> Iterator[str]:
    """The names that a node itself binds."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _names_in(target)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr, *FORS)):
        yield from _names_in(node.target)
    elif isinstance(node, ast.withitem):
        yield from _names_in(node.optional_vars)
    elif isinstance(node, ast.ExceptHandler):
        yield from filter(None, (node.name,))
    elif isinstance(node, ast.alias):
        yield from filter(None, (node.asname,))
    elif isinstance(node, DEFINITIONS):
        yield node.name


def _names_in(target: ast.AST | None) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _names_in(element)
    elif isinstance(target, ast.Starred):
        yield from _names_in(target.value)


def late_bound(function: Function, loops: Iterable[Loop]) -> list[str]:
    """The free names of a function that a loop around its definition binds anew in every round.

    Empty for a function made by a factory: there each round has a scope of its own. A comprehension around
    the definition counts whether it is among the loops or not.
    """
    rebound = {name for loop in rebinding_loops(function, loops) for name in varying_names(loop)}
    free = free_names(function.node) if rebound else []
    return [name for name in free if name in rebound and name not in function.defaults]


def rebinding_loops(function: Function, loops: Iterable[Loop]) -> list[ast.AST]:
    """The loops around a function's definition, in the function that defines it, innermost first."""
    around: list[ast.AST] = []
    module, held = function.module, [loop.node for loop in loops]
    for outer in module.ancestors(function.node):
        if isinstance(outer, (*FUNCTIONS, ast.Lambda)):
            break
        walked = isinstance(outer, LOOPS) and any(outer is loop for loop in held)
        if isinstance(outer, OWN_ROUNDS) or (walked and not leaves_after(module, function.node, outer)):
            around.append(outer)
    return around


def varying_names(loop: ast.AST) -> set[str]:
    """The names that a loop binds in every round to what may be another value than in the last."""
    if isinstance(loop, OWN_ROUNDS):
        return {name for clause in loop.generators for name in _names_in(clause.target)}
    fixed = {
        target.id
        for node in _statements(loop)
        if isinstance(node, ast.Assign) and _is_literal(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    own = [name for node in _statements(loop) for name in _own_names(node)]
    return {name for name in own if name not in fixed or own.count(name) > 1}


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in parts(node):
        if isinstance(child, DEFINITIONS):
            yield child
        elif not isinstance(child, _INNER):
            yield from _statements(child)


def _is_literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


def leaves_after(module: Module, node: ast.AST, loop: ast.AST) -> bool:
    """Whether the block that holds a node ends the loop: then only one round gets there."""
    statement = module.statement(node)
    while statement is not None and statement is not loop:
        if isinstance(module.block(statement)[-1], (ast.Break, ast.Return)):
            return True
        outer = module.parents.get(statement)
        statement = module.statement(outer) if outer is not None else None
    return False


def parameter_edit(function: Function, text: str) -> Edit:
    """The edit that gives a function one more parameter, with a default, behind those filled by place."""
    params, module = function.node.args, function.module
    if params.kwarg is not None:
        place = Site.at(module, params.kwarg).location()
        return Edit(place.path, place.line, place.column, place.line, place.column, f"{text}, ")
    given = [*parameters(params)]
    if params.vararg is not None:
        given.insert(len(params.posonlyargs) + len(params.args), (params.vararg, None))
    if given:
        last, default = given[-1]
        place = Site.at(module, default or last.annotation or last).location()
        line, column = place.end_line, place.end_column
        return Edit(place.path, line, column, line, column, f", {text}")
    place = Site.at(module, function.node).location()
    if isinstance(function.node, ast.Lambda):
        column = place.column + len("lambda")
        return Edit(place.path, place.line, column, place.line, column, f" {text}")
    column = module.lines[place.line - 1].index("(", place.column - 1) + 2
    return Edit(place.path, place.line, column, place.line, column, text)


def forwarding(function: Function, instead: dict[str, str] | None = None) -> list[str] | None:
    """The parts of a call that a function only passes its arguments on to: `f`, what it adds, keywords.

    None when the function does anything besides. Names bound by a default are spelled out as that default,
    and arguments whose text is in `instead` as that text.
    """
    call = _only_call(function)
    if call is None:
        return None
    params, module = function.node.args, function.module
    given = parameters(params)
    spelled = {item.arg: module.code(default) for item, default in given if default is not None}
    passed = [item.arg for item, default in given if default is None]
    stars = (("*", params.vararg), ("**", params.kwarg))
    passed += [star + item.arg for star, item in stars if item is not None]
    spelled |= instead or {}
    found, seen = [module.code(call.func)], []
    for argument in arguments(call):
        named = argument.arg if isinstance(argument, ast.keyword) else None
        value = argument.value if named is not None and isinstance(argument, ast.keyword) else argument
        text = module.code(value)
        if named is None and text in passed:
            seen.append(text)
        elif (
            text.startswith("*")
            or (named is None and seen)
            or (set(read_names(value)) & {name.lstrip("*") for name in passed})
        ):
            return None
        else:
            found.append((f"{named}=" if named is not None else "") + spelled.get(text, text))
    return found if seen == passed else None


def _only_call(function: Function) -> ast.Call | None:
    node = function.node
    if isinstance(node, ast.Lambda):
        return node.body if isinstance(node.body, ast.Call) else None
    if len(node.body) != 1 or node.decorator_list:
        return None
    only = node.body[0]
    return only.value if isinstance(only, ast.Return) and isinstance(only.value, ast.Call) else None


def partial_name(module: Module) -> tuple[str, str]:
    """How a module spells functools.partial, and the import line it takes ("" when it is there)."""
    for line in module.lines:
        text = line.strip()
        if text.startswith("from functools import") and "partial" in text.replace(",", " ").split():
            return "partial", ""
    return "functools.partial", "import functools"


def contains(node: ast.AST, wanted: ast.AST, module: Module) -> bool:
    """Whether a node lies inside another."""
    return node is wanted or any(outer is node for outer in module.ancestors(wanted))


def enclosing_function(module: Module, node: ast.AST) -> FunctionDef | ast.Module:
    """The function around a node, else the module."""
    around = module.ancestors(node)
    return next((outer for outer in around if isinstance(outer, FUNCTIONS)), module.tree)


def calls_in(node: ast.AST) -> Iterator[ast.Call]:
    """The calls in a node, itself among them."""
    return (each for each in nodes(node) if isinstance(each, ast.Call))
