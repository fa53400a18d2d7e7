"""In which precision a run computes: what autocast makes of a product, and which tensors are float16 for that."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .guards import ALWAYS, compatible
from .values import NONE, NOTHING, TRUE, Const, External, Object, Value

if TYPE_CHECKING:
    from .events import Moment
    from .interpreter import Interpreter

HALF = ("float16", "half")


def autocast_around(moment: Moment) -> Object | None:
    """The autocast of torch around a moment, where it is on and nothing else could stand there."""
    block = possible_autocast(moment)
    others = [each.born for each in moment.contexts if each.is_a("nullcontext")]
    return block if block is not None and all(compatible(each, block.born) for each in others) else None


def possible_autocast(moment: Moment) -> Object | None:
    """The autocast of torch around a moment, where it is on; where something else may stand there, what it was born
    under tells when it does.
    """
    block = moment.inside("autocast")
    if block is None or not str(block.type).startswith("torch."):
        return None
    enabled = block.attributes.get("enabled", TRUE)
    literals = [item.value for _, item in enabled if isinstance(item, Const)]
    return block if len(literals) == len(enabled.alternatives) and any(literals) else None


def dtype_of(block: Object) -> Value:
    """The dtype of an autocast block; by default float16 on CUDA (torch/amp/autocast_mode.py)."""
    given = block.attributes.get("dtype", NONE if "cuda" in str(block.type) else NOTHING)
    device = block.attributes.get("device_type", NOTHING).constant()
    on_cuda = "cuda" in str(block.type) or device == "cuda"
    half = External("torch.float16")
    default = ((guard, half if isinstance(item, Const) and on_cuda else item) for guard, item in given)
    return Value(default) if given else Value([(ALWAYS, half)] if on_cuda else ())


def is_half(dtype: object) -> bool:
    """Whether a dtype is float16, as torch names it or as a module's is told."""
    name = dtype.name if isinstance(dtype, External) else dtype.value if isinstance(dtype, Const) else ""
    return str(name).rpartition(".")[2] in HALF


def mark_product(it: Interpreter, made: Object) -> None:
    """A product of tensors is float16 under such an autocast, or in the forward of a model with such weights."""
    moment = it.moment()
    block = autocast_around(moment)
    if block is not None:
        dtype = dtype_of(block)
    else:
        dtype = NOTHING if moment.inside("autocast") or not it.forwards else it.forwards[0].known("dtype")
    low = Value([pair for pair in dtype if is_half(pair[1])])
    if low:
        made.state["half"] = low


def keep_half(sign: ast.operator, left: Value, right: Value, made: Object) -> None:
    """What is scaled or moved by a number stays float16; so does what is computed from two such tensors."""
    held = [item.known("half") for item in (*left.objects(), *right.objects())]
    both = isinstance(sign, (ast.Add, ast.Sub)) and len(held) == 2
    if any(held) and isinstance(sign, (ast.Add, ast.Sub, ast.Mult, ast.Div)) and (not both or all(held)):
        made.state["half"] = next(filter(None, held))
