"""What a wrapper has and the model in it has not, and the other way about: reading that raises AttributeError.

`DistributedDataParallel` and `DataParallel` keep the model under `module` and pass on nothing else of it:
`torch.nn.Module.__getattr__` looks among an object's own parameters, buffers and modules (torch/nn/modules/module.py).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..ir.syntax import nodes
from . import names
from .events import WrappingMistaken
from .guards import ALWAYS, DEEPSPEED, DISTRIBUTED, FSDP, Guard, conj
from .jumps import is_caught, leave_under
from .values import FALSE, TRUE, Alternative, Class, Const, External, Object, Value, of

if TYPE_CHECKING:
    from .catching import Handlers
    from .interpreter import Interpreter

INNER = "module"
WRAPPERS = ("ddp", "dp")
GIVEN_TO = "given_to"
"""The fact that a library which may wrap a model was given it: what it gives back is the same object here."""
ACCELERATE, ALWAYS_WRAPS = "accelerate", "always wraps"
PLAIN_MODELS = ("module", "model", "layer", "modules")
MODELS = (*WRAPPERS, *PLAIN_MODELS)
OF_KNOWN_LIBRARIES = ("transformers.", "torchvision.", "timm.")
UNWRAPPED = frozenset({(DISTRIBUTED, False), (DEEPSPEED, False), (FSDP, False)})
"""Where accelerate wraps nothing (accelerator.py::prepare_model, 1.15)."""
OF_WRAPPERS = frozenset(
    (
        *("batched_grad_copy", "broadcast_bucket_size", "broadcast_buffers", "bucket_bytes_cap", "device", "dim"),
        *("bucket_bytes_cap_default", "bucket_bytes_cap_list", "check_reduction", "device_ids", "device_type"),
        *("find_unused_parameters", "forward_sync_buffers", "gather", "gradient_as_bucket_view", "join", "join_device"),
        *("is_multi_device_module", "join_hook", "join_process_group", "logger", "mixed_precision", "module"),
        *("modules_buffers", "modules_params", "named_module_buffers", "no_sync", "num_iterations", "output_device"),
        *("parallel_apply", "parameters_to_ignore", "process_group", "reducer", "register_comm_hook", "replicate"),
        *("require_backward_grad_sync", "require_forward_param_sync", "scatter", "skip_all_reduce_unused_params"),
        *("src_device_obj", "static_graph", "to_kwargs", "use_side_stream_for_tensor_copies"),
        *("will_sync_module_buffers",),
    )
)
"""What the wrappers have besides what every module has (`dir()` of both, torch 2.13, and what older ones set)."""


def reads(it: Interpreter, guard: Guard, item: Alternative, name: str, node: ast.expr) -> bool:
    """An attribute of a model, or of its wrapper, is read where a guard holds: where it has none of the name, that is
    told, or caught by the code around; returns whether there is any left to be read.
    """
    if not isinstance(item, Object):
        return True
    for tried in it.handlers:
        tried.asked.setdefault((item, name), it.risks == tried.risks)
    held = conj(it.guard, guard)
    if item.kind in WRAPPERS:
        lacking = held if hides(it, item, name) else None
    else:
        lacking = where_unwrapped(it, item, held) if name == INNER and held is not None else None
    if lacking is None or any(_was_tried(it, tried, item, name, node) for tried in it.doubted):
        return True
    raised = of(External("builtins.AttributeError"))
    if is_caught(it, raised):
        leave_under(it, lacking - it.guard, raised)
        return lacking != held
    moment = it.moment(node)
    moment.guard = lacking
    it.emit(WrappingMistaken(moment, item, name, guard))
    return True


def _was_tried(it: Interpreter, tried: Handlers, item: Object, name: str, node: ast.expr) -> bool:
    """Whether a handler asks a model what the body of its `try` has asked the model in the wrapper first of all, or the
    other way about: it is for models that are wrapped otherwise, and is not come to with this one.
    """
    if item.kind in WRAPPERS:
        inner = item.attributes.get(INNER)
        return tried.asked.get((item, INNER), False) and any(
            (each, name) in tried.asked for each in (inner.objects() if inner is not None else ())
        )
    around = it.module.parents.get(node)
    return isinstance(around, ast.Attribute) and tried.asked.get((item, around.attr), False)


def hides(it: Interpreter, wrapper: Object, name: str) -> bool:
    """Whether a wrapper surely lacks a name that all the models which it may hold surely have."""
    own = name.startswith("_") or name in OF_WRAPPERS or name in wrapper.attributes or wrapper.open
    if own or not isinstance(wrapper.type, str) or not it.library.gives_no(External("torch.nn.Module"), wrapper, name):
        return False
    held = wrapper.attributes.get(INNER)
    return bool(held) and all(isinstance(item, Object) and _has(item, name) for _, item in held or ())


def _has(item: Object, name: str) -> bool:
    own = isinstance(item.type, Class) and names.class_attribute(item.type, name) is not None
    return own or (item.kind in PLAIN_MODELS and name in item.attributes)


def where_unwrapped(it: Interpreter, item: Object, held: Guard) -> Guard | None:
    """The guard under which a model has no `module`, of that under which it is asked for it; None where it may have."""
    if item.open or item.kind not in PLAIN_MODELS or INNER in item.attributes:
        return None
    if isinstance(item.type, Class):
        bases = (base for base in item.type.ancestry() if isinstance(base, External))
        own = any(names.class_attribute(item.type, each) for each in (INNER, "__getattr__", "__getattribute__"))
        own = own or _sets_it(item.type)
        if own or not all(it.library.gives_no(base, item, INNER) for base in bases):
            return None
    elif item.kind in ("module", "model") and not item.type.startswith(OF_KNOWN_LIBRARIES):
        return None
    given_to = item.known(GIVEN_TO).constant() if GIVEN_TO in item.state else None
    return conj(held, UNWRAPPED) if given_to == ACCELERATE else held if GIVEN_TO not in item.state else None


def _sets_it(owner: Class) -> bool:
    """Whether a class of the project sets such an attribute itself, also where its constructor was not walked."""
    own = (base for base in owner.ancestry() if isinstance(base, Class))
    return any(names.may_name(node, INNER) for base in own for node in nodes(base.node))


def is_wrapped(it: Interpreter, item: Object) -> Value | None:
    """Whether a model has `module`: one that a library was given where it is; None of other things."""
    if GIVEN_TO not in item.state:
        return FALSE if where_unwrapped(it, item, ALWAYS) is not None else None
    if item.known(GIVEN_TO).constant() != ACCELERATE:
        return TRUE
    launched = (DISTRIBUTED, DEEPSPEED, FSDP)
    ways = [frozenset({*((each, False) for each in launched[:at]), (launched[at], True)}) for at in range(3)]
    return Value([*((way, Const(True)) for way in ways), (UNWRAPPED, Const(False))])
