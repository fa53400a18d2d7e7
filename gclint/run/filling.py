"""Filling: what imports left open is bound when it is read, by walking the modules that the imports name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .values import Deferred, Value, of, union

if TYPE_CHECKING:
    from ..ir.syntax import Module
    from .interpreter import Interpreter


def forced(it: Interpreter, value: Value) -> Value:
    """The value with what imports left open filled in, by walking the modules that they read."""
    for _, item in value.alternatives:
        if isinstance(item, Deferred):
            break
    else:
        return value
    parts = [
        _filled(it, item).under(guard) if isinstance(item, Deferred) else Value([(guard, item)])
        for guard, item in value
    ]
    return union(parts)


def _filled(it: Interpreter, item: Deferred) -> Value:
    """What the import would have bound, had its module been walked then."""
    from .imports import member_of

    if item in it.filling:
        return of(it.unknown(item.member))
    held, steps = (it.guard, it.frames, it.handlers), it.steps
    mark = len(it.jumps)
    before = set(it.modules)
    it.filling.add(item)
    it.guard, it.frames, it.handlers = item.guard, it.frames[:1], []
    try:
        part = _submodule(it, item)
        if part is not None or not item.member:
            return forced(it, it.import_module(part or item.path))
        return forced(it, member_of(it, item.path, item.member))
    finally:
        it.filling.discard(item)
        del it.jumps[mark:]
        it.guard, it.frames, it.handlers = held
        it.aside, it.steps = it.aside + steps - it.steps, steps
        if it.run.entry is item.site.module:
            for path in it.modules.keys() - before:
                it.run.import_sites.setdefault(path, item.site)


def _submodule(it: Interpreter, item: Deferred) -> str | None:
    """The submodule that is imported of a package which binds nothing of its name, and which need not be walked for it:
    that package's own imports may be what led here.
    """
    module, outline = it.project.module(item.path), it.project.outline(item.path)
    if module is None or outline is None or not item.member or it.project.is_among(item.path, it.modules):
        return None
    binds = outline.units.keys() | outline.imports.keys() | outline.promised.keys()
    return None if binds & {item.member, "*"} else it.project.submodule(module, item.member)


def promised(it: Interpreter, module: Module, name: str) -> Value | None:
    """What a package that loads its parts on demand tells type checkers of a name; None when it tells nothing."""
    from .imports import member_of

    path = it.project.absolute(module)
    it.project.consulted.add(os.fspath(path))
    outline = it.project.outline(os.fspath(path))
    for item in outline.promised.get(name, ()) if outline is not None else ():
        file = it.project.imports.resolve(item.module, item.level, path)
        if file is not None and file.suffix == ".py" and item.member not in ("", "*"):
            return forced(it, member_of(it, it.project.imports.real(file), item.member))
    return None
