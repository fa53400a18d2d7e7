"""A parsed module, and places in it."""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..compiled import cached, interpreted
from ..finding import Location
from ..source.lines import line_starts, split_lines
from ..timing import stage
from .scan import STRING

if TYPE_CHECKING:
    import libcst

    from ..run.values import Value

T = TypeVar("T")
N = TypeVar("N")
FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
For = ast.For | ast.AsyncFor
With = ast.With | ast.AsyncWith
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
FORS = (ast.For, ast.AsyncFor)
LOOPS = (*FORS, ast.While)
WITHS = (ast.With, ast.AsyncWith)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
if sys.version_info >= (3, 11):
    Try = ast.Try | ast.TryStar
    TRIES: tuple[type[ast.AST], ...] = (ast.Try, ast.TryStar)
else:
    Try = ast.Try
    TRIES = (ast.Try,)
COMPOUND = (*DEFINITIONS, *LOOPS, *WITHS, *TRIES, ast.If, ast.Match)

LONGEST_NAME, CUT = 60, "..."
_STRING_OR_SPACE = re.compile(rf"(?:\s|\\\r?\n|#[^\n]*)+|{STRING}", re.DOTALL)
_OPENS_BEFORE = re.compile(r"\((?:\s|#[^\n]*\n)*\Z")
_CLOSES_AFTER = re.compile(r"(?:\s|#[^\n]*\n)*\)")


def _on_one_line(match: re.Match[str]) -> str:
    found = match.group()
    if found[0] not in "\"'":
        return " " if "\n" not in found or not _within_brackets(match) else ""
    return " ".join(found.split()) if "\n" in found else found


def _within_brackets(match: re.Match[str]) -> bool:
    """Whether what was found follows an opening bracket or is followed by a closing one."""
    text, start, end = match.string, match.start(), match.end()
    return text[start - 1 : start] in tuple("([{") or text[end : end + 1] in tuple(")]}")


