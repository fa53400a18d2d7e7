"""What the frameworks know, put together: one `Library` that the interpreter asks.

Each framework module holds a `Framework`, and says with its decorators what a call, a method, an attribute or
a base class does to a run. Adding a framework is adding a module to `gclint.frameworks` and nothing else.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeVar

from ..failures import Problem, going_on, unloaded
from ..packs import FRAMEWORKS, brought
from ..run import elements, environment, inference
from ..run.calls import given_to_its_class
from ..run.events import Iterated, LibraryCall
from ..run.iterators import all_of_it
from ..run.names import class_attribute
from ..run.values import FALSE, HANDED_OVER, TRUE, Class, External, Function, Method, Object, Value, union
from ..run.wholes import adopt
from ..run.wrapping import GIVEN_TO

if TYPE_CHECKING:
    from ..ir.syntax import Site
    from ..run.calls import Call
    from ..run.interpreter import Interpreter

CallHandler = Callable[["Call"], "Value | None"]
AttributeHandler = Callable[["Interpreter", Object, str, ast.AST], "Value | None"]
PartHandler = Callable[["Interpreter", Object, "Site"], "Value | None"]
SetHandler = Callable[["Interpreter", Object, Value, ast.AST], None]
ARRAYS = ("numpy", "pandas", "PIL")  # what these give never is a tensor of torch
DATA_PACKAGES = ("datasets", "numpy", "pandas", "PIL", "torchvision")  # what these compute has no gradient
PARTS = {"data": "data", "datasets.DatasetDict": "datasets.Dataset"}  # of what a part is known to be
PROPAGATED = ("filtered", "filtered_by", "foreign", "may_grad", "release")
PROPAGATED_NAMES = (*PROPAGATED, "names_of", "keys_of")
HANDLERS = [
    *("constants", "functions", "methods", "attributes", "elements", "setters", "calls", "decorators", "families"),
    "escapes",
]
SOME_NAME = "?"
"""What stands for the last part of a name that nobody knows, where all that a library has there does the same."""
F = TypeVar("F", bound=Callable[..., Any])


_COLLECTIONS = frozenset(("Iterable", "Collection", "Container", "Sized", "Reversible"))
ABSTRACT = {
    "dict": _COLLECTIONS | {"Mapping", "MutableMapping"},
    **dict.fromkeys(("list", "tuple"), _COLLECTIONS | {"Sequence"}),
}
"""Of what Python's own collections are instances besides (docs: library/collections.abc.html)."""
DERIVED = frozenset(("DictConfig", "ListConfig", "ConfigDict", "OrderedDict", "defaultdict", "MutableSequence"))
"""What may be behind what is known as a dict or a list: a library's settings, or an ordered one."""
ITERATED = ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict")


