"""Names and attributes: what reading them gives, and what assigning to them does."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from ..ir.syntax import Site
from . import changes, elements, module_names, wrapping
from .elements import there
from .events import AttributeSet, ForwardPatched
from .filling import forced, promised
from .guards import NEVER, compatible, complement, either
from .jumps import raises
from .pages import place_of
from .path_text import PathText
from .release import Release
from .values import (
    BY_TEXT,
    MISSING,
    NOTHING,
    Alternative,
    Class,
    Const,
    External,
    Function,
    Inherited,
    Method,
    ModuleRef,
    Object,
    Partial,
    Scope,
    Super,
    Value,
    assigned,
    const,
    mark_release,
    of,
    union,
)

if TYPE_CHECKING:
    from .interpreter import Interpreter

_BUILTINS = frozenset(dir(builtins))
PARSED = "argparse.Namespace"
MAY_HOLD_OPTIONS = ("namespace", "unknown", "part", "instance")  # kinds of objects
OF_ITS_CLASS = ("instance", "dict")  # kinds of objects whose attributes are those that their class gives


def read(it: Interpreter, node: ast.Name) -> Value:
    """The value of a name; an external name for builtins, an unknown for names nothing binds."""
    holder = it.scope.holder(node.id)
    if holder is not None:
        value = holder.names[node.id] = forced(it, holder.names[node.id])
        return value.possible(it.guard) or value
    if node.id in _BUILTINS:
        return of(External(f"builtins.{node.id}"))
    made = of(it.unknown(node.id, it.site(node)))
    it.frames[0].scope.names.setdefault(node.id, made)
    return made


def external_name(value: Value) -> str:
    """The library name that a value is, "" when it is none."""
    for _, item in value:
        if isinstance(item, External):
            return item.name
        if isinstance(item, Method):
            return f"{item.receiver.kind}.{item.name}"
    return ""


def attribute(it: Interpreter, base: Value, name: str, node: ast.expr) -> Value:
    """The value of `base.name`."""
    if name in it.run.options:
        other = bool(base) and all(_has_its_own(it, item, name) for _, item in base)
        keep_whose(it, node, of_others=other)
    elif name == "__dict__":
        read_by_text(it, base, node)
    parts = []
    for guard, item in base.possible(it.guard):
        of_model = isinstance(item, Object) and (name == wrapping.INNER or item.kind in wrapping.MODELS)
        if of_model and not wrapping.reads(it, guard, item, name, node):
            continue
        parts.append(of_item(it, item, name, node).under(guard))
    return union(parts)


def keep_whose(it: Interpreter, node: ast.AST, *, of_others: bool) -> None:
    """Keep of what may read options whether all that it was read of so far is nothing that a parser gave."""
    it.run.read_of_others[node] = of_others and it.run.read_of_others.get(node, True)


def read_by_text(it: Interpreter, base: Value, node: ast.AST) -> None:
    """Keep whose attributes are taken by texts."""
    held = it.run.taken_by_text.get(node, set())
    known = held is not None and all(isinstance(item, Object) and item.kind != "unknown" for _, item in base)
    it.run.taken_by_text[node] = {*held, *base.objects()} if known and held is not None and base else None
    keep_whose(it, node, of_others=bool(base) and all(_holds_no_options(item) for _, item in base))


def _holds_no_options(item: Alternative) -> bool:
    """Whether something is known, and neither what a parser gave nor what it may have been told to fill."""
    return item.kind not in MAY_HOLD_OPTIONS if isinstance(item, Object) else isinstance(item, (External, ModuleRef))


def _has_its_own(it: Interpreter, item: Alternative, name: str) -> bool:
    """Whether something is known to have an attribute that is not what a parser gave: its own, a library's, or one that
    the program has put in the place of an option.
    """
    if isinstance(item, Object):
        own = item.kind not in ("namespace", "unknown") and name in item.attributes and BY_TEXT not in item.state
        return own or _is_replaced(it, item, name)
    return isinstance(item, (External, ModuleRef, Class))


def _is_replaced(it: Interpreter, item: Object, name: str) -> bool:
    """Whether what a parser gave for an option was replaced in every way that leads here."""
    replaced = it.run.options_replaced.get((item, name))
    return replaced is not None and not compatible(it.guard, complement(replaced))


VALUE = "value"
"""The attribute of a member of an enumeration that is the member's value, as which it is known here."""


