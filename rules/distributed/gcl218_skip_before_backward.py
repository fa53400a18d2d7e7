"""# skip-before-backward (GCL218)

## What it does
Finds models of several processes whose backward a process leaves out because of what its own loss is: not finite, or
beyond a limit.

## Why it breaks
The backward of a DistributedDataParallel or sharded model is a collective: each process waits in it for all others. One
that skips the batch goes on to its next batch, whose gradients are averaged with those of another step of the others;
at the end one process is a backward short, and the others wait for it until the time-out.

## Example
```python
loss = model(batch)
if not torch.isfinite(loss):
    continue
loss.backward()
```

In a Lightning module the same is `return None` in `training_step`, which leaves out the backward.

## Use instead
```python
skip = torch.tensor(float(not torch.isfinite(loss)), device=loss.device)
torch.distributed.all_reduce(skip, torch.distributed.ReduceOp.MAX)
if skip.item() > 0:
    continue
loss.backward()
```

## When it is fine
The processes agree: what is asked about was reduced or gathered; the skip ends the process, as an exception does; the
other branch has a backward of its own; `no_sync`; one process; a GradScaler, which leaves out the step and not the
backward.

## Evidence
torch 2.13.0, two gloo ranks, one of which skips its second batch: the gradient of the other's second step is 6.5, where
the mean of both is 6.0, and its third backward fails or waits until the time-out. Lightning: the closure of a step
that gave None has no backward (loops/optimization/automatic.py), and the documentation of `training_step` says that
this is not supported for several GPUs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.ir.syntax import FUNCTIONS, Site, dotted
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import contains
from gclint.run.events import Backward, Event, Forward, RunEnded
from gclint.run.guards import ALWAYS, Guard, all_of, compatible, complement, conj, satisfiable
from gclint.run.jumps import ENDINGS
from gclint.run.own_numbers import about_own_numbers, sent_in
from gclint.run.parallel import alone, forwards_of, is_group_of_one, of_several
from gclint.run.run import Run
from gclint.run.values import Object

from ..words import LEARNS

CHANGES: tuple[Aspect, ...] = ("steps", "backwards", "forwards", "loss", "gradients", "updates", "collectives")
NAME = "skip"

rule = Rule(
    code="GCL218",
    name="skip-before-backward",
    docs=__doc__ or "",
    words=(
        LEARNS,
        ("DistributedDataParallel", "FullyShardedDataParallel", "fully_shard", "prepare", "training_step"),
        ("isnan", "isfinite", "isinf", "if ", ".item()"),
    ),
    bears=("processes",),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=("hang",),
    reproduction=Reproduction(
        "bad_one_skips.py",
        "bad_one_skips.fixed.py",
        processes=2,
        intent=CHANGES,
    ),
)


@rule.on(RunEnded)
def left_out_by_some(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is there a backward of several processes that one of them leaves out for what its own loss is?"""
    if not event.whole or alone(run) or is_group_of_one(run):
        return
    told: set[ast.AST] = set()
    sent = sent_in(run)
    for backward in run.of_type(Backward):
        for forward in forwards_of(backward, run):
            alike = backward.site.node in told or backward.moment.inside("no_sync") is not None
            left = ALWAYS if alike or not _is_shared(forward) else backward.guard - forward.guard
            for atom, truth, asked in about_own_numbers(left, backward.loss, sent, run) if left else ():
                own = frozenset({(atom, truth)})
                several, skipped = of_several(backward.guard - own, forward), conj(forward.guard, complement(own))
                if several is None or skipped is None or _is_answered(skipped, backward, forward, run):
                    continue
                told.add(backward.site.node)
                by_itself = dotted(getattr(backward.site.node, "func", None)).endswith("backward")
                yield rule.finding(
                    run,
                    backward.site if by_itself or asked.site is None else asked.site,
                    "a process leaves this backward out for what its own loss is, and the others wait for it there",
                    guard=several,
                    certainty="fragile",
                    symptom="the gradients of different steps are averaged, and in the end a process waits in vain",
                    related=[(asked.site, "each process asks about its own loss")] if asked.site is not None else [],
                    fixes=(_agree(asked, backward),),
                )
                break


def _is_shared(forward: Forward) -> bool:
    """Whether several processes may train a model together."""
    return forward.through is not None or not forward.model.state.keys().isdisjoint(("ddp", "fsdp", "sharded"))


def _is_answered(skipped: Guard, backward: Backward, forward: Forward, run: Run) -> bool:
    """Whether the process that skips a backward ends, or has another one before it comes to the forward again."""
    goes_on = all_of([skipped, *map(complement, run.facts.get(ENDINGS, ()))])
    if goes_on is None or not satisfiable(goes_on):
        return True
    start = run.place(forward)
    end = next((run.place(each) for each in _again(forward, start, run)), len(run.events))
    others = (each for each in run.of_type(Backward, start=start) if each is not backward and run.place(each) < end)
    return any(compatible(each.guard, skipped) and forward.model in _models(each, run) for each in others)


def _again(forward: Forward, start: int, run: Run) -> list[Event]:
    later: list[Event] = run.of_type(Forward, start=start + 1)
    return [each for each in later if each.site.node is forward.site.node]


def _models(backward: Backward, run: Run) -> list[Object]:
    return [each.model for each in forwards_of(backward, run)]


def _agree(asked: Object, backward: Backward) -> Fix | None:
    """Let the processes agree before the `if` that leaves the round."""
    made, line = asked.site, backward.site
    if made is None or made.module is not line.module:
        return None
    module, loss = made.module, _loss_text(line)
    branch = next((each for each in module.ancestors(made.node) if isinstance(each, (ast.If, *FUNCTIONS))), None)
    if not isinstance(branch, ast.If) or branch.orelse or not contains(branch.test, made.node, module):
        return None
    leaves = isinstance(branch.body[-1], (ast.Continue, ast.Break, ast.Return))
    if not leaves or not loss or any(isinstance(each, ast.Name) and each.id == NAME for each in ast.walk(module.tree)):
        return None
    before = rewrite.insert_before(
        Site.at(module, branch),
        f"{NAME} = torch.tensor(float({module.code(branch.test)}), device={loss}.device)",
        f"torch.distributed.all_reduce({NAME}, torch.distributed.ReduceOp.MAX)",
    )
    if before is None:
        return None
    test = rewrite.replace(Site.at(module, branch.test), f"{NAME}.item() > 0")
    imported = rewrite.ensure_import(module, "import torch")
    return Fix("agree", "Let all processes skip where one does", (*imported, before, test), "unsafe", intent=CHANGES)


def _loss_text(backward: Site) -> str:
    """The name of what a call goes backward from."""
    node = backward.node
    if not isinstance(node, ast.Call):
        return ""
    given = node.args[0] if node.args else node.func.value if isinstance(node.func, ast.Attribute) else None
    return dotted(given)
