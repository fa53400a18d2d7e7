"""Attributes that a program changes by texts: `setattr(x, name, 1)`, `x.__dict__.update(...)`, `vars(x)[name] = 1`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..ir.syntax import FUNCTIONS, Module, nodes, parameters
from .closures import names_bound
from .values import Class, External, Object

if TYPE_CHECKING:
    from .interpreter import Interpreter

WORDS = ("setattr", "__dict__", "vars")
ONLY_READ = ("get", "items", "keys", "values", "copy")
TAKE_A_COPY = ("dict", "list", "tuple", "set", "sorted", "len", "iter", "print", "repr", "str")
LOOPS = (ast.For, ast.AsyncFor, ast.While)
ONE_BY_ONE = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Place(NamedTuple):
    """Where an object gets attributes by texts: `whose`, a name or `super()`, None for anything else; and which ones,
    None for any.
    """

    node: ast.AST
    whose: ast.Name | ast.Call | None
    names: frozenset[str] | None


def may_change(it: Interpreter, holder: Object, name: str) -> bool:
    """Whether any code of the program may give an object's attribute another value by a text."""
    for module in dict.fromkeys(module for word in WORDS for module in it.modules_with(word)):
        for place in module.once(_places, module):
            if (place.names is None or name in place.names) and _may_be(it, holder, place, module):
                return True
    return False


def _may_be(it: Interpreter, holder: Object, place: Place, module: Module) -> bool:
    """Whether the object of a place may be this one: a method's own is one of its class, and a place that has one at
    most and was come to has no other.
    """
    owner = _own_class(place, module)
    if owner is not None and isinstance(holder.type, Class):
        opaque = any(not isinstance(base, (Class, External)) for base in holder.type.bases)
        return opaque or any(isinstance(base, Class) and base.node is owner for base in holder.type.ancestry())
    met = it.run.taken_by_text.get(place.node)
    return met is None or holder in met or not _has_one(it, module, place)


def _own_class(place: Place, module: Module) -> ast.ClassDef | None:
    """The class whose method gives its own object attributes."""
    for outer in module.ancestors(place.node):
        if isinstance(outer, ast.Lambda):
            return None
        if isinstance(outer, FUNCTIONS):
            owner, given = module.parents.get(outer), [each.arg for each, _ in parameters(outer.args)]
            if isinstance(owner, ast.ClassDef):
                return owner if not outer.decorator_list and _is_own(place, outer, given[:1], module) else None
            if isinstance(place.whose, ast.Name) and (
                place.whose.id in given or place.whose.id in names_bound(module, outer)
            ):
                return None
    return None


def _is_own(place: Place, method: ast.AST, first: list[str], module: Module) -> bool:
    """Whether the object of a place is the one whose method this is: by its first parameter, or by `super()`."""
    if not isinstance(place.whose, ast.Name):
        return isinstance(place.whose, ast.Call)
    return isinstance(method, FUNCTIONS) and [place.whose.id] == first and first[0] not in names_bound(module, method)


def _has_one(it: Interpreter, module: Module, place: Place) -> bool:
    """Whether a place never has more than one object: no loop around it gives its name another one, and its function
    has one call, which is run once at most.
    """
    node, whose, seen = place.node, place.whose, set[ast.AST]()
    while node not in seen:
        seen.add(node)
        function = None
        for outer in module.ancestors(node):
            if isinstance(outer, ONE_BY_ONE) or (isinstance(outer, LOOPS) and not _keeps(outer, whose)):
                return False
            if isinstance(outer, FUNCTIONS):
                function = outer
                break
        if function is None:
            return True
        found = [] if function.decorator_list else list(_mentions(it, function.name))
        if len(found) != 1 or found[0][1] is None:
            return False
        module, node, whose = found[0][0], found[0][1], None
    return False


def _keeps(loop: ast.AST, whose: ast.Name | ast.Call | None) -> bool:
    """Whether a loop leaves a name alone."""
    stored = (each.id for each in nodes(loop) if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load))
    return isinstance(whose, ast.Name) and whose.id not in stored


