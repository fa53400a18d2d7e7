"""Horovod: an optimizer that averages its gradients over the processes which `horovodrun` or MPI starts.

`DistributedOptimizer` makes an optimizer of the given one's class over the given one's groups, which waits for the
averages in its step (horovod/torch/optimizer.py); it sums the gradients of several backwards, as torch does, and
averages over processes alone.
"""

from __future__ import annotations

from ..run import environment
from ..run.calls import Call
from ..run.ranks import number_of_process
from ..run.values import Value, of
from .registry import Framework

framework = Framework("horovod", in_part=("horovod",))


@framework.function("horovod.torch.DistributedOptimizer", "horovod.torch.optimizer.DistributedOptimizer")
def distributed_optimizer(call: Call) -> Value:
    """The optimizer that is given: the one that is made holds the same parameters."""
    return call.get("optimizer", 0)


@framework.function(*(f"horovod.torch.{name}" for name in ("rank", "local_rank", "cross_rank")))
def rank(call: Call) -> Value:
    """This process's number."""
    return of(number_of_process(call))


@framework.function("horovod.torch.size")
def size(call: Call) -> Value:
    """The number of processes."""
    return environment.number(call.it, "WORLD_SIZE", call.site)
