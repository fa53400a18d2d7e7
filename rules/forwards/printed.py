"""What a condition lets a program print, and what a run of it never comes to print."""

from __future__ import annotations

import ast

from gclint.ir.syntax import DEFINITIONS, Module
from gclint.run.events import LibraryCall
from gclint.run.run import Run

PRINT = "builtins.print"


def is_printed_never(node: ast.AST, module: Module, run: Run) -> bool:
    """Whether something stands in an `if`, or its condition, that does nothing but print and is never come to."""
    for outer in module.ancestors(node):
        if isinstance(outer, DEFINITIONS):
            return False
        if isinstance(outer, ast.If) and not outer.orelse and all(map(_prints, outer.body)):
            inside = {id(line.value) for line in outer.body if isinstance(line, ast.Expr)}
            return not any(each.name == PRINT and each.site.node_id in inside for each in run.of_type(LibraryCall))
    return False


def _prints(line: ast.stmt) -> bool:
    """Whether a statement is a call of `print`."""
    call = line.value if isinstance(line, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print"
