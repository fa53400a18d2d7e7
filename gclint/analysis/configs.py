"""Configuration files that a program reads: their values, and the line and column of every key.

YAML is composed and built here node by node: no tag is acted on, aliases and merge keys are counted against
a bound. Scalars come out as `yaml.safe_load` gives them (`1e-4` is text, `1.0e-4` a number).
"""

from __future__ import annotations

import importlib
import json
import re
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

MAX_BYTES = 2_000_000
MAX_VALUES = 200_000
MAX_DEPTH = 60
KINDS = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml"}

KeyPath = tuple[str | int, ...]

JSON_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')
TOML_TABLE = re.compile(r"\s*\[(\[?)\s*(.+?)\s*\]?\]\s*(?:#.*)?$")
TOML_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
TOML_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")


class DocumentError(ValueError):
    """A configuration file that cannot be read: the text says why in one line, `line` is 0 when unknown."""

    def __init__(self, path: Path, reason: str, line: int = 0) -> None:
        super().__init__(f"{path}:{line}: {reason}" if line else f"{path}: {reason}")
        self.line = line


@dataclass(frozen=True)
class Document:
    """A configuration file: `value` as the program would load it, `places` from a key's path to line, column.

    Lines and columns count from 1 and are those of the key (of the item, in a list). A YAML value with a tag
    that safe loading refuses is None.
    """

    path: Path
    value: Any
    places: Mapping[KeyPath, tuple[int, int]] = field(default_factory=dict)

    def place(self, *keys: str | int) -> tuple[int, int]:
        """Where the key stands; the nearest enclosing key that has a place, else (1, 1)."""
        while keys and keys not in self.places:
            keys = keys[:-1]
        return self.places.get(keys, (1, 1))


