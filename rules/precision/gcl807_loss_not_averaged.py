"""# loss-not-averaged (GCL807)

## What it does
Finds gradients that are accumulated over several rounds from losses that are not divided by how many there are.

## Why it breaks
The gradients of N rounds add up: those of mean losses are N times as large as of one batch of that size. The learning
rate is in effect N times higher (with SGD; Adam sees it in clipping and weight decay), and another N is another run.

## Example
```python
for i, batch in enumerate(loader):
    loss = criterion(model(batch), target)
    loss.backward()
    if (i + 1) % 8 == 0:
        optimizer.step()
        optimizer.zero_grad()
```

## Use instead
```python
    (loss / 8).backward()
```

## When it is fine
A loss that is divided, also in a helper; accelerate's backward, which divides; a loss that is a sum, also as a mean
times how many examples there are; gradients that are divided before the step. A learning rate chosen for the sum is
right as well: the finding is fragile.

## Evidence
torch 2.13.0, transformers 5.23: accumulated over 8 rounds the gradient's norm is 4.33 for 0.54, the loss shown 27.8 for
3.47.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.ir.syntax import Site, dotted
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import AttributeSet, Backward, GradientsCleared, LibraryCall, OptimizerStep, RunEnded
from gclint.run.meaning import definition
from gclint.run.run import Run
from gclint.run.stepping import every_few_rounds, receiver_text
from gclint.run.values import Const, Object, Value, ancestors, of

from ..words import BACKWARD, LOSSES, STEP
from .written_out import WITHIN, is_mean_of_numbers

CHANGES: tuple[Aspect, ...] = ("loss", "gradients", "updates")
MOST_PARTS = 60

rule = Rule(
    code="GCL807",
    name="loss-not-averaged",
    docs=__doc__ or "",
    words=(BACKWARD, STEP, (*LOSSES, ".mean(")),
    bears=("accumulation",),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=("gradients",),
    reproduction=Reproduction(
        "bad_summed.py", "bad_summed.fixed.py", raises="AssertionError: the gradient is eight times", intent=CHANGES
    ),
)


@rule.on(RunEnded)
def not_averaged(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Do the gradients of several rounds add up, of mean losses that nothing divides?"""
    if not event.whole or any(_divides(each) for each in run.of_type(LibraryCall, AttributeSet)):
        return
    for step in run.of_type(OptimizerStep):
        waits = every_few_rounds(step, run)
        for backward in run.of_type(Backward) if waits else ():
            if backward.moment.loops != step.moment.loops:
                continue
            if waits.keys() & every_few_rounds(backward, run).keys() or _cleared(backward, waits, run):
                continue
            same = [each for each in run.of_type(Backward) if each.site.node is backward.site.node]
            if not _is_a_mean(backward.loss, run) or any(_is_divided(each, waits) for each in same):
                continue
            if not run.condition(backward.guard).is_short and not _is_whole(backward.loss):
                continue  # under too many conditions it is not told any more what the loss was made of
            yield rule.finding(
                run,
                backward.site,
                "the gradients of several rounds add up, and the loss is not divided by how many",
                guard=backward.guard,
                certainty="fragile",
                symptom="silent: the gradients are as many times too large",
                related=[(step.site, "the step, after several rounds")],
                fixes=(_divided(backward, step),),
            )


def _divides(event: LibraryCall | AttributeSet) -> bool:
    """Whether something divides by itself: accelerate and others, or what is done to gradients."""
    if isinstance(event, AttributeSet):
        return event.name == "grad"
    if event.name.startswith(("accelerator.backward", "fabric.", "engine.")):
        return True
    held = event.call.receiver if event.call is not None else None
    return held is not None and event.name.endswith(("div_", "mul_")) and ".grad" in held.text


def _cleared(backward: Backward, waits: dict[str, Value], run: Run) -> bool:
    """Whether gradients are cleared in every round: then none add up."""
    cleared = [each for each in run.of_type(GradientsCleared) if each.moment.loops == backward.moment.loops]
    return any(not every_few_rounds(each, run) for each in cleared)


