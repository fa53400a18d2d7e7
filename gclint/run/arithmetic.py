"""What a run remembers of tensors that it computes with: what a sum was made of, what was divided by what.

A tensor has its `graph` where it surely carries one: a loss that was computed from a model's output while autograd
recorded, or what was given to backward. `scaled_from` is the tensor of which it is a multiple, `divisor` what it
was divided by, `factor` what it was multiplied by. What is computed from a tensor that was made to be trained has that
`from_leaf`, and is `unrecorded` where autograd kept nothing of it: a leaf again.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from . import inference
from .events import Added
from .precision import keep_half, mark_product
from .values import NOTHING, TRUE, Object, Value, made_from, of, sources, union

if TYPE_CHECKING:
    from ..ir.syntax import Site
    from .interpreter import Interpreter

MOST_STEPS = 20
TENSORS = ("tensor", "activation")
COMPUTES = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript)
PLAIN = (
    *("item", "tolist", "numpy", "size", "dim", "ndimension", "numel", "nelement", "element_size", "stride"),
    *("is_contiguous", "is_floating_point", "get_device", "data_ptr", "type", "backward", "split", "chunk", "unbind"),
    *("tensor_split", "hsplit", "vsplit", "sort", "topk", "max", "min", "median", "mode", "kthvalue", "aminmax"),
)
"""Methods of a tensor that give none, or that may give several."""
NAMES_COMPARED = "names compared"  # of the run's facts: the models whose names were compared with others
REMAINDERS = "remainders"  # of the run's facts: what `x % n` was divided by, by what conditions call the result


def remember(it: Interpreter, sign: ast.operator, left: Value, right: Value, made: Object, site: Site) -> None:
    """Keep of the result of `left sign right` where it comes from."""
    given = [*left.objects(), *right.objects()]
    if isinstance(sign, ast.Mod):
        it.run.facts.setdefault(REMAINDERS, {})[f"#{made.id}"] = right
    if isinstance(sign, (ast.Sub, ast.BitXor)):
        names_compared(it, given)
    if isinstance(sign, ast.MatMult):
        mark_product(it, made)
    keep_half(sign, left, right, made)
    inference.combined(it, sign, left, right, made, site)
    computed_from_leaf(it, made, given, site)
    tensors = [item for item in given if of_a_model(item) or "asked" in item.sites]
    if not tensors:
        return
    moment = it.moment(site=site)
    if moment.unrecorded() is not None:
        return
    if any("graph" in item.state for item in tensors):
        made.state["graph"] = TRUE
    if isinstance(sign, ast.Add):
        it.emit(Added(moment, left, right, made))
    source = left if any(item in tensors for item in left.objects()) else right
    if isinstance(sign, (ast.Mult, ast.Div)) and len({item for item in tensors if item in source.objects()}) == len(
        tensors
    ):
        scale_of(made, source, right if isinstance(sign, ast.Div) else NOTHING)
        if isinstance(sign, ast.Mult):
            made.state["factor"] = right if source is left else left
    elif isinstance(sign, ast.Add) and len(tensors) == 1:
        made.state["scaled_from"] = of(tensors[0])


def names_compared(it: Interpreter, given: Sequence[Object]) -> None:
    """Keep of which models the names are, where one set is taken away from another that is not written out."""
    if not any("unordered" in item.state or _are_keys(item) for item in given) or any(map(_is_written_out, given)):
        return
    models = {model for item in sources(union(map(of, given))) for model in item.known("keys_of").objects()}
    it.run.facts.setdefault(NAMES_COMPARED, set()).update(models)


def _is_written_out(item: Object) -> bool:
    return bool(item.items) and not item.each and all(value.constant() is not None for value in item.items or ())


def _are_keys(item: Object) -> bool:
    node = item.site.node if item.site is not None else None
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "keys"


def scale_of(made: Object, source: Value, divisor: Value = NOTHING) -> None:
    """What was made is a multiple of a tensor, divided by something."""
    made.state["scaled_from"] = source
    if divisor:
        made.state["divisor"] = divisor
    if any("graph" in item.state for item in source.objects()):
        made.state["graph"] = TRUE


def computed_from_leaf(it: Interpreter, made: Object, sources: Sequence[Object], site: Site) -> None:
    """What was made from a tensor that was made to be trained is no such tensor any more; where nothing is recorded it
    is one that may be made to train.
    """
    leaf = next((item for item in sources if item.known("leaf").constant() is True), None)
    held = of(leaf) if leaf is not None else next((item.known("from_leaf") for item in sources), NOTHING)
    if held:
        made.state["from_leaf"] = held
    if held and it.moment(site=site).unrecorded() is not None:
        made.state["unrecorded"] = TRUE


def of_a_model(item: Object) -> bool:
    """Whether something was computed from what a model gave."""
    return item.items is None and item.entries is None and any(origin.kind == "activation" for origin in item.origins)


def is_tensor(item: Object) -> bool:
    """Whether something surely is a tensor: one that is made as such, what a model gives, or computed from such,
    also from a list of them, in `MOST_STEPS` at most.
    """
    seen, last = {item}, [item]
    for _ in range(MOST_STEPS):
        if not last or any(each.kind in TENSORS for each in last):
            return bool(last)
        last = [part for part in dict.fromkeys(chain.from_iterable(map(_computed_from, last))) if part not in seen]
        seen.update(last)
    return any(each.kind in TENSORS for each in last)


def _computed_from(item: Object) -> list[Object]:
    """What makes something a tensor where it is one: what it was computed from, and the elements of a list of it."""
    node = item.site.node if item.site is not None else None
    method = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    if not (isinstance(node, COMPUTES) or (method and method not in PLAIN)):
        return []
    parts = [part.parent if method and part.parent is not None else part for part in made_from(item)]
    return parts + [held for part in parts for value in part.items or () for held in value.objects()]


def multiples(value: Value) -> list[Object]:
    """The tensors of which a value is a multiple, itself included."""
    found: dict[Object, None] = {}
    waiting = value.objects()
    while waiting and len(found) < MOST_STEPS:
        item = waiting.pop()
        if item not in found:
            found[item] = None
            waiting += item.known("scaled_from").objects()
    return list(found)


def went_backward(loss: Value) -> None:
    """What was given to backward, and that of which it is a multiple, carries a graph."""
    for item in multiples(loss):
        if of_a_model(item):
            item.state["graph"] = item.state["backward"] = TRUE
