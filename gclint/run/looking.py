"""A walk that is looked at in one place: what an expression there is whenever it is evaluated, told at that moment."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .interpreter import Interpreter
from .values import Value

if TYPE_CHECKING:
    from ..ir.syntax import Module

MOST_TOLD = 6


class Enough(BaseException):
    """Nothing more is to be told: whatever handles errors on the way lets it pass."""


@dataclass
class Look:
    """A place in the file at `path`, line and column from 1, and what is `told` of it: each thing once.

    `tell` puts what an expression is into words. The walk ends once that is `ended`.
    """

    path: str
    line: int
    column: int
    tell: Callable[[Interpreter, ast.AST, Value], list[str]]
    told: dict[str, None] = field(default_factory=dict)
    ended: bool = False
    _nodes: dict[Module, tuple[ast.AST, ...]] = field(default_factory=dict, repr=False)

    def is_at(self, it: Interpreter, node: ast.AST) -> bool:
        """Whether a node of the module being walked is one that is looked at."""
        module = it.module
        if module not in self._nodes:
            here = os.path.realpath(it.project.absolute(module)) == self.path
            self._nodes[module] = named_at(module, self.line, self.column) if here else ()
        return node in self._nodes[module]

    def see(self, it: Interpreter, node: ast.AST, value: Value) -> None:
        """Keep what is told of a value."""
        self.told |= dict.fromkeys(self.tell(it, node, value))
        self.ended = self.ended or len(self.told) >= MOST_TOLD


class LookingWalk(Interpreter):
    """Walks as ever, and tells what stands in the place that is looked at."""

    look: Look

    def evaluate(self, node: ast.expr) -> Value:
        """The value of an expression."""
        value = super().evaluate(node)
        if self.look.ended:
            raise Enough
        self._see(node, value)
        return value

    def bind(self, name: str, value: Value, target: ast.expr | None = None) -> None:
        """Assign to a name: what a loop, a `with` or several targets bind is what it becomes there."""
        super().bind(name, value, target)
        if target is not None:
            self._see(target, value)

    def execute(self, body: Sequence[ast.stmt]) -> None:
        """Walk statements: before those of a function its parameters are what a call gives."""
        function = self.frames[-1].function if self.frames else None
        if function is not None and function.node.body is body:
            for each in ast.walk(function.node.args):
                if isinstance(each, ast.arg) and each.arg in self.scope.names:
                    self._see(each, self.scope.names[each.arg])
        super().execute(body)

    def _see(self, node: ast.AST, value: Value) -> None:
        if self.look.is_at(self, node) and not self.is_dead:
            self.look.see(self, node, value)


def named_at(module: Module, line: int, column: int) -> tuple[ast.AST, ...]:
    """What a name in the text stands for: of what is called the call as well, of what is assigned what it becomes."""
    for node in ast.walk(module.tree):
        name = _name(node)
        if name:
            span = module.span(node)
            if span.end_line == line and span.end_column - len(name) <= column <= span.end_column:
                return _meant(module, node)
    return ()


def _name(node: ast.AST) -> str:
    """The last name that a node is written with, "" for any other node."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else ""


def _meant(module: Module, node: ast.AST) -> tuple[ast.AST, ...]:
    around = module.parents[node]
    if isinstance(around, ast.Call) and around.func is node:
        return node, around
    if isinstance(around, ast.Assign) and node in around.targets:
        return (around.value,)
    if isinstance(around, ast.AnnAssign) and node is around.target and around.value is not None:
        return (around.value,)
    return (node,)
