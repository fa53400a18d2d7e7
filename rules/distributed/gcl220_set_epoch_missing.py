"""# set-epoch-missing (GCL220)

## What it does
Finds a DistributedSampler that shuffles for several epochs of training, also where a generator begins the loader anew,
and is never told which epoch it is, or a sampler of the project whose `__iter__` seeds its order from such a number.

## Why it breaks
The sampler's order comes from its seed and its epoch, which stays 0: every epoch has the same batches in the same
order, and each process sees the same part of the data in all of them. Nothing is raised.

## Example
```python
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=8, sampler=sampler)
for epoch in range(epochs):
    for batch in loader:
        train(batch)
```

## Use instead
```python
for epoch in range(epochs):
    sampler.set_epoch(epoch)
    for batch in loader:
        train(batch)
```

## When it is fine
`shuffle=False`; one epoch; `set_epoch` in a helper or through `loader.sampler`; an evaluation, whose order does not
matter; a sampler that counts its own epochs; loaders that accelerate, Fabric, Lightning or Trainer prepare, which tell
the epoch themselves.

## Evidence
torch 2.13.0, torch/utils/data/distributed.py: `g.manual_seed(self.seed + self.epoch)`; two gloo ranks draw equal orders
in both epochs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Edit, Finding, Fix
from gclint.ir.layout import held_by
from gclint.ir.syntax import FORS, FUNCTIONS, Module, Site, nodes, parameters
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import enclosing_function
from gclint.run.events import AttributeSet, Event, Iterated, LibraryCall, Loop, RunEnded
from gclint.run.guards import conj
from gclint.run.run import Run
from gclint.run.values import Object

from ..words import BACKWARD
from .loaders import begun_to_train, epochs_of, made_in, shuffling
from .own_samplers import epoch_of

CHANGES: tuple[Aspect, ...] = ("loss", "gradients", "updates")
SYMPTOM = "silent: every epoch has the same batches in the same order"

rule = Rule(
    code="GCL220",
    name="set-epoch-missing",
    docs=__doc__ or "",
    words=(("Sampler",), BACKWARD),
    bears=("processes",),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=("order",),
    reproduction=Reproduction(
        "bad_each_epoch_alike.py",
        "bad_each_epoch_alike.fixed.py",
        processes=2,
        raises="AssertionError: both epochs have the same order",
        intent=CHANGES,
    ),
)


@rule.on(RunEnded)
def same_order(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a loop train several times on what a sampler shuffles, without telling it the epoch?"""
    if not event.whole or any(isinstance(each, LibraryCall) and _is_unknown(item) for each, item in _told(run)):
        return
    begun = list(begun_to_train(run))
    unwalked = _unwalked(run) if begun else set[ast.AST | None]()
    for drawn, backwards in begun:
        if not unwalked <= _passed(drawn):
            continue
        for guard, sampler in shuffling(drawn.item, drawn.guard):
            both = conj(guard, backwards[0].guard) if len(backwards) == 1 else guard
            epochs = _epochs(drawn, sampler, run)
            if epochs is None or both is None or sampler.site is None:
                continue
            yield rule.finding(
                run,
                sampler.site,
                "this sampler is never told the epoch: every epoch has the same order",
                guard=both,
                certainty="fragile",
                symptom=SYMPTOM,
                related=[(drawn.site, "each epoch draws from it here"), (backwards[0].site, "and trains")],
                fixes=(_tell(sampler, epochs.node),),
            )


def _told(run: Run) -> list[tuple[Event, Object | None]]:
    """What tells a sampler its epoch, and which one, None where that is unknown."""
    calls = [each for each in run.of_type(LibraryCall) if each.name.endswith(".set_epoch")]
    said: list[tuple[Event, Object | None]] = [(each, each.call.receiver if each.call else None) for each in calls]
    return said + [(each, each.target) for each in run.of_type(AttributeSet) if _is_of_epoch(each)]


def _is_of_epoch(event: AttributeSet) -> bool:
    """Whether what is set is the number of the epoch: torch's own, or that of a sampler of the project."""
    return event.name == "epoch" or (event.target is not None and event.name == epoch_of(event.target))


