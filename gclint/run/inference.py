"""Tensors that were made in inference mode: which they are, and what is still one of them.

What is computed under `torch.inference_mode()` is such a tensor for good, outside of the block too. There a view of it
is one, as is what `detach()` gives; what is computed from it is a tensor like any other (torch/autograd/grad_mode.py,
`inference_mode`; `Tensor.is_inference`, torch 2.13). Conversions give the tensor itself where nothing is to be
converted, `reshape` and its like where the numbers stand in a row.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .devices import is_cpu
from .events import InferenceTensorCombined
from .guards import Guard, conj
from .values import NOTHING, TRUE, External, Object, Value, of

if TYPE_CHECKING:
    from ..ir.syntax import Site
    from .calls import Call
    from .interpreter import Interpreter

USED = "inference mode"  # of the run's facts: the program has such a block
MADE = "made in inference mode"
"""The fact of a tensor that it is one of these: the block that it was made in."""
MAYBE = "made in inference mode, maybe"
"""The fact that it may be a copy: what was made, or moved, where that is not known."""
STRIDED = "strided"
"""The fact that its numbers do not stand in a row."""
ON_THE_CPU = "on the CPU"
"""The fact that it was put there: what puts it elsewhere copies it."""

VIEWS = (
    *("view", "view_as", "squeeze", "unsqueeze", "detach", "unflatten", "chunk", "split", "unbind", "tensor_split"),
    *("requires_grad_", "detach_", "squeeze_", "unsqueeze_"),
)
STRIDING = (
    *("transpose", "permute", "t", "swapaxes", "swapdims", "movedim", "expand", "expand_as", "narrow", "select"),
    *("diagonal", "unfold"),
)
IN_A_ROW = ("reshape", "flatten", "contiguous", "ravel", "reshape_as")
"""Methods that copy only what does not stand in a row."""
MOVES = ("to", "cuda", "cpu", "type_as", "float", "long", "xpu")
"""Methods that give the tensor itself where it is there already, or of that dtype."""
USUAL = ("torch.float32", "torch.float", "torch.int64", "torch.long")
NO_TENSOR = (
    *("item", "tolist", "numpy", "size", "dim", "ndimension", "numel", "nelement", "element_size", "stride", "type"),
    *("is_contiguous", "is_floating_point", "get_device", "data_ptr", "backward", "__array__", "equal", "allclose"),
)
COMPUTING = frozenset(
    (
        *("cat", "concat", "stack", "hstack", "vstack", "matmul", "mm", "bmm", "einsum", "exp", "log", "sqrt", "tanh"),
        *("softmax", "log_softmax", "relu", "gelu", "sigmoid", "normalize", "mean", "sum", "argmax", "argmin", "add"),
        *("mul", "div", "sub", "linear", "layer_norm", "embedding", "one_hot", "cdist", "zeros_like", "ones_like"),
        *("randn_like", "rand_like", "full_like", "cosine_similarity", "conv1d", "conv2d", "conv3d", "clone"),
    )
)
"""Functions of torch that always give a new tensor."""


def around(it: Interpreter) -> Value:
    """The innermost block of inference mode, under the guard in which it is one that is on; `inference_mode(False)`
    is none.
    """
    if USED not in it.run.facts:
        return NOTHING
    block = next((each for each in reversed(it.contexts) if each.is_a("inference_mode")), None)
    if block is None:
        return NOTHING
    given = block.attributes.get("argument", block.attributes.get("mode", TRUE))
    ways = (conj(block.born, guard) for guard in given.is_const(True))
    return Value((guard, block) for guard in ways if guard is not None)


def mark(it: Interpreter, made: Object, maybe: bool = False) -> None:
    """A new tensor: one of these where it is made in such a block, or may be."""
    block = around(it)
    if block:
        made.state[MADE] = block
        if maybe and made.site is not None:
            made.state[MAYBE] = of(made)


def keep(source: Object, made: Object, *facts: str) -> None:
    """What was made is what it was made of in another shape, or may be, as these facts say."""
    if MADE not in source.state or made is source:
        return
    for fact in (MADE, MAYBE, STRIDED, ON_THE_CPU):
        if fact in source.state:
            made.state[fact] = source.state[fact]
    for fact in facts:
        made.state[fact] = of(made)


def of_part(parent: Object, name: str, made: Object) -> None:
    """A part of such a tensor, or of what holds some: by an attribute, by a literal place, or as a loop takes it."""
    if MADE not in parent.state or name == "grad" or "[" in name[1:]:
        return
    keep(parent, made, *([STRIDED] if ":" in name or name in ("T", "mT", "H") else []))


def after_call(it: Interpreter, call: Call, source: Object | None, name: str, result: Value) -> None:
    """What a function of torch, or a method of something (`source`), gives is such a tensor where it surely is."""
    if USED not in it.run.facts:
        return
    given = _given(call) if source is None else [source]
    sources = [item for item in given if MADE in item.state]
    within = bool(around(it))
    of_torch = source is None and call.name.startswith("torch.")
    if not sources and not (within and of_torch and name in COMPUTING):
        return
    for made in result.objects():
        if made in given or MADE in made.state:
            continue
        if within and name not in NO_TENSOR and (of_torch or source is not None):
            mark(it, made)
            if _goes_to_the_cpu(call, name) or (sources and all(ON_THE_CPU in item.state for item in sources)):
                made.state[ON_THE_CPU] = TRUE
        elif not within and sources and (of_torch or source is not None):
            if name not in MOVES or not _is_converted(call):
                _keep_view(sources[0], made, name)
            if name in MOVES and MADE in made.state and _goes_to_the_cpu(call, name):
                made.state[ON_THE_CPU] = TRUE


def _goes_to_the_cpu(call: Call, name: str) -> bool:
    return name == "cpu" or (name == "to" and any(map(is_cpu, call.positional)))


def _is_converted(call: Call) -> bool:
    """Whether a dtype is named that a tensor does not have as it comes."""
    given = [*call.positional, *call.keywords.values()]
    named = [item.name for value in given for _, item in value if isinstance(item, External)]
    return any(name.startswith("torch.") and name not in USUAL for name in named)


def _given(call: Call) -> list[Object]:
    """What a function is given first: a tensor, or those in a list."""
    first = (call.positional or list(call.keywords.values()) or [NOTHING])[0].objects()
    return first + [part for item in first for value in item.items or () for part in value.objects()]


def _keep_view(source: Object, made: Object, name: str) -> None:
    if name in VIEWS:
        keep(source, made)
    elif name in STRIDING:
        keep(source, made, STRIDED)
    elif name in IN_A_ROW and STRIDED not in source.state:
        keep(source, made)
    elif name in MOVES and ON_THE_CPU not in source.state:
        keep(source, made, MAYBE)


def combined(it: Interpreter, sign: ast.operator, left: Value, right: Value, made: Object, site: Site) -> None:
    """`left sign right` is such a tensor in such a block; elsewhere it is told that one goes into it."""
    if USED not in it.run.facts or not any(MADE in item.state for item in (*left.objects(), *right.objects())):
        return
    if around(it):
        mark(it, made)
    else:
        it.emit(InferenceTensorCombined(it.moment(site=site), sign, left, right))


def those(value: Value) -> list[tuple[Guard, Object, Object]]:
    """Which of the things a value may be are such tensors: the guard, the tensor and its block."""
    found = []
    for guard, item in value:
        for held, block in item.state.get(MADE, NOTHING) if isinstance(item, Object) else ():
            both = conj(guard, held)
            if both is not None and isinstance(item, Object) and isinstance(block, Object):
                found.append((both, item, block))
    return found
