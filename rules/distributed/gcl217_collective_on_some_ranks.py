"""# collective-on-some-ranks (GCL217)

## What it does
Finds collectives that only some of the processes of a run call: in a branch that the others do not take, or behind a
return, a break or an exit that only some take.

## Why it breaks
In a collective each process waits for all others, or takes what they send next. Where one does not call it, the others
wait until the time-out, or the call meets another one of that process: gloo mixes up their data or raises, NCCL hangs.

## Example
```python
if dist.get_rank() == 0:
    evaluate(model)
    dist.barrier()
```

## Use instead
```python
if dist.get_rank() == 0:
    evaluate(model)
dist.barrier()
```

## When it is fine
The other branch, or a later one of the others, calls it as well (`if rank != 0: barrier()`, then `if rank == 0:
barrier()`); a group of its own whose members call it; the condition is the same on all processes; one process; an
exception, which ends the run of all; `accelerator.main_process_first()` and what else waits by itself. A forward of a
DDP model without gradients that one process calls before all train again: the others take the buffers that it sends
for those of their next forward, and it leaves that one's out; not so before the second training forward, nor after the
last.

## Evidence
torch 2.13.0, two gloo ranks: a barrier of one process meets the all_reduce of the other, and both wait until "Timed out
waiting 5000ms for recv operation to complete". Collectives are torch's (c10d, checkpoint), accelerate's and Fabric's;
the backward of a DDP model, and the forward of one with buffers, which DDP broadcasts in eval mode too
(torch/nn/parallel/distributed.py, `_sync_buffers`); forwards and whole states of sharded models.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gclint.finding import Edit, Finding, Fix
from gclint.frameworks.collectives import BARRIERS, NAMES, Collective, collectives, operation_of
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Event, Forward, LibraryCall, RunEnded
from gclint.run.guards import Guard, compatible
from gclint.run.parallel import alone, is_group_of_one
from gclint.run.parts_of_guards import is_exact
from gclint.run.ranks import Pair
from gclint.run.run import Run

WHO = ("the first process calls {} and others do not", "the first process does not call {}, others do")

rule = Rule(
    code="GCL217",
    name="collective-on-some-ranks",
    docs=__doc__ or "",
    words=(
        NAMES,
        ("distributed", "accelerate", "fabric"),
        ("rank", "RANK", "PROCID", "main_process", "process_index", "is_global_zero", "is_last_process"),
    ),
    bears=("processes",),
    certainty=("fails",),
    fixable="unsafe",
    oracles=("hang",),
    reproduction=Reproduction(
        "bad_in_the_branch.py",
        "bad_in_the_branch.fixed.py",
        processes=2,
        intent=("collectives",),
    ),
)


class Called(NamedTuple):
    """What one process of two calls and the other does not: where, which of them, what else has to hold for it, and
    what is told of; None where it may only be what the other waits for.
    """

    event: Event
    process: int
    guard: Guard
    told: Collective | None


@rule.on(RunEnded)
def called_by_some(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is there a collective that one process calls and another does not? Of those behind one condition, the first."""
    if not event.whole or alone(run) or is_group_of_one(run):
        return
    pair, told = Pair(run), set[object]()
    held: dict[str, list[Called]] = {}
    for each in collectives(run):
        held.setdefault(each.operation, []).extend(_sided(each.event, pair, each))
    for operation, called in held.items():
        once = {(each.event.site.node, each.process): each for each in reversed(called)}
        left = _unanswered(sorted(once.values(), key=lambda item: run.place(item.event)))
        if left:
            maybe = [side for each in _maybe(operation, run) for side in _sided(each, pair, None)]
            left = [each for each in left if not any(_answers(other, each) for other in maybe)]
        for lone in left:
            why = (lone.process, str(run.condition(lone.guard))) if lone.guard else lone.event.site.node
            if lone.told is not None and _is_plain(lone.guard, run) and why not in told:
                told |= {why, lone.event.site.node}
                yield _finding(lone, lone.told, run)


