"""What a configuration is read from: the files of projects and of the user, what each extends, and `--config`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from typing import Any

from gclint.config import FILES, INLINE, BadConfig, Settings
from gclint.config_check import key_line, said_by
from gclint.source.source import content

Tables = dict[str, Any]
OF_USER = ""


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
        if _is_configuration(path):
            known[directory] = load(path)
            return known[directory]
    parent = os.path.dirname(directory)
    known[directory] = None if parent == directory else nearest(parent, known)
    return known[directory]


def of_user(known: dict[str, Settings | None]) -> Settings | None:
    """Return the user's own settings, which hold where there is no project's, None where there are none.

    They belong to no project: patterns are relative to the working directory. `known` remembers them. Raises
    `BadConfig`.
    """
    if OF_USER not in known:
        places = [os.path.join(_user_directory(), "gclint", name) for name in FILES]
        path = next((path for path in places if _is_configuration(path)), None)
        known[OF_USER] = None if path is None else replace(load(path), root="")
    return known[OF_USER]


def _user_directory() -> str:
    """Where a user's settings are, as Ruff has it: also on macOS where XDG says."""
    if sys.platform == "win32":
        return os.environ.get("APPDATA", "")
    said = os.environ.get("XDG_CONFIG_HOME", "")
    return said if os.path.isabs(said) else os.path.expanduser("~/.config")


@lru_cache(maxsize=8)
def inline(texts: tuple[str, ...]) -> Mapping[str, Any]:
    """Return what texts such as `preview = true` say, by the fields of `Settings`; raises `BadConfig`.

    Of two that say the same key the later one holds, of two tables each entry.
    """
    said: Tables = {}
    for text in texts:
        for name, value in said_by(_inline_table(text), lambda *_, text=text: f"{INLINE} `{text}`").items():
            said[name] = {**said[name], **value} if isinstance(value, dict) and name in said else value
    return said


def _inline_table(text: str) -> Tables:
    try:
        table = _parse(f"{INLINE} `{text}`", text)
    except BadConfig as error:
        raise BadConfig(f"{error}; write it as in a file: {INLINE} 'min-certainty = \"fails\"'") from None
    if "extend" in table:
        raise BadConfig(f"{INLINE} `{text}`: `extend` is for files; name the file itself: {INLINE} FILE")
    return table


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
    return said_by(_table(path, text), lambda name, item: f"{path}:{key_line(text, name, _header(path), item)}")


def _header(path: str) -> str:
    return "tool.gclint" if os.path.basename(path) == "pyproject.toml" else ""


def _is_configuration(path: str) -> bool:
    """Whether a file is there, and says something of gclint."""
    if not (os.path.isabs(path) and os.path.isfile(path)):
        return False
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
