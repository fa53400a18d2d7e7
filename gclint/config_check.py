"""A value of the configuration against its schema, and the line a mistake is on."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

_TABLE = re.compile(r"^\s*\[([^\[\]]+)\]\s*(?:#.*)?$")
_TYPES = {"array": list, "string": str, "boolean": bool, "object": dict}
_WORDS = {"array": "a list", "string": "a string", "boolean": "true or false", "object": "a table"}


def check_value(path: str, text: str, table: str, name: str, value: Any, schema: Mapping[str, Any]) -> None:
    """Raise `BadConfig` with file and line unless `value` of the key `name` fits `schema`."""
    from gclint.config import BadConfig, suggestion

    def wrong(what: str, near: Any = None, inside: str = "") -> BadConfig:
        line = key_line(text, name, table, near)
        return BadConfig(f"{path}:{line}: `{name}`{inside} {what}")

    wanted = schema.get("type")
    if wanted and not isinstance(value, _TYPES[wanted]):
        raise wrong(f"must be {_WORDS[wanted]}, not {value!r}")
    if "enum" in schema and value not in schema["enum"]:
        choices = ", ".join(schema["enum"])
        raise wrong(f"must be one of {choices}, not {value!r}{suggestion(str(value), schema['enum'])}")
    if schema.get("inside") and not _inside(value):
        raise wrong("leads out of the configuration's directory")
    inner = schema.get("items") or schema.get("additionalProperties")
    if wanted == "array" and inner:
        for item in value:
            problem = _scalar_problem(item, inner)
            if problem:
                raise wrong(problem, item)
    if wanted == "object" and inner:
        for key, item in value.items():
            problem = _entry_problem(item, inner)
            if problem:
                raise wrong(problem, key, f" for {key!r}")


def key_line(text: str, name: str, table: str, near: Any = None) -> int:
    """Return the line (from 1) of the key `name` of `table` in the TOML `text`, or of `near` after it.

    A key can also be a table of its own (`[tool.gclint.target]`); 1 where neither is found.
    """
    own = f"{table}.{name}".lstrip(".")
    key = re.compile(rf"""^\s*["']?{re.escape(name)}["']?\s*[=.]""")
    here, found = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        header = _TABLE.match(line)
        here = re.sub(r"[\s\"']", "", header[1]) if header else here
        if not found and ((header and here == own) or (here == table and key.match(line))):
            found = number
        if found and near is None:
            return found
        if found and str(near) in line:
            return number
    return found or 1


def _inside(path: str) -> bool:
    return not os.path.isabs(path) and not os.path.normpath(path).startswith("..")


def _entry_problem(item: Any, schema: Mapping[str, Any]) -> str:
    if schema.get("type") != "array":
        return _scalar_problem(item, schema)
    if not isinstance(item, list):
        return f"must be a list, not {item!r}"
    return next((problem for one in item if (problem := _scalar_problem(one, schema["items"]))), "")


def _scalar_problem(item: Any, schema: Mapping[str, Any]) -> str:
    if not isinstance(item, str):
        return f"must hold strings, not {item!r}"
    if "pattern" in schema and not re.search(schema["pattern"], item):
        return f"has {item!r}, which is not of the form {schema['pattern']}"
    return ""
