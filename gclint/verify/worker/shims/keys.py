"""Which columns a program's text reads: keys it writes out, and keys that its variables and options hold."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

NAME = re.compile(r"[A-Za-z_]\w*( \w+)*")
ENDS = ("_field", "_column", "_column_name", "_columns", "_key")
MADE_BY_TOKENIZERS = frozenset(
    {"input_ids", "attention_mask", "token_type_ids", "special_tokens_mask", "labels", "label_ids", "pixel_values"}
)


@lru_cache(maxsize=4)
def read_by(text: str) -> tuple[str, ...]:
    """The names that the program's code uses as keys, in order: x["name"], x[column] where `column` is a name, and
    what options such as --text_column hold, given or by default. Those that it only ever writes are its own."""
    names: dict[str, None] = {}
    written: set[str] = set()
    read: set[str] = set()
    for part in text.split("\0"):
        try:
            tree = ast.parse(part)
        except (SyntaxError, ValueError, RecursionError):
            continue
        held = dict(_held(tree))
        for node in ast.walk(tree):
            found = _keys(node, held)
            names.update(dict.fromkeys(found))
            if isinstance(node, ast.Subscript):
                (written if isinstance(node.ctx, ast.Store) else read).update(found)
            elif isinstance(node, ast.Call):
                read.update(found)
    own = MADE_BY_TOKENIZERS | (written - read)
    return tuple(name for name in names if NAME.fullmatch(name) and name not in own)


def _held(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Variables that are bound to a text, and options whose name says that they hold a column's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and (value := _strings([node.value])):
            yield from ((each.id, value[0]) for each in node.targets if isinstance(each, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield from _option(node.target.id, _default(node.value))
        elif isinstance(node, ast.Call) and node.args and (named := _strings(node.args[:1])):
            yield from _option(named[0].lstrip("-").replace("-", "_"), _default(node))


def _option(name: str, default: str) -> Iterator[tuple[str, str]]:
    if not name.endswith(ENDS):
        return
    given = _given(name) or default
    if given:
        yield name, given


def _given(name: str) -> str:
    """What the command line holds for an option, "" for nothing."""
    for word, after in zip(sys.argv, [*sys.argv[1:], ""], strict=True):
        option, equals, value = word.lstrip("-").replace("-", "_").partition("=")
        if word.startswith("--") and option == name:
            return value if equals else after
    return ""


def _default(node: Any) -> str:
    if isinstance(node, ast.Call):
        return next((text for each in node.keywords if each.arg == "default" for text in _strings([each.value])), "")
    return next(iter(_strings([node])), "")


def _keys(node: ast.AST, held: dict[str, str]) -> list[str]:
    if isinstance(node, ast.Subscript):
        named = node.slice.attr if isinstance(node.slice, ast.Attribute) else getattr(node.slice, "id", "")
        return [held[named]] if named in held else _strings([node.slice])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        return _strings(node.args[:1])
    if isinstance(node, ast.keyword) and (node.arg or "").endswith(ENDS):
        values = node.value.elts if isinstance(node.value, (ast.List, ast.Tuple)) else [node.value]
        return _strings(values)
    return []


def _strings(nodes: Any) -> list[str]:
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
