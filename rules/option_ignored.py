"""Whether what a call is given goes to a parameter that the function never reads."""

from __future__ import annotations

import ast
from pathlib import PurePath

from gclint.ir.layout import by_place
from gclint.ir.syntax import FUNCTIONS, FunctionDef, Module, nodes, parameters
from gclint.run.run import Run

from .option_names import last_name
from .option_places import is_its_own, is_method, is_name, takes_variables

HAND_ON = ("staticmethod", "classmethod", "no_grad", "enable_grad", "inference_mode")
"""Decorators that hand on what they are given."""
SAVES_ITS_VARIABLES = "save_hyperparameters"
"""What takes the parameters of the function around it without being given them (lightning's hparams_mixin.py)."""


def is_ignored(given: ast.AST, module: Module, run: Run) -> bool:
    """Whether something is given, by its place or a name, to a function or a class of the project that a call names and
    that never reads the parameter.
    """
    outer = module.parents.get(given)
    named = outer.arg if isinstance(outer, ast.keyword) else None
    call = module.parents.get(outer) if isinstance(outer, ast.keyword) else outer
    if not isinstance(call, ast.Call) or call.func is given or any(isinstance(each, ast.Starred) for each in call.args):
        return False
    function = _called(call, module, run)
    if function is None or (named is None and given not in call.args) or not is_plain(function[1]):
        return False
    where, made = function
    place = call.args.index(given) if named is None and isinstance(given, ast.expr) else 0
    ordered = by_place(made)[is_method(where, made) :]
    name = named if named is not None else next(iter(ordered[place:]), None)
    return name in {each.arg for each, _ in parameters(made.args)} and not _reads(made, name)


def is_plain(function: FunctionDef) -> bool:
    """Whether no decorator stands between a function and those who call it, but such as hand on what they are given."""
    return all(last_name(getattr(each, "func", each)) in HAND_ON for each in function.decorator_list)


def reads_all(node: ast.AST) -> bool:
    """Whether something takes all variables of the function around it without being given them."""
    return last_name(node) == SAVES_ITS_VARIABLES or takes_variables(node)


def _reads(function: FunctionDef, name: str | None) -> bool:
    """Whether a function reads a parameter, may do so, or does nothing yet."""
    inside = [each for line in function.body for each in nodes(line)]
    done = [line for line in function.body if not isinstance(line, (ast.Pass, ast.Raise)) and not _is_text(line)]
    return not done or any(reads_all(each) or is_name(each, name or "") for each in inside)


def _is_text(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)


def _called(call: ast.Call, module: Module, run: Run) -> tuple[Module, FunctionDef] | None:
    """The function of the project, or the `__init__` of its class, that a call names: one of the module's own, or the
    only one of the name that the module imports; None for anything else.
    """
    if not isinstance(call.func, ast.Name):
        return None
    if is_its_own(call.func, module):
        return _function_of(call.func.id, [module])
    name = call.func.id
    lines = [each for each in nodes(module.tree) if isinstance(each, ast.ImportFrom)]
    bound = [(line, each.name) for line in lines for each in line.names if (each.asname or each.name) == name]
    others = [each for each in nodes(module.tree) if isinstance(each, (ast.Name, ast.arg)) and _binds(each, name)]
    if len(bound) != 1 or others:
        return None
    line, original = bound[0]
    found = _function_of(original, list(run.modules_with(original)))
    last = (line.module or "").rpartition(".")[2]
    return found if found is not None and last in PurePath(found[0].path).with_suffix("").parts else None


def _binds(node: ast.Name | ast.arg, name: str) -> bool:
    return node.arg == name if isinstance(node, ast.arg) else node.id == name and not isinstance(node.ctx, ast.Load)


def _function_of(name: str, modules: list[Module]) -> tuple[Module, FunctionDef] | None:
    """The one function of a name at the top of these modules, or the `__init__` of the one class."""
    found = [(each, line) for each in modules for line in each.tree.body if getattr(line, "name", None) == name]
    if len(found) != 1:
        return None
    module, made = found[0]
    if isinstance(made, ast.ClassDef):
        own = [each for each in made.body if isinstance(each, FUNCTIONS) and each.name == "__init__"]
        return (module, own[0]) if len(own) == 1 and not made.decorator_list and not made.keywords else None
    return (module, made) if isinstance(made, FUNCTIONS) else None