def load_document(path: Path) -> Document:
    """Read a YAML, JSON or TOML file (told by its ending; others are read as YAML).

    Raises DocumentError when it cannot be read, is no such document, or passes the bounds.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise DocumentError(path, error.strerror or "cannot be read") from None
    if not stat.S_ISREG(status.st_mode):
        raise DocumentError(path, "not a regular file")
    if status.st_size > MAX_BYTES:
        raise DocumentError(path, f"larger than {MAX_BYTES} bytes")
    return _load(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=256)
def _load(path: Path, changed: int, size: int) -> Document:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DocumentError(path, error.strerror or "cannot be read") from None
    except UnicodeDecodeError:
        raise DocumentError(path, "not UTF-8 text") from None
    return read_document(text, path)


def read_document(text: str, path: Path) -> Document:
    """The document in `text`; `path` tells its kind and stands in the DocumentError that may be raised."""
    readers = {"yaml": _read_yaml, "json": _read_json, "toml": _read_toml}
    read = readers[KINDS.get(path.suffix.lower(), "yaml")]
    try:
        return read(text, path)
    except RecursionError:
        raise DocumentError(path, "nested too deeply") from None


def _read_json(text: str, path: Path) -> Document:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise DocumentError(path, f"not JSON: {error.msg}", error.lineno) from None
    except ValueError as error:
        raise DocumentError(path, f"not JSON that Python reads: {error}") from None
    return Document(path, value, _json_places(text, path))


def _json_places(text: str, path: Path) -> dict[KeyPath, tuple[int, int]]:
    places: dict[KeyPath, tuple[int, int]] = {}
    stack: list[str | int | None] = []
    line, line_start, counted = 1, 0, 0
    awaits_key = False
    for found in JSON_TOKEN.finditer(text):
        token = found.group()
        newlines = text.count("\n", counted, found.start())
        if newlines:
            line, line_start = line + newlines, text.rfind("\n", counted, found.start()) + 1
        counted = found.start()
        at = (line, counted - line_start + 1)
        if stack and isinstance(stack[-1], int) and token not in ",]":
            if len(places) > MAX_VALUES:
                raise DocumentError(path, "too many values", line)
            places.setdefault(_path(stack), at)
        if token in "{[":
            stack.append(None if token == "{" else 0)
            awaits_key = token == "{"
        elif token in "}]":
            stack.pop()
            awaits_key = False
        elif token == ",":
            top = stack[-1]
            stack[-1] = top + 1 if isinstance(top, int) else top
            awaits_key = not isinstance(top, int)
        elif awaits_key and token != ":":
            if len(places) > MAX_VALUES:
                raise DocumentError(path, "too many values", line)
            stack[-1] = json.loads(token)
            places[_path(stack)] = at
            awaits_key = False
    return places


def _path(stack: list[str | int | None]) -> KeyPath:
    return tuple(key for key in stack if key is not None)


def _read_toml(text: str, path: Path) -> Document:
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        value = toml.loads(text)
    except ValueError as error:
        found = re.search(r"line (\d+)", str(error))
        raise DocumentError(path, f"not TOML: {error}", int(found[1]) if found else 0) from None
    places: dict[KeyPath, tuple[int, int]] = {}
    table: KeyPath = ()
    counts: dict[KeyPath, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        head, key = TOML_TABLE.fullmatch(line), TOML_KEY.match(line)
        if head and not key:
            table = _toml_keys(head[2])
            if head[1]:
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            places.setdefault(table, (number, 1))
        elif key:
            places.setdefault((*table, *_toml_keys(key[1])), (number, key.start(1) + 1))
    return Document(path, value, places)


def _toml_keys(text: str) -> KeyPath:
    return tuple(part.strip("\"'") for part in TOML_PART.findall(text))


def _read_yaml(text: str, path: Path) -> Document:
    import yaml

    try:
        nodes = yaml.compose_all(text, Loader=yaml.SafeLoader)
        root = next(iter(nodes), None)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise DocumentError(path, f"not YAML: {error.problem}", line) from None
    except (yaml.YAMLError, ValueError) as error:
        raise DocumentError(path, f"not YAML: {str(error).splitlines()[0]}") from None
    builder = _YamlBuilder(path, yaml.constructor.SafeConstructor())
    value = builder.build(root, (), 0) if root is not None else None
    return Document(path, value, builder.places)


@dataclass
class _YamlBuilder:
    path: Path
    scalars: Any
    places: dict[KeyPath, tuple[int, int]] = field(default_factory=dict)
    values: int = 0

    def build(self, node: Any, keys: KeyPath, depth: int) -> Any:
        self.values += 1
        if self.values > MAX_VALUES or depth > MAX_DEPTH:
            raise DocumentError(self.path, "too many or too deeply nested values", node.start_mark.line + 1)
        if node.id == "sequence":
            return [self._item(item, (*keys, at), depth) for at, item in enumerate(node.value)]
        if node.id == "mapping":
            return self._mapping(node, keys, depth)
        return self._scalar(node)

    def _item(self, node: Any, keys: KeyPath, depth: int) -> Any:
        self._note(keys, node)
        return self.build(node, keys, depth + 1)

    def _mapping(self, node: Any, keys: KeyPath, depth: int) -> dict[Any, Any]:
        merged: dict[Any, Any] = {}
        own: dict[Any, Any] = {}
        for key, value in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                for source in reversed(value.value if value.id == "sequence" else [value]):
                    found = self.build(source, keys, depth + 1)
                    merged |= found if isinstance(found, dict) else {}
                continue
            name = self._scalar(key) if key.id == "scalar" else None
            inner = (*keys, name if isinstance(name, (str, int)) else str(name))
            self._note(inner, key)
            own[name] = self.build(value, inner, depth + 1)
        return {**merged, **own}

    def _scalar(self, node: Any) -> Any:
        import yaml

        try:
            return self.scalars.construct_object(node)
        except (yaml.YAMLError, ValueError, TypeError, OverflowError):
            return None

    def _note(self, keys: KeyPath, node: Any) -> None:
        self.places[keys] = (node.start_mark.line + 1, node.start_mark.column + 1)
