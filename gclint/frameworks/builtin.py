"""Python itself: builtins, functools, copy, types, dataclasses, and the methods of lists and dicts."""

from __future__ import annotations

import ast
import builtins
from functools import partial
from typing import TYPE_CHECKING, Any

from ..run import changes, containers, module_names, names
from ..run.arithmetic import is_tensor
from ..run.calls import Call
from ..run.defaults import unsure
from ..run.folding import beginning
from ..run.guards import ALWAYS
from ..run.jumps import RAISE, leave
from ..run.path_text import CLASSES, PathText
from ..run.scalars import is_scalar
from ..run.values import (
    BY_TEXT,
    FALSE,
    NONE,
    NOTHING,
    TRUE,
    Alternative,
    Class,
    Const,
    External,
    Function,
    ModuleRef,
    Object,
    Partial,
    Value,
    assigned,
    const,
    mark_releases,
    of,
    union,
)
from ..run.wrapping import INNER, is_wrapped
from .module_trees import modules_of
from .registry import Framework
from .settings import with_settings

if TYPE_CHECKING:
    from ..run.interpreter import Interpreter

OF_TENSORS = ("torch.Tensor", "torch.autograd.Variable")
"""Each tensor is of both (torch/autograd/variable.py)."""
NO_TENSORS = {"tuple", "list", "dict", "str", "int", "float", "bool", "set", "frozenset", "bytes"}
SEVERAL = ("RNN", "LSTM", "GRU", "MultiheadAttention")
"""Layers that give more than one tensor."""

framework = Framework(
    "builtin", kinds={"option": "unknown", "data": "unknown"}, bases=dict.fromkeys(containers.DICTS, "dict")
)


@framework.constant("typing.TYPE_CHECKING")
def type_checking(it: Interpreter) -> Value:
    """False in every run (the documentation of `typing`)."""
    return FALSE


@framework.function(*containers.DICTS)
def make_dict(call: Call) -> Value:
    """dict(a, k=v), defaultdict(make, a, k=v); of the project's own class that changes what its keys give, nothing is
    known.
    """
    if call.instance is not None and call.instance.entries is None:
        return of(call.instance)
    made = call.make("dict", "builtins.dict")
    made.entries = {}
    given = call.positional
    if call.last == "defaultdict" and given:
        made.state["factory"], given = given[0], given[1:]
    for value in given[:1]:
        changes.merge(call.it, made, value)
    for name, value in call.keywords.items():
        made.entries[name] = value
        made.sites[name] = call.place(name)
    made.open = made.open or call.open
    return of(made)


@framework.function("builtins.getattr")
def get_attribute(call: Call) -> Value:
    """getattr(object, "name", default), also of a name that is known in some cases only."""
    found = []
    names.read_by_text(call.it, call.get("", 0), call.site.node)
    for guard, item in call.get("", 1).possible(call.it.guard):
        with call.it.under(guard) as possible:
            if possible:
                name = item.value if isinstance(item, Const) and isinstance(item.value, str) else None
                if name is None:
                    _may_read_any(call, beginning(item))
                found.append((_attribute_called(call, name) if name is not None else _any_of(call, item)).under(guard))
    return union(found) if found else call.unknown()


def _any_of(call: Call, name: Alternative) -> Value:
    """What has a name that nobody knows: of a module of the project any that it defines, of a library's what all do."""
    assert isinstance(call.site.node, ast.Call)
    parts = []
    for guard, item in call.positional[0].possible(call.it.guard):
        with call.it.under(guard) as possible:
            own, none = list[Value](), ALWAYS
            if possible and isinstance(item, ModuleRef):
                read = partial(names.of_item, call.it, item, node=call.site.node)
                own, none = module_names.called(call.it, item.module, name, read)
            some = call.it.library.some_of(item) if isinstance(item, External) else None
            default = call.positional[2] if len(call.positional) > 2 and own else of(some) if some else call.unknown()
            parts += [part.under(guard) for part in (*own, default.under(none))]
    return union(parts)