def _is_unknown(sampler: Object | None) -> bool:
    return sampler is None or sampler.kind == "unknown"


def _unwalked(run: Run) -> set[ast.AST | None]:
    """The functions in which some sampler is told the epoch where the walk did not get to: a parameter of each, or None
    for what is none. Where a function was walked a call in it that was not come to is one that no run comes to.
    """
    found: set[ast.AST | None] = set()
    for module in run.modules_with("set_epoch"):
        called = (each.func for each in ast.walk(module.tree) if isinstance(each, ast.Call))
        telling = [each for each in called if isinstance(each, ast.Attribute) and each.attr == "set_epoch"]
        own = (each.site.node for each in run.events if telling and each.site.module is module)
        walked = {enclosing_function(module, node) for node in own}
        found |= {_given_to(module, node) for node in telling if enclosing_function(module, node) not in walked}
    return found


def _given_to(module: Module, method: ast.expr) -> ast.AST | None:
    """The function of which something is a parameter, as it was given, whose method is called."""
    node = method.value if isinstance(method, ast.Attribute) else method
    function = enclosing_function(module, node)
    given = {each.arg for each, _ in parameters(function.args)} if isinstance(function, FUNCTIONS) else set()
    stored = {each.id for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return function if isinstance(node, ast.Name) and node.id in given - stored else None


def _passed(drawn: Iterated) -> set[ast.AST | None]:
    """The functions that led to a drawing: where the walk left out what is done with a parameter, that was none."""
    return {enclosing_function(site.module, site.node) for site in (drawn.site, *drawn.moment.stack)}


def _epochs(drawn: Iterated, sampler: Object, run: Run) -> Loop | None:
    """The loop around the drawing, and not around the sampler's making, that goes on without telling the epoch."""
    tells = {loop for each, item in _told(run) if item is sampler for loop in each.moment.loops}
    return epochs_of(drawn, (*made_in(sampler, run), *tells), run)


def _tell(sampler: Object, loop: ast.AST) -> Fix | None:
    """Call `set_epoch` at the head of the loop that counts, where the sampler has a name beside it."""
    made = sampler.site
    if made is None or not isinstance(loop, FORS) or not isinstance(loop.target, ast.Name):
        return None
    found, module = _named_at(made, loop), made.module
    epoch, renamed = loop.target.id, list[Edit]()
    if epoch == "_":
        epoch = "epoch"
        if any(isinstance(each, ast.Name) and each.id == epoch for each in nodes(module.tree)):
            return None
        renamed = [rewrite.replace(Site.at(module, loop.target), epoch)]
    if found is None:
        return None
    name, always = found
    lines = [f"{name}.set_epoch({epoch})"]
    if not always:
        assert isinstance(made.node, ast.Call)
        lines = [f"if isinstance({name}, {module.code(made.node.func)}):", f"    {lines[0]}"]
    edit = rewrite.insert_before(Site.at(module, loop.body[0]), *lines)
    return Fix("set-epoch", "Tell the sampler each epoch", (*renamed, edit), "unsafe", intent=CHANGES) if edit else None


def _named_at(made: Site, loop: ast.AST) -> tuple[str, bool] | None:
    """The name that a sampler has where a loop stands, and whether it always is that sampler; None without a name."""
    module = made.module
    line = module.statement(made.node)
    if not isinstance(line, ast.Assign) or not isinstance(line.targets[0], ast.Name):
        return None
    name, value = line.targets[0].id, line.value
    always = value is made.node
    if not always and not (isinstance(value, ast.IfExp) and made.node in (value.body, value.orelse)):
        return None
    block: ast.stmt = line
    while held_by(module.block(block), Site.at(module, loop)) is None:
        outer = module.parents.get(block)
        if not isinstance(outer, ast.If) or not _binds([outer], name):
            return None
        block, always = outer, False
    return name, always


def _binds(block: list[ast.stmt], name: str) -> bool:
    """Whether a block gives a name something in any case."""
    return any(
        _binds(each.body, name) and _binds(each.orelse, name)
        if isinstance(each, ast.If)
        else isinstance(each, ast.Assign) and any(isinstance(to, ast.Name) and to.id == name for to in each.targets)
        for each in block
    )
