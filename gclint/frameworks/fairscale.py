"""fairscale: its checkpoint_wrapper, sharded data parallelism and sharded optimizer state.

The wrapper patches a module's forward with an autograd function of its own that recomputes inside backward, as
reentrant checkpointing does, and adds an input that requires gradients (checkpoint_activations.py, 0.4.13). Its
FullyShardedDataParallel is of before torch had one, and knows flatten_parameters in place of use_orig_params.
"""

from __future__ import annotations

from ..run.calls import Call
from ..run.values import TRUE, Const, Value, of, root
from .registry import Framework
from .torch_checkpoint import checkpointing_object, turn_on
from .torch_distributed import inner_module
from .torch_fsdp import flattened
from .torch_modules import promote
from .torch_training import make_optimizer

framework = Framework("fairscale", kinds={"sharded_ddp": "dp"})

framework.function("fairscale:OSS")(make_optimizer)
framework.attribute("sharded_ddp", "module")(inner_module)


@framework.function("fairscale:FullyShardedDataParallel")
def fully_sharded(call: Call) -> Value:
    """Parameters flattened and sharded, or sharded one by one with flatten_parameters=False; no use_orig_params."""
    flat = call.get("flatten_parameters", 7, TRUE)
    keeps = Value((guard, Const(not item.value) if isinstance(item, Const) else item) for guard, item in flat)
    return flattened(call, call.name, keeps, "flatten_parameters=False")


@framework.function("fairscale:checkpoint_wrapper")
def checkpoint_wrapper(call: Call) -> Value:
    """The module itself, which recomputes its forward in backward from here on."""
    for module in call.get("module", 0).objects():
        promote(module)
        turn_on(call.it, root(module), checkpointing_object(call.it, call.site, "fairscale", TRUE))
    return call.get("module", 0)


@framework.function("fairscale:ShardedDataParallel")
def sharded(call: Call) -> Value:
    """A model whose gradients go to the process that holds their optimizer state."""
    made = call.make("sharded_ddp", call.name)
    made.attributes["module"] = call.get("module", 0)
    return of(made)
