"""The process around the code: modules imported by name, and the configuration files it reads."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable
from typing import Any

from ..ir.syntax import Site
from ..run import imports
from ..run.calls import Call
from ..run.folding import beginning
from ..run.guards import choices
from ..run.interpreter import Interpreter
from ..run.values import NONE, NOTHING, Alternative, Const, Object, Value, const, of, union
from .registry import Framework

framework = Framework("system", kinds={"option": "unknown"})

MODES = set("rwxabt+")
"""Of what the mode of a file consists."""
MOST_MODULES = 60
MOST_PARTS = 5_000
"""So many values may stand in a file of settings; one of more is data, such as a vocabulary."""


@framework.function("importlib.import_module")
def import_by_name(call: Call) -> Value:
    """The module of a literal name, also of one that it has in some cases only."""
    found = []
    for guard, item in call.get("name", 0).possible(call.it.guard):
        with call.it.under(guard) as possible:
            if possible:
                found.append(_module_called(call, item).under(guard))
    return union(found) if found else call.unknown()


def _module_called(call: Call, name: Alternative) -> Value:
    if isinstance(name, Object):
        listed = [imports.module_value(call.it, each, 0, call.site.node) for each in _that_it_may_be(call, name)]
        ways = choices(len(listed)) if listed else []
        if not listed:
            imports.anything_is_imported(call.it)
        return union([each.under(way) for each, way in zip(listed, ways, strict=True)]) or call.unknown()
    if not isinstance(name, Const) or not isinstance(name.value, str) or not name.value:
        return call.unknown()
    plain = name.value.lstrip(".")
    return imports.module_value(call.it, plain, len(name.value) - len(plain), call.site.node)


def _that_it_may_be(call: Call, name: Object) -> list[str]:
    """The modules of a package that a name may be of which nothing is known but how it begins, as in `f"models.{file}"`
    in the rounds of a loop: each file of the package may have its round, also one that the loop leaves out by its name.
    Of `f".{folder}.{file}"` that is each file below the package.
    """
    first = beginning(name)
    below = first == "."
    package = call.get("package", 1, NONE).constant() if below else first.rstrip(".") if first.endswith(".") else ""
    path = call.it.project.resolve(package, 0, call.it.module) if isinstance(package, str) and package else None
    if path is None or os.path.basename(path) != "__init__.py" or not (name.each or below):
        return []
    folder = os.path.dirname(path)
    own = call.it.project.imports.real(call.it.project.absolute(call.it.module))
    files = [each for each in call.it.project.beside(os.path.join(folder, "")) if each.endswith(".py")]
    taken = [each for each in sorted(files) if each not in (path, own) and (below or os.path.dirname(each) == folder)]
    parts = [os.path.splitext(os.path.relpath(each, folder))[0].split(os.sep) for each in taken]
    found = [".".join([str(package), *part]).removesuffix(".__init__") for part in parts]
    return found if len(found) <= MOST_MODULES else []


# Configuration files


@framework.function("builtins.open", "io.open", "pathlib.Path.open")
def open_file(call: Call) -> Value:
    """A file with the path it was opened by."""
    made = call.make("file", "file")
    made.attributes["path"] = call.get("file", 0)
    made.made_of = [made.attributes["path"]]
    return of(made)


@framework.method("unknown", "open")
def open_path(call: Call) -> Value | None:
    """The same of a path that opens itself, which a mode tells from anything else that has such a method."""
    mode, opens = call.get("mode", 0).constant(), call.method.node if call.method is not None else None
    named = isinstance(mode, str) and bool(mode) and set(mode) <= MODES
    if not named or call.receiver is None or call.method is None or not isinstance(opens, ast.Attribute):
        return None
    made = call.make("file", "file")
    made.attributes["path"], made.sites["path"] = of(call.receiver), Site.at(call.method.module, opens.value)
    made.made_of = [of(call.receiver)]
    return of(made)


@framework.function(
    "yaml.safe_load",
    "yaml.load",
    "yaml.full_load",
    "json.load",
    "tomllib.load",
    "tomli.load",
    "omegaconf.OmegaConf.load",
    "toml.load",
)
def load_file(call: Call) -> Value:
    """The contents of a file of the project that the code names; unknown for any other."""
    parts = []
    for guard, item in call.get("", 0):
        value = item.attributes.get("path", NOTHING) if isinstance(item, Object) else of(item)
        for inner, path in value:
            if not isinstance(path, Const) or not isinstance(path.value, str):
                continue
            data = call.it.project.data(path.value, call.it.module)
            if data is not None:
                made = lifted(call, data, path.value) if _parts(data, MOST_PARTS) < MOST_PARTS else call.unknown()
                parts.append(made.under(guard | inner))
    return union(parts) if parts else call.unknown()


def _parts(data: object, most: int) -> int:
    """How many values a document consists of, counted up to the `most`."""
    held: Iterable[object] = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    count = 1
    for part in held:
        if count >= most:
            break
        count += _parts(part, most - count)
    return count


def lifted(call: Call, data: object, path: str, place: Site | None = None) -> Value:
    """Plain data as an abstract value; mappings answer to attributes as well as to keys, values in it stay.

    Data read from a file knows where it is written; of any other, `place` is.
    """
    if isinstance(data, Value):
        return data
    if isinstance(data, (dict, list, tuple)):
        sites: dict[Any, Site] = getattr(data, "sites", {})
        made = call.it.new("dict" if isinstance(data, dict) else "list", "config", path, call.site)
        made.site = getattr(data, "site", None) or place or made.site
        made.sites = {str(key): site for key, site in sites.items()}
        if not isinstance(data, dict):
            made.items = [lifted(call, value, path, sites.get(at, place)) for at, value in enumerate(data)]
            return of(made)
        made.entries = {key: lifted(call, value, path, sites.get(key, place)) for key, value in data.items()}
        made.attributes.update({key: value for key, value in made.entries.items() if isinstance(key, str)})
        return of(made)
    if data is None or isinstance(data, (str, int, float, bool)):
        return const(data, place)
    return call.unknown()


@framework.element("file")
def lines_of_file(it: Interpreter, item: Object, site: object) -> Value | None:
    """A line of a file is unknown."""
    return of(it.unknown("line"))
