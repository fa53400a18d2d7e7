"""The names of a module as a dict, what `models.__dict__`, `vars(models)` and `globals()` give, and `sys.modules`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .filling import forced
from .values import Const, ModuleRef, Value, of

if TYPE_CHECKING:
    from ..ir.syntax import Module
    from .interpreter import Interpreter


def as_dict(it: Interpreter, module: Module, node: ast.AST) -> Value:
    """The module's own dict: what is put into it is a name of the module. What else stands in it, such as `__doc__`, is
    left open.
    """
    scope = it.module_scope(module)
    for name, value in list(scope.names.items()):
        scope.names[name] = forced(it, value)
    made = it.new("dict", "builtins.dict", "", it.site(node))
    made.entries, made.open = scope.names, True
    return of(made)


def loaded_as(it: Interpreter, name: Const, node: ast.AST) -> Value:
    """What `sys.modules[name]` gives: a module of the project, its own among them, or something unknown."""
    own = it.module_scope(it.module).names.get("__name__")
    if own is not None and own.only() == name:
        return of(ModuleRef(it.module, it.module.path))
    path = it.project.resolve(str(name.value), 0, it.module)
    return it.import_module(path) if path is not None else of(it.unknown("", it.site(node)))