class Span(NamedTuple):
    """A part of a text: lines and columns from 1, columns in characters, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


NOWHERE = Span(1, 1, 1, 1)


class Bound(NamedTuple):
    """The names that the body of a loop binds, and those that each round makes of what they were: `n += 1`."""

    stored: list[str]
    counted: list[str]


@interpreted
@dataclass(eq=False)
class Module:
    """A Python module of the project: its path as shown, its text and its tree.

    `name` is the dotted name under which the project imports it.
    """

    path: str
    text: str
    tree: ast.Module = field(repr=False)
    name: str = ""
    literals: dict[ast.AST, Value] = field(default_factory=dict, repr=False)
    _once: dict[tuple[Callable[..., Any], Any], Any] = field(default_factory=dict, repr=False)
    _generators: dict[ast.AST, bool] = field(default_factory=dict, repr=False)
    _bound: dict[ast.AST, Bound] = field(default_factory=dict, repr=False)

    @cached
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node directly around each node of the tree."""
        found: dict[ast.AST, ast.AST] = {}
        todo: list[ast.AST] = [self.tree]
        while todo:
            node = todo.pop()
            below = _parts(node)
            found.update(dict.fromkeys(below, node))
            todo += below
        return found

    @cached
    def definitions(self) -> tuple[Definition, ...]:
        """The functions and classes that stand in no function, in their order."""
        return tuple(_outer_definitions(self.tree))

    def is_generator(self, node: FunctionDef | ast.Lambda) -> bool:
        """Whether a function yields: calling it then runs nothing, and iterating over the result does."""
        if node not in self._generators:
            self._generators[node] = self._holds("yield", node) and any(
                isinstance(part, (ast.Yield, ast.YieldFrom)) for part in _of_its_own(node)
            )
        return self._generators[node]

    def _holds(self, word: str, node: FunctionDef | ast.Lambda) -> bool:
        """Whether a word stands anywhere in the lines of a function."""
        return self.text.find(word, self._starts[node.lineno - 1], self._starts[node.end_lineno or -1]) >= 0

    def bound_in(self, loop: For | ast.While) -> Bound:
        """The names that the body of a loop binds."""
        if loop not in self._bound:
            inner = [node for statement in loop.body for node in nodes(statement)]
            stored = {node.id for node in inner if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
            targets = [node.target for node in inner if isinstance(node, ast.AugAssign)]
            counted = {target.id for target in targets if isinstance(target, ast.Name)}
            self._bound[loop] = Bound(sorted(stored), sorted(counted))
        return self._bound[loop]

    def once(self, work: Callable[[N], T], what: N) -> T:
        """What a function works out of the module, or of a node of it, the first time that it is asked."""
        if (work, what) not in self._once:
            self._once[work, what] = work(what)
        made: T = self._once[work, what]
        return made

    def forget(self) -> None:
        """Drop what is worked out on demand; it takes more memory than the text."""
        self._once.clear()
        for name in ("parents", "lines", "_starts", "_concrete"):
            self.__dict__.pop(name, None)

    @cached
    def lines(self) -> list[str]:
        """The text's lines, with their ends."""
        return split_lines(self.text)

    @cached
    def _starts(self) -> list[int]:
        return line_starts(self.text)

    @cached
    def _concrete(self) -> Callable[[Span, type[ast.AST]], libcst.CSTNode | None]:
        with stage("concrete syntax"):
            from .concrete import Concrete

            return Concrete(self.text).at

    def span(self, node: ast.AST) -> Span:
        """Where a node stands: a tuple and a generator without the parentheses around, a parameter without its
        annotation and default, but with its stars; `NOWHERE` for a node that is not of the tree.
        """
        if isinstance(node, ast.Module):
            ended = not self.text or self.text[-1] in "\r\n"
            return Span(1, 1, len(self.lines) + ended, 1 if ended else len(self.lines[-1]) + 1)
        line, end_line = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
        if line is None or end_line is None:
            return self._span_of_parts(node)
        start, end = self._column(line, node.col_offset), self._column(end_line, node.end_col_offset)  # type: ignore[attr-defined]
        if isinstance(node, ast.arg):
            before = self.lines[line - 1][:start].rstrip(" ")
            stars = len(self.lines[line - 1][:start]) - len(before.rstrip("*")) if before.endswith("*") else 0
            return Span(line, start - stars + 1, line, start + len(node.arg) + 1)
        found = Span(line, start + 1, end_line, end + 1)
        if isinstance(node, ast.GeneratorExp) or (isinstance(node, ast.Tuple) and self._is_in_parentheses(node, found)):
            return self._inside(node, found)
        return found

    def _column(self, line: int, offset: int) -> int:
        """The column from 0, in characters, of an offset in bytes."""
        text = self.lines[line - 1]
        return offset if text.isascii() else len(text.encode()[:offset].decode(errors="replace"))

    def _span_of_parts(self, node: ast.AST) -> Span:
        spans = [span for part in parts(node) if (span := self.span(part)) is not NOWHERE]
        return Span(*min(spans)[:2], *max(span[2:] for span in spans)) if spans else NOWHERE

    def _is_in_parentheses(self, node: ast.Tuple, span: Span) -> bool:
        if (
            self.lines[span.line - 1][span.column - 1] != "("
            or self.lines[span.end_line - 1][span.end_column - 2] != ")"
        ):
            return False
        if not node.elts:
            return True
        first = node.elts[0]
        assert first.end_lineno is not None
        assert first.end_col_offset is not None
        opened = self._offset(first.lineno, self._column(first.lineno, first.col_offset) + 1)
        closed = self._offset(first.end_lineno, self._column(first.end_lineno, first.end_col_offset) + 1)
        before = _plain(self.text[self._offset(span.line, span.column) : opened])
        after = _plain(self.text[closed : self._offset(span.end_line, span.end_column)])
        return before.count("(") > after.partition(",")[0].count(")")

    def _inside(self, node: ast.AST, span: Span) -> Span:
        """The span without the brackets at its ends, and the space and the comments within them."""
        start, end = self._offset(*span[:2]) + 1, self._offset(*span[2:]) - 1
        below = [self.span(part) for part in parts(node)]
        if not below:
            return Span(*self._place(start), *self._place(end))
        opened = self.text[start : self._offset(*below[0][:2])]
        closed = _plain(self.text[self._offset(*below[-1][2:]) : end])
        start += len(opened) - len(_plain(opened).lstrip())
        return Span(*self._place(start), *self._place(end - len(closed) + len(closed.rstrip())))

    def _offset(self, line: int, column: int) -> int:
        """The offset in the text of a line and column from 1."""
        return self._starts[line - 1] + column - 1

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def source(self, node: ast.AST) -> str:
        """The text of a node as it is written, without parentheses around it."""
        span = self.span(node)
        return self.text[self._offset(*span[:2]) : self._offset(*span[2:])]

    def code(self, node: ast.AST) -> str:
        """The text of a node and of parentheses around it on one line, without its comments; a string on one line stays
        as it is.
        """
        span = self.span(node)
        start, end = self._offset(*span[:2]), self._offset(*span[2:])
        if isinstance(node, ast.expr) and not isinstance(node, (ast.Starred, ast.Slice)):
            start, end = self._with_parentheses(node, start, end)
        return _STRING_OR_SPACE.sub(_on_one_line, self.text[start:end]).strip()

    def _with_parentheses(self, node: ast.expr, start: int, end: int) -> tuple[int, int]:
        """The offsets from the first of the parentheses around an expression to the last: those that are its own."""
        while True:
            opening = _OPENS_BEFORE.search(self.text, max(start - 200, 0), start)
            closing = _CLOSES_AFTER.match(self.text, end) if opening is not None else None
            if opening is None or closing is None or self._belongs_around(node, opening.start(), closing.end()):
                return start, end
            start, end = opening.start(), closing.end()

    def _belongs_around(self, node: ast.expr, start: int, end: int) -> bool:
        """Whether a pair of parentheses around an expression is that of the node around it."""
        outer = self.parents.get(node)
        if isinstance(outer, ast.ClassDef):
            return self.text[:start].rstrip().endswith(outer.name)
        if isinstance(outer, (ast.keyword, ast.Starred)):
            outer = outer if outer.col_offset < node.col_offset or outer.lineno < node.lineno else None
        line, end_line = getattr(outer, "lineno", None), getattr(outer, "end_lineno", None)
        if outer is None or line is None or end_line is None:
            return False
        first = self._starts[line - 1] + self._column(line, outer.col_offset)  # type: ignore[attr-defined]
        last = self._starts[end_line - 1] + self._column(end_line, outer.end_col_offset)  # type: ignore[attr-defined]
        if isinstance(outer, ast.Call) and node is not outer.func:
            last -= 1
        return bool(start < first or end > last)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, innermost first."""
        current = self.parents.get(node)
        while current is not None:
            yield current
            current = self.parents.get(current)

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that holds the node, the node itself if it is one."""
        if isinstance(node, ast.stmt):
            return node
        return next((outer for outer in self.ancestors(node) if isinstance(outer, ast.stmt)), None)

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements among which one stands: all of its block."""
        outer = self.parents.get(statement)
        held = [getattr(outer, name, None) for name in ("body", "orelse", "finalbody")]
        return next((each for each in held if isinstance(each, list) and statement in each), [statement])

    def concrete(self, node: ast.AST) -> libcst.CSTNode | None:
        """LibCST's node at the same place, None where it has none; the first question parses the module again."""
        return self._concrete(self.span(node), type(node))


def _plain(text: str) -> str:
    """A text between nodes, as long, with blanks for its comments."""
    return re.sub(r"#[^\r\n]*", lambda found: " " * len(found[0]), text) if "#" in text else text


class Site:
    """A node in a module; two sites of one node are the same."""

    __slots__ = ("module", "node", "node_id")

    def __init__(self, module: Module, node: ast.AST, node_id: int = 0):
        self.module = module
        self.node = node
        self.node_id = node_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Site) and self.node_id == other.node_id

    def __hash__(self) -> int:
        return hash(self.node_id)

    @classmethod
    def at(cls, module: Module, node: ast.AST) -> Site:
        """The site of a node."""
        return cls(module, node, id(node))

    def location(self, message: str = "") -> Location:
        """Where it stands, lines and columns from 1."""
        return Location(self.module.path, *self.module.span(self.node), message)

    @property
    def text(self) -> str:
        """The node's text, on one line."""
        return self.module.code(self.node)

    @property
    def name(self) -> str:
        """A short name for the node: that of a definition or parameter, else its text, cut where it is long."""
        if isinstance(self.node, DEFINITIONS):
            return self.node.name
        if isinstance(self.node, ast.arg):
            return self.node.arg
        short = textwrap.shorten(self.text, LONGEST_NAME, placeholder=CUT)
        return short if short != CUT else self.text[: LONGEST_NAME - len(CUT)] + CUT


