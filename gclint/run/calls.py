"""A call as the frameworks see it, and how a call's arguments meet a function's parameters."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..ir.syntax import Site
from .defaults import overridable
from .elements import origins_of
from .guards import ANY_PACKAGE, Guard, all_of
from .values import MISSING, NOTHING, TRUE, Class, Const, External, Function, Object, Value, const, of, replaced

if TYPE_CHECKING:
    from .interpreter import Interpreter
    from .run import Run

_RELEASE = re.compile(r"\d+\.\d+(\.\d+)*")


@dataclass
class Call:
    """One call with abstract arguments.

    `open` says that a `*` or `**` brings arguments nobody knows, `foreign_mapping` that they come in a mapping which
    the code itself did not fill. `places` are the sites of the keyword
    arguments' values, also of those that came through a dict; under `SPREAD` that of the mapping in a file, or of the
    command, that gave them. `receiver` is the object of a method call, `method`
    where the method was read off it, `instance` the object that a constructor fills in when a class of the project
    inherits from a library's, `owner` the class of the project on which a class method of a library is called.
    `uncalled` is a call that no code makes: a definition is walked for its own sake. It is `spelled_out` where the code
    in its place makes it, and no library that is called there. Of `unfilled` records somebody fills the fields after
    they are made, and before their `__post_init__`.
    """

    walk: Any
    site: Site
    name: str
    positional: list[Value] = field(default_factory=list)
    keywords: dict[str, Value] = field(default_factory=dict)
    open: bool = False
    places: dict[str, Site] = field(default_factory=dict)
    receiver: Object | None = None
    method: Site | None = None
    instance: Object | None = None
    owner: Class | None = None
    foreign_mapping: bool = False
    uncalled: bool = False
    spelled_out: bool = False
    unfilled: bool = False

    @property
    def it(self) -> Interpreter:
        """The walk in which it happens. (The class of a field must be there already where this is compiled.)"""
        walk: Interpreter = self.walk
        return walk

    @property
    def run(self) -> Run:
        """The run in which it happens."""
        return self.it.run

    @property
    def last(self) -> str:
        """The last part of the name."""
        return self.name.rsplit(".", 1)[-1]

    def get(self, name: str, index: int | None = None, default: Value = NOTHING) -> Value:
        """The argument of this name or position; the default when it is not given, unknown when it may be."""
        may_be = self.open and name and default
        return self.given(name, index, of(self.it.unknown(name, self.site)) if may_be else default)

    def given(self, name: str, index: int | None, otherwise: Value) -> Value:
        """The argument of this name or position as far as the code shows it, the other thing where it does not."""
        if name in self.keywords:
            return replaced(self.keywords[name], otherwise)
        if index is not None and index < len(self.positional):
            return self.positional[index]
        return otherwise

    def gives(self, name: str, index: int | None = None) -> bool:
        """Whether the argument is given, as far as the code shows."""
        return name in self.keywords or (index is not None and index < len(self.positional))

    def given_under(self, name: str, guard: Guard) -> Guard | None:
        """The guard with what it takes for the keyword argument to be given; None where it cannot be."""
        held = self.keywords.get(name, NOTHING)
        if held and all(item is not MISSING for _, item in held):
            return guard
        ways = (all_of((guard, own)) for own, item in held if item is not MISSING)
        return next((way for way in ways if way is not None), None)

    def as_given_under(self, guard: Guard) -> Call:
        """The call without the keyword arguments that are never given under a guard; itself where all may be."""
        given = {name: value for name, value in self.keywords.items() if _possible(value, guard)}
        return self if len(given) == len(self.keywords) else replace(self, keywords=given)

    def place(self, name: str) -> Site:
        """Where the argument stands; the call itself when it is not spelled out."""
        return self.places.get(name, self.site)

    def make(self, kind: str, type_: str = "", text: str = "") -> Object:
        """The object that the call returns: the instance of the project's subclass if it is one, else new."""
        if self.instance is not None:
            self.instance.kind = kind
            return self.instance
        return self.it.new(kind, type_ or self.name, text, self.site)

    def unknown(self) -> Value:
        """A result nobody knows, computed from the receiver and the arguments."""
        return of(self.it.derived(self.site, self.inputs()))

    def foreign(self) -> Value:
        """The result of code that nobody knows: besides what is computed from a model, its own parameters may train; of
        a text such as "2.4" it may compare the release of any package with that.
        """
        made = self.it.derived(self.site, self.inputs())
        for item in chain.from_iterable(value.objects() for value in self.inputs()):
            self.it.library.escaped(item)
        if "release" not in made.state and any(_is_release(value.constant()) for value in self.inputs()):
            made.state["release"] = const(ANY_PACKAGE)
        if not any(origin.kind == "activation" for origin in made.origins):
            made.state["foreign"] = TRUE
        return of(made)

    def inputs(self) -> list[Value]:
        """Everything that goes into the call."""
        own = [of(self.receiver)] if self.receiver is not None else []
        return own + self.positional + list(self.keywords.values())


