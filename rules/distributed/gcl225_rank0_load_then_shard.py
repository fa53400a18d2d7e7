"""# rank0-load-then-shard (GCL225)

## What it does
Finds weights that one process alone loads into a model before `fully_shard` or FullyShardedDataParallel cuts it up.

## Why it breaks
Sharding keeps of each parameter the part that belongs to the process, of the numbers that this process has. What the
first process loaded is left only in its own part; the parts of all others hold their random numbers. Nothing is raised,
and the training starts from a model of which all but one part is noise.

## Example
```python
if dist.get_rank() == 0:
    model.load_state_dict(torch.load("model.pt"))
fully_shard(model)
```

## Use instead
```python
model.load_state_dict(torch.load("model.pt"))
fully_shard(model)
```
Or, behind `fully_shard`, `set_model_state_dict` with `StateDictOptions(full_state_dict=True,
broadcast_from_rank0=True)`; `sync_module_states=True` for FullyShardedDataParallel.

## When it is fine
All processes load; the weights are sent before, or set behind `fully_shard`; `sync_module_states=True`;
DistributedDataParallel, which sends the first process's weights to all others; a file that holds no weights.

## Evidence
torch 2.13.0, two gloo ranks: of a weight that the first process sets to 7 the second half is what the other process
drew. `fully_shard` sends nothing; DistributedDataParallel does (torch/nn/parallel/distributed.py,
`_sync_module_states`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import LibraryCall, ModelLoaded, RunEnded, StateDictLoaded, Wrapped
from gclint.run.guards import DISTRIBUTED, Guard, all_of
from gclint.run.parallel import alone, inside, is_group_of_one
from gclint.run.ranks import Pair
from gclint.run.run import Run
from gclint.run.values import FALSE, Object, root

SHARDED = ("fsdp", "fsdp2")
SENT = (
    "broadcast",
    "scatter",
    "distribute_tensor",
    "set_model_state_dict",
    "set_state_dict",
    "sync_params",
    "sync_module",
)
"""Parts of the names of functions that bring the weights of one process to the others."""
CHANGES: tuple[Aspect, ...] = ("loaded", "collectives", "loss", "gradients", "updates")
SEVERAL: Guard = frozenset({(DISTRIBUTED, True)})

rule = Rule(
    code="GCL225",
    name="rank0-load-then-shard",
    docs=__doc__ or "",
    words=(
        ("fully_shard", "FullyShardedDataParallel"),
        ("load_state_dict", "from_pretrained"),
        ("rank", "RANK", "PROCID", "main_process", "process_index", "is_global_zero"),
    ),
    bears=("processes",),
    certainty=("fails",),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_half_of_it.py",
        "bad_half_of_it.fixed.py",
        processes=2,
        raises="AssertionError: a part of the weights was never loaded",
        intent=CHANGES,
    ),
)


@rule.on(RunEnded)
def loaded_by_one(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does one process alone have the weights of a model when it is sharded?"""
    shards = [each for each in run.of_type(Wrapped) if each.wrapper.kind in SHARDED and not _syncs(each.wrapper)]
    if not shards or alone(run) or is_group_of_one(run) or _sends(run):
        return
    pair = Pair(run)
    for load in run.of_type(StateDictLoaded, ModelLoaded):
        models = {root(inside(item)) for item in _filled(load)}
        shard = next((each for each in shards if _is_of(each, models) and run.place(each) > run.place(load)), None)
        only = pair.only(0, load.guard) if shard is not None and pair.only(1, load.guard) is None else None
        held = all_of([only, shard.guard, SEVERAL]) if only is not None and shard is not None else None
        if shard is None or only is None or held is None or _loaded_elsewhere(load, models, pair, run):
            continue
        yield rule.finding(
            run,
            load.site,
            "one process alone loads the weights; sharding keeps of them what belongs to that process",
            guard=held,
            symptom="silent: the other processes' parts of the model are not what was loaded",
            related=[(shard.site, "sharded here")],
            fixes=(_on_all(load), _synced(shard)),
        )


def _filled(load: StateDictLoaded | ModelLoaded) -> list[Object]:
    """The models that get their weights."""
    if isinstance(load, ModelLoaded):
        return [load.model] if load.model.known("pretrained").constant() is True else []
    return [item for item in load.target.objects() if item.kind != "optimizer"]


def _is_of(shard: Wrapped, models: set[Object]) -> bool:
    """Whether one of the models, or a part of it, is sharded."""
    return root(inside(shard.model)) in models


def _loaded_elsewhere(load: StateDictLoaded | ModelLoaded, models: set[Object], pair: Pair, run: Run) -> bool:
    """Whether another process gets the weights of a model as well, by another call."""
    others = (each for each in run.of_type(StateDictLoaded, ModelLoaded) if each is not load)
    return any(
        pair.only(1, each.guard) is not None or pair.only(0, each.guard) is None
        for each in others
        if isinstance(each, ModelLoaded) == isinstance(load, ModelLoaded)
        and (isinstance(each, ModelLoaded) or models & {root(inside(item)) for item in _filled(each)})
        and _filled(each)
    )


def _syncs(wrapper: Object) -> bool:
    """Whether a wrapper may send the weights of the first process to all."""
    return wrapper.open or wrapper.attributes.get("sync_module_states", FALSE).constant() is not False


def _sends(run: Run) -> bool:
    """Whether the program may send weights itself."""
    names = (each.name.rpartition(".")[2] for each in run.of_type(LibraryCall))
    return any(part in name for name in names for part in SENT)


def _on_all(load: StateDictLoaded | ModelLoaded) -> Fix | None:
    """Load on all processes: without the branch that holds nothing else."""
    module, line = load.site.module, load.site.module.statement(load.site.node)
    branch = next(iter(module.ancestors(line)), None) if line is not None else None
    if not isinstance(branch, ast.If) or branch.orelse or branch.body != [line]:
        return None
    edit = rewrite.unwrap_block(Site.at(module, branch), branch.body)
    return Fix("on-all", "Load on all processes", (edit,), "unsafe", intent=CHANGES) if edit else None


def _synced(shard: Wrapped) -> Fix | None:
    """Let FullyShardedDataParallel send the first process's weights."""
    if shard.wrapper.kind != "fsdp":
        return None
    edit = rewrite.set_argument(shard.site, "sync_module_states", "True", open_=shard.wrapper.open)
    if edit is None:
        return None
    return Fix(
        "sync-module-states",
        "Send the weights when the model is wrapped",
        (edit,),
        "unsafe",
        intent=CHANGES,
    )
