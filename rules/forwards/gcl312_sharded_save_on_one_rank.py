"""# sharded-save-on-one-rank (GCL312)

## What it does
Finds the state of a model that `fully_shard` or FullyShardedDataParallel has sharded, saved as it is by one process
alone.

## Why it breaks
Each process holds its own part of every parameter, and so does its state dict. `torch.save` writes what this process
holds: the file lacks the parts of all others, and nothing is raised. Loading it raises, or fills one part of a model.

## Example
```python
fully_shard(model)
train(model)
if dist.get_rank() == 0:
    torch.save(model.state_dict(), "model.pt")
```

## Use instead
```python
state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
```

## When it is fine
`torch.distributed.checkpoint.save` on all processes; a file per process; a state dict that all processes gathered
before, as FullyShardedDataParallel does unless it is told another type of state dict; DistributedDataParallel, where
every process holds everything.

## Evidence
torch 2.13.0, two gloo ranks: the file's DTensor of shape 8 x 4 holds 4 x 4 numbers; loaded without processes it raises
"whose dimensions in the model are torch.Size([8, 4])". The same for `get_model_state_dict` without `full_state_dict`,
and for the optimizer's state. A state dict of FullyShardedDataParallel of the types SHARDED_STATE_DICT and
LOCAL_STATE_DICT holds 38 of 76 numbers, one of the type FULL_STATE_DICT all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.frameworks.torch_fsdp import holds_shards
from gclint.ir.syntax import FUNCTIONS, Module, Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import contains
from gclint.run.events import LibraryCall, OptimizerBuilt, StateDictSaved, Wrapped
from gclint.run.guards import DISTRIBUTED, Guard
from gclint.run.meaning import definition
from gclint.run.parallel import alone, is_group_of_one, models_of
from gclint.run.ranks import of_one_process
from gclint.run.run import Run, together
from gclint.run.values import NOTHING, Const, Object, Value, root

TAKEN = ("get_model_state_dict", "get_optimizer_state_dict")
LINE = "from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict"
NAME = "full_state"
SEVERAL: Guard = frozenset({(DISTRIBUTED, True)})

rule = Rule(
    code="GCL312",
    name="sharded-save-on-one-rank",
    docs=__doc__ or "",
    words=(
        ("fully_shard", "SHARDED_STATE_DICT", "LOCAL_STATE_DICT"),
        ("save(", "save,", "save)", "import save", "save as"),
        ("state_dict",),
    ),
    bears=("processes",),
    certainty=("fails",),
    fixable="unsafe",
    holds="torch >= 2.4",
    oracles=(),
    reproduction=Reproduction(
        "bad_on_rank_zero.py",
        "bad_on_rank_zero.fixed.py",
        processes=2,
        raises="AssertionError: the file holds a part of the model",
        intent=("saved", "collectives"),
    ),
)


@rule.on(LibraryCall)
def saved_by_one(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Does one process alone save the part of a model that it holds?"""
    if event.name != "torch.save" or event.call is None or alone(run) or is_group_of_one(run):
        return
    one, about = of_one_process(event.guard, run)
    for taken, guard, place in _sharded(event.call.get("obj", 0), run) if one else ():
        held = together(event.guard - one, guard - one, SEVERAL)
        if held is None:
            continue
        yield rule.finding(
            run,
            event.site,
            "one process saves the part of each tensor that it holds: the file lacks those of all others",
            guard=held,
            symptom="silent: the file holds a part of the model",
            related=[(place, "sharded here")],
            fixes=(_gathered(event, taken, about),),
        )
        return