def _possible(value: Value, guard: Guard) -> bool:
    """Whether an argument may be given under a guard: nothing is asked of one that is always given."""
    held = value.alternatives
    return len(held) < 2 or any(item is not MISSING for _, item in value.possible(guard))


def _is_release(literal: object) -> bool:
    return isinstance(literal, str) and _RELEASE.fullmatch(literal) is not None


def given_to_its_class(call: Call) -> Object | None:
    """The object of a method that is called by a library's class, one above the object's own: `nn.Module.train(self)`;
    None for any other call.
    """
    owner, _, method = call.name.rpartition(".")
    given = call.positional[0].only() if call.positional and owner and not method.startswith("__") else None
    if not isinstance(given, Object) or not isinstance(given.type, Class):
        return None
    return given if any(isinstance(base, External) and base.name == owner for base in given.type.ancestry()) else None


def bind(it: Interpreter, function: Function, call: Call) -> dict[str, Value]:
    """The names that a function's body starts with."""
    params = function.node.args
    ordered = [*params.posonlyargs, *params.args]
    names = [param.arg for param in ordered]
    values = list(call.positional)
    if function.receiver is not None:
        values.insert(0, of(function.receiver))
    bound: dict[str, Value] = dict(zip(names, values, strict=False))
    rest = dict(call.keywords)
    for param in [*ordered, *params.kwonlyargs]:
        name = param.arg
        if name not in rest and name in bound:
            continue
        held = rest.pop(name, of(MISSING))
        bound[name] = held
        if any(item is MISSING for _, item in held):
            bound[name] = replaced(held, _left_out(it, function, param, call))
    _bind_stars(it, function, call, bound, values[len(names) :], rest)
    return bound


def _left_out(it: Interpreter, function: Function, param: ast.arg, call: Call) -> Value:
    """What a parameter is where a call gives nothing for it: its default, unless the call may give it all the same.

    Where nobody calls, it is one that says something, if callers leave it; of None nobody knows what it stands for.
    """
    name = param.arg
    default, other = function.defaults.get(name), it.unknown(name, Site.at(function.module, param))
    if default is None:
        return of(other)
    if not call.open:
        return default
    says = call.uncalled and all(isinstance(item, Const) and item.value is not None for _, item in default)
    return overridable(name, default, other) if says else of(other)


def _bind_stars(
    it: Interpreter,
    function: Function,
    call: Call,
    bound: dict[str, Value],
    extra: list[Value],
    rest: dict[str, Value],
) -> None:
    star, double = function.node.args.vararg, function.node.args.kwarg
    if star is not None:
        items = it.new("tuple", "", star.arg, call.site)
        items.items, items.open = extra, call.open
        items.origins = origins_of(extra)
        bound[star.arg] = of(items)
    if double is not None:
        entries = it.new("dict", "", double.arg, call.site)
        entries.entries, entries.open = rest, call.open
        entries.origins = origins_of(rest.values())
        entries.sites = dict(call.places)
        bound[double.arg] = of(entries)
