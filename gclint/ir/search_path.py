"""The search path: what a file puts on `sys.path`, as far as its text works out where that is.

Python looks for a module in the entries of `sys.path` in turn (docs: library/sys.html, sys.path). Programs put the
folders of their own parts there, mostly worked out from `__file__`. Names have what they were given last before.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from ..source.syntax import UNREADABLE, tree_of
from .syntax import FUNCTIONS, dotted, nodes

_LITERAL = re.compile(r"sys\.path\.(insert\(\s*\d+\s*,|append\()\s*['\"]([^'\"\n]+)['\"]")
_SAME = ("str", "fspath", "Path", "PurePath", "abspath", "realpath", "normpath", "expanduser")
_OF_A_PATH = ("resolve", "absolute", "as_posix", "expanduser", "__str__")
_INSERT = "sys.path.insert"
_ADDS = {_INSERT: 1, "sys.path.append": 0, "site.addsitedir": 0, "sys.path.extend": 0}
_CONSTANTS = {"os.pardir": "..", "os.path.pardir": "..", "os.curdir": ".", "os.sep": "/", "os.path.sep": "/"}

Names = dict[str, str]


class SearchPath(NamedTuple):
    """Entries of sys.path that come before a script's own folder, and those that come after all others."""

    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()

    def __add__(self, other: object) -> SearchPath:
        """Both, what is in this one first."""
        assert isinstance(other, SearchPath)
        return SearchPath(_once(self.first + other.first), _once(self.last + other.last))


def inserted_paths(text: str, path: str) -> SearchPath:
    """The entries that the file at `path` (an absolute one) puts on sys.path: absolute where they are worked out from
    the file's own place, else as they are written. What is inserted last is looked in first.
    """
    return _paths_in(text, path) if "sys.path" in text or "addsitedir" in text else SearchPath()


def puts_unknown_paths(text: str, path: str) -> bool:
    """Whether the file at `path` puts an entry on sys.path that its text does not work out, or may do so."""
    if "sys.path" not in text and "addsitedir" not in text:
        return False
    try:
        return any(place is None for _, place in _inserted(tree_of(text), path))
    except UNREADABLE:
        return True


@lru_cache(maxsize=200)
def _paths_in(text: str, path: str) -> SearchPath:
    try:
        found = list(_inserted(tree_of(text), path))
    except UNREADABLE:  # text of another Python, mostly
        found = [(how.startswith("insert"), place) for how, place in _LITERAL.findall(text)]
    first = [place for is_first, place in found if is_first and place]
    return SearchPath(_once(reversed(first)), _once(place for is_first, place in found if not is_first and place))


def _once(places: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(places))


