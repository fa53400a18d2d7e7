"""Which tensors are known to have no dimension."""

from __future__ import annotations

import ast

from .values import Const, Object, Value, made_from

ALL = ("mean", "sum")
KEEPS = ("detach", "clone", "cpu", "cuda", "float", "double", "half", "mean", "sum", "abs", "sqrt", "exp", "log")
DIMENSIONS = "dimensions"  # of an object's state: how many it has
LOOPS = (ast.For, ast.AsyncFor, ast.While)
CALCULATES = (ast.BinOp, ast.UnaryOp, ast.Name, *LOOPS)  # what `x += y` gives stands at its target
MOST_STEPS = 8


def is_scalar(item: Object, steps: int = MOST_STEPS) -> bool:
    """Whether something is a tensor of no dimension: a loss that a function of torch has put together, the mean or sum
    of all of a tensor, and what is calculated from such and numbers.
    """
    if item.kind != "unknown" or not steps:
        return False
    if item.known(DIMENSIONS).constant() == 0:
        return True
    node = item.site.node if item.site is not None else None
    if item.parent is not None:
        return isinstance(node, ast.Attribute) and node.attr == "data" and is_scalar(item.parent, steps - 1)
    func = node.func if isinstance(node, ast.Call) else None
    kept = isinstance(func, ast.Attribute) and func.attr in KEEPS
    if not item.made_of or not (kept or isinstance(node, CALCULATES)):
        return False
    scalars = any(is_scalar(part, steps - 1) for part in made_from(item))
    return scalars and all(_is_number(value, steps) for value in item.made_of)


def _is_number(value: Value, steps: int) -> bool:
    parts = [part for _, part in value]
    return bool(parts) and all(
        is_scalar(part, steps - 1) or _is_of_a_round(part)
        if isinstance(part, Object)
        else isinstance(part, Const) and isinstance(part.value, (int, float))
        for part in parts
    )


def _is_of_a_round(item: Object) -> bool:
    """Whether something stands for a literal that is another one in each round of a loop."""
    return item.site is not None and isinstance(item.site.node, LOOPS) and not item.made_of and item.parent is None
