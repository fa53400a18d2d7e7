"""# exhausted-parameters (GCL811)

## What it does
Finds an iterator of parameters that is gone through twice, kept in a name: `model.parameters()`, a filter or a chain,
also where groups of an optimizer are made of it one after the other.

## Why it breaks
It is a generator: the optimizer takes all that it gives, and nothing is left for `clip_grad_norm_`, which then clips
nothing and returns 0; in a loop the second round already finds it empty. A second optimizer raises. A second group of
what one `named_parameters()` gives is empty: biases and norms that were to have no weight decay are in no optimizer.

## Example
```python
params = filter(lambda p: p.requires_grad, model.parameters())
optimizer = torch.optim.AdamW(params)
torch.nn.utils.clip_grad_norm_(params, 1.0)
```

## Use instead
```python
params = list(filter(lambda p: p.requires_grad, model.parameters()))
```

## When it is fine
A list; `model.parameters()` called anew for each use; one that is given to one of several functions.

## Evidence
torch 2.13.0: `clip_grad_norm_` returns 0 and leaves a norm of 35667; an optimizer raises "optimizer got an empty
parameter list".
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.syntax import FUNCTIONS, Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import contains
from gclint.run.elements import DRAINED
from gclint.run.events import Event, GradientsClipped, LibraryCall, OptimizerBuilt, RunEnded
from gclint.run.run import Run
from gclint.run.stepping import together
from gclint.run.values import Object, Value

TAKERS = tuple(f"builtins.{name}" for name in ("list", "tuple", "sorted", "set", "sum", "any", "all"))
ITERATORS = ("filter", "map", "itertools.chain", "itertools.chain.from_iterable")

rule = Rule(
    code="GCL811",
    name="exhausted-parameters",
    docs=__doc__ or "",
    words=(("filter(", "parameters("), ("clip_grad_", "optim")),
    certainty=("fails",),
    fixable="safe",
    reproduction=Reproduction(
        "bad_filter.py", "bad_filter.fixed.py", raises="AssertionError: the norm is above 1", intent=("updates", "loss")
    ),
)


@rule.on(OptimizerBuilt)
def sorted_into_nothing(event: OptimizerBuilt, run: Run) -> Iterator[Finding]:
    """Does an optimizer get a list that was made of an iterator of which nothing was left?"""
    for listed in _lists(event.parameters):
        for item in listed.known(DRAINED).objects():
            if _is_iterator(item) and item.site is not None and listed.site is not None:
                yield rule.finding(
                    run,
                    listed.site,
                    "nothing is left in this iterator of parameters: it was gone through before",
                    guard=event.guard,
                    symptom="silent: no step changes these parameters",
                    related=[(item.site, "it is made here, to be gone through once"), (event.site, "used here")],
                    fixes=(_listed(item),),
                )


def _lists(given: Value) -> Iterator[Object]:
    """The lists of parameters that an optimizer is given, those of its groups among them."""
    for item in given.objects():
        if item.entries is not None and "params" in item.entries:
            yield from _lists(item.entries["params"])
        elif item.items is not None:
            yield item
            for value in item.items:
                yield from _lists(value)


@rule.on(RunEnded)
def gone_through_twice(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does an optimizer or a clipping get an iterator that something went through before?"""
    used: dict[Object, Event] = {}
    told: set[Object] = set()
    for use in run.of_type(OptimizerBuilt, GradientsClipped, LibraryCall):
        for item in _given(use).objects():
            if not _is_iterator(item) or item.site is None or item in told:
                continue
            before = used.setdefault(item, use)
            again = before is not use and before.site != use.site and together(before, use)
            again = again and not _are_alternatives(before, use, item)
            in_rounds = use.moment.vague > item.vague and not isinstance(use, LibraryCall)
            if isinstance(use, LibraryCall) or not (again or in_rounds):
                continue
            told.add(item)
            raises = isinstance(use, OptimizerBuilt)
            yield rule.finding(
                run,
                use.site,
                "nothing is left in this iterator of parameters: it was gone through before",
                guard=use.guard,
                symptom="ValueError: optimizer got an empty parameter list" if raises else "silent: nothing is clipped",
                related=[(item.site, "it is made here, to be gone through once"), (before.site, "gone through here")],
                fixes=(_listed(item),),
            )


def _are_alternatives(first: Event, second: Event, item: Object) -> bool:
    """Whether a call that makes the iterator calls one of several functions, of which each may use it."""
    stack, made = first.moment.stack, item.site
    within = made is not None and bool(stack) and contains(stack[-1].node, made.node, stack[-1].module)
    return within and stack == second.moment.stack and _function_around(first) is not _function_around(second)


def _function_around(event: Event) -> ast.AST | None:
    """The function or lambda in which something happens."""
    around = event.site.module.ancestors(event.site.node)
    return next((each for each in around if isinstance(each, (*FUNCTIONS, ast.Lambda))), None)


def _given(use: Event) -> Value:
    """What a use goes through."""
    if isinstance(use, (OptimizerBuilt, GradientsClipped)):
        return use.parameters
    call = use.call if isinstance(use, LibraryCall) and use.name in TAKERS else None
    return call.positional[0] if call is not None and call.positional else Value(())


def _is_iterator(item: Object) -> bool:
    """Whether something can be gone through once only: what `parameters()`, a filter, a chain or a generator gave."""
    node = item.site.node if item.site is not None else None
    if "listed" in item.state:
        return False
    made_by = item.kind == "parameters" or (item.kind == "list" and item.type in ITERATORS)
    return made_by or isinstance(node, ast.GeneratorExp)


def _listed(item: Object) -> Fix | None:
    """Keep a list of them."""
    site = item.site
    if site is None or not isinstance(site.node, (ast.Call, ast.GeneratorExp)):
        return None
    outer = site.module.parents.get(site.node)
    called = outer.func if isinstance(outer, ast.Call) else None
    whole = outer if outer is not None and isinstance(called, ast.Name) and called.id == "filter" else site.node
    code = site.module.code(whole)
    text = f"list{code}" if isinstance(whole, ast.GeneratorExp) else f"list({code})"
    edit = rewrite.replace(Site.at(site.module, whole), text)
    return Fix("list", "Keep a list", (edit,), "safe", intent=("updates", "loss", "gradients"))
