"""Settings filled from outside: what a command line and configuration files give to classes and functions by name.

A name with dots reaches into a part, as does a mapping of a file. What nothing gives is the code's own default, open to
the launch where its words are not known.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from typing import NamedTuple

from ..ir.syntax import Site, dotted
from ..run import names
from ..run.calls import Call
from ..run.commands import command
from ..run.invocation import after_filling, is_record
from ..run.pages import SPREAD, is_written
from ..run.values import NOTHING, Alternative, Class, External, Function, ModuleRef, Object, Value, const, of, union
from .arguments import literal, overridable, said
from .files_read import lifted

Words = tuple[str, ...] | None


class Given(NamedTuple):
    """Settings by name, and where they are written, as far as that is known."""

    values: dict[str, Value]
    sites: dict[str, Site]

    def then(self, later: Given) -> Given:
        """These settings, and later ones over them."""
        sites = {**later.sites, **self.sites}
        for name in later.values:
            sites.pop(name, None)
            if name in later.sites:
                sites[name] = later.sites[name]
        return Given({**self.values, **later.values}, sites)

    def inside(self, name: str) -> Given:
        """The settings of a part."""
        found = Given({}, {})
        for item in self.values.get(name, NOTHING).objects():
            found = entries(item) if item.entries is not None else found
        head = f"{name}."
        values = {key.removeprefix(head): value for key, value in self.values.items() if key.startswith(head)}
        sites = {key.removeprefix(head): site for key, site in self.sites.items() if key.startswith(head)}
        return found.then(Given(values, sites))


NOBODY = Given({}, {})


def of_file(call: Call, path: Value) -> Given:
    """The top level of a configuration file of the project; empty when it cannot be told."""
    name = names.const_text(path)
    data = call.it.project.data(name, call.it.module) if name else None
    if not isinstance(data, dict):
        return Given({}, {})
    return entries(lifted(call, data, str(name)).objects()[0])


def entries(held: Object) -> Given:
    """The entries of a dict."""
    sites = dict(held.sites)
    if held.site is not None and is_written(held.site):
        sites[SPREAD] = held.site
    return Given({str(key): value for key, value in (held.entries or {}).items()}, sites)


def spelled(call: Call, words: Words) -> Given:
    """`--name value` by name: a boolean, a number, a JSON object, else text."""
    found = Given({}, {})
    page = command(call.it)
    if page is not None:
        found.sites[SPREAD] = page.site
    words = words or ()
    for at, word in enumerate(words):
        if not word.startswith("--"):
            continue
        name, equals, tail = word[2:].partition("=")
        following = words[at + 1] if at + 1 < len(words) else "--"
        text = tail if equals else "" if following.startswith("--") else following
        place = page.option([f"--{name}"]) if page is not None else None
        found.values[name.replace("-", "_")] = _read(call, text, place)
        if place is not None:
            found.sites[name.replace("-", "_")] = place
    return found


def _read(call: Call, text: str, place: Site | None) -> Value:
    value = said(call.it, text)
    if value.objects():
        return value
    if text.startswith("{"):
        try:
            data = json.loads(text)
            page = command(call.it)
            return lifted(call, page.placed(data, place) if page is not None and place is not None else data, "--")
        except ValueError:
            return value
    return const(literal(text), place)


def filled(call: Call, owner: Value, given: Given, words: Words) -> Value:
    """What a class or function makes of the settings."""
    return union(_called(call, item, given, words).under(guard) for guard, item in owner)


def _called(call: Call, item: Alternative, given: Given, words: Words) -> Value:
    if isinstance(item, Class) and is_record(item):
        made = call.it.call(of(item), Call(call.it, call.site, "parsed", unfilled=True))
        overlay(call, made.objects(), given, words)
        settle(call, made)
        return made
    found = names.class_attribute(item, "__init__") if isinstance(item, Class) else of(item)
    function = next((part for _, part in found or () if isinstance(part, Function)), None)
    if function is None and not isinstance(item, (Class, External)):
        return call.unknown()
    passed = parameters(call, function, given, words) if function is not None else dict(given.values)
    unsaid = words is None
    return call.it.call(
        of(item), Call(call.it, call.site, "parsed", [], passed, unsaid, dict(given.sites), uncalled=unsaid)
    )


def parameters(call: Call, function: Function, given: Given, words: Words) -> dict[str, Value]:
    """What the settings give for the parameters of a function, those that are settings classes filled."""
    found = {}
    arguments = function.node.args
    for param in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
        owner = class_named(call, function, param.annotation)
        held = function.defaults.get(param.arg, NOTHING).objects()
        value = _value_of(call, param.arg, given)
        if owner is not None and is_record(owner):
            made = of(held[0]) if held else call.it.call(of(owner), Call(call.it, call.site, "parsed", unfilled=True))
            overlay(call, made.objects(), given.inside(param.arg), words)
            if not held:
                settle(call, made)
            found[param.arg] = made
        elif value is not None:
            found[param.arg] = value
    return found


def class_named(call: Call, holder: Function | Class, annotation: ast.expr | None) -> Class | None:
    """The class of the project that an annotation names."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.Name(annotation.value)
    path = dotted(annotation) if annotation is not None else ""
    item: Alternative | None = ModuleRef(holder.module) if path else None
    for name in path.split("."):
        item = names.of_item(call.it, item, name, holder.node).only() if item is not None else None  # type: ignore[arg-type]
    return item if isinstance(item, Class) else None


