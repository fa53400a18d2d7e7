"""Collectives: what all processes of a run have to call, because each waits there for the others.

Sources: the docstrings of torch/distributed/distributed_c10d.py (2.13), "each process must call"; checkpoint/
state_dict_saver.py and state_dict_loader.py for `no_dist`; accelerate 1.15 (state.py, utils/operations.py); Lightning
Fabric's documentation of `barrier`, `all_reduce`, `save` and `load`: "must be called on all processes".
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ..ir.gate import where
from ..ir.syntax import FORS, dotted
from ..run.events import Backward, Event, Forward, LibraryCall
from ..run.parallel import forwards_of
from ..run.parts_of_guards import everything
from ..run.run import Run
from ..run.stepping import every_few_rounds
from ..run.values import NOTHING, TRUE, Const, External, Object, Value, root
from .module_trees import surely_below
from .torch_modules import settings_of

GROUPS = {
    **dict.fromkeys(("barrier", "monitored_barrier"), 0),
    **dict.fromkeys(("all_reduce", "broadcast", "broadcast_object_list", "all_to_all"), 2),
    **dict.fromkeys(("all_gather", "all_gather_into_tensor", "all_gather_object"), 2),
    **dict.fromkeys(("gather", "gather_object", "reduce", "reduce_scatter", "reduce_scatter_tensor"), 3),
    **dict.fromkeys(("scatter", "scatter_object_list"), 3),
    "all_to_all_single": 4,
}
"""The functions of torch.distributed, each with the position of its `group`."""
FUNCTIONAL = (
    *("torch.distributed.", "torch.distributed.nn.", "torch.distributed.nn.functional."),
    "torch.distributed.distributed_c10d.",
)
FILES = ("save", "load", "async_save")
TAKEN = ("get_model_state_dict", "get_optimizer_state_dict", "get_state_dict")
SHARED = ("wait_for_everyone", "gather", "reduce", "pad_across_processes")
OF_KEEPERS = {
    "accelerator": (*SHARED, "gather_for_metrics"),
    "partial_state": ("wait_for_everyone",),
    "fabric": ("barrier", "all_gather", "all_reduce", "broadcast", "save", "load"),
    "accelerate.utils": (*SHARED, "gather_object", "broadcast", "broadcast_object_list"),
}
BARRIERS = ("barrier", "monitored_barrier", "wait_for_everyone")
WRAPPED = ("DistributedDataParallel", "FullyShardedDataParallel", "fully_shard", "Accelerator", "Fabric", "fabric")
SETTINGS = ("fsdp=", "fsdp:", "fsdp_config", '"fsdp', "'fsdp")
COMMON = ("gather", "reduce", "scatter", "broadcast")
NAMES = (
    *sorted({*GROUPS, *SHARED, *TAKEN} - {*COMMON}),
    *(where(name, rf".*(?<!torch\.)(?<!\w){name}(?!\w|\(\s*(?:-?\d|dim\b|axis\b))") for name in COMMON),
    *(*WRAPPED, *SETTINGS, "full_tensor", "distributed.checkpoint", "distributed import checkpoint"),
)
"""Without one of these words no program calls a collective."""


class Collective(NamedTuple):
    """What a process calls together with the others: the event, what the others have to call (the same `operation`, of
    the same `model` if it is one's), and what the code calls.
    """

    event: Event
    operation: str
    name: str
    model: Object | None = None


def collectives(run: Run) -> Iterator[Collective]:
    """All that the processes of a run call together, in order."""
    for event in run.of_type(LibraryCall, Forward, Backward):
        if isinstance(event, LibraryCall):
            name = event.name.rpartition(".")[2]
            if _is_for_all(event):
                yield Collective(event, operation_of(name), name)
        elif isinstance(event, Forward):
            if (_gathers(event.model) and _is_whole(event)) or _sends_buffers(event, run):
                yield Collective(event, "forward of a model", "forward", event.model)
        else:
            averaged = [each.model for each in forwards_of(event, run) if _is_averaged(each)]
            if averaged and event.moment.inside("no_sync") is None:
                yield Collective(event, "backward of a model", "backward", averaged[0])


def operation_of(name: str) -> str:
    """What a function of this name does with the other processes; all barriers wait for each other."""
    return "barrier" if name in BARRIERS else name


def _is_for_all(event: LibraryCall) -> bool:
    """Whether a call of a library's function is for all processes, and not for a group of them."""
    call, (top, _, name) = event.call, event.name.rpartition(".")
    if call is None or call.open:
        return False
    if name in OF_KEEPERS.get(top, ()):
        return True
    if name in GROUPS and f"{top}." in FUNCTIONAL:
        return _is_world(call.get("group", GROUPS[name]))
    if top == "torch.distributed.checkpoint" and name in FILES:
        return _is_world(call.get("process_group")) and call.get("no_dist").constant() is not True
    if top.startswith("torch.distributed.checkpoint") and name in TAKEN:
        full = [item.attributes.get("full_state_dict", NOTHING) for item in call.get("options").objects()]
        return bool(full) and all(each.constant() is True for each in full) and _is_sharded(call.get("model", 0))
    if name == "state_dict":  # of whatever type (fsdp/_state_dict_utils.py)
        return call.receiver is not None and call.receiver.kind == "fsdp"
    return name == "full_tensor" and call.receiver is not None and _gathers(root(call.receiver))


def _is_world(group: Value) -> bool:
    """Whether a process group is that of all processes."""
    item = group.only()
    return not group or item == Const(None) or (isinstance(item, External) and item.name.endswith("group.WORLD"))


def _is_sharded(model: Value) -> bool:
    return bool(model.objects()) and all(_gathers(item) for item in model.objects())


def _gathers(model: Object) -> bool:
    """Whether a model's processes put its parameters together before they use them."""
    return model.kind == "fsdp" or model.known("sharded").constant() is True or _always(model.known("fsdp"))


def _is_whole(forward: Forward) -> bool:
    """Whether the model itself is called: what a method of something that it holds does nobody knows."""
    return forward.through is not None or forward.called is forward.model


def _always(wrapper: Value) -> bool:
    return bool(wrapper) and all(isinstance(item, Object) for _, item in wrapper)


def _is_averaged(forward: Forward) -> bool:
    return forward.through is not None and forward.through.kind == "ddp"


def _sends_buffers(forward: Forward, run: Run) -> bool:
    """Whether the first process sends a model's buffers to all others before its forward, as DDP does in any mode, and
    the others do not take what it sends for their next one.
    """
    wrapper, call = forward.through, forward.call
    if wrapper is None or wrapper.kind != "ddp" or call is None or forward.moment.inside("no_sync") is not None:
        return False
    if wrapper.open or wrapper.attributes.get("broadcast_buffers", TRUE).constant() is not True:
        return False
    agrees = not _records(forward) and not (_is_before_the_second(forward, run) or _is_left_over(forward, run))
    return not agrees and any(_has_buffers(part, forward) for part in surely_below(forward.model))


def _is_before_the_second(forward: Forward, run: Run) -> bool:
    """Whether a forward without gradients stands between the first and the second training forward of its model, in
    which DDP also sends in which order it reduces.
    """
    here = forward.moment.loops
    trained = [
        run.place(each)
        for each in run.of_type(Backward)
        if each.moment.loops == here and any(other.through is forward.through for other in forwards_of(each, run))
    ]
    waiting = every_few_rounds(forward, run)
    first = not waiting or (
        min(trained, default=0) < run.place(forward)
        and all(_holds_in_the_first(name, forward, run) for name in waiting)
    )
    return bool(here and trained) and first


def _is_left_over(forward: Forward, run: Run) -> bool:
    """Whether nobody takes what the first process has sent in a forward without gradients: all call something else
    together before they train again, or train no more. Where they do train they take it, as that process leaves its
    own next sending out (torch/nn/parallel/distributed.py, `require_forward_param_sync`; torch 2.13.0, two gloo ranks).
    """
    here = run.place(forward)
    training = (each for each in run.of_type(Forward) if each.through is forward.through and _records(each))
    again = next((run.place(each) for each in training if run.place(each) > here), None)
    others = (run.place(each) for each in run.of_type(LibraryCall) if _is_for_all(each))
    return again is None or any(here < place < again for place in others)


def _records(forward: Forward) -> bool:
    return forward.moment.unrecorded() is None


def _holds_in_the_first(name: str, forward: Forward, run: Run) -> bool:
    """Whether a condition `x % n == 0` holds in the first round of the innermost loop, which counts x from 0."""
    loop, made = forward.moment.loops[-1].node, run.heap[int(name.removeprefix("#")) - 1].site
    if not isinstance(loop, FORS) or made is None or not isinstance(made.node, ast.BinOp):
        return False
    target = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
    over, counted = loop.iter, made.node.left
    from_zero = isinstance(over, ast.Call) and dotted(over.func) in ("enumerate", "range") and len(over.args) == 1
    same = isinstance(target, ast.Name) and isinstance(counted, ast.Name) and counted.id == target.id
    return (
        same
        and from_zero
        and any(atom.key == f"{name}==0" and truth for atom, truth in everything(forward.guard, tacit=False))
    )


def _has_buffers(part: Object, forward: Forward) -> bool:
    """Whether a module itself keeps buffers: those that the code gave it, or a normalization's running numbers."""
    if part.kind == "layer" and part.class_name.startswith("BatchNorm"):
        return settings_of(part).get("track_running_stats", TRUE).constant() is True
    return any(guard <= forward.guard for guard, _ in part.known("buffers"))