def of_item(it: Interpreter, item: Alternative, name: str, node: ast.expr) -> Value:
    """The value of an attribute of one alternative."""
    if name == "__name__" and (own := _own_name(it, item)):
        return const(own)
    if isinstance(item, External):
        full = f"{item.name}.{name}"
        return it.run.overrides.get(full) or it.library.constant(it, full) or of(External(full))
    if isinstance(item, ModuleRef):
        return _of_module(it, item, name, node)
    if isinstance(item, Object):
        return of_object(it, item, name, node)
    if isinstance(item, Class):
        return _of_class(it, item, name, node)
    if isinstance(item, Super):
        return _of_super(it, item, name)
    if isinstance(item, Function) and name in ("__func__", "__wrapped__"):
        return of(item)
    if isinstance(item, Method):
        return of(it.child(item.receiver, f"{item.name}.{name}", it.site(node)))
    if isinstance(item, Const) and isinstance(item.value, PathText):
        return _of_path(item.value, name, node)
    if isinstance(item, Const) and name == VALUE and isinstance(item.value, (str, int)):
        return of(item)
    if isinstance(item, Const) and not isinstance(item.value, Release) and callable(getattr(item.value, name, None)):
        return of(Partial(External(f"builtins.{type(item.value).__name__}.{name}"), (of(item),), {}, id(node)))
    it.risks += 1
    made = it.unknown("", it.site(node))
    mark_release(made, item)
    return of(made)


def _of_path(path: PathText, name: str, node: ast.expr) -> Value:
    """The value of an attribute of a `pathlib.Path`: a part of its text, or one of its methods."""
    part = path.part(name)
    return (
        const(part) if part is not None else of(Partial(External(f"pathlib.Path.{name}"), (const(path),), {}, id(node)))
    )


def _own_name(it: Interpreter, item: Alternative) -> str:
    """The `__name__` of a class or function; "" for anything else."""
    if isinstance(item, Class):
        return item.name
    if isinstance(item, Function):
        return "<lambda>" if isinstance(item.node, ast.Lambda) else item.node.name
    if not isinstance(item, External):
        return ""
    holder, _, last = item.name.rpartition(".")
    return last if holder == "builtins" or (holder == "torch.nn" and it.library.are_layers([last])) else ""


_DISPLAYS = (ast.Dict, ast.DictComp, ast.List, ast.ListComp, ast.Tuple)


def class_of(item: Alternative) -> External | Class | None:
    """The class of a literal, of a layer, of a list or dict that is written or that a document gave, or of an object of
    a class of the project; None for any other.
    """
    if isinstance(item, Const) and isinstance(item.value, PathText):
        return External("pathlib.PosixPath")
    if isinstance(item, Const):
        return External(f"builtins.{type(item.value).__name__}")
    if not isinstance(item, Object):
        return None
    if isinstance(item.type, Class):
        return item.type
    if item.kind in ("dict", "list", "tuple"):
        written = item.site is not None and not item.type and isinstance(item.site.node, _DISPLAYS)
        return External(f"builtins.{item.kind}") if written or item.type == f"builtins.{item.kind}" else None
    return External(item.type) if item.kind == "layer" and item.type else None


def _of_module(it: Interpreter, ref: ModuleRef, name: str, node: ast.expr) -> Value:
    if name == "__dict__":
        return module_names.as_dict(it, ref.module, node)
    scope = it.module_scope(ref.module)
    if name in scope.names:
        value = scope.names[name] = forced(it, scope.names[name])
        return value
    submodule = it.project.submodule(ref.module, name)
    if submodule is not None:
        return it.import_module(submodule)
    return made_on_demand(it, scope, name) or promised(it, ref.module, name) or of(it.unknown("", it.site(node)))


def made_on_demand(it: Interpreter, scope: Scope, name: str) -> Value | None:
    """What a module's own `__getattr__` gives for a name it does not bind; None when it has no such function."""
    held = scope.names.get("__getattr__")
    if held is None:
        return None
    from .calls import Call

    return it.call(held, Call(it, it.site(it.module.tree), "__getattr__", [const(name)]))


