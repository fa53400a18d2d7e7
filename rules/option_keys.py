"""The texts that a key may be where the code spells all of them out: `for name in ("lr", "epochs"): entries[name]`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import product

from gclint.ir.syntax import DEFINITIONS, Module, nodes

from .option_places import scope_of

MOST_TEXTS = 200
WRITTEN = (ast.List, ast.Tuple, ast.Set)
BINDING = (ast.arg, *DEFINITIONS, ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping)


def texts_of(key: ast.AST, module: Module, entry: Module | None) -> set[str] | None:
    """All texts that a key may be; None where the code does not tell. What a module holds is what its text says where
    nobody imports it, as of the `entry`.
    """
    if isinstance(key, ast.Constant):
        return {str(key.value)}
    if isinstance(key, ast.JoinedStr):
        return _put_together([texts_of(part, module, entry) for part in key.values])
    if isinstance(key, ast.FormattedValue):
        return texts_of(key.value, module, entry) if key.conversion == -1 and key.format_spec is None else None
    if isinstance(key, ast.BinOp) and isinstance(key.op, ast.Add):
        return _put_together([texts_of(part, module, entry) for part in (key.left, key.right)])
    return _of_variable(key, module, entry) if isinstance(key, ast.Name) else None


def _put_together(parts: list[set[str] | None]) -> set[str] | None:
    known = [part for part in parts if part is not None]
    number = 1
    for part in known:
        number *= len(part)
    if len(known) < len(parts) or number > MOST_TEXTS:
        return None
    return {"".join(each) for each in product(*known)}


def _of_variable(name: ast.Name, module: Module, entry: Module | None) -> set[str] | None:
    """The texts that a variable goes through: each thing that binds it is a loop over texts that are written there."""
    bound, found = list(_bindings(name, module)), set[str]()
    for each in bound:
        listed = _listed(each, module, entry)
        if listed is None:
            return None
        found |= listed
    return found if bound else None


def _bindings(name: ast.Name, module: Module) -> Iterator[ast.AST | None]:
    """What a variable gets its values from, in its function; None for something else than a loop over it."""
    scope = scope_of(module, name)
    if any(_binds_otherwise(each, name.id) for each in nodes(scope)) or _is_shared(name.id, module):
        yield None
    for each in nodes(scope):
        if isinstance(each, ast.Name) and each.id == name.id and not isinstance(each.ctx, ast.Load):
            outer = module.parents.get(each)
            over = outer.iter if isinstance(outer, (ast.For, ast.comprehension)) and outer.target is each else None
            yield over


def _binds_otherwise(node: ast.AST, name: str) -> bool:
    """Whether a node that is no name binds one: a parameter, an import, a definition, an exception, a pattern."""
    if isinstance(node, ast.alias):
        return (node.asname or node.name.partition(".")[0]) in (name, "*")
    bound = (getattr(node, part, None) for part in ("arg", "name", "rest"))
    return isinstance(node, BINDING) and name in bound


def _is_shared(name: str, module: Module) -> bool:
    """Whether some function binds a name in a scope around it."""
    return any(isinstance(each, (ast.Global, ast.Nonlocal)) and name in each.names for each in nodes(module.tree))


def _listed(over: ast.AST | None, module: Module, entry: Module | None) -> set[str] | None:
    """The texts of a list that is written where it is gone through, or is a variable's only value, which nothing
    changes.
    """
    if isinstance(over, ast.Name):
        shared = scope_of(module, over) is module.tree and module is not entry
        over = None if shared else _only_value(over, module)
    if not isinstance(over, WRITTEN):
        return None
    texts = [each.value for each in over.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return set(texts) if len(texts) == len(over.elts) else None


def _only_value(name: ast.Name, module: Module) -> ast.AST | None:
    scope = scope_of(module, name)
    uses = [each for each in nodes(scope) if isinstance(each, ast.Name) and each.id == name.id]
    lines = [module.parents.get(each) for each in uses if not isinstance(each.ctx, ast.Load)]
    otherwise = _is_shared(name.id, module) or any(_binds_otherwise(each, name.id) for each in nodes(scope))
    if otherwise or len(lines) != 1 or not all(_leaves_it(each, module) for each in uses):
        return None
    line = lines[0]
    return line.value if isinstance(line, ast.Assign) and len(line.targets) == 1 else None


def _leaves_it(use: ast.Name, module: Module) -> bool:
    """Whether a use of a list is its one assignment, or goes through it or asks whether it has something."""
    outer = module.parents.get(use)
    if isinstance(outer, ast.Assign):
        return use in outer.targets
    if isinstance(outer, (ast.For, ast.comprehension)):
        return outer.iter is use
    return isinstance(outer, ast.Compare) and use in outer.comparators and isinstance(outer.ops[0], (ast.In, ast.NotIn))
