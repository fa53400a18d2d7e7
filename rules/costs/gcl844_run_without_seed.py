"""# run-without-seed (GCL844)

## What it does
Finds training programs that seed no random numbers anywhere.

## Why it breaks
Nothing breaks. Each run starts from other weights and draws other batches: none can be repeated, and a difference
between two of them may be chance.

## Example
```python
model = nn.Linear(8, 2)
train(model)
```

## Use instead
```python
torch.manual_seed(0)
model = nn.Linear(8, 2)
train(model)
```

## When it is fine
A seed in any form, also by `set_seed` or `seed_everything`; Trainer, which seeds by itself with 42; functions that some
other program calls.

## Evidence
torch 2.13.0: `torch.initial_seed()` is another 64-bit number in each process (aten/src/ATen/CPUGeneratorImpl.cpp,
`getNonDeterministicRandom`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Backward, LibraryCall, OptimizerBuilt, RunEnded, TrainerStarted
from gclint.run.run import Run
from gclint.run.stepping import reaches_a_step

from ..words import BACKWARD, STEPS

SEEDS = re.compile(r"(?<!initial_)seed", re.IGNORECASE)
"""What seeds, or speaks of it."""
CHANGES: tuple[Aspect, ...] = ("random", "loss", "gradients", "updates")

rule = Rule(
    code="GCL844",
    name="run-without-seed",
    docs=__doc__ or "",
    words=(BACKWARD, STEPS, ("optim", "Optimizer")),
    certainty=("costs",),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(needs="a run that nothing seeds, and gclint seeds those that it compares"),
)


@rule.on(RunEnded)
def unseeded(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a program train without seeding anything?"""
    if (
        not event.whole
        or run.of_type(TrainerStarted)
        or any(SEEDS.search(each.text) for each in run.modules_with("seed"))
    ):
        return
    for built in run.of_type(OptimizerBuilt):
        backward = next((each for each in run.of_type(Backward) if reaches_a_step(each, run)), None)
        if backward is None or _is_library(run):
            return
        yield rule.finding(
            run,
            built.site,
            "nothing seeds this training: no run of it can be repeated",
            guard=built.guard,
            certainty="costs",
            related=[(backward.site, "it trains here")],
            fixes=(_seed(built),),
        )
        return


def _is_library(run: Run) -> bool:
    """Whether nothing is seen to start what was walked."""
    calls = (each.call for each in run.of_type(LibraryCall))
    return any(call is not None and call.it.as_library for call in calls)


def _seed(built: OptimizerBuilt) -> Fix | None:
    """Seed torch after the imports."""
    module = built.site.module
    last = [line for line in module.tree.body if hasattr(line, "names")]
    after = rewrite.insert_after(Site.at(module, last[-1]), "", "torch.manual_seed(0)") if last else None
    if after is None or "import torch\n" not in module.text:
        return None
    return Fix("seed", "Seed torch", (after,), "unsafe", intent=CHANGES)