def of_object(it: Interpreter, item: Object, name: str, node: ast.expr) -> Value:
    """The value of an attribute of a heap object: set on it, of its class, known to a framework, unknown."""
    if name == "__class__" and (owner := class_of(item)) is not None:
        return of(owner)
    held = item.attributes.get(name)
    if held is not None:
        if item.kind == "namespace" and not _is_replaced(it, item, name):
            it.run.option_is_read(name, it.site(node), item)
        gone = held.missing()
        return there(held) if gone else held
    if isinstance(item.type, Class):
        found = class_attribute(item.type, name)
        if found is not None:
            return _bound(it, found, item)
    known = it.library.attribute(it, item, name, node)
    if known is not None:
        return known
    if it.library.has_method(item, name):
        own = _asked_for(it, item, name, node) if _has_only_its_own(item) else None
        return own or of(Method(item, name, it.site(node)))
    it.risks += 1
    if _is_undefined_option(it, item, name):
        raises(it, it.site(node), "AttributeError", f"no parser of the program has an option `{name}`")
        return NOTHING
    return _asked_for(it, item, name, node) or of(it.child(item, name, it.site(node)))


def _is_undefined_option(it: Interpreter, item: Object, name: str) -> bool:
    """Whether every run asks what a parser gave for an option that it does not define and nothing in the program's
    text sets: `'Namespace' object has no attribute`.
    """
    if item.type != PARSED or not it.guard <= it.run.assumed or name.startswith("_") or not lacks(it, item, name):
        return False
    return not any(may_name(node, name) for module in it.modules_with(name) for node in module.parents)


def may_name(node: ast.AST, name: str) -> bool:
    """Whether something may give an attribute its name: it sets it, or is the text of an option or for `setattr`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr":
        return any(isinstance(each, ast.Constant) and each.value == name for each in node.args[1:2])
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.startswith("-") and node.value.lstrip("-").replace("-", "_") == name
    return isinstance(node, ast.Attribute) and node.attr == name and not isinstance(node.ctx, ast.Load)


def _asked_for(it: Interpreter, item: Object, name: str, node: ast.expr) -> Value | None:
    """What the `__getattr__` of the project's own class gives for what is no attribute; None without it."""
    held = class_attribute(item.type, "__getattr__") if isinstance(item.type, Class) else None
    if held is None or item.kind not in OF_ITS_CLASS:
        return None
    before, site = len(it.run.heap), it.site(node)
    made = _special(it, item, held, "__getattr__", [const(name)], site)
    for part in made.objects():
        if part.id > before and part.kind == "unknown" and not part.label:
            part.label = site.name  # what whoever asks calls it
    return made


def _has_only_its_own(item: Object) -> bool:
    """Whether an object's class derives from nothing but classes of the project: a library gives it no attributes."""
    bases = [*item.type.ancestry()] if isinstance(item.type, Class) and item.kind == "instance" else []
    return bool(bases) and all(isinstance(each, Class) or each.name == "builtins.object" for each in bases)


def _special(it: Interpreter, item: Object, held: Value, name: str, given: list[Value], site: Site) -> Value:
    """What a special method of a class gives: a function of the project, or dict's, as in `__getattr__ = dict.get`."""
    from .calls import Call

    parts = []
    for guard, part in held:
        call = Call(it, site, name, given)
        if isinstance(part, External) and part.name.startswith("builtins.dict."):
            call.receiver = item
            parts.append(it.library.call_method(it, part.name.rpartition(".")[2], call).under(guard))
        else:
            bound = part.bound(item) if isinstance(part, Function) else part
            parts.append(it.call(of(bound), call).under(guard))
    return union(parts)


def lacks(it: Interpreter, item: Alternative, name: str) -> bool:
    """Whether something surely has no attribute of a name: all that it has is set on it, in its class, or by a base of
    a library of which all names are known.
    """
    if not isinstance(item, Object) or item.open or item.escaped or name in item.attributes:
        return False
    if not isinstance(item.type, Class):
        return item.kind == "namespace" or (item.kind in wrapping.WRAPPERS and wrapping.hides(it, item, name))
    known = all(isinstance(base, Class) or it.library.gives_no(base, item, name) for base in item.type.ancestry())
    return known and not any(class_attribute(item.type, each) for each in (name, "__getattr__", "__getattribute__"))


