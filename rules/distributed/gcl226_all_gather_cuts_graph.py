"""# all-gather-cuts-graph (GCL226)

## What it does
Finds losses of what `torch.distributed.all_gather` gathered of a model's output, as it came.

## Why it breaks
`all_gather` copies numbers, and no gradient flows back through what it fills, not even to the part that came from this
process. A contrastive loss over all processes trains with a part of its gradient missing. Nothing is raised as long as
something else in the loss has a gradient.

## Example
```python
features = model(batch)
gathered = [torch.zeros_like(features) for _ in range(dist.get_world_size())]
dist.all_gather(gathered, features)
loss = contrast(features, torch.cat(gathered))
```

## Use instead
```python
dist.all_gather(gathered, features)
gathered[dist.get_rank()] = features
```
or `torch.distributed.nn.functional.all_gather`, which brings the gradients of the other processes as well.

## When it is fine
The own part is put back; gathered for a metric, a queue or a memory that no gradient is to reach: under `no_grad`, of
`detach()`, or in no loss; a function of one's own with a backward. A loss that means to leave the gathered part without
a gradient looks alike: fragile.

## Evidence
torch 2.13.0, two gloo ranks: a contrastive loss has the gradient norm 1.05 with what `all_gather` gave, and 1.83 with
the own part put back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.ir.syntax import dotted
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.arithmetic import of_a_model
from gclint.run.events import Backward, ItemSet, LibraryCall
from gclint.run.guards import conj
from gclint.run.parallel import alone
from gclint.run.run import Run
from gclint.run.values import FALSE, MOST_ANCESTORS, Object, Value, ancestors, of, sources

from ..words import BACKWARD

CHANGES: tuple[Aspect, ...] = ("loss", "gradients", "updates")
GATHER = "torch.distributed.all_gather"

rule = Rule(
    code="GCL226",
    name="all-gather-cuts-graph",
    docs=__doc__ or "",
    words=(("all_gather",), BACKWARD),
    bears=("processes",),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_spread_is_not_learnt.py",
        "bad_spread_is_not_learnt.fixed.py",
        processes=2,
        raises="AssertionError: the features are not driven apart",
        intent=CHANGES,
    ),
)


@rule.on(Backward)
def without_gradient(event: Backward, run: Run) -> Iterator[Finding]:
    """Is a loss computed from what was gathered of a model's output, without the own part?"""
    gathers = [each for each in run.of_type(LibraryCall) if each.name == GATHER]
    if not gathers or alone(run):
        return
    made_of = _reached(event.loss, run)
    for gather in gathers:
        if gather.call is None or gather.moment.unrecorded() is not None:
            continue
        parts, given = gather.call.get("tensor_list", 0), gather.call.get("tensor", 1)
        lists = {item for item in parts.objects() if item in made_of}
        own = [item for item in given.objects() if _has_gradient(item, gather)]
        both = conj(event.guard, gather.guard)
        if not lists or not own or both is None or _put_back(lists, gather, made_of, run):
            continue
        yield rule.finding(
            run,
            gather.site,
            "the loss has no gradient through what all_gather gave, not even to the own part",
            guard=both,
            certainty="fragile",
            symptom="silent: a part of the gradient is missing",
            related=[(event.site, "the loss is computed from it")],
            fixes=(_put(gather),),
        )


def _has_gradient(item: Object, gather: LibraryCall) -> bool:
    """Whether a tensor comes from a model, or from layers in a model's forward, and a gradient would flow back through
    it.
    """
    inside = gather.moment.forwards and any(each.known("grad").constant() is True for each in sources(of(item)))
    return (of_a_model(item) or bool(inside)) and item.known("grad").constant() is not False


def _reached(value: Value, run: Run) -> set[Object]:
    """All that a value was computed from, with the lists that functions on the way were given or loops went over."""
    calls = {item: each.call for each in run.of_type(LibraryCall) if each.call for item in each.result.objects()}
    found: set[Object] = set()
    waiting = value.objects()
    while waiting and len(found) < MOST_ANCESTORS:
        item = waiting.pop()
        if item not in found:
            found.add(item)
            made_of = [*item.made_of, *(calls[item].inputs() if item in calls else ())]
            waiting += [other for part in made_of for other in part.objects()]
            waiting += [item.parent] if item.parent is not None else []
    return found


def _put_back(lists: set[Object], gather: LibraryCall, made_of: set[Object], run: Run) -> bool:
    """Whether what was gathered gets the own part again: by an assignment, or beside it in another list."""
    if any(each.target in lists for each in run.of_type(ItemSet)):
        return True
    given = ancestors(gather.call.get("tensor", 1)) if gather.call is not None else set()
    own = {item for item in given if isinstance(item, Object) and _has_gradient(item, gather)}
    beside = [value for item in made_of for value in item.items or ()]
    return any(item in own for value in beside for item in value.objects())


def _put(gather: LibraryCall) -> Fix | None:
    """Put the own part in its place in the list after the call, which is over then and is of all processes."""
    call, asked = rewrite.call_node(gather.site), gather.call
    if asked is None or asked.gives("group", 2) or asked.get("async_op", 3, FALSE).constant() is not False:
        return None
    if call is None or len(call.args) < 2 or not isinstance(call.args[0], ast.Name) or not dotted(call.args[1]):
        return None
    package = dotted(call.func).rpartition(".")[0]
    module = gather.site.module
    text = f"{call.args[0].id}[{package}.get_rank()] = {module.code(call.args[1])}"
    edit = rewrite.insert_after(gather.site, text) if package else None
    return Fix("own-part", "Put the own part back", (edit,), "unsafe", intent=CHANGES) if edit else None
