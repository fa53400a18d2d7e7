"""# loss-kept-with-graph (GCL814)

## What it does
Finds losses that are summed up or put into a list over the rounds of a loop with the graph that they carry.

## Why it breaks
A loss holds on to the graph that it was computed by. An evaluation that sums losses with gradients on keeps the
activations of every batch, until memory ends; after backward it is still the nodes of the graph, of which every round
adds some.

## Example
```python
for batch in loader:
    loss = model(batch).mean()
    loss.backward()
    optimizer.step()
    total += loss
```

## Use instead
```python
    total += loss.item()
```

## When it is fine
A sum of losses that goes backward itself; `loss.item()`, `loss.detach()`, `float(loss)`; an evaluation under
`torch.no_grad()`; a list that is made anew for each step of the optimizer.

## Evidence
torch 2.13.0: 300 steps of `total = total + loss` keep 305 nodes of graphs and 22 MB; without backward in between each
round keeps its activations.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Certainty, Finding, Fix
from gclint.ir.syntax import LOOPS, Module, Site, nodes
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.arithmetic import multiples
from gclint.run.closures import enclosing_function
from gclint.run.events import Added, AttributeSet, Backward, LibraryCall, OptimizerStep, RunEnded
from gclint.run.loops import GONE_THROUGH, ITERATED
from gclint.run.parallel import inside
from gclint.run.parts_of_guards import is_exact
from gclint.run.run import Run
from gclint.run.values import NOTHING, Const, Object, Value, of

from ..words import BACKWARD, LOSSES

rule = Rule(
    code="GCL814",
    name="loss-kept-with-graph",
    docs=__doc__ or "",
    words=((*BACKWARD, ".eval"), (*BACKWARD, *LOSSES)),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_evaluation.py", "bad_evaluation.fixed.py", raises="AssertionError: activations of 20 batches are kept"
    ),
)


@rule.on(RunEnded)
def kept(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is a loss kept from round to round that carries a graph, for nothing that goes backward?"""
    if not event.whole:
        return
    told: set[int] = set()
    for added in run.of_type(Added):
        if "backward" in added.result.state or added.site.node_id in told or not _grows(added, run):
            continue
        for item in _possible(added.right):
            told.add(added.site.node_id)
            yield from _told(added, item, _summand(added.site), run)
    for call in run.of_type(LibraryCall):
        if call.name != "list.append" or call.call is None or call.call.receiver is None or not call.call.positional:
            continue
        if call.site.node_id in told or call.call.receiver.vague >= call.moment.vague:
            continue
        for item in _possible(call.call.positional[0]):
            made = call.call.receiver
            if _is_for_each_model(item, call, made, run) or _is_let_go_with_the_step(call, made, run):
                continue
            told.add(call.site.node_id)
            yield from _told(call, item, rewrite.positional(call.site, 0), run)


def _possible(kept: Value) -> list[Object]:
    """What may be kept: where it is one of several, only what is known to be possible beside the others."""
    several = len(list(kept)) > 1
    found = [item for guard, item in kept if isinstance(item, Object) and (is_exact(guard) or not several)]
    return [item for item in found if _has_its_graph(item)]


def _has_its_graph(item: Object) -> bool:
    """Whether what a number with a graph was computed from may have one, where that says something of it."""
    inner = [value for value in item.made_of if any("graph" in each.state for each in value.objects())]
    return not inner or any("graph" in each.state for value in inner for each in _possible(value))


def _is_for_each_model(item: Object, event: LibraryCall, kept: Object, run: Run) -> bool:
    """Whether the one loop for which a list is made goes over the models that the losses are of: it holds as many."""
    if event.moment.vague - kept.vague != 1 or not event.moment.loops:
        return False
    held = run.facts.get(ITERATED, {}).get(event.moment.loops[-1].node, NOTHING).objects()
    for each in held:  # also of lists that are counted or paired
        held += [part for value in each.items or [] for part in map(inside, value.objects()) if part not in held]
        held += [part for part in each.known(GONE_THROUGH).objects() if part not in held]
    called = [part for origin in item.origins for part in origin.attributes.get("called", NOTHING).objects()]
    return bool(called) and all(inside(part) in held for part in called)


