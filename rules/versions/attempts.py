"""Code that tries one spelling and falls back on another: each runs where it is right."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from gclint.ir.syntax import DEFINITIONS, TRIES, Module, Site, dotted, nodes

LACKING = ("AttributeError", "ImportError", "ModuleNotFoundError", "NameError", "TypeError")
ANY = ("Exception", "BaseException")


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


def one_of_two(site: Site, others: Collection[str]) -> bool:
    """Whether a node stands in a `try` or its handler of any error, in the same function, and the other of the two
    calls one of the `others` (full names; one that ends in a dot is a module): a release that lacks one has the other.
    """
    inner = site.node
    for outer in site.module.ancestors(site.node):
        if isinstance(outer, DEFINITIONS):
            return False
        if isinstance(outer, TRIES):
            other = _other_way(outer.body, outer.handlers, inner)
            if any(_is_of(name, others) for name in _called(other, site.module)):
                return True
        inner = outer
    return False


def _other_way(body: list[ast.stmt], handlers: list[ast.ExceptHandler], inner: ast.AST) -> list[ast.stmt]:
    """What runs before a handler of any error in which a node stands, or in its place where it stands in the body."""
    of_any = [each for each in handlers if each.type is None or _awaits(each, ANY)]
    if inner in body:
        return [statement for handler in of_any for statement in handler.body]
    return body if inner in of_any else []


def _is_of(name: str, others: Collection[str]) -> bool:
    return any(name == other or (other.endswith(".") and name.startswith(other)) for other in others)


def _called(statements: list[ast.stmt], module: Module) -> Iterator[str]:
    """The functions that statements call, by their full names as the imports of the file have them."""
    calls = [each for one in statements for each in nodes(one) if isinstance(each, ast.Call)]
    bound = _bound(module) if calls else {}
    for call in calls:
        head, dot, rest = dotted(call.func).partition(".")
        yield bound.get(head, head) + dot + rest


def _bound(module: Module) -> dict[str, str]:
    """What the names stand for that a file imports."""
    found = {}
    for node in nodes(module.tree):
        if isinstance(node, ast.Import):
            found.update({each.asname: each.name for each in node.names if each.asname})
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.update({each.asname or each.name: f"{node.module}.{each.name}" for each in node.names})
    return found


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