def _is_plain(guard: Guard, run: Run) -> bool:
    """Whether it can be said what else has to hold: of a long way there, parts may depend on the process as well."""
    return is_exact(guard) and run.condition(guard).is_short


def _sided(event: Event, pair: Pair, told: Collective | None) -> Iterator[Called]:
    """An event to which one process comes and the other does not."""
    for process in (0, 1):
        guard = pair.only(process, event.guard)
        if guard is not None:
            yield Called(event, process, guard, told)


def _maybe(operation: str, run: Run) -> Iterator[Event]:
    """The calls that may be the same operation, for all that is known: of a group, of something unknown that has such a
    method, and of functions that nobody has read.
    """
    known = {id(each.event) for each in collectives(run)}
    for each in run.of_type(LibraryCall):
        foreign = each.call is not None and each.call.receiver is None
        foreign = foreign and any("foreign" in item.state for item in each.result.objects())
        if id(each) not in known and (foreign or operation_of(each.name.rpartition(".")[2]) == operation):
            yield each


def _unanswered(called: Sequence[Called]) -> list[Called]:
    """What is left where each is taken together with the next one that the other process calls in its place. Nobody
    knows how often a loop does, so that one in a loop answers all.
    """
    left, answered = list[Called](), set[int]()
    for each in called:
        others = [one for one in called if _answers(one, each) and (one.event.moment.loops or id(one) not in answered)]
        if others:
            answered.add(id(others[0]))
        else:
            left.append(each)
    return left


def _answers(one: Called, other: Called) -> bool:
    return one.process != other.process and compatible(one.guard, other.guard) and _is_one(one.told, other.told)


def _is_one(one: Collective | None, other: Collective | None) -> bool:
    """Whether two collectives may be of one model: those that processes build in branches that exclude each other are
    one.
    """
    if one is None or other is None or one.model is None or other.model is None:
        return True
    return one.model is other.model or not compatible(one.model.born, other.model.born)


def _finding(lone: Called, collective: Collective, run: Run) -> Finding:
    ways = (_move_out(lone, collective), _around_ddp(lone, collective))
    return rule.finding(
        run,
        lone.event.site,
        WHO[lone.process].format(f"`{collective.name}`"),
        guard=lone.guard,
        symptom="the processes wait for each other until the time-out, or mix up what they send",
        fixes=ways,
    )


def _move_out(lone: Called, collective: Collective) -> Fix | None:
    """Call a barrier after the branch that it ends."""
    module, line = lone.event.site.module, lone.event.site.module.statement(lone.event.site.node)
    branch = next(iter(module.ancestors(line)), None) if line is not None else None
    if (
        not isinstance(branch, ast.If)
        or branch.orelse
        or branch.body[-1] is not line
        or collective.name not in BARRIERS
    ):
        return None
    if not isinstance(line, ast.Expr) or line.value is not lone.event.site.node:
        return None
    outer = Site.at(module, branch)
    if len(branch.body) == 1:
        edit = rewrite.replace(outer, module.code(line))
    else:
        before, place = module.span(branch.body[-2]), module.span(line)
        between = "".join(module.lines[before.end_line - 1 : place.line - 1])[before.end_column - 1 :]
        text = between + rewrite.indentation(outer) + module.code(line)
        edit = Edit(module.path, before.end_line, before.end_column, place.end_line, place.end_column, text)
    return Fix("all", "Let all processes call it", (edit,), "unsafe", intent=("collectives",))


def _around_ddp(lone: Called, collective: Collective) -> Fix | None:
    """Run the model without DDP, which has nothing to send for one process alone."""
    node = rewrite.call_node(lone.event.site)
    if node is None or not isinstance(lone.event, Forward):
        return None
    through = lone.event.through
    if through is None or through.kind != "ddp":
        return None
    edit = rewrite.put_behind(Site.at(lone.event.site.module, node.func), ".module")
    return Fix("module", "Run the model that DDP wraps", (edit,), "unsafe", intent=("forwards", "collectives"))