def _value_of(call: Call, name: str, given: Given) -> Value | None:
    """What is given for a name, or for its negation; None where nothing is."""
    if name in given.values:
        return given.values[name]
    for negated in (f"no_{name}", f"no{name}"):
        if negated in given.values:
            return const(given.values[negated].constant() is False, given.sites.get(negated))
    return None


def overlay(call: Call, items: Iterable[Object], given: Given, words: Words) -> None:
    """Put settings on objects, part by part."""
    for item in items:
        item.sites.update(
            {name: site for name, site in given.sites.items() if name in item.attributes or name == SPREAD}
        )
        for name, held in list(item.attributes.items()):
            value, parts = _value_of(call, name, given), _parts(call, item, name, held)
            if parts:
                _reach(call, item, name, parts, given.inside(name), words)
            elif value is not None:
                item.attributes[name] = value
            elif words is None:
                item.attributes[name] = overridable(call.it, name, held, call)


def settle(call: Call, made: Value) -> None:
    """Have the records that are filled now do what they do once their fields are there."""
    for guard, item in made:
        own = item.type if isinstance(item, Object) else None
        if isinstance(own, Class) and is_record(own) and names.class_attribute(own, "__init__") is None:
            with call.it.under(guard) as possible:
                if possible and isinstance(item, Object):
                    after_filling(call.it, item, call.site)


def _parts(call: Call, item: Object, name: str, held: Value) -> list[Object]:
    """The settings objects that an attribute holds; where the class gives no default, one of what it is to be."""
    parts = [part for part in held.objects() if isinstance(part.type, Class) and is_record(part.type)]
    if parts or not isinstance(item.type, Class) or any(part.kind != "unknown" for part in held.objects()):
        return parts
    for owner in item.type.ancestry():
        for line in owner.node.body if isinstance(owner, Class) else ():
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.target.id == name:
                own = class_named(call, owner, line.annotation)  # type: ignore[arg-type]
                made = own is not None and is_record(own)
                return call.it.call(of(own), Call(call.it, call.site, "parsed")).objects() if made and own else []
    return []


def _reach(call: Call, item: Object, name: str, parts: list[Object], given: Given, words: Words) -> None:
    """Settings of a part; it is unknown where they choose its class by a name."""
    chosen = {"type", "class_path", "_target_"} & given.values.keys()
    if any(key not in part.attributes for part in parts for key in chosen):
        item.attributes[name] = of(call.it.unknown(name, call.site))
        return
    overlay(call, parts, given, words)
    if not any(part in item.attributes[name].objects() for part in parts):
        item.attributes[name] = of(parts[0])
