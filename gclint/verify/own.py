"""The project's own model classes as data: where a class is, and the arguments that the analysis found for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gclint.run.guards import Guard, conj
from gclint.run.values import Class, Const, External, Object, Value
from gclint.verify.recipe import OwnClass

PLAIN = (int, float, str, bool, type(None))


class Unknown(Exception):
    """An argument that the analysis does not know; the text names it."""


def own_class(model: Object, chosen: Guard, root: Path, changed: Mapping[str, str]) -> OwnClass | str:
    """The class of a project's model with its arguments on the way `chosen`; or why it cannot be built.

    `changed` are the texts of files (relative to `root`) that differ from those on disk.
    """
    if not isinstance(model.type, Class):
        return "its class is not one of the project"
    try:
        made = _made(model, chosen, root)
    except Unknown as error:
        return f"its argument {error} is not known"
    return OwnClass(os.fspath(root), dict(changed), made)


def _made(item: Object, chosen: Guard, root: Path) -> dict[str, Any]:
    assert isinstance(item.type, Class)
    path = Path(os.path.realpath(item.type.module.path))
    if not path.is_relative_to(root):
        raise Unknown(f"of a class outside the project ({item.type.name})")
    if item.built is None:
        raise Unknown(f"list of {item.type.name}")
    positional, keywords = item.built
    return {
        "file": path.relative_to(root).as_posix(),
        "class": item.type.name,
        "positional": [_literal(value, chosen, root, str(index + 1)) for index, value in enumerate(positional)],
        "keywords": {name: _literal(value, chosen, root, name) for name, value in keywords.items()},
    }


def _literal(value: Value, chosen: Guard, root: Path, name: str) -> Any:
    """A value as JSON: plain literals and their lists and dicts; {"make": ...} and {"name": ...} for what is built."""
    item = next((item for guard, item in value if conj(chosen, guard) is not None), None)
    if isinstance(item, Const) and isinstance(item.value, PLAIN):
        return item.value
    if isinstance(item, External):
        return {"name": item.name}
    if isinstance(item, Object) and isinstance(item.type, Class):
        return {"make": _made(item, chosen, root)}
    if isinstance(item, Object) and item.entries is not None and not item.open:
        entries = {str(key): _literal(held, chosen, root, f"{name}.{key}") for key, held in item.entries.items()}
        return {"dict": entries}
    if isinstance(item, Object) and item.items is not None and not item.each:
        return [_literal(held, chosen, root, f"{name}[{index}]") for index, held in enumerate(item.items)]
    raise Unknown(f"`{name}`")
