"""Models of the project that are transformers' PreTrainedModel: what switching checkpointing tells their parts.

A class with a `_set_gradient_checkpointing(module, value)` of its own has it called with each module; else each module
that has a `gradient_checkpointing` gets another (modeling_utils.py of 4.30.2, 4.57.6).
"""

from __future__ import annotations

from ..run import names
from ..run.calls import Call
from ..run.values import Class, Function, Object, Partial, Value, assigned, const, of
from .module_trees import modules_of

SWITCH, SETTER = "gradient_checkpointing", "_set_gradient_checkpointing"


def tell_modules(call: Call, model: Object, value: bool) -> None:
    """Tell each module of a model of the project whether it checkpoints."""
    if not isinstance(model.type, Class):
        return
    own = next((item for _, item in names.class_attribute(model.type, SETTER) or ()), None)
    if isinstance(own, Function) and "value" in [param.arg for param in own.node.args.args]:
        told = of(Partial(own.bound(model), (), {"value": const(value)}, call.site.node_id))
        names.call_method(call.it, model, "apply", call.site, [told])
        return
    for item in [each.item for each in modules_of(call.it, model) or ()]:
        if isinstance(item, Object) and SWITCH in item.attributes:
            held: Value = item.attributes[SWITCH]
            item.attributes[SWITCH] = assigned(call.it.guard - call.run.assumed, const(value), held)
