"""The files that a configuration is read from, and what each of them extends."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

from gclint.config import FILES, BadConfig, Settings, frozen, keys, suggestion
from gclint.config_check import check_value, key_line
from gclint.source.source import content

Tables = dict[str, Any]


def load(path: str, extending: tuple[str, ...] = ()) -> Settings:
    """Return the settings in the file at `path`, over those that it extends; `extending` are the files that it is
    extended by. Raises `BadConfig` with the line of the first mistake.
    """
    text = _text(path)
    said = _said(path, text)
    root = os.path.dirname(os.path.abspath(path))
    if "extend" not in said:
        return replace(Settings(root=root, origin=path), **said)
    try:
        base = _extended(path, said["extend"], (*extending, os.path.realpath(path)))
    except BadConfig as error:
        line = key_line(text, "extend", _header(path))
        raise BadConfig(f"{path}:{line}: `extend`: {error}") if not extending else error from None
    return base.extended(said, root=root, origin=path)


def nearest(directory: str, known: dict[str, Settings | None]) -> Settings | None:
    """Return the settings of the nearest configuration file at or above `directory`, None where there is
    none.

    `known` remembers directories already asked about. Raises `BadConfig`.
    """
    if directory in known:
        return known[directory]
    for name in FILES:
        path = os.path.join(directory, name)
        if os.path.isfile(path) and _speaks_of_gclint(path):
            known[directory] = load(path)
            return known[directory]
    parent = os.path.dirname(directory)
    known[directory] = None if parent == directory else nearest(parent, known)
    return known[directory]


def _extended(path: str, name: str, extending: tuple[str, ...]) -> Settings:
    """The settings of the file `name` that the file at `path` extends; as in Ruff with `~` and `$VARIABLE`."""
    place = os.path.join(os.path.dirname(path), os.path.expanduser(os.path.expandvars(name)))
    if os.path.realpath(place) in extending:
        raise BadConfig(f"{os.path.normpath(place)} extends itself, by way of {path}; take one of the two away")
    return load(os.path.normpath(place), extending)


def _text(path: str) -> str:
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise BadConfig(f"{path}: not a regular file; name a file")
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None


def _said(path: str, text: str) -> Tables:
    """What the text of a file says, by the fields of `Settings`."""
    known = keys()
    values = {}
    for name, value in _table(path, text).items():
        if name not in known:
            line = key_line(text, name, _header(path))
            raise BadConfig(f"{path}:{line}: unknown key `{name}`{suggestion(name, list(known))}")
        schema = known[name].metadata["schema"]
        check_value(path, text, _header(path), name, value, schema)
        values[known[name].name] = frozen(value, schema)
    return values


def _header(path: str) -> str:
    return "tool.gclint" if os.path.basename(path) == "pyproject.toml" else ""


def _speaks_of_gclint(path: str) -> bool:
    if not path.endswith("pyproject.toml"):
        return True
    data = content(path)
    return b"gclint" in data and "gclint" in _tool_table(path, data.decode("utf-8", "replace"))


def _tool_table(path: str, text: str) -> Tables:
    tool = _parse(path, text).get("tool")
    return tool if isinstance(tool, dict) else {}


def _table(path: str, text: str) -> Tables:
    if not _header(path):
        return _parse(path, text)
    table = _tool_table(path, text).get("gclint", {})
    if not isinstance(table, dict):
        raise BadConfig(f"{path}: `tool.gclint` must be a table")
    return table


def _parse(path: str, text: str) -> Tables:
    parse, error_type = _toml()
    try:
        return parse(text)
    except error_type as error:
        raise BadConfig(f"{path}: not valid TOML: {error}") from None


def _toml() -> tuple[Callable[[str], Tables], type[ValueError]]:
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    return toml.loads, toml.TOMLDecodeError
