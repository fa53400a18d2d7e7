"""The words of the command line in which a program looks for an option itself, beside its parser or before it.

for word, value in zip(sys.argv, sys.argv[1:]):
    if word == "--config": ...
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gclint.ir.syntax import Module, nodes
from gclint.run.run import Run

OF_TEXTS = ("startswith", "removeprefix", "index", "count", "remove")
"""Methods of a word, or of all of them, that are given what is looked for."""


def looks_for(flags: Sequence[str], run: Run) -> bool:
    """Whether code of the program that has the words of the command line asks for one of these flags."""
    return any(not asked.isdisjoint(flags) for asked in (_asked(each) for each in run.modules_with("argv")))


def _asked(module: Module) -> frozenset[str]:
    return module.once(_asked_in, module)


def _asked_in(module: Module) -> frozenset[str]:
    """The texts that a module compares with something, or looks for in it; of `--name=` the flag."""
    found: list[ast.expr] = []
    for node in nodes(module.tree):
        if isinstance(node, ast.Compare):
            found += [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in OF_TEXTS:
            found += node.args
    spelled = [each for part in found for each in (part.elts if isinstance(part, (ast.Tuple, ast.List)) else [part])]
    texts = (each.value for each in spelled if isinstance(each, ast.Constant) and isinstance(each.value, str))
    return frozenset(text.removesuffix("=") for text in texts)