@dataclass
class Framework:
    """What one library's calls do to a run.

    `kinds` maps a kind of object to the kind whose methods it also has; `bases` a base class to the kind of
    the objects of its subclasses, `base_families` those whose last name a pattern matches; `variables` a package to the
    environment variables that it sets itself (fnmatch; those that begin with its own name need not be said). `in_part`
    are packages of whose other functions nobody knows what they do. `members` are all public names that objects of a
    base class have by it.
    """

    name: str
    kinds: dict[str, str] = field(default_factory=dict)
    bases: dict[str, str] = field(default_factory=dict)
    base_families: dict[str, str] = field(default_factory=dict)
    imports: dict[str, tuple[str, ...]] = field(default_factory=dict)
    variables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    members: dict[str, frozenset[str]] = field(default_factory=dict)
    in_part: tuple[str, ...] = ()
    constants: dict[str, Callable[[Interpreter], Value]] = field(default_factory=dict)
    functions: dict[str, CallHandler] = field(default_factory=dict)
    methods: dict[tuple[str, str], CallHandler] = field(default_factory=dict)
    attributes: dict[tuple[str, str], AttributeHandler] = field(default_factory=dict)
    elements: dict[str, PartHandler] = field(default_factory=dict)
    setters: dict[tuple[str, str], SetHandler] = field(default_factory=dict)
    calls: dict[str, CallHandler] = field(default_factory=dict)
    decorators: dict[str, CallHandler] = field(default_factory=dict)
    families: dict[str, CallHandler] = field(default_factory=dict)
    escapes: dict[str, Callable[[Object], None]] = field(default_factory=dict)

    def family(self, *patterns: str) -> Callable[[F], F]:
        """Constructors whose names follow a pattern: `package:regular expression over the last name`."""
        return self._record(self.families, patterns)

    def function(self, *names: str) -> Callable[[F], F]:
        """A function or constructor: its full name, or `package:last` wherever the package keeps it."""
        return self._record(self.functions, names)

    def method(self, kind: str, *names: str) -> Callable[[F], F]:
        """A method of objects of a kind ("*": of anything)."""
        return self._record(self.methods, [(kind, name) for name in names])

    def attribute(self, kind: str, *names: str) -> Callable[[F], F]:
        """An attribute of objects of a kind; the handler may return None for "like any other"."""
        return self._record(self.attributes, [(kind, name) for name in names])

    def setter(self, kind: str, *names: str) -> Callable[[F], F]:
        """What assigning an attribute of a kind does besides."""
        return self._record(self.setters, [(kind, name) for name in names])

    def element(self, kind: str) -> Callable[[F], F]:
        """What iterating over an object of a kind gives."""
        return self._record(self.elements, [kind])

    def calling(self, kind: str) -> Callable[[F], F]:
        """What calling an object of a kind does."""
        return self._record(self.calls, [kind])

    def decorator(self, *names: str) -> Callable[[F], F]:
        """What a library's decorator makes of a function; called with the function as its only argument."""
        return self._record(self.decorators, names)

    def escape(self, kind: str) -> Callable[[F], F]:
        """What is no longer known of an object of a kind that code which nobody knows was given."""
        return self._record(self.escapes, [kind])

    def constant(self, name: str) -> Callable[[F], F]:
        """The value of a library's name."""
        return self._record(self.constants, [name])

    @staticmethod
    def _record(table: dict[Any, Any], keys: Iterable[Any]) -> Callable[[F], F]:
        def keep(handler: F) -> F:
            table.update(dict.fromkeys(keys, handler))
            return handler

        return keep


