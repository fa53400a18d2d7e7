"""The changes: each operator says by what a node of a program may be replaced."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from typing import TypeVar

Node = TypeVar("Node", bound=ast.AST)
Operator = Callable[[ast.AST], Iterator[ast.AST]]

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.BitAnd: ast.BitOr}
_RELEASE = re.compile(r"(\d+\.)(\d+)(\.\d+)*")
_OF_GUARDS = {"complement", "conj", "narrowed", "without", "without_elements", "tacit"}
_OF_MANY_GUARDS = {"either", "all_of", "common"}
_LEAVING = (ast.Return, ast.Continue, ast.Break, ast.Raise)


def _with(node: Node, **fields: object) -> Node:
    """A copy with other fields."""
    made = copy.deepcopy(node)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _always() -> ast.expr:
    return ast.Call(ast.Name("frozenset", ast.Load()), [], [])


def comparison(node: ast.AST) -> Iterator[ast.AST]:
    """`==` for `!=`, `<` for `<=`, `in` for `not in`, and the like."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            other = _COMPARISONS[type(operator)]()
            yield _with(node, ops=[*node.ops[:place], other, *node.ops[place + 1 :]])


def connective(node: ast.AST) -> Iterator[ast.AST]:
    """`and` for `or`, and the other way round."""
    if isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())


def negation(node: ast.AST) -> Iterator[ast.AST]:
    """A `not` is taken away."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand


def condition(node: ast.AST) -> Iterator[ast.AST]:
    """The condition of an `if` or a `while` is turned round; comparisons and negations are left to their operators."""
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        own = isinstance(node.test, (ast.Compare, ast.Constant))
        if not own and not (isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)):
            yield _with(node, test=_negated(node.test))


def constant(node: ast.AST) -> Iterator[ast.AST]:
    """`True` for `False`, a number one higher and one lower, the next release for a release. What a module names as a
    bound is lowered only: more than is promised breaks no promise.
    """
    if not isinstance(node, ast.Constant):
        return
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int):
        if not getattr(node, "is_bound", False):
            yield ast.Constant(node.value + 1)
        yield ast.Constant(node.value - 1)
    elif isinstance(node.value, str) and (release := _RELEASE.fullmatch(node.value)):
        yield ast.Constant(f"{release[1]}{int(release[2]) + 1}{release[3] or ''}")


def arithmetic(node: ast.AST) -> Iterator[ast.AST]:
    """`+` for `-`, `|` for `&`; of `a | b`, which joins guards, one side only."""
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.BitOr):
            yield node.left
            yield node.right
        elif type(node.op) in _ARITHMETIC:
            yield _with(node, op=_ARITHMETIC[type(node.op)]())


def algebra(node: ast.AST) -> Iterator[ast.AST]:
    """What makes a guard out of guards is dropped: one of them stays, or none."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id in _OF_GUARDS:
            yield from node.args
        elif node.func.id in _OF_MANY_GUARDS:
            yield _always()


def argument(node: ast.AST) -> Iterator[ast.AST]:
    """A guard that is handed on becomes the one that always holds."""
    if isinstance(node, ast.Call):
        for place, given in enumerate(node.args):
            name = given.id if isinstance(given, ast.Name) else given.attr if isinstance(given, ast.Attribute) else ""
            if name.endswith("guard"):
                yield _with(node, args=[*node.args[:place], _always(), *node.args[place + 1 :]])


def statement(node: ast.AST) -> Iterator[ast.AST]:
    """A call for its effect, a `continue`, or an `if` that leaves early is dropped."""
    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    leaves = isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], _LEAVING)
    if called or leaves or isinstance(node, ast.Continue):
        yield ast.Pass()


def result(node: ast.AST) -> Iterator[ast.AST]:
    """What a function returns, by what it says it returns (see `mutants`): the opposite, nothing, or no condition."""
    if not isinstance(node, ast.Return) or node.value is None:
        return
    says = getattr(node, "returns", "")
    if says == "bool" and not isinstance(node.value, ast.Constant):
        yield ast.Return(_negated(node.value))
    elif says == "Guard":
        yield ast.Return(_always())
    elif says.endswith("| None") and not isinstance(node.value, ast.Constant):
        yield ast.Return(ast.Constant(None))
    elif says.startswith("list[") and not (isinstance(node.value, ast.List) and not node.value.elts):
        yield ast.Return(ast.List([], ast.Load()))


OPERATORS: tuple[Operator, ...] = (
    comparison,
    connective,
    negation,
    condition,
    constant,
    arithmetic,
    algebra,
    argument,
    statement,
    result,
)
