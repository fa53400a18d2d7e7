"""What of an edit a derived run does not show: the run is the same whether or not that part of the edit is there.

The edit is taken apart into the smallest pieces of syntax that differ: arguments and constants of the same expression,
whole simple statements. A piece that is put back alone has to change the derived run; any other difference is taken
to be one that it does not show.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

from gclint.source.source import Source
from gclint.verify.recipe import Recipe

Derive = Callable[[Mapping[str, Source]], "Recipe | None"]
IMPORTS = (ast.Import, ast.ImportFrom)
SIMPLE = (ast.Constant, ast.Name)
OF_VALUES = (*SIMPLE, ast.Attribute, ast.keyword)
BLOCKS = (ast.For, ast.While, ast.If, ast.With)
PLAIN = (ast.Assign, ast.AnnAssign, ast.Expr)


@dataclass(frozen=True)
class Piece:
    """One difference: the line where it stands after the edit, and the tree of the file without it; None for one that
    cannot be taken back alone.
    """

    line: int
    without: ast.Module | None


def unseen(
    before: Mapping[str, Source], after: Mapping[str, Source], runs: tuple[Recipe, Recipe], derive: Derive
) -> str:
    """Return the place of a part of the edit that the derived run does not show, "" where it shows all of it.

    `runs` are those derived before and after; `derive` gives the run of the project with other texts, and is asked only
    where an edit has several pieces.
    """
    found: list[tuple[str, Piece]] = []
    for path in sorted(after):
        if path not in before or before[path].data == after[path].data:
            continue
        if before[path].kind not in ("python", "notebook"):
            continue  # what a configuration says reaches the run as values only
        try:
            found += [(path, piece) for piece in pieces_of(before[path].text, after[path].text)]
        except (SyntaxError, ValueError, RecursionError):
            return f"the edit of {path}"
    for path, piece in found:
        place = f"the edit at {path}:{piece.line}"
        if piece.without is None:
            return place
        if len(found) == 1:
            return place if _same(*runs) else ""
        text = ast.unparse(ast.fix_missing_locations(piece.without)) + "\n"
        if _same(derive({**after, path: after[path].with_text(text)}), runs[1]):
            return place
    return ""


def pieces_of(before: str, after: str) -> Iterator[Piece]:
    """Yield the pieces of an edit of one text; raises SyntaxError.

    An import is none that adds what Python itself or the file's other imports have, or that takes away what nothing
    reads.
    """
    old, new = ast.parse(before), ast.parse(after)
    yield from (Piece(line, None) for line in _doubtful_imports(old, new))
    for line, undo in _differences(old, new):
        yield Piece(line, None if undo is None else _undone(after, undo))


@dataclass(frozen=True)
class _Undo:
    """How to take one piece back: at `path` of the tree after the edit, put `value`."""

    path: tuple[Any, ...]
    value: Any


def _undone(text: str, undo: _Undo) -> ast.Module:
    tree = ast.parse(text)
    owner: Any = tree
    for step in undo.path[:-1]:
        owner = owner[step] if isinstance(step, int) else getattr(owner, step)
    if isinstance(undo.path[-1], int):
        owner[undo.path[-1]] = undo.value
    else:
        setattr(owner, undo.path[-1], undo.value)
    return tree


def _differences(old: ast.AST, new: ast.AST, path: tuple[Any, ...] = ()) -> Iterator[tuple[int, _Undo | None]]:
    """The line of every difference between two nodes of one kind, and how to take it back."""
    if isinstance(new, IMPORTS):
        return
    line = getattr(new, "lineno", 1)
    for name in new._fields:
        mine, theirs = getattr(new, name, None), getattr(old, name, None)
        if _dumped(mine) == _dumped(theirs):
            continue
        here = (*path, name)
        if isinstance(mine, list) and isinstance(theirs, list):
            yield from _of_lists(theirs, mine, here, line, name in ("body", "orelse", "finalbody"))
        elif isinstance(mine, ast.AST) and isinstance(theirs, ast.AST) and type(mine) is type(theirs):
            yield from _differences(theirs, mine, here)
        elif isinstance(new, OF_VALUES) or (isinstance(mine, SIMPLE) and isinstance(theirs, SIMPLE)):
            yield line, _Undo(here, theirs)
        else:
            yield line, None


def _of_lists(
    old: list[Any], new: list[Any], path: tuple[Any, ...], line: int, statements: bool
) -> Iterator[tuple[int, _Undo | None]]:
    matcher = SequenceMatcher(None, [_dumped(each) for each in old], [_dumped(each) for each in new], autojunk=False)
    for kind, first, last, begin, end in matcher.get_opcodes():
        if kind == "equal":
            continue
        alike = last - first == end - begin and all(
            type(one) is type(other) for one, other in zip(old[first:last], new[begin:end], strict=True)
        )
        if kind == "replace" and alike:
            for offset in range(end - begin):
                yield from _differences(old[first + offset], new[begin + offset], (*path, begin + offset))
            continue
        place = getattr(new[begin], "lineno", line) if begin < end else line
        gone, come = (
            [each for each in some if not isinstance(each, (ast.Pass, *IMPORTS))]
            for some in (old[first:last], new[begin:end])
        )
        blocks = () if gone else BLOCKS
        if statements and not all(isinstance(each, (*PLAIN, *blocks)) for each in (*gone, *come)):
            yield place, None
            continue
        for index, each in enumerate(new[begin:end], start=begin):
            if each in come:
                kept = new[:index] + (old[first:last] if kind == "replace" else []) + new[index + 1 :]
                yield getattr(each, "lineno", place), _Undo(path, kept)
                yield from _inside(each, (*path, index))
        for each in gone if not come else []:
            yield place, _Undo(path, [*new[:begin], each, *new[begin:]])


def _inside(block: ast.AST, path: tuple[Any, ...]) -> Iterator[tuple[int, _Undo | None]]:
    """The statements of a block that an edit adds, each as a piece of its own."""
    for name in ("body", "orelse", "finalbody"):
        for index, each in enumerate(getattr(block, name, ())):
            here = (*path, name, index)
            yield each.lineno, _Undo(here, ast.Pass()) if isinstance(each, (*PLAIN, *BLOCKS)) else None
            yield from _inside(each, here)


def _doubtful_imports(old: ast.Module, new: ast.Module) -> Iterator[int]:
    """The lines of imports that may fail, or whose absence may."""
    mine, theirs = _imports(new), _imports(old)
    there = {module.partition(".")[0] for module, _, _ in theirs} | sys.stdlib_module_names | {"torch"}
    kept = {(module, name) for module, name, _ in mine}
    had = {(module, name) for module, name, _ in theirs}
    for module, name, line in mine:
        if (module, name) not in had and module.partition(".")[0] not in there:
            yield line
    read = {node.id for node in ast.walk(new) if isinstance(node, ast.Name)}
    bound = {name for _, name, _ in mine}
    for module, name, line in theirs:
        if (module, name) not in kept and name in read - bound:
            yield line


def _imports(tree: ast.Module) -> list[tuple[str, str, int]]:
    """Module, bound name and line of everything that is imported."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, IMPORTS):
            of = f"{node.module or '.'}" if isinstance(node, ast.ImportFrom) else ""
            for each in node.names:
                found.append((of or each.name, each.asname or each.name.partition(".")[0], node.lineno))
    return found


def _dumped(value: Any) -> Any:
    if isinstance(value, ast.AST):
        return ast.dump(value)
    return [_dumped(each) for each in value] if isinstance(value, list) else value


def _same(one: Recipe | None, other: Recipe | None) -> bool:
    both = [None if each is None else replace(each, title="") for each in (one, other)]
    return both[0] == both[1]
