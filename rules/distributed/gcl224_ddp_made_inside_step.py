"""# ddp-made-inside-step (GCL224)

## What it does
Finds models that are wrapped in DistributedDataParallel anew inside the loop whose rounds train them.

## Why it breaks
Only a forward through the wrapper averages gradients. Where some rounds wrap the model and others train it as it is,
each process takes the others' steps on its own: weights and what the optimizer keeps drift apart, until the next
wrapper overwrites the weights, not the optimizer's state, by those of the first process. Nothing is raised.

Where every round goes through a new wrapper the gradients are right; each one sends all weights once more and starts
with new buckets. That is told with certainty `costs`.

## Example
```python
for step, batch in enumerate(loader):
    net = DistributedDataParallel(model) if step % 2 else model
    net(batch).mean().backward()
    optimizer.step()
```

## Use instead
```python
net = DistributedDataParallel(model)
for batch in loader:
    net(batch).mean().backward()
    optimizer.step()
```

## When it is fine
One wrapper for each epoch, phase or model, before the loop that steps; a wrapper that is made once in the first round;
`no_sync` or gradients that are reduced by hand in the rounds without; one process.

## Evidence
torch 2.13.0, two gloo ranks: in rounds without the wrapper the gradients are 1 and 11 where their mean is 6, and the
weights of the ranks differ after them; with a new wrapper in every round all gradients are the mean.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Certainty, Finding, Fix
from gclint.ir.syntax import LOOPS, Site, nodes
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import bound_names, contains, read_names
from gclint.run.events import Backward, Event, Forward, Loop, OptimizerBuilt, RunEnded, Wrapped
from gclint.run.guards import DISTRIBUTED, Guard, all_of
from gclint.run.parallel import alone, forwards_of, models_of
from gclint.run.parts_of_guards import without_elements
from gclint.run.run import Run
from gclint.run.stepping import reaches_a_step

from ..words import BACKWARD, STEP

CHANGES: tuple[Aspect, ...] = ("gradients", "updates", "collectives", "forwards")
SEVERAL: Guard = frozenset({(DISTRIBUTED, True)})
APART = "in the rounds that do not wrap the model each process trains on its own"
ANEW = "the model is wrapped anew in every step"

rule = Rule(
    code="GCL224",
    name="ddp-made-inside-step",
    docs=__doc__ or "",
    words=(("DistributedDataParallel",), BACKWARD, STEP),
    certainty=("fails", "costs"),
    fixable="unsafe",
    oracles=("ranks",),
    reproduction=Reproduction(
        "bad_every_other_step.py",
        "bad_every_other_step.fixed.py",
        processes=2,
        raises="AssertionError: the processes have different weights",
        intent=CHANGES,
    ),
)


@rule.on(RunEnded)
def wrapped_in_the_loop(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is a model wrapped in the rounds that train it, and trained as it is in others of them?"""
    told: set[ast.AST] = set()
    for wrapped in () if alone(run) else run.of_type(Wrapped):
        loop = wrapped.moment.loops[-1] if wrapped.moment.loops else None
        if wrapped.wrapper.kind != "ddp" or wrapped.wrapper.label or wrapped.site.node in told:
            continue
        steps = _trained_in(loop, wrapped, run) if loop is not None and isinstance(loop.node, LOOPS) else []
        plain = next((each for each in steps if each[1].through is None and _is_fresh(wrapped)), None)
        through = next((each for each in steps if each[1].through is wrapped.wrapper), None)
        if through is None or (plain is None and not _always(wrapped, loop.node if loop else None)):
            continue
        guard = _in_one_run(wrapped, *(each for step in (through, plain) if step is not None for each in step))
        if guard is not None:
            told.add(wrapped.site.node)
            yield _finding(wrapped, through[1], plain[1] if plain else None, guard, run)


def _finding(wrapped: Wrapped, through: Forward, plain: Forward | None, guard: Guard, run: Run) -> Finding:
    certainty: Certainty = "fails" if plain else "costs"
    loop = wrapped.moment.loops[-1]
    return rule.finding(
        run,
        wrapped.site,
        APART if plain else ANEW,
        guard=guard,
        certainty=certainty,
        symptom="silent: the copies of the model drift apart" if plain else "",
        related=[((plain or through).site, "trained here")],
        fixes=(_before(wrapped.site, loop.node),),
    )


def _trained_in(loop: Loop, wrapped: Wrapped, run: Run) -> list[tuple[Backward, Forward]]:
    """The forwards of a model in the rounds of a loop whose gradients an optimizer uses that was built before it."""
    built = [
        each
        for each in run.of_type(OptimizerBuilt)
        if wrapped.model in models_of(each.parameters) and loop not in each.moment.loops
    ]
    return [
        (backward, forward)
        for backward in (run.of_type(Backward) if built else ())
        if backward.moment.loops[-1:] == (loop,)
        and backward.moment.inside("no_sync") is None
        and reaches_a_step(backward, run)
        for forward in forwards_of(backward, run)
        if forward.model is wrapped.model
    ]


def _is_fresh(wrapped: Wrapped) -> bool:
    """Whether no wrapper is left over from another round: the rounds were walked one by one, or its name is given anew
    in each and is not the model's.
    """
    module, line = wrapped.site.module, wrapped.site.module.statement(wrapped.site.node)
    if not wrapped.moment.vague or not isinstance(line, ast.Assign):
        return True
    names = set(bound_names(line))
    loop = wrapped.moment.loops[-1].node
    if not contains(loop, line, module):
        return bool(names)
    given = [each for each in nodes(loop) if isinstance(each, ast.Assign) and names & set(bound_names(each))]
    return not names & set(read_names(line.value)) and (isinstance(line.value, ast.IfExp) or len(given) > 1)


def _always(wrapped: Wrapped, loop: ast.AST | None) -> bool:
    """Whether every round of a loop wraps the model: nothing around it asks anything."""
    chain = [*wrapped.moment.stack, wrapped.site]
    inner = [site for site in chain if loop is not None and contains(loop, site.node, site.module)][:1]
    inner += chain[chain.index(inner[0]) + 1 :] if inner else []
    return bool(inner) and not any(
        isinstance(outer, (ast.If, ast.IfExp, ast.Try)) for site in inner for outer in _up_to(site, loop)
    )


def _up_to(site: Site, loop: ast.AST | None) -> Iterator[ast.AST]:
    for outer in site.module.ancestors(site.node):
        if outer is loop:
            return
        yield outer


def _in_one_run(*events: Event) -> Guard | None:
    """What has to hold for all of these to happen in one run of several processes, in one round or another."""
    return all_of([SEVERAL, *(without_elements(each.guard) for each in events)])


def _before(site: Site, loop: ast.AST) -> Fix | None:
    """Wrap the model before the loop, for all of its rounds."""
    module, line = site.module, site.module.statement(site.node)
    if not isinstance(loop, LOOPS) or not isinstance(line, ast.Assign) or line not in loop.body:
        return None
    if len(line.targets) != 1 or set(bound_names(line)) & set(read_names(line.value)):
        return None
    removed = rewrite.remove_statement(site, comments=False)
    made = rewrite.insert_before(Site.at(module, loop), f"{module.code(line.targets[0])} = {module.code(site.node)}")
    if removed is None or made is None:
        return None
    return Fix("before-the-loop", "Wrap the model once, before the loop", (made, removed), "unsafe", intent=CHANGES)
