"""torch.nn: a module's mode, dtype and place, and its state dict."""

from __future__ import annotations

import ast

from ..run.calls import Call
from ..run.events import Converted, GradientsCleared, LibraryCall, StateDictLoaded, StateDictSaved
from ..run.interpreter import Interpreter
from ..run.loops import CONVERTED
from ..run.values import (
    HANDED_OVER,
    NONE,
    NOTHING,
    TRUE,
    Alternative,
    Class,
    Const,
    External,
    Object,
    Value,
    const,
    of,
    root,
    union,
)
from .distributed_checkpoint import was_demanded
from .module_trees import modules_of
from .registry import Framework
from .torch_modules import mode, promote, set_state, trains_whole

framework = Framework("torch.states")

KEEP_THEIR_MODE = ("layer", "modules", "ddp", "dp", "fsdp")
"""Kinds of torch's own modules, whose code puts none into another mode."""
LIKE_TORCH = ("jittor", "megengine", "mindspore", "oneflow", "paddle")


# State


@framework.method("module", "train", "eval")
@framework.method("unknown", "train", "eval")
def set_mode(call: Call) -> Value:
    """Training or evaluation mode; what has it is a module."""
    assert call.receiver is not None
    promote(call.receiver)
    training = not call.name.endswith("eval") and call.get("mode", 0, TRUE).constant() is not False
    for item in (call.receiver, *_wrapped_in(call.receiver)):
        set_state(call.it, item, "training", const(training))
        item.state["mode_set"] = const(len(call.run.events) + 1)
    if not training or not call.it.guard - call.run.assumed:  # in training it stays, where it may be put there again
        call.run.facts.setdefault("modes", []).append((call.receiver, training))
    for model in call.run.models:
        if model is not call.receiver and is_inside(model, call.receiver):
            set_state(call.it, model, "training", const(training))
    return of(call.receiver)


@framework.attribute("module", "training")
def training(it: Interpreter, item: Object, name: str, node: ast.AST) -> Value:
    """What the last call of `train` or `eval` made it, and True in a module that the program made and never put into
    evaluation; else nobody knows: the same until the next such call.
    """
    known = _mode_now(it, item)
    if known is not None:
        return known
    key, calls = f"mode of {item.id}", len(it.run.facts.get("modes", []))
    held: tuple[Value, int] = it.run.facts.get(key, (NOTHING, -1))
    if held[1] != calls:
        held = it.run.facts[key] = of(it.child(item, name, it.site(node))), calls
        del item.attributes[name]  # it is not set by the program
    return held[0]


def _mode_now(it: Interpreter, item: Object) -> Value | None:
    known = mode(item)
    if known and (isinstance(item.type, Class) or item.kind in KEEP_THEIR_MODE) and _is_set_since(item):
        return known
    own = root(item)
    if (
        it.as_library
        or own.kind == "model"
        or not (isinstance(own.type, Class) or own.kind in ("layer", "modules"))
        or own.escaped
        or "training" in own.attributes
    ):
        return None
    for holder, trains in reversed(it.run.facts.get("modes", [])):
        if is_inside(item, holder):
            return TRUE if trains else None
        if not trains and not is_inside(holder, item) and _may_hold(it, holder, item):
            return None
    return TRUE


def _is_set_since(item: Object) -> bool:
    """Whether code that nobody knows cannot have changed the mode of a module since `train` or `eval` was called."""
    if not item.escaped or HANDED_OVER not in item.state:
        return not item.escaped
    around, last = item, int(item.known("mode_set").constant() or 0)
    while around.parent is not None:
        around = around.parent
        last = max(last, int(around.known("mode_set").constant() or 0))
    return last > int(item.state[HANDED_OVER].constant())


def _may_hold(it: Interpreter, holder: Object, item: Object) -> bool:
    """Whether a module may be one of those in another, for all that is known of that."""
    inner = modules_of(it, holder) if isinstance(holder.type, Class) else None
    return inner is None or any(each.item is item for each in inner)


def mode_set(event: LibraryCall, model: Object) -> bool | None:
    """The mode into which a call of `train` or `eval` puts a model, True for training; None where it does neither."""
    held = event.call.receiver if event.call is not None else None
    if event.call is None or held is None or event.name.rpartition(".")[2] not in ("train", "eval"):
        return None
    if not is_inside(model, held) and root(held) is not root(model):
        return None
    return not event.name.endswith(".eval") and event.call.get("mode", 0).constant() is not False


def is_inside(item: Object, holder: Object) -> bool:
    """Whether a module is a part of another, or of the one that it wraps."""
    wanted = [holder, *_wrapped_in(holder)]
    around: Object | None = item
    while around is not None:
        if any(around is each for each in wanted):
            return True
        around = around.parent
    return False


