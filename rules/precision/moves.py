"""Statements that are moved out of the loop in which they stand."""

from __future__ import annotations

import ast

from gclint.finding import Edit
from gclint.ir.syntax import COMPOUND, LOOPS, Site
from gclint.run import rewrite


def behind_loop(site: Site, loop: ast.AST) -> tuple[Edit, ...]:
    """Move the statement of a call from the body of a loop to behind it; () where it cannot be moved."""
    module = site.module
    statement = module.statement(site.node)
    if not isinstance(loop, LOOPS) or isinstance(statement, COMPOUND) or statement not in loop.body:
        return ()
    removed = rewrite.remove_statement(site, comments=False)
    if removed is None or len(loop.body) == 1:
        return ()
    end, start = module.span(loop.body[-1]).end_line, module.span(loop)
    lead = module.lines[start.line - 1][: start.column - 1]
    return removed, Edit(module.path, end + 1, 1, end + 1, 1, f"{lead}{module.code(site.node)}\n")
