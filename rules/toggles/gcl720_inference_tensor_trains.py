"""# inference-tensor-trains (GCL720)

## What it does
Finds tensors that were made under `torch.inference_mode()` and go into a layer that trains, into the loss of one, or
are changed in place outside of the block.

## Why it breaks
What is computed in inference mode is an inference tensor for good, and so is each view of it, also after `detach()`.
Autograd cannot keep one for the backward: a layer whose weight trains keeps its input for that, and raises when it is
called; a loss keeps its target. Under `torch.no_grad()` the same numbers are tensors like any other.

## Example
```python
with torch.inference_mode():
    features = encoder(images)
logits = head(features)
```

## Use instead
```python
with torch.no_grad():
    features = encoder(images)
logits = head(features)
```

## When it is fine
A copy that is made outside of the block: by `clone()`, by `torch.stack` as a DataLoader does it, by whatever computes
something from it; a layer that is frozen; a call without gradients; under autocast, which converts what goes into a
layer.

## Evidence
torch 2.13.0: "RuntimeError: Inference tensors cannot be saved for backward" (torch/csrc/autograd/saved_variable.cpp),
in the forward, of Linear, the convolutions, the norms but RMSNorm, Embedding, PReLU and recurrent layers, products,
and the losses below; none by RMSNorm, a sum, `l1_loss`, or `clone()`. In place: "Inplace update to inference tensor
outside InferenceMode is not allowed". Since 1.9, which brought the mode.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.frameworks.module_trees import own_parameters
from gclint.frameworks.torch_modules import settings_of, trains_whole
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.calls import Call
from gclint.run.events import Event, InferenceTensorCombined, LibraryCall, LossComputed, ModuleCalled, TrainerStarted
from gclint.run.guards import ALWAYS, Guard, all_of, either
from gclint.run.inference import MAYBE, MOVES, those
from gclint.run.run import Run
from gclint.run.values import FALSE, NOTHING, Object, Value, const, of, root
from gclint.run.wrapping import GIVEN_TO

BOTH = ("weight", "bias")
SAVES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("Linear", "Bilinear", "Embedding", "EmbeddingBag", "PReLU"), ("weight",)),
    **dict.fromkeys(("Conv1d", "Conv2d", "Conv3d"), BOTH),
    **dict.fromkeys(("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"), BOTH),
    **dict.fromkeys(("LayerNorm", "GroupNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d"), BOTH),
    **dict.fromkeys(("RNN", "LSTM", "GRU"), ("weight_ih_l0",)),
    **dict.fromkeys(("RNNCell", "LSTMCell", "GRUCell"), ("weight_ih",)),
}
"""Layers that keep their input for the backward, and for the gradient of which parameter (torch 2.13, run)."""
OF_LOSSES = frozenset(
    (
        *("cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div"),
        *("mse_loss", "smooth_l1_loss", "huber_loss"),
    )
)
"""Losses that keep their target."""
NETWORK = re.compile(
    r"torchvision\.models\.(?:\w+\.)?"
    r"(?:alexnet|vgg|(?:wide_)?resn|densenet|mobilenet|efficientnet|convnext|regnet|squeezenet|shufflenet|mnasnet)\w*\Z"
)
"""Networks of torchvision that begin with a convolution of what they are given (torchvision.models)."""
PRODUCTS = ("torch.matmul", "torch.mm", "torch.bmm", "torch.mul", "torch.einsum", "torch.nn.functional.linear")
IN_PLACE = (
    *("add_", "sub_", "mul_", "div_", "clamp_", "copy_", "fill_", "zero_", "masked_fill_", "scatter_", "exp_", "log_"),
    *("sqrt_", "relu_", "neg_", "pow_", "addcmul_", "addcdiv_", "index_fill_", "normal_", "uniform_"),
)
ASKS = ("precision", "fp16", "bf16")
"""What a trainer of Lightning, or the arguments of one of transformers, are told the precision by."""
SAVED = "RuntimeError: Inference tensors cannot be saved for backward"
CHANGED = "RuntimeError: Inplace update to inference tensor outside InferenceMode is not allowed"
ASKED = "RuntimeError: Setting requires_grad=True on inference tensor outside InferenceMode is not allowed"

rule = Rule(
    code="GCL720",
    name="inference-tensor-trains",
    docs=__doc__ or "",
    words=(("inference_mode",),),
    certainty=("fails", "fragile"),
    fixable="safe",
    reproduction=Reproduction("bad_features.py", "bad_features.fixed.py", raises=SAVED),
)


@rule.on(ModuleCalled)
def given_to_a_layer(event: ModuleCalled, run: Run) -> Iterator[Finding]:
    """Is a layer whose weight trains given such a tensor?"""
    call, module = event.call, event.module
    if call is None or not _records(event) or _may_convert(event, run):
        return
    if module.kind == "layer" and module.class_name in SAVES and _keeps_it_as_it_is(module):
        trains = _trains(call, module)
        yield from _told(event, run, call.get("input", 0), trains, "a layer that trains keeps it", SAVED)
    elif isinstance(module.type, str):
        trains = either(trains_whole(module)) if trains_whole(module) else None
        if module.kind == "model":
            yield from _told(event, run, call.get("input_ids", 0), trains, "the embeddings that train keep it", SAVED)
        elif NETWORK.match(module.type):
            yield from _told(event, run, call.get("x", 0), trains, "its first convolution keeps it", SAVED, sure=False)


def _keeps_it_as_it_is(layer: Object) -> bool:
    """Whether a layer computes with its input itself, and not with one that it has padded or turned round."""
    built = settings_of(layer)
    padded = layer.built is None or "padding_mode" in built or len(layer.built[0]) > 8
    turned = layer.class_name in ("RNN", "LSTM", "GRU") and built.get("batch_first", FALSE).constant() is not False
    return not turned and not (padded and layer.class_name.startswith("Conv"))


def _trains(call: Call, layer: Object) -> Guard | None:
    """The guard under which a parameter trains for which the layer keeps its input; None where that is not known."""
    names = SAVES[layer.class_name]
    by_name = all(f"parameter {name}" in layer.state for name in names)
    whole: Guard | None = ALWAYS if by_name else either(trains_whole(layer)) if trains_whole(layer) else None
    if whole is None or layer.escaped:
        return None
    own = [each for each in own_parameters(call.it, layer) if each.name in names]
    ways = [all_of((whole, each.guard, guard)) for each in own for guard in each.item.state["trains"].is_const(True)]
    held = [way for way in ways if way is not None]
    return either(held) if held else None


@rule.on(LossComputed)
def given_to_a_loss(event: LossComputed, run: Run) -> Iterator[Finding]:
    """Is a loss of what trains given such a tensor as its target?"""
    trains = event.result.known("graph").constant() is True and event.name in OF_LOSSES
    by_logarithms = event.settings.get("log_target", FALSE).constant() is not False
    if trains and not by_logarithms and _records(event) and not _may_convert(event, run):
        yield from _told(event, run, event.target, ALWAYS, "the loss keeps it", SAVED)


@rule.on(InferenceTensorCombined)
def multiplied(event: InferenceTensorCombined, run: Run) -> Iterator[Finding]:
    """Is such a tensor multiplied with what asks for a gradient, or changed by an assignment like `x += y`?"""
    outer = event.site.module.parents.get(event.site.node)
    if isinstance(outer, ast.AugAssign):
        yield from _told(event, run, event.left, ALWAYS, "it is changed in place", CHANGED)
    elif isinstance(event.sign, (ast.Mult, ast.Div, ast.MatMult)) and _records(event):
        for given, other in ((event.left, event.right), (event.right, event.left)):
            if given is event.right or not isinstance(event.sign, ast.Div):
                yield from _told(event, run, given, _asks(other), "the product keeps it", SAVED)


@rule.on(LibraryCall)
def called_with(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Does a product of torch, or a method that changes a tensor, get such a tensor?"""
    call = event.call
    if call is None:
        return
    if event.name in PRODUCTS and len(call.positional) >= 2 and _records(event):
        first, second = call.positional[-2:] if event.name == "torch.einsum" else call.positional[:2]
        for given, other in ((first, second), (second, first)):
            yield from _told(event, run, given, _asks(other), "the product keeps it", SAVED)
    elif call.receiver is not None and not _is_in_the_mode(event):
        receiver = of(call.receiver)
        if call.last in IN_PLACE:
            yield from _told(event, run, receiver, ALWAYS, "it is changed in place", CHANGED)
        elif call.last == "requires_grad_" and call.get("requires_grad", 0, const(True)).constant() is True:
            yield from _told(event, run, receiver, ALWAYS, "it is to have a gradient", ASKED)


