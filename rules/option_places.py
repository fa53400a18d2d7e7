"""The places in code where something that is followed by its name may stand: variables, attributes, entries, calls."""

from __future__ import annotations

import ast
from collections import Counter

from gclint.ir.layout import is_spread
from gclint.ir.syntax import DEFINITIONS, FUNCTIONS, FunctionDef, Module, nodes
from gclint.run.closures import body_of, bound_names

from .option_names import PRINTS, SAVES, last_name

RUNS_A_TEXT = ("eval", "exec")
ALL_VARIABLES = ("locals", *RUNS_A_TEXT)
ONE_ENTRY = ("get", "pop", "setdefault")
"""The methods of a dict that take an entry by its name."""


def takes_variables(node: ast.AST) -> bool:
    """Whether something is a function of Python's that takes variables without being given them."""
    return isinstance(node, ast.Name) and node.id in ALL_VARIABLES


def is_name(node: ast.AST, name: str) -> bool:
    """Whether something reads a variable."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id == name


def scope_of(module: Module, name: ast.AST) -> ast.AST:
    """The function or the module whose variable a name is."""
    for outer in module.ancestors(name):
        own = module.once(_own, outer) if isinstance(outer, (*FUNCTIONS, ast.Lambda)) else ()
        if isinstance(name, ast.Name) and name.id in own:
            return outer
    return module.tree


def _own(function: FunctionDef | ast.Lambda) -> set[str]:
    body = body_of(function)
    outer = {
        name
        for part in body
        for each in nodes(part)
        if isinstance(each, (ast.Global, ast.Nonlocal))
        for name in each.names
    }
    own = {each.arg for each in nodes(function.args) if isinstance(each, ast.arg)}
    return (own | {name for part in body for name in bound_names(part)}) - outer


def names_of(name: str, module: Module) -> set[str]:
    """A name, and those under which it was imported."""
    aliases = (each for each in module.parents if isinstance(each, ast.alias) and each.asname == name)
    return {name, *(each.name.rpartition(".")[2] for each in aliases)}


def is_its_own(node: ast.AST, module: Module) -> bool:
    """Whether a name is that of a function or a class of the module itself, which nothing else there bears."""
    return isinstance(node, ast.Name) and node.id in module.once(_defined, module.tree)


def _defined(tree: ast.Module) -> frozenset[str]:
    made = Counter(each.name for each in tree.body if isinstance(each, DEFINITIONS))
    parts = [*nodes(tree)]
    others = {each.asname or each.name for each in parts if isinstance(each, ast.alias)}
    others |= {each.id for each in parts if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    others |= {each.arg for each in parts if isinstance(each, ast.arg)}
    inner = {each.name for each in parts if isinstance(each, DEFINITIONS)} - made.keys()
    return frozenset(name for name, times in made.items() if times == 1) - others - inner


def spreads(node: ast.AST) -> bool:
    """Whether something is a call that is given the entries of a dict."""
    return isinstance(node, ast.Call) and any(map(is_spread, node.keywords))


def is_method(module: Module, function: FunctionDef) -> int:
    """Whether a call of a function by its name gives it no first argument: the object before the dot is that."""
    if not isinstance(module.parents.get(function), ast.ClassDef):
        return 0
    return int(not any(last_name(each) == "staticmethod" for each in function.decorator_list))


def runs_a_text(call: ast.Call) -> bool:
    """Whether a call runs a text that is put together, which may have any name in it."""
    put_together = any(not isinstance(each, (ast.Attribute, ast.Constant, ast.Name)) for each in call.args[:1])
    return isinstance(call.func, ast.Name) and call.func.id in RUNS_A_TEXT and put_together


def shows(node: ast.AST) -> bool:
    """Whether something is a call that shows what it is given."""
    return isinstance(node, ast.Call) and last_name(node.func) in PRINTS and not saves(node)


def saves(node: ast.AST) -> bool:
    """Whether something is a call that keeps what it is given in a file."""
    return isinstance(node, ast.Call) and last_name(node.func) in SAVES


def is_entry(node: ast.AST, name: str) -> bool:
    """Whether something takes an entry by its name."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Constant) and node.slice.value == name
    if not isinstance(node, ast.Call) or last_name(node.func) not in ONE_ENTRY or not node.args:
        return False
    return isinstance(node.args[0], ast.Constant) and node.args[0].value == name


def is_attribute(node: ast.AST, name: str) -> bool:
    """Whether something takes an attribute by its name."""
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr == name


def is_given_as_keywords(entries: ast.Dict, module: Module) -> bool:
    """Whether a dict is the keywords that something else calls a function with: `Thread(target=f, kwargs={...})`."""
    outer = module.parents.get(entries)
    return isinstance(outer, ast.keyword) and outer.arg == "kwargs"


def spellings(name: str, module: Module) -> set[str]:
    """A name, and those that a module imports it under."""
    aliases = (each for each in module.parents if isinstance(each, ast.alias) and each.asname)
    return {name, *(each.asname for each in aliases if each.asname and each.name.rpartition(".")[2] == name)}


def calls_given(value: ast.AST, name: str, module: Module) -> list[ast.Call]:
    """The calls that are given something by a name: the one around it, or, where it is an entry of a dict, all of the
    module that are given the entries of one.
    """
    outer = module.parents.get(value)
    call = module.parents.get(outer) if isinstance(outer, ast.keyword) and outer.arg == name else None
    if isinstance(call, ast.Call):
        return [call]
    keys = [key.value for key in outer.keys if isinstance(key, ast.Constant)] if isinstance(outer, ast.Dict) else []
    return [each for each in module.parents if isinstance(each, ast.Call) and spreads(each)] if name in keys else []


def arguments(call: ast.Call) -> list[ast.expr]:
    """What a call is given, also by names in a dict that is written there."""
    named = [each.value for each in call.keywords]
    return [*call.args, *named, *(part for each in named if isinstance(each, ast.Dict) for part in each.values)]
