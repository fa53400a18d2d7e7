"""torch: FSDP, both the wrapper class and fully_shard."""

from __future__ import annotations

from ..run.calls import Call
from ..run.events import StateDictSaved, Wrapped
from ..run.guards import Guard
from ..run.values import FALSE, NONE, TRUE, External, Object, Value, const, of
from .registry import Framework
from .torch_distributed import call_ddp, each_model, inner_module
from .torch_modules import promote, set_state

framework = Framework("torch.fsdp", kinds={"fsdp2": "module"}, bases={"torch:FullyShardedDataParallel": "fsdp"})

PARTIAL = ("SHARDED_STATE_DICT", "LOCAL_STATE_DICT")
"""The types of state dict of FullyShardedDataParallel that hold what this process has (fsdp/api.py, StateDictType)."""


@framework.function("torch:FullyShardedDataParallel")
def make_fsdp(call: Call) -> Value:
    """A model whose parameters are flattened and sharded over processes."""
    name = "torch.distributed.fsdp.FullyShardedDataParallel"
    return flattened(call, name, call.get("use_orig_params", None, FALSE), "use_orig_params=True")


def flattened(call: Call, name: str, keeps: Value, keeps_by: str) -> Value:
    """A model under a wrapper of this name that flattens parameters unless it `keeps` them, as `keeps_by` asks."""
    it = call.it
    made = call.make("fsdp", name)
    inner = call.get("module", 0)
    made.attributes["module"] = inner
    made.attributes.update({name: value for name, value in call.keywords.items() if name != "module"})
    made.sites.update(call.places)
    made.open = call.open
    made.state["use_orig_params"], made.state["kept_apart_by"] = keeps, const(keeps_by)
    made.site = call.site
    for model in inner.objects():
        promote(model)
        set_state(it, model, "fsdp", of(made), const(None))
    for _, model in each_model(it, inner):
        it.emit(Wrapped(it.moment(site=call.site), model, made))
    return of(made)


framework.calling("fsdp")(call_ddp)
framework.attribute("fsdp", "module", "_fsdp_wrapped_module")(inner_module)


@framework.method("fsdp", "clip_grad_norm_")
def clip(call: Call) -> Value:
    """Clips by the norm over all processes."""
    return call.unknown()


@framework.function(
    *(f"torch.distributed.fsdp.FullyShardedDataParallel.{name}" for name in ("state_dict_type", "set_state_dict_type"))
)
def state_dict_type(call: Call) -> Value:
    """`FSDP.state_dict_type(model, StateDictType.SHARDED_STATE_DICT)`: what state dicts of the model are, in a block or
    from now on.
    """
    if call.last == "set_state_dict_type":
        for model in call.get("module", 0).objects():
            set_state(call.it, model, "state_dict_type", call.get("state_dict_type", 1))
        return NONE
    made = call.it.new("context", "torch.distributed.fsdp.state_dict_type", "state_dict_type", call.site)
    made.attributes.update(module=call.get("module", 0), kind=call.get("state_dict_type", 1))
    return of(made)


framework.method("fsdp", "state_dict_type", "set_state_dict_type")(state_dict_type)


def holds_shards(saved: StateDictSaved, model: Object) -> list[Guard]:
    """The conditions under which a state dict of a wrapped model has the part of this process alone."""
    block = saved.moment.inside("state_dict_type")
    kind = block.attributes["kind"] if block is not None else model.known("state_dict_type")
    return kind.where(lambda item: isinstance(item, External) and item.name.endswith(PARTIAL))


@framework.function("torch:fully_shard")
def fully_shard(call: Call) -> Value:
    """A module's own parameters become sharded, in place."""
    it = call.it
    given = call.get("module", 0)
    for guard, model in given:
        with it.under(guard) as possible:
            if possible and isinstance(model, Object):
                promote(model)
                made = it.new("fsdp2", "torch.distributed.fsdp.fully_shard", "fully_shard", call.site)
                made.attributes["module"] = of(model)
                it.emit(Wrapped(it.moment(site=call.site), model, made))
                set_state(it, model, "sharded", TRUE, NONE)
                model.sites["sharded"] = call.site
    return given
