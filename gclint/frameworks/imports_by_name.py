"""Modules that are imported by a name that the program makes."""

from __future__ import annotations

import os

from ..run import imports
from ..run.calls import Call
from ..run.folding import beginning
from ..run.guards import choices
from ..run.values import NONE, Alternative, Const, Object, Value, union
from .registry import Framework

framework = Framework("imports by name")

MOST_MODULES = 60


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