def class_attribute(owner: Class, name: str, after: Class | None = None) -> Value | None:
    """A name in a class or its project bases; with `after`, only in those that come after that class."""
    ready = after is None
    for base in owner.ancestry():
        if not isinstance(base, Class):
            continue
        if ready and name in base.names:
            return base.names[name]
        ready = ready or base == after
    return None


def library_base(owner: Class, after: Class) -> External | None:
    """The class of a library that a class inherits from, that comes after one of its bases."""
    bases = list(owner.ancestry())
    start = bases.index(after) if after in bases else 0
    return next((base for base in bases[start:] if isinstance(base, External)), None)


def _bound(it: Interpreter, value: Value, receiver: Object) -> Value:
    parts = []
    for guard, item in value:
        if isinstance(item, Function):
            decorators = it.library.decorators(item)
            if "staticmethod" in decorators:
                pass
            elif "property" in decorators or "cached_property" in decorators:
                from .calls import Call

                site = Site.at(item.module, item.node)
                parts.append(it.call(of(item.bound(receiver)), Call(it, site, "property")).under(guard))
                continue
            else:
                item = item.bound(receiver)
        parts.append(Value([(guard, item)]))
    return union(parts)


def call_method(
    it: Interpreter, item: Object, name: str, site: Site, given: list[Value], named: dict[str, Value] | None = None
) -> Value:
    """What a method of an object gives: that of the project's class, else the library's."""
    from .calls import Call

    held = class_attribute(item.type, name) if isinstance(item.type, Class) else None
    call = Call(it, site, name, given, named or {})
    if held is None:
        call.receiver = item
        return it.library.call_method(it, name, call)
    return it.call(_bound(it, held, item), call)


def _of_class(it: Interpreter, item: Class, name: str, node: ast.expr) -> Value:
    found = class_attribute(item, name)
    if found is None:
        base = next((base for base in item.ancestry() if isinstance(base, External)), None)
        if base is not None:
            return of(Inherited(f"{base.name}.{name}", item))
        return of(it.unknown("", it.site(node)))
    parts = []
    for guard, held in found:
        if isinstance(held, Function) and "classmethod" in it.library.decorators(held):
            held = held.bound(item)
        parts.append((guard, held))
    return Value(parts)


def _of_super(it: Interpreter, item: Super, name: str) -> Value:
    if isinstance(item.receiver, Object) and isinstance(item.receiver.type, Class):
        found = class_attribute(item.receiver.type, name, after=item.owner)
        if found is not None:
            return _bound(it, found, item.receiver)
        external = library_base(item.receiver.type, item.owner)
        if name == "__init__" and external is not None:
            return of(Method(item.receiver, f"{external.name}.__init__"))
        return of(Method(item.receiver, name))
    if isinstance(item.receiver, Class):
        held = class_attribute(item.receiver, name, after=item.owner)
        if held is not None:
            return Value(
                (guard, part.bound(item.receiver) if isinstance(part, Function) else part) for guard, part in held
            )
        external = library_base(item.receiver, item.owner)
        if external is not None:
            return of(Inherited(f"{external.name}.{name}", item.receiver))
    return of(it.unknown(f"super().{name}"))


def super_value(it: Interpreter, node: ast.Call) -> Value:
    """The value of super(), in any of its spellings."""
    function = it.frame.function
    owner = function.owner if function is not None else None
    receiver = function.receiver if function is not None else None
    if receiver is None and function is not None and function.node.args.args:
        first = it.scope.lookup(function.node.args.args[0].arg)
        receiver = first.only() if first is not None else None
    if node.args and not isinstance(node.args[0], ast.Starred):  # `super(Base, self)`: what comes after that one
        told = it.evaluate(node.args[0]).only()
        owner = told if isinstance(told, Class) else None
        receiver = receiver if len(node.args) < 2 else it.evaluate(node.args[1]).only()
    if owner is None or receiver is None:
        return of(it.unknown("super()", it.site(node)))
    return of(Super(owner, receiver))


