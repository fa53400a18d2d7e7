"""Code that tries one spelling and falls back on another: each runs where it is right."""

from __future__ import annotations

import ast

from gclint.ir.syntax import DEFINITIONS, TRIES, Site, dotted

LACKING = ("AttributeError", "ImportError", "ModuleNotFoundError", "NameError", "TypeError")


def attempted(site: Site, *errors: str) -> bool:
    """Whether a node stands in a `try`, or its handler, that awaits the errors of a name or an argument which a
    release lacks, or these, in the same function.
    """
    for outer in site.module.ancestors(site.node):
        if isinstance(outer, DEFINITIONS):
            return False
        if isinstance(outer, TRIES) and any(_awaits(handler, (*LACKING, *errors)) for handler in outer.handlers):
            return True
    return False


def _awaits(handler: ast.ExceptHandler, errors: tuple[str, ...]) -> bool:
    kind = handler.type
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(dotted(item) in errors for item in kinds)


def bound_otherwise(site: Site, name: str) -> bool:
    """Whether the other branch of an `if` around an import imports something under the same name: the condition decides
    by what is installed, however it asks.
    """
    inner = site.node
    for outer in site.module.ancestors(site.node):
        if isinstance(outer, DEFINITIONS):
            return False
        if isinstance(outer, ast.If):
            other = outer.orelse if inner in outer.body else outer.body
            if any(name in _imported(statement) for statement in other):
                return True
        inner = outer
    return False


def _imported(statement: ast.stmt) -> set[str]:
    """The names that the imports in a statement bind."""
    imports = (each for each in ast.walk(statement) if isinstance(each, (ast.Import, ast.ImportFrom)))
    return {alias.asname or alias.name.partition(".")[0] for each in imports for alias in each.names}