def _mentions(it: Interpreter, name: str) -> Iterator[tuple[Module, ast.Call | None]]:
    """Where the program's text has a name, with the call that it stands for; None for anything else."""
    for module in it.modules_with(name):
        for node in module.parents:
            named = isinstance(node, ast.Name) and node.id == name
            if named or (isinstance(node, ast.Attribute) and node.attr == name):
                call = module.parents.get(node)
                yield module, call if isinstance(call, ast.Call) and call.func is node else None
            text = isinstance(node, ast.Constant) and node.value == name
            if text or (isinstance(node, ast.alias) and node.asname and node.name == name):
                yield module, None


def _places(module: Module) -> list[Place]:
    found: list[Place] = []
    for node in nodes(module.tree):
        if isinstance(node, ast.Name) and node.id in ("setattr", "vars"):
            found += _of_function(node, module)
        elif isinstance(node, ast.Attribute) and node.attr in ("setattr", "vars", "__setattr__"):
            found += _of_method(node, module) if node.attr == "__setattr__" else _of_function(node, module)
        elif isinstance(node, ast.Attribute) and node.attr == "__dict__":
            found += _of_dict(node, node.value, module)
    return found


def _of_function(name: ast.Name | ast.Attribute, module: Module) -> Iterator[Place]:
    """What `setattr(x, name, value)` and `vars(x)` may change."""
    call = module.parents.get(name)
    if not isinstance(call, ast.Call) or call.func is not name:
        yield Place(name, None, None)
    elif (name.id if isinstance(name, ast.Name) else name.attr) == "setattr":
        yield Place(call, _holder(call.args[0] if call.args else None), _text(call.args[1:2]))
    elif call.args:
        yield from _of_dict(call, call.args[0], module)


def _of_method(name: ast.Attribute, module: Module) -> Iterator[Place]:
    """What `x.__setattr__(name, value)` may change, and `object.__setattr__(x, name, value)`."""
    call = module.parents.get(name)
    if not isinstance(call, ast.Call) or call.func is not name:
        yield Place(name, None, None)
    elif len(call.args) == 2:
        yield Place(call, _holder(name.value), _text(call.args[:1]))
    else:
        yield Place(call, _holder(call.args[0] if call.args else None), _text(call.args[1:2]))


def _holder(whose: ast.expr | None) -> ast.Name | ast.Call | None:
    """A name, or `super()`."""
    if isinstance(whose, ast.Call):
        return whose if isinstance(whose.func, ast.Name) and whose.func.id == "super" and not whose.args else None
    return whose if isinstance(whose, ast.Name) else None


def _text(named: list[ast.expr]) -> frozenset[str] | None:
    given = named[0] if named else None
    known = isinstance(given, ast.Constant) and isinstance(given.value, str)
    return frozenset({str(given.value)}) if isinstance(given, ast.Constant) and known else None


def _of_dict(held: ast.expr, whose: ast.expr, module: Module) -> Iterator[Place]:
    """What is done with the dict of an object's attributes, unless it is only read."""
    outer = module.parents.get(held)
    if isinstance(outer, ast.Subscript) and outer.value is held:
        if not isinstance(outer.ctx, ast.Load):
            yield Place(held, _holder(whose), _text([outer.slice]))
        return
    if isinstance(outer, ast.Attribute):
        call = module.parents.get(outer)
        if outer.attr not in ONLY_READ:
            by_name = isinstance(call, ast.Call) and outer.attr == "update" and not call.args
            given = [each.arg for each in call.keywords] if isinstance(call, ast.Call) and by_name else [None]
            yield Place(held, _holder(whose), frozenset(map(str, given)) if None not in given else None)
    elif not _is_only_read(held, outer):
        yield Place(held, _holder(whose), None)


def _is_only_read(held: ast.expr, outer: ast.AST | None) -> bool:
    """Whether the dict goes to nothing that could change it, or keep it for others to do so."""
    if isinstance(outer, ast.Call):
        return isinstance(outer.func, ast.Name) and outer.func.id in TAKE_A_COPY
    if isinstance(outer, ast.keyword):
        return outer.arg is None
    if isinstance(outer, ast.Dict):
        return any(key is None and value is held for key, value in zip(outer.keys, outer.values, strict=True))
    if isinstance(outer, (ast.For, ast.comprehension)):
        return outer.iter is held
    return isinstance(outer, (ast.Compare, ast.FormattedValue, ast.Starred, ast.Expr))