def _outer_definitions(node: ast.AST) -> Iterator[Definition]:
    if isinstance(node, DEFINITIONS):
        yield node
    if isinstance(node, (*FUNCTIONS, ast.expr)) or (isinstance(node, ast.stmt) and not isinstance(node, COMPOUND)):
        return
    for part in parts(node):
        yield from _outer_definitions(part)


_NO_PARTS = ("ctx", "op", "ops", "type_comment")
_OUT_OF_ORDER = (*DEFINITIONS, ast.arguments, ast.Call, ast.Dict, ast.IfExp, ast.MatchMapping)


@cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    return tuple(name for name in kind._fields if name not in _NO_PARTS)


def _of_its_own(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below a function, those of inner functions and classes left out."""
    for part in parts(node):
        yield part
        if not isinstance(part, (*DEFINITIONS, ast.Lambda)):
            yield from _of_its_own(part)


def _parts(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below a node, without contexts and operators."""
    found: list[ast.AST] = []
    for name in _fields(node.__class__):  # type: ignore[arg-type]
        held = getattr(node, name, None)
        if held.__class__ is list:
            found += [part for part in held if isinstance(part, ast.AST)]
        elif isinstance(held, ast.AST):
            found.append(held)
    return found


def parts(node: ast.AST) -> list[ast.AST]:
    """The same in the order of the text."""
    found = _parts(node)
    if isinstance(node, _OUT_OF_ORDER) and len(found) > 1:
        found.sort(key=_first)
    return found


def _first(node: ast.AST) -> tuple[int, int]:
    """The line and the offset at which a node starts; those of the first of its parts where it has none itself."""
    while not hasattr(node, "lineno"):
        below = parts(node)
        if not below:
            return 0, 0
        node = below[0]
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, in the order of the text."""
    todo = [node]
    while todo:
        one = todo.pop()
        yield one
        todo += reversed(parts(one))


def arguments(call: ast.Call | ast.ClassDef) -> list[ast.expr | ast.keyword]:
    """The arguments of a call, or the bases of a class, in the order of the text."""
    given: list[ast.expr] = call.args if isinstance(call, ast.Call) else call.bases
    if not (given and call.keywords):
        return [*given, *call.keywords]
    return sorted([*given, *call.keywords], key=lambda each: (each.lineno, each.col_offset))


def parameters(given: ast.arguments) -> list[tuple[ast.arg, ast.expr | None]]:
    """The parameters that a call can fill one by one, those by keyword only last, each with its default."""
    ordered = [*given.posonlyargs, *given.args]
    without: list[ast.expr | None] = [None] * (len(ordered) - len(given.defaults))
    return [
        *zip(ordered, [*without, *given.defaults], strict=True),
        *zip(given.kwonlyargs, given.kw_defaults, strict=True),
    ]


def keyword(call: ast.Call, name: str) -> ast.keyword | None:
    """The keyword argument of a call as it is written, None where it has none of this name."""
    return next((each for each in call.keywords if each.arg == name), None)


def dotted(node: ast.AST | None) -> str:
    """`a.b.c` of a name or attribute chain; "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = dotted(node.value)
        return f"{head}.{node.attr}" if head else ""
    return ""
