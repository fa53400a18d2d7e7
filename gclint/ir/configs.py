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
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..compiled import cached, interpreted
from ..documents.json_parts import json_parts
from ..documents.parts import BadText, KeyPath, Part, Parts
from ..documents.toml_parts import toml_parts
from ..source.lines import line_starts
from ..source.source import given

MAX_BYTES = 2_000_000
MAX_VALUES = 200_000
MAX_DEPTH = 60
KINDS = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml"}


class DocumentError(ValueError):
    """A configuration file that cannot be read: the text says why in one line, `line` is 0 when unknown."""

    def __init__(self, path: Path, reason: str, line: int = 0) -> None:
        super().__init__(f"{path}:{line}: {reason}" if line else f"{path}: {reason}")
        self.line = line


@interpreted
@dataclass(frozen=True)
class Document:
    """A configuration file: `value` as the program would load it, and the `parts` of its `text` by the path of keys;
    its `kind` is what it is written in, "yaml", "json" or "toml".

    A YAML value with a tag that safe loading refuses is None.
    """

    path: Path
    value: Any
    text: str = field(default="", repr=False)
    parts: Parts = field(default_factory=dict, repr=False)
    kind: str = "yaml"

    @cached
    def _starts(self) -> list[int]:
        return line_starts(self.text)

    def at(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset, both from 1."""
        line = min(bisect_right(self._starts, offset), max(1, len(self._starts) - 1))
        return line, offset - self._starts[line - 1] + 1

    def place(self, *keys: str | int) -> tuple[int, int]:
        """Where the key stands (the item, in a list); the nearest enclosing key that has a place, else (1, 1)."""
        while keys and keys not in self.parts:
            keys = keys[:-1]
        return self.at(self.parts[keys].start) if keys else (1, 1)


def load_document(path: Path) -> Document:
    """Read a YAML, JSON or TOML file (told by its ending; others are read as YAML).

    Raises DocumentError when it cannot be read, is no such document, or passes the bounds.
    """
    if (held := given(path)) is not None:
        return _decoded(held, path)
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
        return _decoded(path.read_bytes(), path)
    except OSError as error:
        raise DocumentError(path, error.strerror or "cannot be read") from None


def _decoded(data: bytes, path: Path) -> Document:
    try:
        return read_document(data.decode("utf-8-sig"), path)
    except UnicodeDecodeError:
        raise DocumentError(path, "not UTF-8 text") from None


def read_document(text: str, path: Path) -> Document:
    """The document in `text`; `path` tells its kind and stands in the DocumentError that may be raised."""
    readers = {"yaml": _read_yaml, "json": _read_json, "toml": _read_toml}
    try:
        return readers[_kind_of(text, path)](text, path)
    except RecursionError:
        raise DocumentError(path, "nested too deeply") from None


def _kind_of(text: str, path: Path) -> str:
    """What a text is written in; of what no suffix names JSON, where it is that, which is read far faster than YAML."""
    named = KINDS.get(path.suffix.lower())
    if named or text.lstrip()[:1] not in ("{", "["):
        return named or "yaml"
    try:
        json.loads(text)
    except ValueError:
        return "yaml"
    return "json"


def _read_json(text: str, path: Path) -> Document:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise DocumentError(path, f"not JSON: {error.msg}", error.lineno) from None
    except ValueError as error:
        raise DocumentError(path, f"not JSON that Python reads: {error}") from None
    return Document(path, value, text, _counted(text, path, lambda: json_parts(text, MAX_VALUES)), "json")


def _counted(text: str, path: Path, read: Callable[[], dict[KeyPath, Part]]) -> dict[KeyPath, Part]:
    try:
        return read()
    except BadText as error:
        raise DocumentError(path, str(error), text.count("\n", 0, error.offset or 0) + 1) from None


def _read_toml(text: str, path: Path) -> Document:
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        value = toml.loads(text)
    except ValueError as error:
        found = re.search(r"line (\d+)", str(error))
        raise DocumentError(path, f"not TOML: {error}", int(found[1]) if found else 0) from None
    return Document(path, value, text, _counted(text, path, lambda: toml_parts(text)), "toml")


def _read_yaml(text: str, path: Path) -> Document:
    import yaml

    from ..documents.yaml_parts import Loader

    try:
        nodes = yaml.compose_all(text, Loader=Loader)
        root = next(iter(nodes), None)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise DocumentError(path, f"not YAML: {error.problem}", line) from None
    except (yaml.YAMLError, ValueError) as error:
        raise DocumentError(path, f"not YAML: {str(error).splitlines()[0]}") from None
    builder = _YamlBuilder(path, text, yaml.constructor.SafeConstructor())
    value = builder.build(root, None, (), 0) if root is not None else None
    return Document(path, value, text, builder.parts)


@dataclass
class _YamlBuilder:
    path: Path
    text: str
    scalars: Any
    parts: dict[KeyPath, Part] = field(default_factory=dict)
    values: int = 0

    def build(self, node: Any, key: Any, keys: KeyPath, depth: int, merged: bool = False) -> Any:
        from ..documents.yaml_parts import part_of

        self.values += 1
        if self.values > MAX_VALUES or depth > MAX_DEPTH:
            raise DocumentError(self.path, "too many or too deeply nested values", node.start_mark.line + 1)
        if not merged:
            self.parts[keys] = part_of(self.text, key, node)
        if node.id == "sequence":
            return [self.build(item, None, (*keys, at), depth + 1) for at, item in enumerate(node.value)]
        if node.id == "mapping":
            return self._mapping(node, keys, depth)
        return self._scalar(node)

    def _mapping(self, node: Any, keys: KeyPath, depth: int) -> dict[Any, Any]:
        merged: dict[Any, Any] = {}
        own: dict[Any, Any] = {}
        pairs = sorted(node.value, key=lambda pair: pair[0].tag != "tag:yaml.org,2002:merge")
        for key, value in pairs:
            if key.tag == "tag:yaml.org,2002:merge":
                for source in reversed(value.value if value.id == "sequence" else [value]):
                    found = self.build(source, None, keys, depth + 1, merged=True)
                    merged |= found if isinstance(found, dict) else {}
                continue
            name = self._scalar(key) if key.id == "scalar" else None
            inner = (*keys, name if isinstance(name, (str, int)) else str(name))
            own[name] = self.build(value, key, inner, depth + 1)
        return {**merged, **own}

    def _scalar(self, node: Any) -> Any:
        import yaml

        try:
            return self.scalars.construct_object(node)
        except (yaml.YAMLError, ValueError, TypeError, OverflowError):
            return None
