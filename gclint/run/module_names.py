"""The names of a module as a dict, what `models.__dict__`, `vars(models)` and `globals()` give, and `sys.modules`."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from .filling import forced
from .guards import ALWAYS, Guard
from .values import Alternative, Class, Const, Function, ModuleRef, Object, Value, of

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
    return of(made)


def lacks(it: Interpreter, module: Module, name: str) -> bool:
    """Whether a module surely has no attribute of a name."""
    names = it.module_scope(module).names
    return not names.keys() & {name, "__getattr__"} and not _is_open(module)


def called(
    it: Interpreter, module: Module, key: Alternative, what: Callable[[str], Value]
) -> tuple[list[Value], Guard]:
    """What a module gives for a name that nobody knows, where it is that of each class and function which it defines,
    and the guard under which it is none of those; all of it where there are none, or too many.
    """
    from .containers import each_by_key, is_told

    scope = it.module_scope(module)
    own = [name for name, value in scope.names.items() if any(_is_defined_in(module, item) for _, item in value)]
    if not isinstance(key, Object) or not is_told(key, own):
        return [], ALWAYS
    return each_by_key(it, key, own, lambda name: what(str(name)))


def _is_defined_in(module: Module, item: Alternative) -> bool:
    return isinstance(item, (Class, Function)) and item.module is module


def _is_open(module: Module) -> bool:
    return os.path.basename(module.path) == "__init__.py" or any(map(_takes_all, module.tree.body))


def _takes_all(line: ast.stmt) -> bool:
    return isinstance(line, ast.ImportFrom) and line.names[0].name == "*"


def loaded_as(it: Interpreter, name: Const, node: ast.AST) -> Value:
    """What `sys.modules[name]` gives: a module of the project, its own among them, or something unknown."""
    own = it.module_scope(it.module).names.get("__name__")
    if own is not None and own.only() == name:
        return of(ModuleRef(it.module, it.module.path))
    path = it.project.resolve(str(name.value), 0, it.module)
    return it.import_module(path) if path is not None else of(it.unknown("", it.site(node)))