def _is_in_the_mode(event: Event) -> bool:
    """Whether inference mode is on, or may be: there such a tensor may be changed."""
    block = event.moment.unrecorded()
    return block is not None and block.is_a("inference_mode")


def _asks(other: Value) -> Guard | None:
    """The guard under which something surely asks for a gradient; None for no such."""
    held = [guard for guard, item in other if isinstance(item, Object) and item.known("grad").constant() is True]
    return either(held) if held else None


def _records(event: Event) -> bool:
    """Whether autograd surely records at a moment, of tensors as they are: autocast may convert them."""
    moment = event.moment
    return moment.unrecorded() is None and moment.inside("set_grad_enabled", "autocast") is None


def _may_convert(event: Event, run: Run) -> bool:
    """Whether a library may have put autocast around a forward: accelerate does, and trainers, where they are asked for
    a precision.
    """
    for started in run.of_type(TrainerStarted):
        settings = [started.trainer, *started.trainer.attributes.get("args", NOTHING).objects()]
        asked = [each.attributes[name].constant() for each in settings for name in ASKS if name in each.attributes]
        if not set(map(str, asked)) <= {"32", "32-true", "False"}:
            return True
    if not _is_prepared(event):
        return False
    made = [each.call for each in run.of_type(LibraryCall) if each.name.endswith(".Accelerator") and each.call]
    return any(each.get("mixed_precision", 2, const("no")).constant() not in (None, "no") or each.open for each in made)


