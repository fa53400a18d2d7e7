"""Numbers of NumPy: what its functions and arrays give, and what Python computes of that.

`0.1 ** numpy.int64(2)` is a `numpy.float64`, as is an element of an array; `float()`, `int()` and `item()` make
Python's own numbers of it (numpy 2.4, run). Methods of arrays give NumPy's too, but for those of `PLAIN`
(numpy/_core/_add_newdocs.py). `torch.load` refuses NumPy's where it loads weights only.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from gclint.ir.syntax import nodes
from gclint.run.events import ItemSet, LibraryCall
from gclint.run.guards import Guard
from gclint.run.run import Run
from gclint.run.values import Object, made_from, root

KEPT_BY = (
    *("builtins.sum", "builtins.min", "builtins.max", "builtins.abs", "builtins.round"),
    *("copy.copy", "copy.deepcopy"),
)
"""Python's functions that give on a number of NumPy as one."""
OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Compare)
PLAIN = (
    "item",
    "tolist",
    "tobytes",
    "tofile",
    "dump",
    "dumps",
    "fill",
    "sort",
    "resize",
    "partition",
    "put",
    "setflags",
)
"""Methods of arrays that give Python's own, or nothing."""
TO_ARRAY = ".numpy"
TOP = "numpy."
DRAWN = "numpy.random."
"""What its functions give is Python's own, one number at a time (numpy/random/mtrand.pyx)."""
MADE_BY, ANSWERS = "made by", "numbers of NumPy"  # of the run's facts


def made_by(run: Run) -> dict[Object, str]:
    """The library functions whose results things are, by the things; none that a function was given itself, such as
    the text of a path.
    """
    known, place = run.facts.get(MADE_BY, (dict[Object, str](), 0))
    for call in run.of_type(LibraryCall, start=place):
        given = call.call.positional if call.call is not None else ()
        held = {item for value in given for item in value.objects()}
        known |= {item: call.name for item in call.result.objects() if item not in held}
    run.facts[MADE_BY] = known, len(run.events)
    made: dict[Object, str] = known
    return made


def numpy_function(item: Object, run: Run) -> str:
    """The function of NumPy that something comes from, as far as it is still a number or an array of NumPy; "" where it
    is none.
    """
    origins, place = run.facts.get(ANSWERS, (None, 0))
    if origins is None or place != len(run.events):
        origins = _Origins(made_by(run), run.makers)
        run.facts[ANSWERS] = origins, len(run.events)
    answer: str = origins.function(item)
    return answer


class _Origins:
    """Which functions of NumPy the things of a run come from, up to one of its events, each looked at once."""

    def __init__(self, made_by: Mapping[Object, str], makers: Mapping[Object, LibraryCall]):
        self._made_by = made_by
        self._makers = makers
        self._answers: dict[Object, str] = {}

    def function(self, item: Object) -> str:
        """The function of NumPy that something comes from; "" where it comes from none, or from itself alone."""
        if item not in self._answers:
            self._answers[item] = ""
            self._answers[item] = self._function(item)
        return self._answers[item]

    def _function(self, item: Object) -> str:
        name = self._made_by.get(item, "")
        if name.startswith(TOP) and not name.startswith(DRAWN):
            return name
        if self._holder(item) is not None and name.endswith(TO_ARRAY):
            return f"torch.Tensor{TO_ARRAY}"
        found = {part: self.function(part) for part in self._operands(item, name)}
        tensors = (part for part, function in found.items() if not function and self._is_tensor(part))
        return "" if any(tensors) else next(filter(None, found.values()), "")

    def _operands(self, item: Object, name: str) -> list[Object]:
        """Of what a number or an array of NumPy would make something one too: what is computed with, or whose method
        gives it.
        """
        holder, node = self._holder(item), item.site.node if item.site is not None else None
        if holder is not None:
            return [holder] if name.rpartition(".")[2] not in PLAIN else []
        if name in KEPT_BY:
            return [*made_from(item), *_compared_in(node, self._made_by)]
        line = item.site.module.parents.get(node) if item.site is not None and node is not None else None
        added = isinstance(line, ast.AugAssign) and line.target is node
        return made_from(item) if not name and (added or isinstance(node, OPERATIONS)) else []

    def _holder(self, item: Object) -> Object | None:
        """What has the method that gave something."""
        made = self._makers.get(item)
        return made.call.receiver if made is not None and made.call is not None else None

    def _is_tensor(self, item: Object) -> bool:
        return bool(item.origins) or self._made_by.get(item, "").startswith("torch.")


def _compared_in(call: ast.AST | None, made: Mapping[Object, str]) -> list[Object]:
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