def _is_let_go_with_the_step(event: LibraryCall, kept: Object, run: Run) -> bool:
    """Whether a list is made anew, or emptied, for each step of an optimizer: it holds what one step is made of, in
    parts.
    """
    loops = event.moment.loops
    cleared = (each for each in run.of_type(LibraryCall) if each.name == "list.clear" and each.call is not None)
    if loops and any(each.call.receiver is kept and each.moment.loops == loops for each in cleared if each.call):
        return True
    around = event.moment.loops[: kept.vague - event.moment.vague]
    return bool(around) and any(each.moment.loops == around for each in run.of_type(OptimizerStep))


def _told(event: Added | LibraryCall, item: Object, node: ast.expr | None, run: Run) -> Iterator[Finding]:
    """The finding about one thing that is kept, where it carries a graph."""
    certainty = _how(item, event, run)
    if certainty is None or not event.moment.loops:
        return
    place = Site.at(event.site.module, node) if node is not None else None
    freed = certainty == "fragile"
    yield rule.finding(
        run,
        event.site,
        f"the loss is kept with its graph from round to round{'' if freed else ', with all activations'}",
        guard=event.guard,
        certainty=certainty,
        symptom="silent: memory grows with every round",
        fixes=(Fix("detach", "Keep it without its graph", (rewrite.put_behind(place, ".detach()"),), "unsafe"),)
        if place is not None and isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
        else (),
    )


def _how(item: Object, event: Added | LibraryCall, run: Run) -> Certainty | None:
    """ "fragile" where a loss went backward itself, "fails" where it was computed in an evaluation; None where it
    carries no graph for all that is known, or goes backward in another way.
    """
    if "graph" not in item.state:
        return None
    backwards = [each for each in run.of_type(Backward) if item.origins & set(each.forwards)]
    if any("backward" in each.state for each in multiples(of(item))):
        inside = any(each.moment.loops[: len(event.moment.loops)] == event.moment.loops for each in backwards)
        return "fragile" if inside and event.moment.vague else None
    made = [origin for origin in item.origins if origin.kind == "activation"]
    evaluates = bool(made) and all(origin.known("training").constant() is False for origin in made)
    return "fails" if evaluates and not backwards else None


def _summand(site: Site) -> ast.expr | None:
    """What is added, as it is written: by `x += y`, or the other part of `x = x + y`."""
    node, outer = site.node, site.module.parents.get(site.node)
    if isinstance(outer, ast.AugAssign):
        return outer.value
    if not isinstance(node, ast.BinOp) or not isinstance(outer, ast.Assign) or len(outer.targets) != 1:
        return None
    target, code = site.module.code(outer.targets[0]), site.module.code
    return node.right if code(node.left) == target else node.left if code(node.right) == target else None


def _grows(added: Added, run: Run) -> bool:
    """Whether a sum lives longer than the rounds of the loop in which something is added to it."""
    module, node = added.site.module, added.site.node
    if _summand(added.site) is None:
        return False
    outer = module.parents.get(node)
    target = outer.targets[0] if isinstance(outer, ast.Assign) else node
    while isinstance(target, ast.Subscript):
        target = target.value
    if isinstance(target, ast.Name):
        return _outlives(module, node, target.id)
    loop = added.moment.loops[-1:]
    return isinstance(target, ast.Attribute) and not any(
        set_.name == target.attr and set_.moment.loops[-1:] == loop and isinstance(set_.value.only(), Const)
        for set_ in run.of_type(AttributeSet)
    )


def _outlives(module: Module, node: ast.AST, name: str) -> bool:
    """Whether a name is bound outside of the innermost loop around, and in it only by being added to."""
    function = enclosing_function(module, node)
    around = next((each for each in module.ancestors(node) if each is function or isinstance(each, LOOPS)), None)
    if around is None or around is function:
        return False
    own = module.statement(node)
    stored = (each for each in nodes(around) if isinstance(each, ast.Name) and each.id == name)
    return not any(isinstance(each.ctx, ast.Store) and module.statement(each) is not own for each in stored)
