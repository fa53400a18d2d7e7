"""Numbers of NumPy: what its functions and arrays give, and what Python computes of that.

`0.1 ** numpy.int64(2)` is a `numpy.float64`, as is an element of an array; `float()`, `int()` and `item()` make
Python's own numbers of it (numpy 2.4, run). `torch.load` refuses NumPy's where it loads weights only.
"""

from __future__ import annotations

import ast

from gclint.ir.syntax import nodes
from gclint.run.events import ItemSet, LibraryCall
from gclint.run.guards import Guard
from gclint.run.run import Run
from gclint.run.values import Object, made_from, root

KEPT_BY = ("builtins.sum", "builtins.min", "builtins.max", "builtins.abs", "builtins.round")
"""Python's functions that give on a number of NumPy as one."""
OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Compare)
TOP = "numpy."
DRAWN = "numpy.random."
"""What its functions give is Python's own, one number at a time (numpy/random/mtrand.pyx)."""
MOST_STEPS = 30
MADE_BY = "made by"  # of the run's facts


def made_by(run: Run) -> dict[Object, str]:
    """The library functions whose results things are, by the things."""
    known, place = run.facts.get(MADE_BY, (dict[Object, str](), 0))
    for call in run.of_type(LibraryCall, start=place):
        known |= dict.fromkeys(call.result.objects(), call.name)
    run.facts[MADE_BY] = known, len(run.events)
    made: dict[Object, str] = known
    return made


def numpy_function(item: Object, run: Run) -> str:
    """The function of NumPy that something comes from, as far as it is still a number or an array of NumPy; "" where it
    is none.
    """
    made = made_by(run)
    waiting, seen = [item], set[Object]()
    while waiting and len(seen) < MOST_STEPS:
        one = waiting.pop(0)
        name = made.get(one, "")
        if name.startswith(TOP) and not name.startswith(DRAWN):
            return name
        node = one.site.node if one.site is not None else None
        parts = made_from(one)
        tensor = one.origins or any(made.get(part, "").startswith("torch.") for part in parts)
        if one not in seen and not tensor and (name in KEPT_BY or (not name and isinstance(node, OPERATIONS))):
            waiting += parts if name not in KEPT_BY else [*parts, *_compared_in(node, made)]
        seen.add(one)
    return ""


def _compared_in(call: ast.AST | None, made: dict[Object, str]) -> list[Object]:
    """The arrays of NumPy that are compared in what a function is given: the answer does not say what it is made of."""
    asked = [each for each in nodes(call) if isinstance(each, ast.Compare)] if call is not None else []
    within = {node for each in asked for node in nodes(each)}
    return [item for item, name in made.items() if name.startswith(TOP) and item.site and item.site.node in within]


def set_in_groups(optimizer: Object, run: Run) -> tuple[Guard, str] | None:
    """The function of NumPy that a number in an optimizer's groups comes from, such as the learning rate that a loop
    over them sets, and the guard of that; None where there is none.
    """
    for event in run.of_type(ItemSet):
        if root(event.target) is optimizer:
            for guard, item in event.value:
                name = numpy_function(item, run) if isinstance(item, Object) else ""
                if name:
                    return event.guard | guard, name
    return None
