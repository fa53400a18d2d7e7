"""Checkpoints that are asked for by name: reading them raises for a name that the files lack.

torch.distributed.checkpoint (2.13): `load` fills the dict that it is given; DefaultLoadPlanner raises for a missing
key unless it is told otherwise. A `Stateful` is handed what its own state_dict() asked for, filled.
megatron.core.dist_checkpointing (serialization.py, validation.py): `load` returns the dict that it is given, filled;
its `strict` leaves it to torch's planner to raise unless it is given.
"""

from __future__ import annotations

from ..ir.syntax import FUNCTIONS
from ..run.calls import Call
from ..run.interpreter import Frame, Interpreter
from ..run.values import NONE, TRUE, External, Object, Value, root
from .registry import Framework
from .signature import declare

STATEFUL = "torch.distributed.checkpoint.stateful.Stateful"

OPTIONS = "torch.distributed.checkpoint.state_dict.StateDictOptions"

framework = Framework("distributed_checkpoint")
declare(framework, OPTIONS, "full_state_dict=False, cpu_offload=False, ignore_frozen_params=False")


@framework.function("torch.distributed.checkpoint.load", "torch.distributed.checkpoint.load_state_dict")
def load(call: Call) -> Value:
    """The given dict is filled, and what is in it."""
    if not call.gives("planner", 5):
        for item in call.get("state_dict", 0).objects():
            for held in (item, *(part for value in (item.entries or {}).values() for part in value.objects())):
                held.state["demanded"] = TRUE
    return NONE


@framework.function("megatron.core.dist_checkpointing.load", "megatron.core.dist_checkpointing.serialization.load")
def load_sharded(call: Call) -> Value:
    """What the given dict asked for."""
    made = call.foreign()
    if not call.gives("strict", 4):
        for item in made.objects():
            item.state["demanded"] = TRUE
    return made


def was_demanded(it: Interpreter, source: Value) -> bool:
    """Whether reading what is loaded into a model would have raised for a name that the files lack."""
    return any(
        "demanded" in item.state or "demanded" in root(item).state or any(_handed(frame, item) for frame in it.frames)
        for item in source.objects()
    )


def _handed(frame: Frame, item: Object) -> bool:
    """Whether an object is of what a `Stateful` is handed, as far as nobody else calls it."""
    function, made = frame.function, root(item).site
    if function is None or function.owner is None or not isinstance(function.node, FUNCTIONS) or made is None:
        return False
    if function.node.name != "load_state_dict" or made.node not in function.node.args.args:
        return False
    return any(isinstance(base, External) and base.name == STATEFUL for base in function.owner.ancestry())
