"""Losses that are written out: computed number by number from what layers give, and the mean of that."""

from __future__ import annotations

import ast

from gclint.run.run import Run
from gclint.run.values import Const, Object, Value

NUMBER_BY_NUMBER = frozenset(
    {
        *("abs", "square", "pow", "sqrt", "exp", "log", "log1p", "expm1", "neg"),
        *("clamp", "clamp_min", "clamp_max", "clip", "relu", "sigmoid", "tanh", "logsigmoid", "softplus", "float"),
    }
)
"""What torch computes of each number of a tensor alone, as a function or as a method (torch/_torch_docs.py)."""
SHAPED = frozenset({"view", "reshape", "squeeze", "unsqueeze", "contiguous", "flatten", "to", "cuda"})
DRAWN = frozenset({"torch.randn_like", "torch.rand_like", "torch.randn", "torch.rand"})
WITHIN = ("mean within", "sum within")
"""What is taken over what belongs to one example: afterwards there is a number for each of them."""
MOST_PARTS = 60


def is_mean_of_numbers(loss: Value, run: Run) -> bool:
    """Whether a loss is, whichever it may be, a mean of numbers that are computed of what a layer gives, each alone."""
    found = [item for _, item in loss]
    return bool(found) and all(isinstance(item, Object) and _is_mean(item, run) for item in found)


def _is_mean(item: Object, run: Run) -> bool:
    source = item.known("scaled_from")
    if item.known("reduced"):
        return item.known("reduced").constant() == "mean" and Numbers(run).hold(source)
    return bool(source) and is_mean_of_numbers(source, run)


class Numbers:
    """What is computed number by number, of which parts each is looked at once."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.known: dict[Object, bool] = {}

    def hold(self, value: Value) -> bool:
        """Whether a value is numbers of what a layer gives, whichever it may be: none of them a sum of others."""
        return bool(value.alternatives) and all(isinstance(item, Object) and self._is(item) for _, item in value)

    def _is(self, item: Object) -> bool:
        if item not in self.known:
            self.known[item] = False
            self.known[item] = len(self.known) < MOST_PARTS and self._are_numbers(item)
        return self.known[item]

    def _are_numbers(self, item: Object) -> bool:
        node = item.site.node if item.site is not None else None
        if "loss" in item.state:
            return item.known("reduction").constant() in ("none", "mean")
        if item.known("reduced").constant() in ("mean", *WITHIN):
            return self.hold(item.known("scaled_from"))
        if isinstance(node, ast.BinOp):
            return self._are_of_two(item, node.op)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return len(item.made_of) == 1 and self.hold(item.made_of[0])
        if isinstance(node, ast.Subscript):
            return item.parent is not None and self._is(item.parent)
        if isinstance(node, ast.Call):
            return self._are_given_by(item, node)
        return False

    def _are_of_two(self, item: Object, sign: ast.operator) -> bool:
        """Whether something is computed from two numbers each, of which one at least is a layer's; a number that is
        multiplied by another may be divided so.
        """
        if len(item.made_of) != 2:
            return False
        first, second = item.made_of
        if isinstance(sign, ast.Pow):
            return self.hold(first) and second.constant() is not None
        if not isinstance(sign, (ast.Add, ast.Sub, ast.Mult)):
            return False
        of_layer = [each for each in (first, second) if self.hold(each)]
        others = [each for each in (first, second) if each not in of_layer]
        return bool(of_layer) and all(_is_given(each, self.run, isinstance(sign, ast.Mult)) for each in others)

    def _are_given_by(self, item: Object, node: ast.Call) -> bool:
        maker = self.run.makers.get(item)
        name = maker.name if maker is not None else ""
        if name.startswith("torch."):
            last = name.rpartition(".")[2]
            return last in NUMBER_BY_NUMBER and bool(item.made_of) and self.hold(item.made_of[0])
        held = self._receiver(item)
        if held is not None and isinstance(node.func, ast.Attribute):
            return node.func.attr in NUMBER_BY_NUMBER | SHAPED and self._is(held)
        return item.kind == "tensor" and maker is None

    def _receiver(self, item: Object) -> Object | None:
        """The tensor whose method gives something."""
        maker = self.run.makers.get(item)
        if maker is not None:
            return maker.call.receiver if maker.call is not None else None
        methods = item.made_of[0].objects() if item.made_of else []
        return methods[0].parent if len(methods) == 1 and item.kind == "unknown" else None


def _is_given(value: Value, run: Run, as_factor: bool) -> bool:
    """Whether a value is data, or what is drawn at random; where nothing is multiplied by it also a number."""
    return bool(value.alternatives) and all(_is_plain(item, run, as_factor) for _, item in value)


def _is_plain(item: object, run: Run, as_factor: bool) -> bool:
    if isinstance(item, Const):
        return not as_factor
    if not isinstance(item, Object):
        return False
    maker = run.makers.get(item)
    drawn = maker is not None and maker.name in DRAWN
    return drawn or item.kind == "data" or (item.kind == "option" and not as_factor)
