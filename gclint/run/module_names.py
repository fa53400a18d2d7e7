"""The names of a module as a dict, what `models.__dict__`, `vars(models)` and `globals()` give, and `sys.modules`."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..ir.syntax import dotted
from .filling import forced
from .guards import ALWAYS, Guard
from .values import Alternative, Class, Const, Function, ModuleRef, Object, Value, of

GIVEN_OUT = "modules given out as dicts"  # of the run's facts: the paths of those whose names may be set as entries
NAMES_OF = "of_module"  # of such a dict: the module

if TYPE_CHECKING:
    from ..ir.syntax import Module
    from .interpreter import Interpreter


def as_dict(it: Interpreter, module: Module, node: ast.AST) -> Value:
    """The module's own dict: what is put into it is a name of the module. What else may stand in it, as the modules of
    a package that were imported, and what a library's star brought, is left open.
    """
    scope = it.module_scope(module)
    for name, value in list(scope.names.items()):
        scope.names[name] = forced(it, value)
    made = it.new("dict", "builtins.dict", "", it.site(node))
    made.entries, made.born, made.open = scope.names, ALWAYS, _is_open(module)
    made.state[NAMES_OF] = of(ModuleRef(module, module.path))
    it.run.facts.setdefault(GIVEN_OUT, set()).add(module.path)
    return of(made)


def lacks(it: Interpreter, module: Module, name: str) -> bool:
    """Whether a module surely has no attribute of a name: nor one that others may have put into it."""
    names, given_out = it.module_scope(module).names, it.run.facts.get(GIVEN_OUT, set())
    own = name.startswith("__") or names.keys() & {name, "__getattr__"}
    return not own and module.path not in given_out and not _is_open(module)


def called(
    it: Interpreter, module: Module, key: Alternative, what: Callable[[str], Value]
) -> tuple[list[Value], Guard]:
    """What a module gives for a name that nobody knows, where it is that of each class and function which it defines,
    or a package has of its own modules, and the guard under which it is none of those; all of it where there are none,
    or too many.
    """
    from .containers import each_by_key, is_told

    scope = it.module_scope(module)
    own = [name for name, value in scope.names.items() if any(_is_defined_in(module, item) for _, item in value)]
    if not isinstance(key, Object) or not is_told(key, own):
        return [], ALWAYS
    return each_by_key(it, key, own, lambda name: what(str(name)))


def _is_defined_in(module: Module, item: Alternative) -> bool:
    """Whether a class or a function stands in a module, or in one of the package that it is."""
    if not isinstance(item, (Class, Function)):
        return False
    folder, name = os.path.split(module.path)
    return item.module is module or (name == "__init__.py" and item.module.path.startswith(os.path.join(folder, "")))


def _is_open(module: Module) -> bool:
    """Whether a module may have names that it does not bind by an assignment, a definition or an import of a name."""
    sets = "exec(" in module.text or ("setattr(" in module.text and "sys.modules" in module.text)
    if sets or os.path.basename(module.path) == "__init__.py":
        return True
    return any(_binds_any(module, each) for each in module.parents)


def _binds_any(module: Module, node: ast.AST) -> bool:
    """Whether a statement takes all that a module has, or puts something into `globals()` under a name that it does not
    write down.
    """
    if isinstance(node, ast.ImportFrom):
        return node.names[0].name == "*"
    outer = module.parents.get(node) if isinstance(node, ast.Call) and dotted(node.func) == "globals" else None
    if isinstance(outer, ast.Subscript):
        return isinstance(outer.ctx, ast.Store) and not isinstance(outer.slice, ast.Constant)
    return isinstance(outer, ast.Attribute) and outer.attr in ("update", "setdefault")


def loaded_as(it: Interpreter, name: Const, node: ast.AST) -> Value:
    """What `sys.modules[name]` gives: a module of the project, its own among them, or something unknown."""
    own = it.module_scope(it.module).names.get("__name__")
    if own is not None and own.only() == name:
        return of(ModuleRef(it.module, it.module.path))
    path = it.project.resolve(str(name.value), 0, it.module)
    return it.import_module(path) if path is not None else of(it.unknown("", it.site(node)))
