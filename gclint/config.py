"""The configuration: its keys, each defined once.

The fields of `Settings` are the keys. Their metadata generates the checking of a file, the message for a
mistake with its line, and the JSON schema. `gclint.config_files` reads the files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import Field

    from gclint.finding import Level

ALL = "ALL"
CERTAINTIES = ("costs", "fragile", "fails")
LEVELS = ("error", "warning", "note")
FILES = (".gclint.toml", "gclint.toml", "pyproject.toml")
INLINE = "--config"
# what a rule or a framework asks the version of
LIBRARIES = (
    "accelerate", "bitsandbytes", "datasets", "deepspeed", "diffusers", "lightning", "peft", "pytorch-lightning",
    "torch", "torchao", "torchtune", "torchvision", "transformers", "trl", "unsloth",
)  # fmt: skip
# patterns stay with the file that they stand in: they are relative to it
PATTERNS = ("exclude", "extend_exclude", "per_file_ignores", "extend_per_file_ignores")
SCHEMA = "https://json.schemastore.org/gclint.json"


class BadConfig(Exception):
    """A mistake in the configuration, its place first; one line."""


def _key(default: Any, schema: Mapping[str, Any], text: str) -> Any:
    metadata = {"schema": {**schema, "description": text}}
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


# codes, prefixes of codes, and names of rules
CODE = {"type": "string", "pattern": "^(ALL|[A-Z]+[0-9]*|[a-z][a-z0-9]*(-[a-z0-9]+)*)$"}
_CODES = {"type": "array", "items": CODE}
_BY_FILE = {"type": "object", "additionalProperties": _CODES}
_PATTERNS = {"type": "array", "items": {"type": "string"}}
_FLAG = {"type": "boolean"}


@dataclass(frozen=True)
class Settings:
    """What a configuration file says, with defaults for the rest.

    `root` is the directory of that file (patterns are relative to it), `origin` the file, `INLINE`, or "" for none,
    `base` what the file that it extends says: of that all is taken over here but its patterns.
    """

    extend: str = _key(
        "", {"type": "string"}, "Another configuration file, relative to this one, that holds where this one is silent."
    )
    select: tuple[str, ...] = _key(("ALL",), _CODES, "Codes, prefixes of codes or names of rules to check.")
    ignore: tuple[str, ...] = _key((), _CODES, "Codes, prefixes or names not to check.")
    extend_select: tuple[str, ...] = _key((), _CODES, "Codes, prefixes or names to check besides `select`.")
    fixable: tuple[str, ...] = _key(("ALL",), _CODES, "Codes, prefixes or names that `gclint fix` may fix.")
    unfixable: tuple[str, ...] = _key((), _CODES, "Codes, prefixes or names that `gclint fix` leaves alone.")
    exclude: tuple[str, ...] | None = _key(
        None, _PATTERNS, "Patterns, as in .gitignore, of what is not checked; replaces the default list."
    )
    extend_exclude: tuple[str, ...] = _key((), _PATTERNS, "Patterns of what is not checked, besides `exclude`.")
    per_file_ignores: Mapping[str, tuple[str, ...]] = _key(
        {}, _BY_FILE, "Codes to ignore in the files a pattern matches."
    )
    extend_per_file_ignores: Mapping[str, tuple[str, ...]] = _key({}, _BY_FILE, "More of them, besides inherited ones.")
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
    severity: Mapping[str, Level] = _key(
        {},
        {"type": "object", "propertyNames": CODE, "additionalProperties": {"enum": list(LEVELS)}},
        "What findings count as, by codes, prefixes or names: only a `note` leaves the exit status 0. "
        "`ignore` turns rules off.",
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
    base: Settings | None = None

    def merged(self, **given: Any) -> Settings:
        """Return these settings with what was `given` on the command line or by keyword; None and empty say nothing."""
        said = {name: value for name, value in given.items() if value not in (None, (), {})}
        return self.extended(said, root=self.root, origin=self.origin) if said else self

    def extended(self, said: Mapping[str, Any], root: str, origin: str) -> Settings:
        """Return the settings of what says `said`, and these where that is silent.

        As in Ruff: a `select` sets aside the `ignore` and `extend_select` of these, a `fixable` the `unfixable`; else
        codes are added, and turn on or off what these have of them. Of `target` and `severity` each entry is laid over.
        """
        made = {**{name: getattr(_DEFAULTS, name) for name in PATTERNS}, **said}
        on, off = said.get("extend_select", ()), said.get("ignore", ())
        if "select" not in said:
            made["select"] = _uncovered(self.select, off)
            made["extend_select"] = (*_uncovered(self.extend_select, off), *on)
            made["ignore"] = (*_uncovered(self.ignore, on), *off)
        else:
            made |= {"extend_select": on, "ignore": off}
        made["unfixable"] = (*(() if "fixable" in said else self.unfixable), *said.get("unfixable", ()))
        made |= {name: {**getattr(self, name), **said.get(name, {})} for name in ("target", "severity")}
        return replace(self, **made, root=root, origin=origin, base=self._silent(said))

    def lineage(self) -> Iterator[Settings]:
        """The settings of what is extended, the outermost first, and these."""
        if self.base is not None:
            yield from self.base.lineage()
        yield self

    def in_force(self, name: str) -> Any:
        """Return the value of a field, of patterns those of every file: each is relative to its own."""
        own = getattr(self, name)
        if name not in PATTERNS or self.base is None:
            return own
        below = self.base.in_force(name)
        return {**below, **own} if isinstance(own, dict) else (*below, *own) if below and own else own or below

    def _silent(self, said: Mapping[str, Any]) -> Settings:
        """These settings without the patterns that are `said` to be others."""
        gone = {name: getattr(_DEFAULTS, name) for name in PATTERNS if name in said and not name.startswith("extend_")}
        return replace(self, **gone, base=self.base._silent(said) if self.base else None)

    def cache_below(self, directory: str) -> str:
        """Return where the cache is: below the configuration's directory, else below this one."""
        return os.path.join(self.root or directory, self.cache_dir)


_DEFAULTS = Settings()


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


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings given by keyword, as a configuration file would have them; raises `BadConfig`."""
    from gclint.config_check import fault_of

    known = {item.name: item for item in keys().values() if item.name != "extend"}
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
        values[name] = frozen(plain, known[name].metadata["schema"])
    return values


def _uncovered(prefixes: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Those of the prefixes of codes that none of the others is a prefix of."""
    return tuple(item for item in prefixes if not any(other == ALL or item.startswith(other) for other in others))


def suggestion(name: str, known: list[str], cutoff: float = 0.6) -> str:
    """Return `; did you mean ...?` with the nearest of `known`, "" where none is near."""
    near = get_close_matches(name, known, n=1, cutoff=cutoff)
    return f"; did you mean `{near[0]}`?" if near else ""


def frozen(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a value that fits `schema` as settings hold it: lists as tuples, rules by their codes."""
    from gclint.check.selection import code_of

    if isinstance(value, list):
        return tuple(code_of(item) or item if schema["items"] is CODE else item for item in value)
    if isinstance(value, dict):
        by_code = schema.get("propertyNames") is CODE
        inner = {key: frozen(each, schema["additionalProperties"]) for key, each in value.items()}
        return {(by_code and code_of(key)) or key: each for key, each in inner.items()}
    return value
