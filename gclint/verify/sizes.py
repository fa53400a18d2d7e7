"""The sizes that a project gives in its text: the tokens of a row, by the names that training programs use for them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

from gclint.source.source import Source

LENGTHS = re.compile(
    r"(model_)?max_(seq(uence)?_?)?len(gth)?|max_(seq|source|input)_(len|length)|seq(uence)?_?len(gth)?|"
    r"block_size|cutoff_len|context_length",
    re.IGNORECASE,
)


def likely_length(sources: Iterable[Source]) -> tuple[int, str] | None:
    """Return the largest length that a name of the project is given, and where; None where there is none."""
    found = [
        (number, f"{name} in {source.path}:{line}")
        for source in sources
        for name, number, line in numbers(source)
        if LENGTHS.fullmatch(name)
    ]
    return max(found, key=lambda each: each[0], default=None)


def numbers(source: Source) -> Iterator[tuple[str, int, int]]:
    """Yield (name, whole number, line) of assignments, keywords, defaults and dictionary keys of a file."""
    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        for name, value in _pairs(node):
            if isinstance(value, ast.Constant) and type(value.value) is int and value.value > 0:
                yield name.lstrip("-").replace("-", "_"), value.value, value.lineno


def _pairs(node: ast.AST) -> Iterator[tuple[str, Any]]:
    if isinstance(node, ast.Assign):
        yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, node.value
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value
    elif isinstance(node, ast.arguments):
        last = [*node.posonlyargs, *node.args][len(node.posonlyargs) + len(node.args) - len(node.defaults) :]
        yield from ((name.arg, value) for name, value in zip(last, node.defaults, strict=True))
        yield from ((name.arg, value) for name, value in zip(node.kwonlyargs, node.kw_defaults, strict=True))
    elif isinstance(node, ast.Call):
        yield from _arguments_of(node)


def _arguments_of(node: ast.Call) -> Iterator[tuple[str, Any]]:
    """The keywords of a call; of `add_argument("--name", default=3)` the option and its default."""
    first = node.args[-1] if node.args else None
    option = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    for keyword in node.keywords:
        if keyword.arg == "default" and option.startswith("--"):
            yield option, keyword.value
        elif keyword.arg is not None:
            yield keyword.arg, keyword.value