def _wrapped_in(holder: Object) -> list[Object]:
    inner = holder.attributes.get("module") if holder.kind in ("ddp", "fsdp", "dp", "engine") else None
    return inner.objects() if inner is not None else []


_NAMES = ("float16", "bfloat16", "float32", "float64")
DTYPES = {"half": "float16", "float": "float32", "double": "float64", **{name: name for name in _NAMES}}


@framework.method(
    "module",
    "to",
    "cuda",
    "cpu",
    "half",
    "float",
    "bfloat16",
    "double",
    "type",
    "xpu",
    "to_empty",
    "share_memory",
    "compile",
)
def converted(call: Call) -> Value:
    """The module itself, perhaps in another dtype or place."""
    item = call.receiver
    assert item is not None
    last = call.last
    before = item.known("dtype")
    dtype = const(DTYPES[last]) if last in ("half", "bfloat16", "float", "double") else NOTHING
    for value in [*call.positional, *call.keywords.values()]:
        named = [(guard, name) for guard, given in value if (name := _dtype(given))]
        if named:
            kept = [before.under(guard) for guard, given in value if not _dtype(given)]
            dtype = union([Value((guard, Const(name)) for guard, name in named), *kept])
    if dtype:
        set_state(call.it, item, "dtype", dtype)
        call.it.run.facts.setdefault(CONVERTED, []).append(item)
    if last in ("to", "cuda", "xpu", "to_empty", "cpu"):
        item.sites["moved"] = call.site
    call.it.emit(Converted(call.it.moment(site=call.site), item, dtype, before, call))
    return of(item)


def _dtype(given: Alternative) -> str:
    """The name of a dtype that an argument is; "" where it is none."""
    return DTYPES.get(given.name.rsplit(".", 1)[-1], "") if isinstance(given, External) else ""


@framework.method("module", "zero_grad")
def module_zero_grad(call: Call) -> Value:
    """The gradients of a module's parameters are set to nothing."""
    assert call.receiver is not None
    call.it.emit(GradientsCleared(call.it.moment(site=call.site), call.receiver))
    return NONE


def _is_of_others(item: Object) -> bool:
    """Whether an object is of a library whose modules have methods of the same names as torch's."""
    bases = item.type.ancestry() if isinstance(item.type, Class) else ()
    return any(isinstance(base, External) and base.name.partition(".")[0] in LIKE_TORCH for base in bases)


@framework.method("*", "load_state_dict")
def load_state_dict(call: Call) -> Value:
    """A state dict goes into a module, an optimizer or a scheduler."""
    assert call.receiver is not None
    if _is_of_others(call.receiver):
        return call.unknown()
    source, strict = call.get("state_dict", 0), call.get("strict", 1, TRUE)
    prefix = _prefix_of(call.receiver, call)
    trains = () if call.receiver.known("adapter").objects() else tuple(trains_whole(call.receiver))
    demanded = was_demanded(call.it, source)
    moment = call.it.moment(site=call.site)
    call.it.emit(StateDictLoaded(moment, of(call.receiver), source, strict, prefix, trains, demanded))
    made = call.it.new("load_result", "", "", call.site)
    return of(made)


@framework.method("*", "state_dict")
def state_dict(call: Call) -> Value:
    """The state of a module, an optimizer or a scheduler."""
    assert call.receiver is not None
    made = call.it.new("dict", "state_dict", "", call.site)
    call.it.emit(StateDictSaved(call.it.moment(site=call.site), of(call.receiver), made))
    made.entries, made.open = {}, True
    made.attributes["of"] = of(call.receiver)
    made.state["keys_of"] = of(root(call.receiver))
    made.state["prefix"] = const(_prefix_of(call.receiver, call))
    return of(made)


def _prefix_of(item: Object, call: Call) -> str:
    """What stands before every name in the state dict of a module: "module." for DDP, DataParallel and averages,
    "_orig_mod." for what torch.compile gave, where the code names it as it named that.
    """
    if item.kind in ("ddp", "dp", "average"):
        return "module."
    compiled, read = item.known("compiled_as").constant(), call.method.node if call.method is not None else None
    if call.method is None or compiled is None or not isinstance(read, ast.Attribute):
        return ""
    return "_orig_mod." if call.method.module.code(read.value) == compiled else ""


@framework.function("torch.save")
def save(call: Call) -> Value:
    """torch.save(something, file)."""
    call.it.emit(StateDictSaved(call.it.moment(site=call.site), call.get("obj", 0)))
    return NONE


@framework.function("torch.load", "safetensors.torch.load_file")
def load(call: Call) -> Value:
    """What a file holds."""
    made = call.it.new("dict", "checkpoint_file", "", call.site)
    made.entries, made.open = {}, True
    made.attributes["path"] = call.get("f", 0, call.get("filename", 0))
    return of(made)