@framework.function("builtins.eval")
def evaluate_name(call: Call) -> Value:
    """`eval("models." + name + ".get_net")`: of a text that is a name of the code around it what has that name."""
    found, texts = [], call.get("", 0).possible(call.it.guard)
    names.keep_whose(call.it, call.site.node, of_others=bool(texts) and all(_is_dotted(item) for _, item in texts))
    for guard, item in texts:
        with call.it.under(guard) as possible:
            if possible:
                text = item.value if isinstance(item, Const) and isinstance(item.value, str) else ""
                found.append(_named(call, text).under(guard))
    return union(found) if found else call.unknown()


def _is_dotted(item: Alternative) -> bool:
    """Whether something is a text that names a thing, as `models.net`: what it leads to is followed."""
    return isinstance(item, Const) and isinstance(item.value, str) and all(map(str.isidentifier, item.value.split(".")))


def _named(call: Call, text: str) -> Value:
    """What a dotted name gives where the call stands; something unknown for any other text."""
    first, *others = text.strip().split(".")
    bound = len(call.positional) == 1 and call.it.scope.holder(first) is not None
    if not bound or not all(map(str.isidentifier, others)):
        return call.unknown()
    found = names.read(call.it, ast.Name(first))
    for name in others:
        found = names.attribute(call.it, found, name, call.site.node)  # type: ignore[arg-type]
    return found


def _may_read_any(call: Call, begins: str) -> None:
    """Of options each may be what a name asks for of which nobody knows more than how it begins."""
    for item in call.get("", 0).objects():
        if item.kind == "namespace":
            for name in item.attributes:
                if name.startswith(begins):
                    call.it.run.option_is_read(name, call.site)


def _attribute_called(call: Call, name: str) -> Value:
    assert isinstance(call.site.node, ast.Call)
    parts = []
    default = call.positional[2] if len(call.positional) > 2 else None
    for guard, item in call.positional[0].possible(call.it.guard):
        of_module = isinstance(item, ModuleRef) and module_names.lacks(call.it, item.module, name)
        if default is not None and (of_module or names.lacks(call.it, item, name)):
            parts.append(default.under(guard))
            continue
        known = names.of_item(call.it, item, name, call.site.node)
        parts.append(known.under(guard))
    return union(parts)


@framework.function("builtins.setattr")
def set_attribute(call: Call) -> Value:
    """setattr(object, "name", value)."""
    if len(call.positional) > 2:
        _set(call, *call.positional[:3])
    return NONE


@framework.method("*", "__setattr__")
def set_own_attribute(call: Call) -> Value:
    """`x.__setattr__("name", value)`, of a class that does not write it anew."""
    if len(call.positional) > 1 and call.receiver is not None:
        _set(call, of(call.receiver), *call.positional[:2], directly=True)
    return NONE


@framework.function("builtins.object.__setattr__")
def set_as_object_does(call: Call) -> Value:
    """`object.__setattr__(x, "name", value)`."""
    if len(call.positional) > 2:
        _set(call, *call.positional[:3], directly=True)
    return NONE


def _set(call: Call, holder: Value, named: Value, value: Value, *, directly: bool = False) -> None:
    """Set an attribute, `directly` past what the object's class does about it; by a name that nobody knows any of them
    may become the value.
    """
    name, node = names.const_text(named), call.site.node
    names.read_by_text(call.it, holder, node)
    if isinstance(node, ast.Call) and not any(isinstance(each, ast.Constant) for each in node.args[:2]):
        for item in holder.objects():
            item.state[BY_TEXT] = TRUE
    if name is not None:
        names.assign_attribute(call.it, holder, name, value, node, directly=directly)
        return
    own = any("own_name" in item.state for item in named.objects())
    for item in holder.objects():
        item.open = True
        call.it.library.stored(call.it, item, value)
        text = item.text
        for each, held in item.attributes.items() if not own else ():
            other = call.it.unknown(f"{text}.{each}", call.site)
            item.attributes[each] = assigned(call.it.guard - call.run.assumed, unsure(each, held, other), held)


@framework.function("builtins.delattr")
def delete_attribute(call: Call) -> Value:
    """delattr(object, "name")."""
    name = names.const_text(call.get("", 1))
    for item in call.get("", 0).objects():
        if name is not None:
            item.attributes.pop(name, None)
    return NONE


