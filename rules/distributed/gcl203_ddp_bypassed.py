"""# ddp-bypassed (GCL203)

## What it does
Finds training forwards that go to the model inside a DistributedDataParallel wrapper instead of the wrapper, also in
the `compute_loss` of a subclass of transformers' Trainer, which is given the wrapper and calls `self.model`.

## Why it breaks
DDP prepares the averaging of gradients in its own forward. A forward through `ddp.module` never tells it, so every
process trains on its own batch alone and the copies drift apart; nothing is raised.

## Example
```python
ddp = DistributedDataParallel(model)
loss = ddp.module(batch).mean()
loss.backward()
```

## Use instead
```python
loss = ddp(batch).mean()
loss.backward()
```

## When it is fine
Evaluation and generation; a forward before the model is wrapped; one process; another forward with gradients through
the wrapper before the same backward, which prepares the averaging for it.

## Evidence
torch 2.13.0, two gloo ranks: gradients differ between ranks, also where a forward under no_grad went through the
wrapper, and are equal where one with gradients did. jingyaogong/minimind#853, moojink/openvla-oft#160.
transformers 5.23.0, two gloo ranks: after three steps of a Trainer whose loss comes from `self.model` the weights
differ between ranks, and are equal where it comes from the model that is given.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.syntax import FUNCTIONS, Module, Site, dotted, nodes
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import enclosing_function
from gclint.run.events import Backward, Forward, RunEnded, TrainerStarted
from gclint.run.guards import conj
from gclint.run.parallel import BY_TRAINER, alone, forwards_of, trained, wrapped_by, wrapped_by_hand
from gclint.run.run import Run
from gclint.run.stepping import reaches_a_step
from gclint.run.values import Object

from ..words import TRAINS

SYMPTOM = "silent: gradients are not averaged over processes"

rule = Rule(
    code="GCL203",
    name="ddp-bypassed",
    docs=__doc__ or "",
    words=(("DistributedDataParallel", "def compute_loss(", "def training_step("), TRAINS),
    bears=("processes",),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=("gradients", "ranks"),
    reproduction=Reproduction("bad_inner_module.py", "bad_inner_module.fixed.py", processes=2),
)


@rule.on(RunEnded)
def past_the_wrapper(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a step use gradients that come from the inner model only, although the model is wrapped?"""
    for backward in () if alone(run) else run.of_type(Backward):
        if reaches_a_step(backward, run):
            yield from _from_inside(backward, run)


@rule.on(TrainerStarted)
def past_the_trainers(event: TrainerStarted, run: Run) -> Iterator[Finding]:
    """Does the loss of a trainer come from its model itself, and not from the wrapper that its method is given?"""
    mine = (each for each in run.of_type(Backward) if each.site == event.site)
    for backward in () if alone(run) else mine:
        forwards = forwards_of(backward, run)
        for forward in forwards:
            if any(other.through is not None and other.model is forward.model for other in forwards):
                continue
            if forward.site == event.site:
                continue  # the trainer's own
            both = conj(forward.guard, backward.guard)
            wrapped = wrapped_by(BY_TRAINER, forward.model, both) if both is not None else ()
            for guard, _ in wrapped:
                yield rule.finding(
                    run,
                    forward.site,
                    "this goes past DDP to the model inside it: gradients are not averaged over processes",
                    guard=guard,
                    certainty="fragile",
                    symptom=SYMPTOM,
                    related=[(event.site, "the trainer wraps the model, and gives the wrapper")],
                    fixes=(_given(forward),),
                )
                return


def _given(forward: Forward) -> Fix | None:
    """Call the model that the method is given."""
    module, node = forward.site.module, rewrite.call_node(forward.site)
    method = enclosing_function(module, node) if node is not None else None
    parameters = [each.arg for each in method.args.args] if isinstance(method, FUNCTIONS) else []
    if node is None or len(parameters) < 2 or dotted(node.func) != f"{parameters[0]}.model":
        return None
    edit = rewrite.replace(Site.at(module, node.func), parameters[1])
    return Fix("call-the-given", "Call the model that is given", (edit,), "unsafe")