def _is_prepared(event: Event) -> bool:
    """Whether a library was given the model and may put something around its forward, as its launcher says."""
    called = [*event.moment.forwards[:1], *([event.module] if isinstance(event, ModuleCalled) else [])]
    return any(GIVEN_TO in root(each).state for each in called)


def _told(
    event: Event, run: Run, given: Value, trains: Guard | None, how: str, symptom: str, sure: bool = True
) -> Iterator[Finding]:
    """The finding about a tensor that is given, for each block that it may come from; where autograd keeps it, if that
    is `sure`.
    """
    told: set[tuple[int, int]] = run.facts.setdefault("GCL720", set())
    if trains is None:
        return
    for held, item, block in those(given):
        guard = all_of((event.guard, held, trains))
        if guard is None or block.site is None or (event.site.node_id, block.id) in told:
            continue
        told.add((event.site.node_id, block.id))
        moved = _moved(item)
        unknown = any(each.kind == "unknown" for each in event.moment.contexts)
        doubts = unknown or _is_prepared(event) or MAYBE in item.state or run.of_type(TrainerStarted)
        yield rule.finding(
            run,
            event.site,
            f"this tensor was made in inference mode: {how}",
            guard=guard,
            certainty="fails" if sure and not doubts else "fragile",
            symptom=symptom,
            condition=f"if `{moved}` copies nothing" if moved else "",
            related=[(block.site, "made in this block")],
            fixes=(_without(block.site),),
        )


def _moved(item: Object) -> str:
    """How the code converts it, or puts it elsewhere, on the way; "" for no such."""
    made = item.known(MAYBE).objects()
    node = made[0].site.node if made and made[0].site is not None else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or made[0].kind == "module":
        return ""
    return f".{node.func.attr}({', '.join(map(ast.unparse, node.args))})" if node.func.attr in MOVES else ""


def _without(block: Site) -> Fix | None:
    """`torch.no_grad()` in place of a block that is on in any case: no_grad cannot be told whether it is."""
    node = block.node
    function = node.func if isinstance(node, ast.Call) else node
    given = [*node.args, *(each.value for each in node.keywords)] if isinstance(node, ast.Call) else []
    always = all(isinstance(each, ast.Constant) and each.value is True for each in given)
    if not isinstance(function, ast.Attribute) or not always:
        return None
    edit = rewrite.replace(block, f"{block.module.code(function.value)}.no_grad()")
    return Fix("no-grad", "Compute it under torch.no_grad()", (edit,), "safe")