@framework.function("builtins.hasattr")
def has_attribute(call: Call) -> Value:
    """True where the attribute is known, open where it is not: of a library's names its release tells."""
    name = names.const_text(call.get("", 1))
    parts = []
    for guard, item in call.get("", 0):
        if isinstance(item, Object) and name is not None:
            defined = item.attributes.get(name) or (
                names.class_attribute(item.type, name) if isinstance(item.type, Class) else None
            )
            tells = item.kind != "unknown" or is_scalar(item)  # what nobody knows may lack the methods of tensors
            if defined or (tells and call.it.library.has_method(item, name)):
                parts.append(const(True).under(guard))
                continue
            wrapped = is_wrapped(call.it, item) if name == INNER else None
            if wrapped is not None:
                parts.append(wrapped.under(guard))
                continue
            if names.lacks(call.it, item, name):
                parts.append(FALSE.under(guard))
                continue
        made = call.it.unknown("", call.site)
        made.each = isinstance(item, Object) and item.each
        if isinstance(item, External):
            mark_releases(of(made), item.name.partition(".")[0])
        parts.append(of(made).under(guard))
    return union(parts) if parts else call.unknown()


@framework.function("sys.exit", "builtins.exit", "builtins.quit", "os._exit")
def end(call: Call) -> Value:
    """The process ends; where it says that it failed, by a number or a text, as after an exception."""
    leave(call.it, RAISE, of(External("builtins.SystemExit")), unsaid=bool(call.get("", 0).constant()))
    return NOTHING


@framework.function("builtins.type")
def class_of(call: Call) -> Value:
    """The class of a literal, of a layer, or of an object of a class of the project."""
    known = [(guard, kind) for guard, item in call.get("", 0) if (kind := names.class_of(item)) is not None]
    complete = len(known) == len(call.get("", 0).alternatives) and len(call.positional) == 1
    return Value(known) if known and complete else call.unknown()


def _by_bases(it: Interpreter, item: Object, classes: list[Alternative]) -> bool | None:
    """Whether a layer of torch, or an object of a project's class that inherits from the project's and torch's alone,
    is of one of these classes, where they are all layers of torch or classes of the project; None for any other.
    """
    own = list(item.type.ancestry()) if isinstance(item.type, Class) else []
    bases = [base for each in own if isinstance(each, Class) for base in each.bases]
    known = all(isinstance(base, Class) or (isinstance(base, External) and _is_torchs(base)) for base in bases)
    if any(isinstance(part, Class) and part in own for part in classes):
        return True
    if not classes or not known or not (own or item.kind in ("layer", "modules")):
        return None
    told = all(
        it.library.are_layers([part.name.rpartition(".")[2]])
        if isinstance(part, External)
        else isinstance(part, Class) and not part.inherits("Protocol")
        for part in classes
    )
    return False if told else None


def _is_torchs(base: External) -> bool:
    return base.name.startswith("torch.nn.") or base.name == "builtins.object"


def _gives_one(it: Interpreter, item: Object) -> bool:
    """Whether something was computed from models of which all is known, and no layer of which gives several tensors."""
    called = [each for origin in item.origins for each in origin.attributes.get("called", NOTHING).objects()]
    parts = [modules_of(it, each) for each in called]
    return bool(parts) and all(
        each is not None and not any(named.item.class_name in SEVERAL for named in each) for each in parts
    )


@framework.function("builtins.issubclass")
def is_subclass(call: Call) -> Value:
    """Whether a class has another among its bases; open where a library's may have it."""
    wanted, parts = _classes(call), []
    for guard, item in call.get("", 0):
        bases = list(item.ancestry()) if isinstance(item, Class) else []
        known = all(isinstance(each, Class) for each in wanted) or all(isinstance(each, Class) for each in bases)
        found = True if any(each in bases for each in wanted) else False if bases and wanted and known else None
        parts.append((of(call.it.unknown("", call.site)) if found is None else const(found)).under(guard))
    return union(parts) if parts else call.unknown()