def _is_a_mean(loss: Value, run: Run) -> bool:
    """Whether a loss is known to be a mean over the batch: by itself, or taken of what each example has."""
    parts = _parts(loss)
    ends = [item for item in parts if "loss" in item.state]
    if any(_counts_the_batch(held) for item in parts for held in item.known("factor").objects()):
        return False
    if not ends:
        return is_mean_of_numbers(loss, run)
    taken = {item.known("reduced").constant() for item in parts if item.known("reduced")} - set(WITHIN)
    return all(
        kind == "mean" or (kind == "none" and taken == {"mean"})
        for kind in (item.known("reduction").constant() for item in ends)
    )


def _is_whole(loss: Value) -> bool:
    """Whether it is told of all that a loss may be where it was computed, and of that for which one stands which loss
    each is.
    """
    parts = _parts(loss)
    behind = {item for part in parts for held in part.known("stands_for").objects() for item in _parts(of(held))}
    ends = (item for item in behind if not item.known("scaled_from") and not item.known("stands_for"))
    told = all(item.site is not None or "stands_for" in item.state for item in parts)
    return told and len(parts) < MOST_PARTS and all("loss" in item.state for item in ends)


def _parts(loss: Value) -> list[Object]:
    """The tensors of which a loss is a multiple, whichever it may be, also where one stands for too many."""
    found: dict[Object, None] = {}
    waiting = loss.objects()
    while waiting and len(found) < MOST_PARTS:
        item = waiting.pop()
        if item not in found:
            found[item] = None
            waiting += [*item.known("scaled_from").objects(), *item.known("stands_for").objects()]
    return list(found)


def _counts_the_batch(factor: Object) -> bool:
    """Whether a factor is how many examples or numbers there are, as it is written: with it a mean is a sum again."""
    node = factor.site.node if factor.site is not None else None
    if isinstance(node, ast.Subscript):
        return dotted(node.value).rpartition(".")[2] == "shape" and _is_first(node.slice)
    if not isinstance(node, ast.Call) or factor.site is None:
        return False
    name = dotted(definition(factor.site.module, node.func)).rpartition(".")[2]
    return name in ("len", "numel") or (name == "size" and bool(node.args) and _is_first(node.args[0]))


def _is_first(index: ast.expr) -> bool:
    """Whether an index may be that of the examples: any but a number that is another one."""
    return not isinstance(index, ast.Constant) or index.value == 0


def _is_divided(backward: Backward, waits: dict[str, Value]) -> bool:
    """Whether the loss is divided by anything, or computed from the number of rounds; or there is one round only."""
    held = _parts(backward.loss)
    made_of = ancestors(backward.loss).union(*(ancestors(item.known("stands_for")) for item in held))
    numbers = [item for value in waits.values() for _, item in value]
    once = all(item in (Const(0), Const(1)) for item in numbers)
    return once or any(item.known("divisor") for item in held) or any(item in made_of for item in numbers)


def _divided(backward: Backward, step: OptimizerStep) -> Fix | None:
    """Divide the loss by what the rounds are counted by."""
    number = _number(step)
    node = backward.site.node
    if not number or backward.site.module is not step.site.module or not isinstance(node, ast.Call):
        return None
    held = node.func.value if isinstance(node.func, ast.Attribute) else None
    if isinstance(held, ast.Call) and len(held.args) == 1:
        place, text = held.args[0], f"{backward.site.module.code(held.args[0])} / {number}"
    elif isinstance(held, ast.Name) and receiver_text(backward.site):
        place, text = held, f"({held.id} / {number})"
    else:
        return None
    edit = rewrite.replace(Site.at(backward.site.module, place), text)
    return Fix("divide", f"Divide the loss by {number}", (edit,), "unsafe", intent=CHANGES)


def _number(step: OptimizerStep) -> str:
    """What a condition around the step takes the remainder by, as it is written."""
    module = step.site.module
    tests = [outer.test for outer in module.ancestors(step.site.node) if isinstance(outer, ast.If)]
    parts = [part for test in tests for part in ast.walk(test) if isinstance(part, ast.BinOp)]
    found = [module.code(part.right) for part in parts if isinstance(part.op, ast.Mod)]
    return found[0] if found else ""
