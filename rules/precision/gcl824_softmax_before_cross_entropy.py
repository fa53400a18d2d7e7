"""# softmax-before-cross-entropy (GCL824)

## What it does
Finds probabilities, the result of a softmax or sigmoid, given to a cross entropy loss that takes raw numbers, and those
of a softmax given to a distribution as its `logits`.

## Why it breaks
`CrossEntropyLoss` and `F.cross_entropy` take the softmax themselves. Of numbers between 0 and 1 it is nearly even: the
loss cannot fall far, the gradients are small, and the model learns slowly or stops early. Nothing is raised. So does
`Categorical(logits=...)`: of 0.98 and 0.02 it makes 0.72 and 0.28, and the policy can get no surer than 0.73.

## Example
```python
net = nn.Sequential(nn.Linear(20, 10), nn.Softmax(dim=1))
loss = nn.CrossEntropyLoss()(net(x), y)
```

## Use instead
```python
net = nn.Sequential(nn.Linear(20, 10))
loss = nn.CrossEntropyLoss()(net(x), y)
```

## When it is fine
`log_softmax`, of which the softmax takes the logarithm away again; `NLLLoss` of logarithms; probabilities as the
*target*; a softmax that only evaluation takes.

## Evidence
torch 2.13.0: ten classes that a small network tells apart, 300 steps: 34 % are right with the softmax, 97 % without.
`Categorical(logits=torch.tensor([0.98, 0.02])).probs` is 0.7231 and 0.2769 (torch/distributions/categorical.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import LibraryCall, LossComputed
from gclint.run.run import Run

from ..words import LEARNS
from .numbers import CHANGES, given, left_out

DISTRIBUTIONS = frozenset(
    f"torch.distributions.{module}{name}"
    for name in ("Categorical", "OneHotCategorical", "OneHotCategoricalStraightThrough")
    for module in ("", "categorical.", "one_hot_categorical.")
)

rule = Rule(
    code="GCL824",
    name="softmax-before-cross-entropy",
    docs=__doc__ or "",
    words=(("CrossEntropyLoss", "cross_entropy", "Categorical"), ("softmax", "Softmax", "sigmoid", "Sigmoid"), LEARNS),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=("gradients", "probabilities"),
    reproduction=Reproduction(
        "bad_last_layer.py",
        "bad_last_layer.fixed.py",
        raises="AssertionError: less than 80 % are right",
        intent=CHANGES,
    ),
)


@rule.on(LossComputed)
def of_probabilities(event: LossComputed, run: Run) -> Iterator[Finding]:
    """Is a cross entropy, which takes the softmax itself, given what a softmax gave?"""
    if event.name != "cross_entropy" or event.moment.unrecorded() is not None:
        return
    for guard, numbers, site in given(event.guard, event.given, "probabilities", "sigmoid"):
        if not run.condition(guard).is_short:
            continue  # under too many conditions something else may be done to the numbers, such as a scale
        told: set[Site] = run.facts.setdefault("GCL824: told", set())
        if site in told:
            return  # one cause is told once, where it comes to a loss first
        told.add(site)
        function = "sigmoid" if numbers == "sigmoid" else "softmax"
        yield rule.finding(
            run,
            event.site,
            f"cross entropy takes raw numbers, and is given those of a {function}",
            guard=guard,
            symptom="silent: a softmax of numbers between 0 and 1 is nearly even, the model hardly learns",
            related=[(site, f"the {function}")],
            fixes=(left_out(site, run),),
        )
        return


@rule.on(LibraryCall)
def as_logits(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is a distribution, which takes the softmax of its logits, given what a softmax gave?"""
    if event.name not in DISTRIBUTIONS or event.call is None or event.moment.unrecorded() is not None:
        return
    for guard, _, site in given(event.guard, event.call.get("logits", 1), "probabilities"):
        yield rule.finding(
            run,
            event.site,
            "the distribution takes the softmax of its logits, and these are those of a softmax",
            guard=guard,
            certainty="fragile",
            symptom="silent: no choice gets much likelier than another, however sure the model is",
            related=[(site, "the softmax")],
            fixes=(_as_probabilities(event.site),),
        )
        return


def _as_probabilities(site: Site) -> Fix | None:
    """Give the distribution the same as what it is: its `probs`."""
    given = rewrite.argument(site, "logits") if rewrite.call_node(site) is not None else None
    if given is None:
        return None
    edit = rewrite.replace(Site.at(site.module, given), f"probs={site.module.code(given.value)}")
    return Fix("probs", "Give them as probabilities", (edit,), "unsafe", intent=CHANGES)
