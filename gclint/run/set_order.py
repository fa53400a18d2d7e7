"""Numbers that the elements of a set get by its order, which for texts is another one in each process.

Python hashes texts with a key that each interpreter draws when it starts, unless PYTHONHASHSEED is set
(https://docs.python.org/3/reference/datamodel.html#object.__hash__); what `set` gives is `unordered`, and so is a list
of it, until it is sorted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..ir.syntax import FORS, Site
from .closures import read_names
from .events import ItemSet, LibraryCall
from .loops import ITERATED
from .run import Run
from .values import Const, Object, Value, ancestors, of

TOGETHER = ("union", "intersection", "difference", "symmetric_difference", "copy")
OPERATORS = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)
OF_TEXTS = (
    *("read", "readlines", "readline", "split", "rsplit", "splitlines", "strip", "lower", "upper", "str", "listdir"),
    *("glob", "iglob", "basename", "join", "decode", "tokenize", "word_tokenize", "stem", "name", "format", "replace"),
)
"""What gives texts, or lists of them."""
COUNTS = ("builtins.range", "itertools.count")


def numbered(run: Run) -> Iterator[tuple[Site, Object, Object]]:
    """The dicts whose entries are numbered by the order of a set of texts: where, the set, the dict."""
    for call in run.of_type(LibraryCall):
        given = call.call.positional if call.call is not None else []
        if call.name == "builtins.enumerate" or (call.name == "builtins.zip" and _counts_too(given, run)):
            for held in (item for value in given for item in _texts(value, run)):
                yield from ((call.site, held, made) for made in _made_of(call.site, run))
    for loop, over in run.facts.get(ITERATED, {}).items():
        if isinstance(loop, FORS):
            for held in _texts(over, run):
                yield from ((each.site, held, each.target) for each in _set_in(loop, run) if _by_length(each))


def _texts(value: Value, run: Run) -> Iterator[Object]:
    """What a value may be that is a set of texts, or as unordered as one."""
    return (item for item in value.objects() if _is_unordered(item) and _is_of_texts(item, run))


def _is_unordered(item: Object, depth: int = 4) -> bool:
    """Whether something is a set, a list of one, or computed of sets as a set is."""
    if "unordered" in item.state or not depth:
        return "unordered" in item.state
    node = item.site.node if item.site is not None else None
    joined = (isinstance(node, ast.BinOp) and isinstance(node.op, OPERATORS)) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TOGETHER
    )
    parts = [part for value in item.made_of for part in value.objects()]
    return joined and any(_is_unordered(part, depth - 1) for part in parts)


def _is_of_texts(item: Object, run: Run) -> bool:
    """Whether the elements of something are known to be texts."""
    parts = ancestors(of(item))
    inner = [
        value
        for part in parts
        if isinstance(part, Object)
        for value in (*(part.items or ()), *part.attributes.values())
    ]
    parts = parts.union(*map(ancestors, inner))
    return any(
        isinstance(part.value, str)
        if isinstance(part, Const)
        else isinstance(part, Object) and _maker(part) in OF_TEXTS
        for part in parts
    )


def _maker(item: Object) -> str:
    """The last name of the call that something came from, itself or as a part of it."""
    held: Object | None = item
    while held is not None:
        node = held.site.node if held.site is not None else None
        if isinstance(node, ast.Call):
            return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        held = held.parent
    return ""


def _counts_too(given: list[Value], run: Run) -> bool:
    """Whether one of several things that are gone through together is a range of numbers."""
    return any(item.type == "range" or item.known("stop") for value in given for item in value.objects())


def _made_of(site: Site, run: Run) -> Iterator[Object]:
    """The dicts that are made of what a call gives, as entries: by a comprehension, a loop, or at once."""
    module = site.module
    outer = module.parents.get(site.node)
    if isinstance(outer, ast.comprehension):
        outer = module.parents.get(outer)
    nodes = [outer] if isinstance(outer, (ast.DictComp, ast.Call)) else []
    yield from (
        item for item in run.heap if item.entries is not None and item.site is not None and item.site.node in nodes
    )
    if isinstance(outer, FORS) and outer.iter is site.node:
        counted = set(read_names(outer.target))
        yield from (each.target for each in _set_in(outer, run) if counted <= _names(each.site))


def _set_in(loop: ast.AST, run: Run) -> list[ItemSet]:
    """The entries that are set in a loop, whatever it goes over."""
    sets = [each for each in run.of_type(ItemSet) if each.target.kind != "modules"]
    return [each for each in sets if any(around.node is loop for around in each.moment.loops)]


def _names(site: Site) -> set[str]:
    line = site.module.statement(site.node)
    return set(read_names(line)) if line is not None else set()


def _by_length(entry: ItemSet) -> bool:
    """Whether an entry is the number of those before: `d[key] = len(d)`."""
    line = entry.site.module.statement(entry.site.node)
    value, target = (line.value, line.targets[0]) if isinstance(line, ast.Assign) else (None, None)
    counted = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "len"
    return (
        counted
        and isinstance(value, ast.Call)
        and isinstance(target, ast.Subscript)
        and bool(value.args)
        and ast.dump(value.args[0]) == ast.dump(target.value)
    )
