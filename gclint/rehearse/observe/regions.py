"""The statement of a program's text that evaluates where the lines around it train."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.rehearse.observe.evaluations import MODULE
from gclint.verify.recipe import Evaluation

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
LEAVES = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Delete)
LOOPS = (ast.For, ast.While)


def region(tree: ast.Module, evaluation: Evaluation) -> ast.stmt | None:
    """The outermost statement around the line that evaluates and around none that trains, which can be executed twice:
    nothing in it leaves it. None where there is no such statement.
    """
    if not evaluation.line:
        return None
    body = tree.body if evaluation.function == MODULE else _body(tree, evaluation)
    return next(
        (each for each in _around(body, evaluation.line) if not _holds(each, evaluation.trains) and not _leaves(each)),
        None,
    )


def begins(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The first line of a function, that of its first decorator, as its code has it."""
    return min([function.lineno, *(each.lineno for each in function.decorator_list)])


def _body(tree: ast.Module, evaluation: Evaluation) -> list[ast.stmt]:
    functions = (each for each in ast.walk(tree) if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)))
    wanted = (evaluation.function, evaluation.first)
    return next((each.body for each in functions if (each.name, begins(each)) == wanted), [])


def _around(body: list[ast.stmt], line: int) -> Iterator[ast.stmt]:
    """The statements around a line, the outermost first."""
    for each in body:
        if _holds(each, (line,)) and not isinstance(each, FUNCTIONS):
            yield each
            inner = list(ast.iter_child_nodes(each))
            blocks = [held.body for held in inner if isinstance(held, (ast.ExceptHandler, ast.match_case))]
            yield from _around([held for held in inner if isinstance(held, ast.stmt)], line)
            for block in blocks:
                yield from _around(block, line)


def _holds(statement: ast.stmt, lines: tuple[int, ...]) -> bool:
    return any(statement.lineno <= each <= (statement.end_lineno or 0) for each in lines)


def _leaves(node: ast.AST, in_loop: bool = False) -> bool:
    """Whether something in a statement leaves it, or would fail the second time."""
    if isinstance(node, LEAVES) or (isinstance(node, (ast.Break, ast.Continue)) and not in_loop):
        return True
    if isinstance(node, FUNCTIONS):
        return False
    after = node.orelse if isinstance(node, LOOPS) else []  # what is left from there is the loop around
    inside = (each for each in ast.iter_child_nodes(node) if each not in after)
    return any(_leaves(each, in_loop) for each in after) or any(
        _leaves(each, in_loop or isinstance(node, LOOPS)) for each in inside
    )
