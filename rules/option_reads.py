"""Whether a program reads an option, other than to keep it under a variable or an attribute that no code reads."""

from __future__ import annotations

import ast
from collections.abc import Collection

from gclint.ir.syntax import FUNCTIONS, Module, nodes
from gclint.run.events import AttributeSet
from gclint.run.run import Run
from gclint.run.values import Class, External, Object

from .option_ignored import is_ignored
from .option_names import (
    class_of_method,
    is_of_all,
    is_of_its_method,
    last_name,
    reads_by_text,
    reads_of_own_option,
    sets_itself,
)
from .option_places import is_name, scope_of, takes_variables

READ_NO_OTHERS = ("builtins.object", "abc.ABC", "torch.nn.Module", "torch.utils.data.Dataset", "typing.Generic")
"""Bases of a library that read no attribute which is not theirs (torch/nn/modules/module.py)."""
BY_NAME = ("getattr", "attrgetter", "hasattr")


def is_read(name: str, run: Run, options: Collection[Object] | None = None) -> bool:
    """Whether the program takes an option's value, of these namespaces if given, other than in a loop that only
    shows all of them, to put it with all others, which are followed themselves, or to keep it where nothing reads it.
    """
    return any(
        place is None
        or (
            (options is None or any(item is None or item in options for item in run.read_of.get(place.node, ())))
            and not (is_of_all(place) or is_only_kept(place.node, place.module, run))
        )
        for place in run.options_read.get(name, ())
    )


def is_only_kept(node: ast.AST, module: Module, run: Run) -> bool:
    """Whether what is taken goes as it is into variables of a function, attributes of the object whose method it stands
    in, or a parameter, and no code reads those.
    """
    line = module.parents.get(node)
    if not isinstance(line, ast.Assign) or line.value is not node:
        return is_ignored(node, module, run)
    return all(_is_never_read(target, module, run) for target in line.targets)


def _is_never_read(target: ast.expr, module: Module, run: Run) -> bool:
    if isinstance(target, ast.Name):
        scope = scope_of(module, target)
        return isinstance(scope, FUNCTIONS) and not any(
            is_name(each, target.id) or takes_variables(each) for each in nodes(scope)
        )
    if not isinstance(target, ast.Attribute) or not is_of_its_method(target.value, module):
        return False
    name, own = target.attr, class_of_method(target.value, module)
    modules = dict.fromkeys([*run.modules_with(name), *run.beside_with(name)])
    return _has_known_bases(target, run) and not any(_may_read(each, name, own, run) for each in modules)


def _has_known_bases(target: ast.Attribute, run: Run) -> bool:
    """Whether the walk came to the statement, and all that the object's class inherits from is known to leave what is
    set on it alone.
    """
    owners = [
        each.target.type
        for each in run.of_type(AttributeSet)
        if each.site.node is target and each.target is not None and isinstance(each.target.type, Class)
    ]
    bases = (base for owner in owners for base in owner.ancestry() if isinstance(base, External))
    open_bases = any(not isinstance(base, (Class, External)) for owner in owners for base in owner.bases)
    return bool(owners) and not open_bases and all(base.name in READ_NO_OTHERS for base in bases)


def _may_read(module: Module, name: str, own: ast.ClassDef | None, run: Run) -> bool:
    """Whether a module takes an attribute of a name, or may by a text: of anything but the options themselves and the
    objects of other classes that have one of their own.
    """
    of_options = {place.node for place in run.options_read.get(name, ()) if place is not None}
    of_options |= reads_of_own_option(module, name)
    by_text = reads_by_text(module, set())
    for node in module.parents:
        if isinstance(node, ast.Attribute) and node.attr == name:
            if isinstance(node.ctx, ast.Load) and node not in of_options and not _is_of_another(node, module, own):
                return True
            if isinstance(module.parents.get(node), ast.AugAssign):
                return True
        elif isinstance(node, ast.Constant) and node.value == name:
            outer = module.parents.get(node)
            if by_text or (isinstance(outer, ast.Call) and last_name(outer.func) in BY_NAME):
                return True
    return False


def _is_of_another(node: ast.Attribute, module: Module, own: ast.ClassDef | None) -> bool:
    """Whether an attribute is one that the class of the method has set itself, and that class is none of a family with
    the other.
    """
    owner = class_of_method(node.value, module)
    if owner is None or own is None or owner is own or not sets_itself(node, module):
        return False
    return own.name not in map(last_name, owner.bases) and owner.name not in map(last_name, own.bases)
