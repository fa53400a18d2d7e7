"""Which statements of a program are marked when it is run and looked at."""

from __future__ import annotations

import ast


def is_marked(statement: ast.stmt) -> bool:
    """Whether a run tells that it came to a statement: not of a text that stands alone, nor of what only says how the
    rest is read.
    """
    if isinstance(statement, (ast.Global, ast.Nonlocal)):
        return False
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return False
    return not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")
