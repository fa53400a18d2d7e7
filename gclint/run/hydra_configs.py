"""Hydra configurations: the primary file, what its defaults list adds, and what the command line changes.

The order is that of hydra 1.1 to 1.3: later entries win, and a file without `_self_` comes after its own defaults.
A configuration may also be written in Python and stored under a name; a file of that name comes first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gclint.source.source import content, inside

from ..ir.configs import DocumentError, load_document
from .pages import Listed
from .pages import Mapping as Placed

if TYPE_CHECKING:
    from ..ir.syntax import Site

MAX_DEPTH = 8
MANDATORY = "???"
TEMPLATES = (".example.yaml", ".template.yaml", ".sample.yaml")
"""How the files end of which a user makes those that a program asks for and that the project does not have."""
PACKAGE = re.compile(r"^#\s*@package\s+(\S+)\s*$", re.MULTILINE)
GROUP = re.compile(r"(?:(override|optional)\s+)?(/?[\w/.-]+)(?:@([\w.]+))?")
OVERRIDE = re.compile(r"(\+{0,2}|~)([\w./@-]+)(?:=(.*))?", re.DOTALL)
EXPONENT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)[eE][+-]?\d+")
REFERENCE = re.compile(r"\$\{(\.*[\w.]+)\}")


@dataclass(frozen=True)
class Stored:
    """A configuration that the program stores: plain data with its `defaults`, and its package ("" for the usual)."""

    value: dict[str, Any]
    package: str = ""


def composed(
    directory: Path | None,
    name: str,
    words: Sequence[str] = (),
    stored: Mapping[str, Stored] | None = None,
    load: Callable[[str], Any] = lambda path: load_document(Path(path)).value,
    place: Callable[[str], Site | None] = lambda word: None,
    root: Path | None = None,
) -> dict[str, Any] | None:
    """The configuration `name` of a directory as the program gets it; None when there is no such configuration. Links
    are followed below `root`, which is the directory itself unless another one is given.

    Those in `stored` are known by `group/name`. Interpolations of other keys are put in, others stay as written. What
    `load` reads keeps the places that it has (`pages.Mapping`), and a value of one of the words that of `place`.
    """
    reading = _Reading(directory, stored or {}, load, root)
    values = reading.take(words)
    reading.collect(name)
    for group, choice in list(reading.choices.items()):
        reading.collect(f"{group.partition('@')[0]}/{choice}")
    found = reading.read(name, "", 0)
    if found is None:
        return None
    for group, choice in reading.added:
        _merge(found, reading.of_group(GROUP.fullmatch(group), group.partition("@")[0], "", choice, 0) or {})
    for key, value, word in values:
        _set(found, key, value, place(word))
    made: dict[str, Any] = _resolved(found, found)
    return made


class _Reading:
    """The configurations of one directory and those stored; `choices` are the groups' options that were asked for, of a
    group that goes to a package of its own as `group@package`.
    """

    def __init__(
        self,
        directory: Path | None,
        stored: Mapping[str, Stored],
        load: Callable[[str], Any],
        root: Path | None = None,
    ):
        self.directory = directory
        self.root = root if root is not None else directory
        self.load = load
        self.stored = stored
        self.choices: dict[str, str] = {}
        self.groups: set[str] = set()

    def take(self, words: Sequence[str]) -> list[tuple[str, Any, str]]:
        """Keep the group choices on a command line; returns the keys and values on it, each with its word."""
        import yaml

        values: list[tuple[str, Any, str]] = []
        for word in words:
            found = OVERRIDE.fullmatch(word)
            if found is None or word.startswith("-") or found[3] is None:
                continue
            if self._is_group(found[2].partition("@")[0]):
                if "$" not in found[3]:  # of a choice that only the shell knows the default stands for any
                    self.choices[found[2]] = found[3]
                continue
            try:
                values.append((found[2], yaml.safe_load(found[3]), word))
            except yaml.YAMLError:
                values.append((found[2], found[3], word))
        return values

    def _is_group(self, name: str) -> bool:
        inside_store = any(key.startswith(f"{name}/") for key in self.stored)
        return inside_store or (self.directory is not None and (self.directory / name).is_dir())

    @property
    def added(self) -> list[tuple[str, str]]:
        """The groups that only the command line names."""
        return [(group, choice) for group, choice in self.choices.items() if group not in self.groups]

    def collect(self, name: str) -> None:
        """Take the `override` entries of the primary file as choices."""
        for entry in self._defaults(self._value(name)):
            if isinstance(entry, dict):
                for key, choice in entry.items():
                    found = GROUP.fullmatch(str(key))
                    if found and found[1] == "override":
                        wanted = f"{found[2]}@{found[3]}" if found[3] else found[2]
                        self.choices.setdefault(wanted.lstrip("/"), str(choice))
                        self.groups.add(wanted.lstrip("/"))

    def read(self, name: str, group: str, depth: int) -> dict[str, Any] | None:
        """One file with its defaults, each under its package; None when it cannot be read."""
        value = self._value(name)
        if not isinstance(value, dict) or depth > MAX_DEPTH:
            return None
        own = _copied(value, {key: item for key, item in value.items() if key != "defaults"})
        entries = self._defaults(value)
        if "_self_" not in entries:
            entries = [*entries, "_self_"]
        made = _copied(value, {})
        for entry in entries:
            part = own if entry == "_self_" else self._entry(entry, group, depth)
            if part:
                _merge(made, part)
        return made

    def _entry(self, entry: Any, group: str, depth: int) -> dict[str, Any] | None:
        if isinstance(entry, str):
            return self.read(f"{group}/{entry}" if group and not entry.startswith("/") else entry, group, depth + 1)
        if not isinstance(entry, dict) or len(entry) != 1:
            return None
        (key, choice), *_ = entry.items()
        found = GROUP.fullmatch(str(key))
        if found is None or found[1] == "override":
            return None
        wanted = found[2].lstrip("/") if found[2].startswith("/") or not group else f"{group}/{found[2]}"
        above = group.replace("/", ".")
        names = [f"{wanted}@{above}.{found[3]}", f"{wanted}@{found[3]}"] if found[3] else [wanted]
        self.groups.update(names)
        choice = next((self.choices[each] for each in names if each in self.choices), choice)
        return self.of_group(found, wanted, group, choice, depth) if isinstance(choice, str) else None

    def of_group(
        self, found: re.Match[str] | None, wanted: str, group: str, choice: str, depth: int
    ) -> dict[str, Any] | None:
        """An option of a group under its package; None when it cannot be read."""
        part = self.read(f"{wanted}/{choice}", wanted, depth + 1)
        if part is None or found is None:
            return None
        return _nested(self._package(found, wanted, group, f"{wanted}/{choice}"), part)

    def _package(self, found: re.Match[str], wanted: str, group: str, name: str) -> str:
        """Where a group's file goes, below the file that names it."""
        stated = self._stated_package(name)
        if stated:
            return "" if stated == "_global_" else stated.replace("_group_", wanted.replace("/", "."))
        if found[3]:
            return "" if found[3] in ("_global_", "_here_") else found[3]
        inner = wanted.removeprefix(f"{group}/") if group else wanted
        return inner.replace("/", ".")

    def _value(self, name: str) -> Any:
        path = self._path(name)
        if path is None:
            held = self.stored.get(_plain(name))
            return held.value if held is not None else None
        try:
            return self.load(os.path.realpath(path)) or {}
        except DocumentError:
            return None

    def _stated_package(self, name: str) -> str:
        path = self._path(name)
        if path is None:
            held = self.stored.get(_plain(name))
            return held.package if held is not None else ""
        found = PACKAGE.search(content(path).decode("utf-8", errors="replace"))
        return found[1] if found else ""

    def _path(self, name: str) -> Path | None:
        """The file of a configuration, or what there is to be copied to it; None when there is none."""
        if self.directory is None or self.root is None or os.path.normpath(_plain(name)).startswith(os.pardir):
            return None
        paths = [self.directory / f"{_plain(name)}{ending}" for ending in (".yaml", *TEMPLATES)]
        return next((path for path in paths if inside(path, self.root) and path.is_file()), None)

    @staticmethod
    def _defaults(value: Any) -> list[Any]:
        held = value.get("defaults") if isinstance(value, dict) else None
        return held if isinstance(held, list) else []