def _classes(call: Call) -> list[Alternative]:
    """The classes that are asked about."""
    found: list[Alternative] = []
    for _, item in call.get("", 1):
        group = item.items if isinstance(item, Object) and item.items is not None else [of(item)]
        found += [part for value in group for _, part in value]
    return found


@framework.function("builtins.isinstance", "builtins.callable")
def is_instance(call: Call) -> Value:
    """Whether an object is of a class, where its class is known; open elsewhere."""
    classes = _classes(call)
    wanted = [part.name.rsplit(".", 1)[-1] for part in classes if isinstance(part, (External, Class))]
    parts = []
    types = [_type_of_python(name) for name in wanted]
    for guard, item in call.get("", 0):
        known = call.it.library.is_instance(item, wanted) if isinstance(item, Object) and wanted else None
        if call.last == "callable" and not isinstance(item, Object):
            known = not isinstance(item, Const)
        if known is None and isinstance(item, Object) and is_tensor(item):
            known = _is_of_tensor(call.it, item, classes)
        if known is None and isinstance(item, Object) and call.last == "isinstance":
            known = _by_bases(call.it, item, classes)
        if isinstance(item, Const) and types and None not in types:
            known = _is_literal_of(item.value, tuple(each for each in types if each is not None))
        if known is None:
            made = call.it.unknown("", call.site)
            made.each = isinstance(item, Object) and item.each
            parts.append(of(made).under(guard))
        else:
            parts.append(const(known).under(guard))
    return union(parts) if parts else call.unknown()


def _is_of_tensor(it: Interpreter, item: Object, classes: list[Alternative]) -> bool | None:
    """Whether a tensor is of one of these classes: of no layer's; of a tensor's where a graph goes through it, as what
    some models give are several in a tuple.
    """
    names = [part.name for part in classes if isinstance(part, External)]
    known = bool(names) and len(names) == len(classes)
    if known and all(name.startswith("torch.nn.") and it.library.are_layers([_last(name)]) for name in names):
        return False
    if not (item.origins and _gives_one(it, item)):
        return None
    if any(name in OF_TENSORS for name in names):
        return True
    return False if known and {_last(name) for name in names} <= NO_TENSORS else None


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _is_literal_of(value: Any, types: tuple[type, ...]) -> bool:
    """Whether a literal is of one of these types; a path is its text here, but no text."""
    return any(each is PathText for each in types) if isinstance(value, PathText) else isinstance(value, types)


def _type_of_python(name: str) -> type | None:
    """One of Python's own types by its name, or that of paths; None for any other."""
    found = PathText if name in CLASSES else getattr(builtins, name, None)
    return found if isinstance(found, type) else None


@framework.function("functools.partial")
def make_partial(call: Call) -> Value:
    """partial(f, ...), for each thing f can be."""
    if not call.positional or call.open:
        return call.unknown()
    return Value(
        (guard, Partial(item, tuple(call.positional[1:]), dict(call.keywords), call.site.node_id, dict(call.places)))
        for guard, item in call.positional[0]
    )


@framework.function("types.MethodType")
def make_method(call: Call) -> Value:
    """A function bound to an object."""
    receiver = call.get("", 1).only()
    if receiver is None:
        return call.get("", 0)
    return Value(
        (guard, item.bound(receiver) if isinstance(item, Function) else item) for guard, item in call.get("", 0)
    )


@framework.function("types.SimpleNamespace", "argparse.Namespace", "easydict:EasyDict", "munch:Munch")
def make_namespace(call: Call) -> Value:
    """An object with these attributes."""
    made = with_settings(call, "namespace")
    made.open = call.open or bool(call.positional)
    return of(made)


@framework.function("dataclasses.field")
def dataclass_field(call: Call) -> Value:
    """The field's default."""
    if call.gives("default"):
        return call.get("default")
    if call.gives("default_factory"):
        return call.it.call(call.get("default_factory"), Call(call.it, call.site, "default_factory"))
    return call.unknown()


@framework.decorator("builtins.property", "functools.cached_property", "builtins.staticmethod", "builtins.classmethod")
def transparent(call: Call) -> Value:
    """Known by name when the class is asked; the function itself stays what it is."""
    return call.positional[0]
