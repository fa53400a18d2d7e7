"""The configuration: its keys, each defined once, and the files it is read from.

The fields of `Settings` are the keys. Their metadata generates the checking of a file, the message for a
mistake with its line, and the JSON schema.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gclint.source.source import content

if TYPE_CHECKING:
    from dataclasses import Field

CERTAINTIES = ("costs", "fragile", "fails")
FILES = (".gclint.toml", "gclint.toml", "pyproject.toml")
# what a rule or a framework asks the version of
LIBRARIES = (
    "accelerate", "bitsandbytes", "datasets", "deepspeed", "diffusers", "lightning", "peft", "pytorch-lightning",
    "torch", "torchao", "torchtune", "torchvision", "transformers", "trl", "unsloth",
)  # fmt: skip
SCHEMA = "https://json.schemastore.org/gclint.json"
Tables = dict[str, Any]


class BadConfig(Exception):
    """A mistake in the configuration, its place first; one line."""


def _key(default: Any, schema: Mapping[str, Any], text: str) -> Any:
    metadata = {"schema": {**schema, "description": text}}
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


_CODES = {"type": "array", "items": {"type": "string", "pattern": "^(ALL|[A-Z]+[0-9]*)$"}}
_PATTERNS = {"type": "array", "items": {"type": "string"}}
_FLAG = {"type": "boolean"}


@dataclass(frozen=True)
class Settings:
    """What a configuration file says, with defaults for the rest.

    `root` is the directory of that file (patterns are relative to it), `origin` the file, "" for none.
    """

    select: tuple[str, ...] = _key(("ALL",), _CODES, "Codes or prefixes of codes to check.")
    ignore: tuple[str, ...] = _key((), _CODES, "Codes or prefixes not to check.")
    extend_select: tuple[str, ...] = _key((), _CODES, "Codes or prefixes to check besides `select`.")
    fixable: tuple[str, ...] = _key(("ALL",), _CODES, "Codes or prefixes that `gclint fix` may fix.")
    unfixable: tuple[str, ...] = _key((), _CODES, "Codes or prefixes that `gclint fix` leaves alone.")
    exclude: tuple[str, ...] | None = _key(
        None, _PATTERNS, "Patterns, as in .gitignore, of what is not checked; replaces the default list."
    )
    extend_exclude: tuple[str, ...] = _key((), _PATTERNS, "Patterns of what is not checked, besides `exclude`.")
    per_file_ignores: Mapping[str, tuple[str, ...]] = _key(
        {},
        {"type": "object", "additionalProperties": _CODES},
        "Codes to ignore in the files a pattern matches.",
    )
    target: Mapping[str, str] = _key(
        {},
        {
            "type": "object",
            "additionalProperties": {"type": "string", "pattern": r"^[0-9]+(\.[0-9A-Za-z+]+)*$"},
            "names": LIBRARIES,
        },
        'The library versions to judge for, such as torch = "2.5"; else pins, else what is installed.',
    )
    preview: bool = _key(False, _FLAG, "Check by the rules that are in preview too.")
    min_certainty: str = _key(
        "fragile",
        {"enum": list(CERTAINTIES)},
        "`fails`: only findings that are shown to fail; `costs`: also what only costs time, memory or exactness.",
    )
    unsafe_fixes: bool = _key(False, _FLAG, "Apply fixes that need judgement too.")
    output_format: str = _key("full", {"type": "string"}, "The output format of `gclint check`.")
    force_exclude: bool = _key(False, _FLAG, "Exclude files also when they are named on the command line.")
    cache_dir: str = _key(
        ".gclint_cache",
        {"type": "string", "inside": True},
        "Where the cache is, below the configuration's directory.",
    )
    respect_gitignore: bool = _key(True, _FLAG, "Leave out what .gitignore files name.")
    root: str = ""
    origin: str = ""

    def merged(self, **given: Any) -> Settings:
        """Return these settings with what was `given` on the command line; None and empty say nothing.

        A `select` given sets aside the file's `ignore` and `extend_select`; lists that extend are added.
        """
        new = {name: value for name, value in given.items() if value not in (None, (), {})}
        if "select" in new:
            new = {"ignore": (), "extend_select": (), **new}
        for name in ("extend_select", "unfixable", "extend_exclude"):
            if given.get(name):
                new[name] = (() if "select" in new else getattr(self, name)) + tuple(given[name])
        if "ignore" in given and given["ignore"] and "select" not in given:
            new["ignore"] = self.ignore + tuple(given["ignore"])
        if given.get("target"):
            new["target"] = {**self.target, **given["target"]}
        return replace(self, **new)

    def cache_below(self, directory: str) -> str:
        """Return where the cache is: below the configuration's directory, else below this one."""
        return os.path.join(self.root or directory, self.cache_dir)


def keys() -> dict[str, Field[Any]]:
    """Return the keys as files spell them (with hyphens) and the fields behind them."""
    return {item.name.replace("_", "-"): item for item in fields(Settings) if item.metadata}


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of the table `[tool.gclint]`, which is also the whole of `gclint.toml`."""
    properties = {}
    for name, item in keys().items():
        default = item.default if item.default_factory is not dict and isinstance(item.default, (str, bool)) else None
        schema = {key: value for key, value in item.metadata["schema"].items() if key not in ("inside", "names")}
        properties[name] = {**schema, "default": default} if default is not None else schema
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": SCHEMA,
        "title": "gclint",
        "description": "Configuration of gclint: [tool.gclint] in pyproject.toml, or gclint.toml.",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def load(path: str) -> Settings:
    """Return the settings in the file at `path`; raises `BadConfig` with the line of the first mistake."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise BadConfig(f"{path}: not a regular file; name a file")
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    table = _table(path, text)
    values = {}
    from gclint.config_check import check_value, key_line

    known = keys()
    for name, value in table.items():
        if name not in known:
            line = key_line(text, name, _header(path))
            raise BadConfig(f"{path}:{line}: unknown key `{name}`{suggestion(name, list(known))}")
        schema = known[name].metadata["schema"]
        check_value(path, text, _header(path), name, value, schema)
        values[known[name].name] = _frozen(value)
    return replace(Settings(root=os.path.dirname(os.path.abspath(path)), origin=path), **values)


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings given by keyword, as a configuration file would have them; raises `BadConfig`."""
    from gclint.config_check import fault_of

    known = {item.name: item for item in keys().values()}
    values = {}
    for name, value in given.items():
        if name not in known:
            raise BadConfig(f"unknown setting `{name}`{suggestion(name, list(known))}")
        if value is None:
            continue
        plain = list(value) if isinstance(value, (tuple, set, frozenset)) else value
        fault = fault_of(plain, known[name].metadata["schema"])
        if fault is not None:
            raise BadConfig(f"`{name}` {fault.what}")
        values[name] = _frozen(plain)
    return values


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


def suggestion(name: str, known: list[str], cutoff: float = 0.6) -> str:
    """Return `; did you mean ...?` with the nearest of `known`, "" where none is near."""
    near = get_close_matches(name, known, n=1, cutoff=cutoff)
    return f"; did you mean `{near[0]}`?" if near else ""


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


def _frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, dict):
        return {key: _frozen(inner) for key, inner in value.items()}
    return value