class Library:
    """Everything the frameworks know, looked up by name and kind."""

    def __init__(self, frameworks: Iterable[Framework], problems: Iterable[Problem] = ()):
        self.all = Framework("all")
        self._families: dict[str, CallHandler | None] = {}
        self._lineages: dict[str, list[str]] = {}
        self.problems = tuple(problems)
        for framework in frameworks:
            for table in ("kinds", "bases", "base_families", "imports", "variables", "members"):
                getattr(self.all, table).update(getattr(framework, table))
            self.all.in_part += framework.in_part
            for table in HANDLERS:
                for key, handler in getattr(framework, table).items():
                    getattr(self.all, table)[key] = going_on(f"framework {framework.name}", handler)
        named = (name.replace(":", ".").partition(".")[0] for name in [*self.all.functions, *self.all.families])
        self._familiar = sys.stdlib_module_names.union(DATA_PACKAGES, named).difference(self.all.in_part)

    # Lookup

    def lineage(self, kind: str) -> list[str]:
        """A kind, the kinds whose methods it also has, and "*"."""
        held = self._lineages.get(kind)
        if held is None:
            chain = [kind]
            while chain[-1] in self.all.kinds:
                chain.append(self.all.kinds[chain[-1]])
            held = self._lineages[kind] = [*chain, "*"]
        return held

    def is_kind(self, item: Object, kind: str) -> bool:
        """Whether an object is of a kind, or of one that also has its methods."""
        return kind in self.lineage(item.kind)

    def _by_kind(self, table: dict[tuple[str, str], Any], kind: str, name: str) -> Any:
        for key in self.lineage(kind):
            if (key, name) in table:
                return table[key, name]
        return None

    def _by_name(self, table: dict[str, Any], name: str) -> Any:
        found = table.get(name)
        if found is None and "." in name:
            top, _, rest = name.partition(".")
            last = rest.rsplit(".", 1)[-1]
            found = table.get(f"{top}:{last}")
        return found

    def has_method(self, item: Object, name: str) -> bool:
        """Whether a framework knows this method of this kind of object."""
        return self._by_kind(self.all.methods, item.kind, name) is not None

    def gives_no(self, base: External, item: Object, name: str) -> bool:
        """Whether an object has no attribute of a name by a library's class, of which all public names are known."""
        members = self._by_name(self.all.members, base.name)
        public = members is not None and not name.startswith("_") and name not in members
        return base.name == "builtins.object" or (public and "buffers" not in item.state)

    # What the interpreter asks

    def some_of(self, module: External) -> External | None:
        """What a module of a library has under a name that nobody knows, where all of it does the same."""
        name = f"{module.name}.{SOME_NAME}"
        return External(name) if name in self.all.functions else None

    def call_function(self, it: Interpreter, call: Call) -> Value:
        """Call a library's function or constructor, or a method by its class: `nn.Module.train(self)`."""
        receiver = given_to_its_class(call)
        if receiver is not None:
            call.receiver, call.positional = receiver, call.positional[1:]
            return self.call_method(it, call.last, call)
        handler = self._by_name(self.all.functions, call.name) or self._of_family(call.name)
        result = handler(call) if handler is not None else None
        if handler is None and environment.handed_over(call):
            environment.forget(it)
        if result is None:
            top = call.name.partition(".")[0]
            result = call.foreign() if "." in call.name and top not in self._familiar else call.unknown()
            for made in result.objects() if top in ARRAYS else ():
                made.state["grad"], made.state["detached"] = FALSE, TRUE
        inference.after_call(it, call, None, call.last, result)
        it.emit(LibraryCall(it.moment(site=call.site), call.name, call, result))
        return result

    def _of_family(self, name: str) -> CallHandler | None:
        if name not in self._families:
            top, last = name.partition(".")[0], name.rsplit(".", 1)[-1]
            patterns = ((pattern.partition(":"), handler) for pattern, handler in self.all.families.items())
            matching = (
                handler
                for (package, _, last_part), handler in patterns
                if package == top and re.fullmatch(last_part, last)
            )
            self._families[name] = next(matching, None)
        return self._families[name]

    def call_method(self, it: Interpreter, name: str, call: Call) -> Value:
        """Call a library's method on `call.receiver`; `X.__init__` runs a base class's constructor."""
        assert call.receiver is not None
        if name.endswith(".__init__"):
            call.instance, call.receiver = call.receiver, None
            return self.construct(it, name[: -len(".__init__")], call)
        call.name = f"{call.receiver.kind}.{name}"
        handler = self._by_kind(self.all.methods, call.receiver.kind, name)
        result = handler(call) if handler is not None else None
        result = result if result is not None else call.unknown()
        inference.after_call(it, call, call.receiver, name, result)
        it.emit(LibraryCall(it.moment(site=call.site), call.name, call, result))
        return result

    def construct(self, it: Interpreter, name: str, call: Call) -> Value:
        """Run a library's constructor for `call.instance`."""
        inner = type(call)(
            it, call.site, name, call.positional, call.keywords, call.open, call.places, instance=call.instance
        )
        return self.call_function(it, inner)

    def call_object(self, it: Interpreter, item: Object, call: Call) -> Value | None:
        """Call an object as its kind says; None when no framework knows."""
        for kind in self.lineage(item.kind):
            handler = self.all.calls.get(kind)
            if handler is not None:
                call.receiver = item
                return handler(call)
        return None

    def attribute(self, it: Interpreter, item: Object, name: str, node: ast.AST) -> Value | None:
        """An attribute that a framework knows; None when it does not."""
        handler = self._by_kind(self.all.attributes, item.kind, name)
        result: Value | None = handler(it, item, name, node) if handler is not None else None
        return result

    def constant(self, it: Interpreter, name: str) -> Value | None:
        """The value of a library's name; None when it is just that name."""
        handler = self.all.constants.get(name)
        if handler is None and name.endswith(".__version__"):
            from .releases import version_of

            handler = version_of(name.partition(".")[0])
        return handler(it) if handler is not None else None

    def element(self, it: Interpreter, item: Object, site: Site) -> Value | None:
        """What iterating over an object gives; None when no framework knows, nor its own class."""
        given = all_of_it(it, item, site.node)
        if given is not None and item not in given.objects():
            return elements.element(it, given, site.node)
        it.emit(Iterated(it.moment(site=site), item))
        return self._part(it, item, site)

    def _part(self, it: Interpreter, item: Object, site: Site) -> Value | None:
        for kind in self.lineage(item.kind):
            handler = self.all.elements.get(kind)
            if handler is not None:
                return handler(it, item, site)
        return None

    def unpacked(self, it: Interpreter, item: Object, index: int, site: Site) -> Value | None:
        """Element `index` of an object that is unpacked; None for a part of it."""
        return self._part(it, item, site) if item.kind in self.all.elements else None

    def entered(self, it: Interpreter, value: Value, site: Site) -> Value:
        """What `with value as x` gives x."""
        return value

    def on_set(self, it: Interpreter, item: Object, name: str, value: Value, node: ast.AST) -> None:
        """An attribute is assigned: what it does besides."""
        handler = self._by_kind(self.all.setters, item.kind, name) or self._by_kind(self.all.setters, item.kind, "*")
        if handler is not None:
            handler(it, item, value, node)

    def escaped(self, item: Object) -> None:
        """Code that nobody knows was given an object, and may change it from then on."""
        item.escaped = True
        item.state.pop(HANDED_OVER, None)
        for kind in self.lineage(item.kind):
            if kind in self.all.escapes:
                self.all.escapes[kind](item)

    def stored(self, it: Interpreter, item: Object, value: Value) -> None:
        """A value goes into a container: modules become its parts."""
        for part in value.objects():
            if self.is_kind(item, "module") and self.is_kind(part, "module"):
                adopt(item, part)

    def decorated(self, it: Interpreter, decorator: Value, function: Value, site: Site) -> Value | None:
        """What a library's decorator makes of a function; None when it leaves it alone."""
        from ..run.calls import Call

        for _, item in decorator:
            name = item.name if isinstance(item, External) else ""
            receiver = item if isinstance(item, Object) else None
            if receiver is not None and receiver.kind == "decorator":
                name = str(receiver.type)
            if isinstance(item, Method):
                name, receiver = f"{item.receiver.kind}.{item.name}", item.receiver
            handler = self._by_name(self.all.decorators, name) if name else None
            if handler is not None:
                result: Value | None = handler(Call(it, site, name, [function], receiver=receiver))
                return result
        return None

    def decorators(self, function: Function) -> frozenset[str]:
        """The last names of a function's decorators."""
        node = function.node
        if isinstance(node, ast.Lambda):
            return frozenset()
        from ..ir.syntax import dotted

        names = (dotted(item.func if isinstance(item, ast.Call) else item) for item in node.decorator_list)
        return frozenset(name.rsplit(".", 1)[-1] for name in names)

    def is_instance(self, item: Object, names: list[str]) -> bool | None:
        """Whether an object is of one of these classes, by last name; None when nobody knows."""
        module = item.kind != "part" and self.is_kind(item, "module")
        if item.is_a(*names) or (module and "Module" in names):
            return True
        of_torch = item.kind in ("layer", "modules", "criterion") or (
            isinstance(item.type, Class) and is_own_module(item.type)
        )
        if of_torch and self.are_layers(names):
            return False
        if of_torch and names == ["Iterable"]:
            own = isinstance(item.type, Class) and class_attribute(item.type, "__iter__") is not None
            return own or item.is_a(*ITERATED)
        if module and set(names) <= {"Parameter", "Tensor"}:
            return False
        known = {"ddp": "DistributedDataParallel", "dict": "dict", "list": "list", "tuple": "tuple"}
        if item.kind in known:
            some = known[item.kind] in names or not ABSTRACT.get(item.kind, frozenset()).isdisjoint(names)
            return some or (None if not DERIVED.isdisjoint(names) else False)
        if set(names) <= {"DistributedDataParallel", "DataParallel", "DDP", "FullyShardedDataParallel"}:
            return False if item.kind in ("module", "model", "instance") and GIVEN_TO not in item.state else None
        return None

    def are_layers(self, names: list[str]) -> bool:
        """Whether these are classes of torch.nn of which none inherits from another, but for Module."""
        return all(name == "Module" or f"torch.nn.{name}" in self.all.functions for name in names)

    def kind_of_class(self, owner: Class) -> str:
        """The kind of the objects of a project's class, by its library bases."""
        for base in owner.ancestry():
            if isinstance(base, External):
                kind = self._by_name(self.all.bases, base.name) or self._base_of_family(base.name)
                if kind is not None:
                    return str(kind)
        return "instance"

    def _base_of_family(self, name: str) -> str | None:
        patterns = ((pattern.partition(":"), kind) for pattern, kind in self.all.base_families.items())
        return next(
            (kind for (package, _, last), kind in patterns if re.fullmatch(rf"{package}\..*\b{last}", name)), None
        )

    def kind_of_part(self, parent: Object) -> str:
        """The kind of an unknown part of an object."""
        if parent.kind in PARTS:
            return PARTS[parent.kind]
        return "part" if self.is_kind(parent, "module") or parent.kind == "part" else "unknown"

    def imports_of(self, package: str) -> tuple[str, ...]:
        """The packages that importing this one imports as well."""
        return self.all.imports.get(package, ())

    def exported(self, module: str) -> list[str]:
        """The names that `from module import *` brings, as far as frameworks know them."""
        head = module + "."
        return sorted(
            {name[len(head) :] for name in self.all.functions if name.startswith(head) and "." not in name[len(head) :]}
        )

    def propagate(self, sources: Iterable[Object], result: Object) -> None:
        """What a computed value inherits from what it was computed from."""
        facts = PROPAGATED_NAMES if result.kind in ("dict", "list") else PROPAGATED
        states = [item.state for item in sources]
        for state in filter(None, states):
            for fact in facts:
                if fact in state:
                    result.state[fact] = state[fact]
        grads = [state["grad"] for state in states if state.get("grad")]
        asked = [value for value in grads if value.constant() is True]
        if asked:
            result.state["may_grad"] = TRUE
        if grads and len(grads) == len(states):
            result.state.setdefault("grad", asked[0] if asked else union(grads))

    def keep_numbers(self, source: Object, made: Object) -> None:
        """What was made of something, as one of its elements, has the same numbers."""
        if "numbers" in source.state:
            made.state["numbers"] = source.state["numbers"]
            made.sites["numbers"] = source.sites["numbers"]

    def may_set(self, imported: Iterable[str], variable: str) -> bool:
        """Whether one of the packages imported so far may have set an environment variable."""
        packages = {name.partition(".")[0] for name in imported}
        return any(variable.startswith(f"{package.upper()}_") for package in packages) or any(
            fnmatchcase(variable, pattern) for package in packages for pattern in self.all.variables.get(package, ())
        )

    def built(self, it: Interpreter, item: Object, site: Site) -> None:
        """An object of a project's class is complete."""
        handler = self._by_kind(self.all.methods, item.kind, "<built>")
        if handler is not None:
            from ..run.calls import Call

            handler(Call(it, site, "<built>", receiver=item))


def is_own_module(owner: Class) -> bool:
    """Whether a class of the project has no library base but torch.nn.Module."""
    bases = {base.name for base in owner.ancestry() if isinstance(base, External)}
    return bool(bases) and bases <= {"torch.nn.Module", "torch.nn.modules.module.Module"}


def load_library() -> Library:
    """The framework modules of this package, and after them those of others, put together.

    Others enter theirs in the entry-point group `gclint.frameworks`; of two that know the same name, theirs holds.
    """
    import gclint.frameworks as package

    own = [f"{package.__name__}.{info.name}" for info in pkgutil.iter_modules(package.__path__)]
    found: list[Framework] = []
    problems: list[Problem] = []
    for names in (own, brought(FRAMEWORKS)):
        found += sorted(_frameworks(names, problems), key=lambda framework: framework.name)
    return Library(found, problems)


def _frameworks(names: Iterable[str], problems: list[Problem]) -> Iterator[Framework]:
    """The frameworks in these modules; a module that cannot be imported is among the problems."""
    for name in names:
        try:
            framework = getattr(importlib.import_module(name), "framework", None)
        except Exception as error:
            problems.append(unloaded(f"framework module {name}", error))
            continue
        if isinstance(framework, Framework):
            yield framework
