"""Concrete syntax: LibCST's nodes at the places of Python's own, for what the text and `ast` do not tell."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, cast

import libcst as cst
from libcst.metadata import PositionProvider

if TYPE_CHECKING:
    from collections.abc import Mapping

    from libcst.metadata import CodeRange

    from .syntax import Span

_STRINGS = (cst.SimpleString, cst.ConcatenatedString)
_KINDS: dict[type[ast.AST], tuple[type[cst.CSTNode], ...]] = {
    ast.AsyncFunctionDef: (cst.FunctionDef,),
    ast.AsyncFor: (cst.For,),
    ast.AsyncWith: (cst.With,),
    ast.Constant: (*_STRINGS, cst.Name, cst.Integer, cst.Float, cst.Imaginary, cst.Ellipsis),
    ast.JoinedStr: (cst.FormattedString, cst.ConcatenatedString),
    ast.BinOp: (cst.BinaryOperation,),
    ast.BoolOp: (cst.BooleanOperation,),
    ast.UnaryOp: (cst.UnaryOperation,),
    ast.Compare: (cst.Comparison,),
    ast.Starred: (cst.StarredElement, cst.Arg),
    ast.Delete: (cst.Del,),
    ast.YieldFrom: (cst.Yield,),
    ast.keyword: (cst.Arg,),
    ast.arg: (cst.Param,),
    ast.alias: (cst.ImportAlias,),
    ast.withitem: (cst.WithItem,),
    ast.comprehension: (cst.CompFor,),
    ast.match_case: (cst.MatchCase,),
    ast.ExceptHandler: (cst.ExceptHandler, cst.ExceptStarHandler),
}


class Concrete:
    """The LibCST tree of a text, asked by place; of a text that LibCST does not read nothing is known."""

    def __init__(self, text: str) -> None:
        self._found: dict[tuple[int, int, int, int], list[cst.CSTNode]] = {}
        try:
            tree = cst.parse_module(text)
        except (cst.ParserSyntaxError, RecursionError):
            return
        # a MetadataWrapper would walk the whole tree once more, for the providers that were not asked
        provider = PositionProvider()
        provider._gen_impl(tree)
        for node, held in cast("Mapping[cst.CSTNode, CodeRange]", provider._computed).items():
            start, end = held.start, held.end
            self._found.setdefault((start.line, start.column + 1, end.line, end.column + 1), []).append(node)

    def at(self, span: Span, kind: type[ast.AST]) -> cst.CSTNode | None:
        """The node at a place that stands for a node of this type of Python's own, None where there is none."""
        wanted = _KINDS.get(kind) or tuple(filter(None, (getattr(cst, kind.__name__, None),)))
        return next((node for node in self._found.get(span, ()) if isinstance(node, wanted)), None)
