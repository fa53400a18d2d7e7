"""Frozen dataclasses to plain JSON data and back, so that every record here is readable as a file."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")


def to_data(value: Any) -> Any:
    """Return `value` as dicts, lists and scalars; a dataclass with a class attribute `do` keeps it as a key.

    Fields that still have their default are left out, which keeps recipes short to read.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        tag = getattr(value, "do", None)
        data: dict[str, Any] = {"do": tag} if isinstance(tag, str) else {}
        for each in dataclasses.fields(value):
            current = getattr(value, each.name)
            if not _is_default(each, current):
                data[each.name] = to_data(current)
        return data
    if isinstance(value, Mapping):
        return {str(key): to_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_data(item) for item in value]
    return value


def from_data(kind: type[T], data: Mapping[str, Any]) -> T:
    """Return the dataclass `kind` made of `data`; raise ValueError that names an unknown key."""
    hints = typing.get_type_hints(kind)
    names = {each.name for each in dataclasses.fields(kind)}  # type: ignore[arg-type]
    unknown = set(data) - names - {"do"}
    if unknown:
        raise ValueError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
    return kind(**{name: _convert(hints[name], item) for name, item in data.items() if name in names})


def _is_default(each: dataclasses.Field[Any], current: Any) -> bool:
    if each.default is not dataclasses.MISSING:
        return bool(current == each.default)
    if each.default_factory is not dataclasses.MISSING:
        return bool(current == each.default_factory())
    return False


def _convert(hint: Any, item: Any) -> Any:
    origin = typing.get_origin(hint)
    if item is None:
        return None
    if origin in (typing.Union, types.UnionType):
        return _convert_union(typing.get_args(hint), item)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and isinstance(item, Mapping):
        return from_data(hint, item)
    if origin is tuple and isinstance(item, (list, tuple)):
        arguments = typing.get_args(hint)
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(_convert(arguments[0], each) for each in item)
        return tuple(_convert(inner, each) for inner, each in zip(arguments, item, strict=True))
    if origin is list:
        return [_convert(typing.get_args(hint)[0], each) for each in item]
    if origin in (dict, Mapping) and isinstance(item, Mapping):
        return {key: _convert(typing.get_args(hint)[1], each) for key, each in item.items()}
    return item


def _convert_union(arguments: tuple[Any, ...], item: Any) -> Any:
    for inner in arguments:
        is_record = isinstance(inner, type) and dataclasses.is_dataclass(inner)
        is_sequence = typing.get_origin(inner) in (tuple, list)
        is_table = typing.get_origin(inner) in (dict, Mapping)
        if isinstance(item, Mapping) and (is_record or is_table):
            return _convert(inner, item)
        if isinstance(item, (list, tuple)) and is_sequence:
            return _convert(inner, item)
    return item
