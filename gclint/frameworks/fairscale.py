"""fairscale: its checkpoint_wrapper, sharded data parallelism and sharded optimizer state.

The wrapper patches a module's forward with an autograd function of its own that recomputes inside backward, as
reentrant checkpointing does, and adds an input that requires gradients (checkpoint_activations.py, 0.4.13).
"""

from __future__ import annotations

from ..analysis.calls import Call
from ..analysis.values import TRUE, Value, of, root
from .registry import Framework
from .torch_checkpoint import checkpointing_object, turn_on
from .torch_distributed import inner_module
from .torch_fsdp import make_fsdp
from .torch_modules import promote
from .torch_training import make_optimizer

framework = Framework("fairscale", kinds={"sharded_ddp": "dp"})

framework.function("fairscale:FullyShardedDataParallel")(make_fsdp)
framework.function("fairscale:OSS")(make_optimizer)
framework.attribute("sharded_ddp", "module")(inner_module)


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