def _from_inside(event: Backward, run: Run) -> Iterator[Finding]:
    forwards = forwards_of(event, run)
    for forward in forwards:
        if any(other.through is not None and other.model is forward.model for other in forwards):
            continue
        if _feeds(forward, forwards) or _prepared(forward.model, event, run):
            continue
        activation = forward.activation
        for guard, ddp in wrapped_by_hand(forward.model, event.guard):
            both = conj(guard, forward.guard)
            if activation is None or activation.id < ddp.id or both is None:
                continue
            related = [(ddp.site, "the model is wrapped here")] if ddp.site is not None else []
            yield rule.finding(
                run,
                forward.site,
                "the training forward goes past DDP to the model inside it: gradients are not averaged over processes",
                guard=both,
                symptom=SYMPTOM,
                fixes=(_through(forward, ddp),),
                related=[*related, (event.site, "gradients are computed here")],
            )
            break


def _feeds(forward: Forward, others: list[Forward]) -> bool:
    """Whether what it gives goes into another forward of its model, which is the one to tell of: a method that puts a
    batch in order is none.
    """
    return any(
        other is not forward
        and other.model is forward.model
        and other.activation is not None
        and any(forward.activation in item.origins for item in other.activation.attributes["inputs"].objects())
        for other in others
    )


def _prepared(model: Object, backward: Backward, run: Run) -> bool:
    """Whether each time, since the last backward, another forward went through the wrapper and told it to average what
    comes next, whatever it is computed from.
    """
    end = run.place(backward)
    earlier = [run.place(item) for item in run.of_type(Backward) if model in trained(item) and run.place(item) < end]
    return any(
        item.through is not None
        and item.model is model
        and item.moment.unrecorded() is None
        and set(backward.moment.loops) <= set(item.moment.loops)
        and conj(item.guard, backward.guard) is not None
        for item in run.of_type(Forward, start=earlier[-1] + 1 if earlier else 0)
        if run.place(item) < end
    )


def _through(forward: Forward, ddp: Object) -> Fix | None:
    """Call the wrapper in the place of the model inside it."""
    node = rewrite.call_node(forward.site)
    if node is None:
        return None
    module = forward.site.module
    if isinstance(node.func, ast.Attribute) and node.func.attr == "module":
        edit = rewrite.replace(Site.at(module, node.func), module.code(node.func.value))
        return Fix("call-the-wrapper", "Call the wrapper itself", (edit,))
    wrapper = _taken_from(module, node)
    if wrapper:
        edit = rewrite.replace(Site.at(module, node.func), wrapper)
        return Fix("call-the-wrapper", "Call the wrapper itself", (edit,), "unsafe")
    line = ddp.site.module.statement(ddp.site.node) if ddp.site is not None else None
    if ddp.site is None or not isinstance(line, ast.Assign):
        return None
    target = dotted(line.targets[0])
    known = forward.model.label or target
    if not target or target == dotted(node.func) or not known or not isinstance(node.func, ast.Name):
        return None
    if enclosing_function(ddp.site.module, ddp.site.node) is not enclosing_function(module, forward.site.node):
        return None
    edit = rewrite.replace(Site.at(module, node.func), target)
    return Fix("call-the-wrapper", "Call the wrapper itself", (edit,), "unsafe")


def _taken_from(module: Module, call: ast.Call) -> str:
    """The text of the wrapper whose `.module` the called name holds, from its only assignment; "" where it has none."""
    scope, name = enclosing_function(module, call), getattr(call.func, "id", "")
    stored = [each for each in nodes(scope) if isinstance(each, ast.Name) and each.id == name]
    lines = {module.statement(each) for each in stored if isinstance(each.ctx, ast.Store)}
    line = lines.pop() if len(lines) == 1 else None
    value = line.value if isinstance(line, ast.Assign) else None
    taken = (
        [each for each in nodes(value) if isinstance(each, ast.Attribute) and each.attr == "module"] if value else []
    )
    texts = {module.code(each.value) for each in taken}
    return texts.pop() if len(texts) == 1 and all(dotted(each.value) for each in taken) else ""
