"""The mutants of the core, and a seeded sample of them."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import yaml

from .operators import OPERATORS

ROOT = Path(__file__).parent.parent.parent
OF_THE_RUN = (
    "changes comparison comprehensions conditions containers contexts elements environment evaluation exceptions "
    "execution folding formula guards invocation jumps loops matching names values"
)
OF_FRAMEWORKS = "builtin_containers builtin_sequences module_trees"
CORE = [
    *(ROOT / "gclint" / "run" / f"{name}.py" for name in OF_THE_RUN.split()),
    ROOT / "gclint" / "pins" / "versions.py",
    *(ROOT / "gclint" / "frameworks" / f"{name}.py" for name in OF_FRAMEWORKS.split()),
]
_MOST_SHOWN = 70


@dataclass(frozen=True)
class Mutant:
    """One change of a file: the node of this `number`, in the order of `ast.walk`, becomes `after`.

    `key` names it by what it changes and in which function, so that it stays the same when lines move.
    """

    path: Path
    line: int
    number: int
    after: ast.AST
    operator: str
    key: str

    @property
    def module(self) -> str:
        """The name of the module that is changed."""
        return ".".join(self.path.relative_to(ROOT).with_suffix("").parts)

    def tree(self) -> ast.Module:
        """The changed module."""
        tree = ast.parse(self.path.read_text())
        made = _Replaced(list(ast.walk(tree))[self.number], self.after).visit(tree)
        assert isinstance(made, ast.Module)
        return ast.fix_missing_locations(made)


class _Replaced(ast.NodeTransformer):
    def __init__(self, before: ast.AST, after: ast.AST):
        self.before, self.after = before, after

    def visit(self, node: ast.AST) -> Any:
        if node is self.before:
            return ast.copy_location(self.after, node)
        return self.generic_visit(node)


def mutants(path: Path) -> list[Mutant]:
    """Every mutant of a file."""
    tree = ast.parse(path.read_text())
    numbers = {node: number for number, node in enumerate(ast.walk(tree))}
    seen: Counter[str] = Counter()
    found = []
    for node, function in _changeable(tree, ""):
        for operator in OPERATORS:
            for after in operator(node):
                change = f"{_shown(node)} -> {_shown(after)}"
                name = f"{path.stem}.{function}: {change}"
                seen[name] += 1
                key = name if seen[name] == 1 else f"{name} ({seen[name]})"
                found.append(Mutant(path, node.lineno, numbers[node], after, operator.__name__, key))  # type: ignore[attr-defined]
    return found


def _shown(node: ast.AST) -> str:
    """The code of a node on one line; of a statement with a body only what is before the body."""
    text = ast.unparse(ast.fix_missing_locations(node)).split("\n")[0]
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _changeable(node: ast.AST, function: str) -> Iterator[tuple[ast.AST, str]]:
    """The nodes that run, each with the function it is in: no annotation, decorator, alias of types or `__repr__`."""
    for name, held in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in held if isinstance(held, list) else [held]:
            if not isinstance(child, ast.AST) or _is_of_types(child, function):
                continue
            inner = function
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                inner = f"{function}.{child.name}".strip(".")
                _say_results(child)
            elif not function and isinstance(child, ast.Assign):
                inner = ast.unparse(child.targets[0])
                child.value.is_bound = True  # type: ignore[attr-defined]
            yield child, inner
            yield from _changeable(child, inner)


def _is_of_types(node: ast.AST, function: str) -> bool:
    if isinstance(node, ast.FunctionDef) and node.name == "__repr__":
        return True
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return True
    return not function and isinstance(node, ast.Assign) and isinstance(node.value, (ast.BinOp, ast.Subscript))


def _say_results(function: ast.FunctionDef | ast.ClassDef) -> None:
    """Tell each `return` what its function is annotated with."""
    if isinstance(function, ast.FunctionDef) and function.returns is not None:
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and not hasattr(node, "returns"):
                node.returns = ast.unparse(function.returns)  # type: ignore[attr-defined]


def drawn(count: int, seed: int, files: list[Path] = CORE) -> list[Mutant]:
    """A sample: as many of each file as there are, in an order that depends on nothing but seed and change."""
    shuffled = [sorted(mutants(path), key=lambda mutant: _place(mutant, seed)) for path in files]
    taken = [mutant for row in zip_longest(*shuffled) for mutant in row if mutant is not None]
    return taken[:count]


def _place(mutant: Mutant, seed: int) -> bytes:
    return hashlib.sha256(f"{seed} {mutant.key}".encode()).digest()


def equivalent() -> dict[str, str]:
    """Why a mutant, named by its key, changes nothing that a test could assert."""
    return yaml.safe_load((Path(__file__).parent / "equivalent.yaml").read_text()) or {}