def _sharded(saved: Value, run: Run, depth: int = 3) -> Iterator[tuple[Object, Guard, Site]]:
    """The state dicts in what is saved that hold shards, each with its guard and where the model was sharded."""
    for guard, item in saved:
        if not isinstance(item, Object):
            continue
        for owner in _owners(item, run):
            for both in _in_parts(item, owner, run):
                held = together(guard, both)
                if held is not None and owner.site is not None:
                    yield item, held, owner.site
            for both, true in owner.known("sharded"):
                held = together(guard, both)
                if held is not None and true == Const(True) and "sharded" in owner.sites and _after(item, owner, run):
                    yield item, held, owner.sites["sharded"]
        parts = [*(item.items or []), *(item.entries or {}).values()] if depth and item.type != "state_dict" else []
        for part in parts:
            for inner, both, place in _sharded(part, run, depth - 1):
                held = together(guard, both)
                if held is not None:
                    yield inner, held, place


def _in_parts(taken: Object, owner: Object, run: Run) -> list[Guard]:
    """The conditions under which a state dict of FullyShardedDataParallel is of a type that holds parts."""
    if owner.kind != "fsdp":
        return []
    return [guard for each in run.of_type(StateDictSaved) if each.made is taken for guard in holds_shards(each, owner)]


def _after(taken: Object, owner: Object, run: Run) -> bool:
    """Whether a state dict was taken after its model was sharded."""
    when = next((run.place(each) for each in run.of_type(StateDictSaved) if each.made is taken), len(run.events))
    return any(each.model is owner and run.place(each) < when for each in run.of_type(Wrapped))


def _owners(item: Object, run: Run) -> list[Object]:
    """The models whose parameters' parts, or what an optimizer keeps of them, a state dict holds as they are."""
    if item.type == "state_dict":
        given = item.attributes["of"]
    else:
        made = run.makers.get(item)
        given = _given(made) if made is not None else NOTHING
    found: dict[Object, None] = {}
    for held in given.objects():
        if held.kind == "optimizer":
            built = [each.parameters for each in run.of_type(OptimizerBuilt) if each.optimizer is held]
            found.update(dict.fromkeys(model for value in built for model in models_of(value)))
        else:
            found.update(dict.fromkeys((held, root(held))))
    return list(found)


def _given(event: LibraryCall) -> Value:
    """The model or optimizer of which a call takes the state without putting it together."""
    call, name = event.call, event.name.rpartition(".")[2]
    if call is None or call.open or name not in TAKEN or not event.name.startswith("torch.distributed.checkpoint"):
        return NOTHING
    options = call.get("options")
    full = [item.attributes.get("full_state_dict") for item in options.objects()]
    known = all(each is not None and each.constant() is False for each in full)
    return call.get("model", 0) if known and (full or not options) else NOTHING


def _gathered(event: LibraryCall, taken: Object, about: list[Object]) -> Fix | None:
    """Put the state together on all processes before one of them saves it."""
    module, call = event.site.module, taken.site.node if taken.site is not None else None
    branch = next((each for each in module.ancestors(event.site.node) if isinstance(each, (ast.If, *FUNCTIONS))), None)
    if not isinstance(branch, ast.If) or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    own = taken.site is not None and taken.site.module is module and contains(event.site.node, call, module)
    if not own or taken.attributes["of"].objects()[0].kind == "optimizer" or not _asks(branch.test, about, module):
        return None
    options = "options=StateDictOptions(full_state_dict=True, cpu_offload=True)"
    gather = f"{NAME} = get_model_state_dict({module.code(call.func.value)}, {options})"
    before = rewrite.insert_before(Site.at(module, branch), gather)
    if before is None or any(isinstance(each, ast.Name) and each.id == NAME for each in ast.walk(module.tree)):
        return None
    edits = (*rewrite.ensure_import(module, LINE), before, rewrite.replace(Site.at(module, call), NAME))
    return Fix("gather", "Gather the state on all processes first", edits, "unsafe", intent=("saved", "collectives"))


def _asks(test: ast.expr, about: list[Object], module: Module) -> bool:
    """Whether a condition is itself about the process's number."""
    asked = {each.site.node for each in about if each.site is not None}
    parts = [each for each in ast.walk(test) if isinstance(each, ast.expr)]
    return any(part in asked or definition(module, part) in asked for part in parts)