def _inserted(tree: ast.Module, path: str) -> Iterator[tuple[bool, str | None]]:
    """Each entry, None for one that is not worked out, and whether it is put before the others."""
    names: Names = {"__file__": path}
    helpers = {name: (function, index) for name, function, index, _ in _helpers(tree)}
    inside = {call for *_, call in _helpers(tree)}
    for node in nodes(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = dotted(node.targets[0])
            if target == "sys.path":
                yield from ((True, place) for place in _each(node.value, names))
            elif target:
                value = _worked_out(node.value, names)
                names.pop(target, None)
                names.update({} if value is None else {target: value})
        elif isinstance(node, ast.AugAssign) and dotted(node.target) == "sys.path":
            yield from ((False, place) for place in _each(node.value, names))
        elif isinstance(node, ast.Call):
            name = dotted(node.func)
            function, index = helpers.get(name, (name, _ADDS.get(name)))
            if index is not None and index < len(node.args) and node not in inside:
                yield from ((function == _INSERT, place) for place in _each(node.args[index], names))


def _helpers(tree: ast.Module) -> Iterator[tuple[str, str, int, ast.Call]]:
    """The file's own functions that put an argument on sys.path: how, the argument's index, and the call that does."""
    for function in (node for node in nodes(tree) if isinstance(node, FUNCTIONS)):
        parameters = [each.arg for each in function.args.args]
        for call in (node for node in nodes(function) if isinstance(node, ast.Call)):
            index = _ADDS.get(dotted(call.func))
            given = dotted(call.args[index]) if index is not None and index < len(call.args) else ""
            if given in parameters:
                yield getattr(function, "name", ""), dotted(call.func), parameters.index(given), call


def _each(node: ast.expr, names: Names) -> Iterator[str | None]:
    """The entries in a list of them, or the one; None for one that is not worked out."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _worked_out(node, names) is None:
        yield from _each(node.left, names)
        yield from _each(node.right, names)
        return
    for part in node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]:
        place = _worked_out(part, names)
        yield os.path.normpath(place) if place is not None else None


def _worked_out(node: ast.expr, names: Names) -> str | None:
    """A path or a text that an expression gives; None for one that nobody can work out from the text."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, (ast.Name, ast.Attribute)):
        name = dotted(node)
        if name in names or name in _CONSTANTS:
            return names.get(name, _CONSTANTS.get(name))
        if isinstance(node, ast.Attribute) and node.attr == "parent":
            return _then(os.path.dirname, _worked_out(node.value, names))
        return None
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
        return _joined("".join, [_worked_out(part, names) for part in parts])
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div)):
        both = [_worked_out(node.left, names), _worked_out(node.right, names)]
        return _joined("".join if isinstance(node.op, ast.Add) else _join, both)
    if isinstance(node, ast.Subscript):
        return _taken(node, names)
    return _called(node, names) if isinstance(node, ast.Call) else None


def _taken(node: ast.Subscript, names: Names) -> str | None:
    """`path.parents[1]`, `os.path.split(path)[0]`, `sys.path[0]`."""
    index = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if dotted(node.value) == "sys.path" and index == 0:
        return _then(os.path.dirname, names["__file__"])
    if isinstance(node.value, ast.Attribute) and node.value.attr == "parents" and isinstance(index, int):
        place = _worked_out(node.value.value, names)
        for _ in range(index + 1):
            place = _then(os.path.dirname, place)
        return place
    call = node.value if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute) else None
    if call is None or not isinstance(index, int):
        return None
    assert isinstance(call.func, ast.Attribute)
    given = [part.value for part in call.args if isinstance(part, ast.Constant)]
    if call.func.attr in ("split", "rsplit") and len(given) == len(call.args):
        split = getattr(str, call.func.attr)
        return _part(lambda place: split(place, *given)[index], _worked_out(call.func.value, names))
    if call.func.attr == "split" and len(call.args) == 1:
        return _part(lambda place: os.path.split(place)[index], _worked_out(call.args[0], names))
    return None


def _part(made: Callable[[str], str], place: str | None) -> str | None:
    try:
        return _then(made, place)
    except (IndexError, TypeError, ValueError):
        return None


def _called(call: ast.Call, names: Names) -> str | None:
    """What functions of os.path, and methods of a path, give."""
    last = call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func)
    given = [_worked_out(part, names) for part in call.args]
    if last == "dirname" and len(given) == 1:
        return _then(os.path.dirname, given[0])
    if last == "getcwd":
        return "."
    if last in ("join", "Path", "PurePath") and given and not _is_of_text(call.func):
        return _joined(_join, given)
    if last in _SAME and len(given) == 1:
        return _then(os.path.normpath, given[0])
    if isinstance(call.func, ast.Attribute) and (last in _OF_A_PATH or last == "joinpath"):
        return _joined(_join, [_worked_out(call.func.value, names), *given])
    return None


def _is_of_text(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and isinstance(function.value, (ast.Constant, ast.JoinedStr))


def _join(parts: list[str]) -> str:
    return os.path.join(*parts)


def _joined(join: Callable[[list[str]], str], parts: list[str | None]) -> str | None:
    known = [part for part in parts if part is not None]
    return join(known) if len(known) == len(parts) else None


def _then(made: Callable[[str], str], place: str | None) -> str | None:
    return None if place is None else made(place)
