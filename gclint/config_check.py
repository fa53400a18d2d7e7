"""What a table of the configuration says, its values against their schemas, and the line a mistake is on."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

OTHER_NAMES = {
    "pytorch": "torch",
    "bnb": "bitsandbytes",
    "pl": "pytorch-lightning",
    "huggingface": "transformers",
    "hf": "transformers",
}
_TABLE = re.compile(r"^\s*\[([^\[\]]+)\]\s*(?:#.*)?$")
_TYPES = {"array": list, "string": str, "boolean": bool, "object": dict}
_WORDS = {"array": "a list", "string": "a string", "boolean": "true or false", "object": "a table"}


class Fault(NamedTuple):
    """What is wrong with the value of a key, and the item or entry that is, None for all of it."""

    what: str
    item: Any = None


def said_by(table: Mapping[str, Any], place: Callable[[str, Any], str]) -> dict[str, Any]:
    """Return what a table of keys and values says, by the fields of `Settings`.

    `place` tells where a key, and an item of its value, stands. Raises `BadConfig` for the first mistake.
    """
    from gclint.config import BadConfig, frozen, keys, suggestion

    known = keys()
    values = {}
    for name, value in table.items():
        if name not in known:
            raise BadConfig(f"{place(name, None)}: unknown key `{name}`{suggestion(name, list(known))}")
        schema = known[name].metadata["schema"]
        fault = fault_of(value, schema)
        if fault is not None:
            raise BadConfig(f"{place(name, fault.item)}: `{name}` {fault.what}")
        values[known[name].name] = frozen(value, schema)
    return values


def fault_of(value: Any, schema: Mapping[str, Any]) -> Fault | None:
    """Return what is wrong with the value of a key by its schema, None when it fits."""
    wanted = schema.get("type")
    if wanted and not isinstance(value, _TYPES[wanted]):
        return Fault(f"must be {_WORDS[wanted]}, not {value!r}")
    if "enum" in schema and value not in schema["enum"]:
        return Fault(_no_choice(value, schema["enum"]))
    if schema.get("inside") and os.path.normpath(value) == ".":
        return Fault("must name a directory of its own, below the configuration's")
    if schema.get("inside") and not _inside(value):
        return Fault("leads out of the configuration's directory")
    return _part_fault(value, schema) if wanted in ("array", "object") else None


def _part_fault(value: Any, schema: Mapping[str, Any]) -> Fault | None:
    if schema["type"] == "array":
        return next(
            (Fault(problem, item) for item in value if (problem := _scalar_problem(item, schema["items"]))), None
        )
    for key, item in value.items():
        problem = _scalar_problem(key, schema["propertyNames"]) if "propertyNames" in schema else ""
        if problem:
            return Fault(problem, key)
        problem = _entry_problem(item, schema["additionalProperties"])
        if problem:
            return Fault(f"for {key!r} {problem}", key)
        near = misspelt(key, schema.get("names", ()))
        if near:
            return Fault(f"names `{key}`{near}", key)
    return None


def misspelt(name: str, known: Sequence[str]) -> str:
    """Return `; did you mean ...?` for a name that is not `known` and very near one that is, else "".

    Very near is also one that has the same letters in another order, and what people call one of the libraries.
    """
    from gclint.config import suggestion

    plain = name.lower().replace("_", "-")
    if plain in known:
        return ""
    if OTHER_NAMES.get(plain) in known:
        return f"; did you mean `{OTHER_NAMES[plain]}`?"
    longer = plain.startswith(tuple(known))
    turned = [one for one in known if sorted(one) == sorted(plain)]
    return suggestion(plain, turned or list(known), cutoff=0.1 if turned else 0.85 if longer else 0.8)


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


def _no_choice(value: Any, choices: list[str]) -> str:
    from gclint.config import suggestion

    return f"must be one of {', '.join(choices)}, not {value!r}{suggestion(str(value), choices)}"


def _entry_problem(item: Any, schema: Mapping[str, Any]) -> str:
    if schema.get("type") != "array":
        return _scalar_problem(item, schema)
    if not isinstance(item, list):
        return f"must be a list, not {item!r}"
    return next((problem for one in item if (problem := _scalar_problem(one, schema["items"]))), "")


def _scalar_problem(item: Any, schema: Mapping[str, Any]) -> str:
    from gclint.check.selection import code_of, no_code
    from gclint.config import CODE

    if "enum" in schema:
        return "" if item in schema["enum"] else _no_choice(item, schema["enum"])
    if not isinstance(item, str):
        return f"must hold strings, not {item!r}"
    if "pattern" in schema and not re.search(schema["pattern"], item):
        return f"has {item!r}, which is not of the form {schema['pattern']}"
    if schema is CODE and code_of(item) is None:
        return f"has {item!r}, which {no_code(item)}"
    return ""
