"""What trains on several processes: plain DDP, or DeepSpeed or FSDP where a launcher, a plugin or a setting asks.

accelerate (state.py, accelerator.py 1.15) and transformers' Trainer built on it read ACCELERATE_USE_DEEPSPEED and
ACCELERATE_USE_FSDP, which `accelerate launch` sets.
"""

from __future__ import annotations

import ast
from functools import partial

from ..run.calls import Call
from ..run.guards import DEEPSPEED, DISTRIBUTED, FSDP, Atom
from ..run.interpreter import Interpreter
from ..run.values import NOTHING, Const, Object, Value, const, of
from .deepspeed import remember, stage
from .files_read import lifted
from .registry import Framework

PLAIN_DDP = frozenset({(DISTRIBUTED, True), (DEEPSPEED, False), (FSDP, False)})

framework = Framework("sharding")


def is_none(value: Value) -> bool:
    """Whether a value can be nothing but None."""
    return value.only() == Const(None)


def _either(atom: Atom, yes: Value, no: Value) -> Value:
    return Value([*yes.under(frozenset({(atom, True)})), *no.under(frozenset({(atom, False)}))])


def remember_launched(call: Call, model: Object) -> None:
    """A model trains under DeepSpeed where the launcher says so, with the stage or the file that it names."""
    held = call.run.environment
    with call.it.under(frozenset({(DEEPSPEED, True)})) as possible:
        if not possible or held.get("ACCELERATE_USE_DEEPSPEED", NOTHING).constant() != "true":
            return
        file = held.get("ACCELERATE_DEEPSPEED_CONFIG_FILE", NOTHING)
        if file:
            remember(call, model, file)
            return
        number = str(held.get("ACCELERATE_DEEPSPEED_ZERO_STAGE", const("2")).constant())
        config = {"zero_optimization": {"stage": int(number) if number.isdigit() else 2}}
        remember(call, model, lifted(call, config, "accelerate launch"))


@framework.attribute("*", "deepspeed_plugin")
def deepspeed_plugin(it: Interpreter, item: Object, name: str, node: ast.AST) -> Value | None:
    """A plugin under DeepSpeed, None elsewhere."""
    made = it.new("deepspeed_plugin", "", f"{item.text}.{name}", it.site(node))
    item.attributes[name] = _either(DEEPSPEED, of(made), const(None))
    return item.attributes[name]


@framework.attribute("partial_state", "fsdp_plugin")
def fsdp_plugin(it: Interpreter, item: Object, name: str, node: ast.AST) -> Value | None:
    """A plugin under FSDP; elsewhere there is none, and getattr's default (None, in most code) is what counts."""
    made = it.new("fsdp_plugin", "", f"{item.text}.{name}", it.site(node))
    item.attributes[name] = _either(FSDP, of(made), const(None))
    return item.attributes[name]


@framework.attribute("accelerator", "state")
def accelerator_state(it: Interpreter, item: Object, name: str, node: ast.AST) -> Value | None:
    """What accelerate knows of the process."""
    item.attributes[name] = of(it.new("partial_state", "accelerate.AcceleratorState", "", it.site(node)))
    return item.attributes[name]


@framework.attribute("trainer", "is_deepspeed_enabled")
def deepspeed_enabled(it: Interpreter, item: Object, name: str, node: ast.AST) -> Value | None:
    """True under DeepSpeed."""
    return _either(DEEPSPEED, const(True), const(False))


@framework.attribute("trainer", "is_fsdp_enabled")
def fsdp_enabled(it: Interpreter, item: Object, name: str, node: ast.AST) -> Value | None:
    """True under FSDP."""
    return _either(FSDP, const(True), const(False))


@framework.function("transformers:is_deepspeed_zero3_enabled")
def zero3_enabled(call: Call) -> Value:
    """True under DeepSpeed with stage 3."""
    stages = [stage(config) for model in call.run.models for config in model.known("deepspeed").objects()]
    if stages and all(number is not None for number in stages):
        return const(3 in stages)
    unknown = of(call.it.unknown("is_deepspeed_zero3_enabled()", call.site))
    return _either(DEEPSPEED, unknown, const(False))


@framework.attribute("accelerator", "distributed_type")
@framework.attribute("partial_state", "distributed_type")
def distributed_type(it: Interpreter, item: Object, name: str, node: ast.AST) -> Value | None:
    """How the processes work together."""
    return Value(
        [
            *const("DEEPSPEED").under(frozenset({(DEEPSPEED, True)})),
            *const("FSDP").under(frozenset({(FSDP, True), (DEEPSPEED, False)})),
            *const("MULTI_GPU").under(PLAIN_DDP),
            *const("NO").under(frozenset({(DISTRIBUTED, False), (DEEPSPEED, False), (FSDP, False)})),
        ]
    )


for _top in ("accelerate", "accelerate.utils", "accelerate.state", "accelerate.utils.dataclasses"):
    for _name in ("NO", "MULTI_GPU", "DEEPSPEED", "FSDP"):
        framework.constants[f"{_top}.DistributedType.{_name}"] = partial(lambda it, name: const(name), name=_name)