def assign(it: Interpreter, target: ast.expr, value: Value, place: ast.AST | None = None) -> None:
    """Assign a value to a name, an attribute, an item, or a pattern of these."""
    if isinstance(target, ast.Name):
        it.bind(target.id, value, target)
    elif isinstance(target, (ast.Tuple, ast.List)):
        count = len(target.elts)
        star = next((at for at, each in enumerate(target.elts) if isinstance(each, ast.Starred)), None)
        for index, element in enumerate(target.elts):
            part = elements.at(it, value, index, count, target, star)
            assign(it, element.value if isinstance(element, ast.Starred) else element, part, place)
    elif isinstance(target, ast.Attribute):
        assign_attribute(it, it.evaluate(target.value), target.attr, value, target, place)
    elif isinstance(target, ast.Subscript):
        changes.assign_item(it, target, value, place)


def assign_attribute(
    it: Interpreter,
    base: Value,
    name: str,
    value: Value,
    node: ast.AST,
    place: ast.AST | None = None,
    *,
    directly: bool = False,
) -> None:
    """`base.name = value`: on the heap, and as an event; `directly` past what the object's class does about it."""
    for guard, item in base.possible(it.guard):
        with it.under(guard) as possible:
            if possible and (directly or not _set_by_class(it, item, name, value, it.site(node))):
                _set_directly(it, item, name, value, node, place)


def _set_directly(
    it: Interpreter, item: Alternative, name: str, value: Value, node: ast.AST, place: ast.AST | None
) -> None:
    """Set an attribute as `object.__setattr__` does."""
    moment = it.moment(node)
    if isinstance(item, Object) and name == "__dict__" and value.only() is item and item.entries is not None:
        item.entries.update(item.attributes)  # from now on the entries are the attributes
        item.attributes = item.entries
    elif isinstance(item, Object):
        it.library.on_set(it, item, name, value, node)
        old = item.attributes.get(name)
        if name == "forward":
            item.state.setdefault("original_forward", old if old is not None else NOTHING)
        since = changes.since(it, item)
        if item.kind == "namespace":
            it.run.options_replaced[item, name] = either((it.run.options_replaced.get((item, name), NEVER), it.guard))
        if since and old is None:
            old = _before(it, item, name, node)
        item.attributes[name] = assigned(since, value, old)
        item.sites[name] = place_of(value) or it.site(place if place is not None else node)
        it.library.stored(it, item, value)
        it.emit(AttributeSet(moment, item, name, value))
        if name == "forward":
            it.emit(ForwardPatched(moment, item, value))
    elif isinstance(item, External):
        full = f"{item.name}.{name}"
        it.run.overrides[full] = value
        it.emit(AttributeSet(moment, None, name, value, full))
    elif isinstance(item, Class):
        old = item.names.get(name) or class_attribute(item, name)  # which it has of a base until then
        item.names[name] = assigned(it.guard - it.run.assumed, value, old)
        it.emit(AttributeSet(moment, None, name, value, item.name + "." + name))
    elif isinstance(item, ModuleRef):
        scope = it.module_scope(item.module)
        scope.names[name] = assigned(it.guard - it.run.assumed, value, scope.names.get(name))
        it.emit(AttributeSet(moment, None, name, value, f"{item.module.name}.{name}"))


def _set_by_class(it: Interpreter, item: Alternative, name: str, value: Value, site: Site) -> bool:
    """Whether the object's class takes what is assigned: by a property, or by the project's own `__setattr__`."""
    owner = item.type if isinstance(item, Object) else None
    if not isinstance(item, Object) or not isinstance(owner, Class):
        return False
    by_property = class_attribute(owner, f"{name}.setter")
    if by_property is not None:
        _special(it, item, by_property, name, [value], site)
        return True
    by_method = class_attribute(owner, "__setattr__") if item.kind in OF_ITS_CLASS else None
    if by_method is not None:
        _special(it, item, by_method, "__setattr__", [const(name), value], site)
    return by_method is not None


def _before(it: Interpreter, item: Object, name: str, node: ast.AST) -> Value:
    """What an attribute is that is assigned for the first time, where the guard of that does not hold."""
    if isinstance(item.type, Class):
        return class_attribute(item.type, name) or of(MISSING)
    return of_object(it, item, name, node) if isinstance(node, ast.expr) else of(MISSING)


def const_text(value: Value) -> str | None:
    """The string that a value is, None when it is not one known string."""
    item = value.only()
    return item.value if isinstance(item, Const) and isinstance(item.value, str) else None