def _plain(name: str) -> str:
    return name.lstrip("/").removesuffix(".yaml")


def _nested(package: str, value: dict[str, Any]) -> dict[str, Any]:
    for part in reversed([part for part in package.split(".") if part]):
        value = Placed({part: value})
    return value


def _merge(into: dict[str, Any], other: Mapping[str, Any]) -> None:
    for key, value in other.items():
        held = into.get(key)
        if isinstance(held, dict) and isinstance(value, dict):
            _merge(held, value)
        elif key not in into or not is_mandatory(value):
            _put(into, key, _merged_copy(value), getattr(other, "sites", {}).get(key))


def _put(into: dict[str, Any], key: str, value: Any, site: Site | None = None) -> None:
    if isinstance(into, Placed):
        into.put(key, value, site)
    else:
        into[key] = value


def _copied(value: dict[str, Any], items: dict[str, Any]) -> dict[str, Any]:
    """Other items in a mapping that is written where this one is."""
    return Placed(items, getattr(value, "site", None), getattr(value, "sites", {}))


def is_mandatory(value: Any) -> bool:
    """Whether a value is still to be given: it replaces none that is there."""
    return isinstance(value, str) and value == MANDATORY


def _merged_copy(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return _copied(value, {key: _merged_copy(item) for key, item in value.items()})


def _set(into: dict[str, Any], key: str, value: Any, site: Site | None) -> None:
    *outer, last = key.split(".")
    for part in outer:
        held = into.get(part)
        if not isinstance(held, dict):
            held = Placed()
            _put(into, part, held)
        into = held
    _put(into, last, value, site)


def _resolved(value: Any, top: dict[str, Any], depth: int = 0) -> Any:
    if depth > 4 * MAX_DEPTH:
        return value
    if isinstance(value, dict):
        return _copied(value, {key: _resolved(item, top, depth + 1) for key, item in value.items()})
    if isinstance(value, list):
        items = [_resolved(item, top, depth + 1) for item in value]
        return Listed(items, getattr(value, "site", None), getattr(value, "sites", {}))
    if isinstance(value, str) and EXPONENT.fullmatch(value):
        return float(value)  # a number to OmegaConf, text to YAML
    found = REFERENCE.fullmatch(value) if isinstance(value, str) else None
    if found is None or found[1].startswith("."):
        return value
    held: Any = top
    for part in found[1].split("."):
        held = held.get(part, value) if isinstance(held, dict) else value
    return held if held is value else _resolved(held, top, depth + 1)
