"""What the annotation of a parameter or a field names, also one that is written as a text."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gclint.ir.syntax import Module, nodes

from .option_names import last_name
from .option_places import names_of


def named_in(annotation: ast.AST | None, module: Module) -> set[str]:
    """The last names that an annotation is made of, and those under which they were imported."""
    return _names(_parts(annotation), module) if annotation is not None else set()


def read_in(written: ast.AST | None, module: Module) -> set[str]:
    """The last names that an expression is made of, and those under which they were imported."""
    return _names(nodes(written), module) if written is not None else set()


def keywords_in(written: ast.AST | None) -> list[ast.keyword]:
    """The keywords of the calls in an expression: `Annotated[int, typer.Option(hidden=True)]`."""
    return [part for part in nodes(written) if isinstance(part, ast.keyword)] if written is not None else []


def _names(parts: Iterable[ast.AST], module: Module) -> set[str]:
    return {name for part in parts if (last := last_name(part)) for name in names_of(last, module)}


def _parts(annotation: ast.AST) -> Iterator[ast.AST]:
    """The nodes of an annotation, and of what is quoted in it, but for texts that are no types: those of `Literal`, and
    what stands beside a type in `Annotated`.
    """
    yield annotation
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            yield from _parts(ast.parse(annotation.value, mode="eval").body)
        except SyntaxError:
            return
    inner = list(ast.iter_child_nodes(annotation))
    if isinstance(annotation, ast.Subscript) and last_name(annotation.value) == "Literal":
        inner = [annotation.value]
    elif isinstance(annotation, ast.Subscript) and last_name(annotation.value) == "Annotated":
        held = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        inner = [annotation.value, *held[:1]]
        yield from (part for each in held[1:] for part in nodes(each))
    for part in inner:
        yield from _parts(part)
