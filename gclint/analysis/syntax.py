"""A parsed module, and places in it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, cast

import libcst as cst

from ..files.lines import split_lines
from ..finding import Location
from ..timing import stage
from .bodies import LaterBlock
from .units import STRING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from libcst.metadata import CodeRange

    from .values import Value


class Parents:
    """The parents of a tree's nodes; of those below a block that is parsed later, once it is."""

    def __init__(self, tree: cst.Module) -> None:
        self._found: dict[cst.CSTNode, cst.CSTNode] = {}
        self._later: list[LaterBlock] = []
        self._add(tree)

    def get(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node directly around a node; None for a module, and for a node that is not of the tree."""
        if node not in self._found:
            parsed = [block for block in self._later if block.is_parsed]
            self._later = [block for block in self._later if not block.is_parsed]
            for block in parsed:
                self._add(block)
        return self._found.get(node)

    def _add(self, top: cst.CSTNode) -> None:
        pending = [top]
        while pending:
            node = pending.pop()
            if isinstance(node, LaterBlock) and not node.is_parsed:
                self._later.append(node)
                continue
            for child in parts(node):
                self._found[child] = node
                pending.append(child)


LONGEST_NAME, CUT = 60, "..."
_STRING_OR_SPACE = re.compile(rf"(?:\s|\\\r?\n|#[^\n]*)+|{STRING}", re.DOTALL)


def _on_one_line(match: re.Match[str]) -> str:
    found = match.group()
    if found[0] not in "\"'":
        return " " if "\n" not in found or not _within_brackets(match) else ""
    return " ".join(found.split()) if "\n" in found else found


def _within_brackets(match: re.Match[str]) -> bool:
    """Whether what was found follows an opening bracket or is followed by a closing one."""
    text, start, end = match.string, match.start(), match.end()
    return text[start - 1 : start] in tuple("([{") or text[end : end + 1] in tuple(")]}")


@dataclass(eq=False)
class Module:
    """A Python module of the project: its path as shown, its text and its tree.

    `name` is the dotted name under which the project imports it. Positions are worked out on demand,
    since most modules never need them.
    """

    path: str
    text: str
    tree: cst.Module = field(repr=False)
    name: str = ""
    literals: dict[cst.CSTNode, Value] = field(default_factory=dict, repr=False)

    @cached_property
    def positions(self) -> Mapping[cst.CSTNode, CodeRange]:
        """Where each node stands (lines from 1, columns from 0)."""
        from libcst.metadata import PositionProvider

        # a MetadataWrapper would walk the whole tree once more, for the providers that were not asked
        provider = PositionProvider()
        with stage("positions"):
            provider._gen_impl(self.tree)
        return cast("Mapping[cst.CSTNode, CodeRange]", provider._computed)

    @cached_property
    def parents(self) -> Parents:
        """The parent of every node that is parsed."""
        return Parents(self.tree)

    @cached_property
    def definitions(self) -> tuple[cst.FunctionDef | cst.ClassDef, ...]:
        """The functions and classes that stand in no function, in their order."""
        return tuple(_outer_definitions(self.tree))

    def forget(self) -> None:
        """Drop what is worked out on demand; it takes several times the memory of the tree."""
        for name in ("positions", "parents"):
            self.__dict__.pop(name, None)

    @cached_property
    def lines(self) -> list[str]:
        """The text's lines, with their ends."""
        return split_lines(self.text)

    def code(self, node: cst.CSTNode) -> str:
        """The text of a node on one line, without its comments; a string on one line stays as it is."""
        return _STRING_OR_SPACE.sub(_on_one_line, self.tree.code_for_node(node)).strip()

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes around a node, innermost first."""
        current = self.parents.get(node)
        while current is not None:
            yield current
            current = self.parents.get(current)

    def statement(self, node: cst.CSTNode) -> cst.SimpleStatementLine | cst.BaseCompoundStatement | None:
        """The innermost statement that holds the node, the node itself if it is one."""
        kinds = (cst.SimpleStatementLine, cst.BaseCompoundStatement)
        if isinstance(node, kinds):
            return node
        return next((outer for outer in self.ancestors(node) if isinstance(outer, kinds)), None)


class Site:
    """A node in a module; two sites of one node are the same."""

    __slots__ = ("module", "node", "node_id")

    def __init__(self, module: Module, node: cst.CSTNode, node_id: int = 0):
        self.module = module
        self.node = node
        self.node_id = node_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Site) and self.node_id == other.node_id

    def __hash__(self) -> int:
        return hash(self.node_id)

    @classmethod
    def at(cls, module: Module, node: cst.CSTNode) -> Site:
        """The site of a node."""
        return cls(module, node, id(node))

    def location(self, message: str = "") -> Location:
        """Where it stands, lines and columns from 1."""
        place = self.module.positions.get(self.node)
        if place is None:
            return Location(self.module.path, 1, 1, 1, 1, message)
        start, end = place.start, place.end
        return Location(self.module.path, start.line, start.column + 1, end.line, end.column + 1, message)

    @property
    def text(self) -> str:
        """The node's text, on one line."""
        return self.module.code(self.node)

    @property
    def name(self) -> str:
        """A short name for the node: that of a definition or parameter, else its text, cut where it is long."""
        if isinstance(self.node, (cst.FunctionDef, cst.ClassDef, cst.Param)):
            return self.node.name.value
        short = textwrap.shorten(self.text, LONGEST_NAME, placeholder=CUT)
        return short if short != CUT else self.text[: LONGEST_NAME - len(CUT)] + CUT


def _outer_definitions(node: cst.CSTNode) -> Iterator[cst.FunctionDef | cst.ClassDef]:
    if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        yield node
    if isinstance(node, (cst.FunctionDef, cst.BaseExpression, cst.BaseSmallStatement, cst.SimpleStatementLine)):
        return
    for part in parts(node):
        yield from _outer_definitions(part)


@cache
def _fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(name for name in kind.__dataclass_fields__ if "whitespace" not in name and name not in _SPACE_FIELDS)


def parts(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes directly below a node, white space left out."""
    for name in _fields(type(node)):
        held = getattr(node, name)
        if held.__class__ is list or held.__class__ is tuple:
            for part in held:
                if _counts(part.__class__):
                    yield part
        elif _counts(held.__class__):
            yield held


def nodes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all below it, white space left out."""
    todo = [node]
    while todo:
        one = todo.pop()
        yield one
        todo += reversed([*parts(one)])


@cache
def _counts(kind: type) -> bool:
    """Whether values of this type are nodes that hold code; asked of types, since LibCST's are slow to ask."""
    return issubclass(kind, cst.CSTNode) and not issubclass(kind, _SPACE)


_SPACE = (
    cst.BaseParenthesizableWhitespace,
    cst.TrailingWhitespace,
    cst.EmptyLine,
    cst.Newline,
    cst.Comma,
    cst.Semicolon,
    cst.LeftParen,
    cst.RightParen,
)
_SPACE_FIELDS = ("lpar", "rpar", "comma", "semicolon", "header", "footer", "leading_lines", "lines_after_decorators")


def dotted(node: cst.BaseExpression | None) -> str:
    """`a.b.c` of a name or attribute chain; "" for anything else."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        head = dotted(node.value)
        return f"{head}.{node.attr.value}" if head else ""
    return ""
