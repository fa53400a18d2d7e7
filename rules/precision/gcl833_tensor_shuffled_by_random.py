"""# tensor-shuffled-by-random (GCL833)

## What it does
Finds `random.shuffle` of a tensor, such as the order in which a sampler gives a data set, or a part of it.

## Why it breaks
`random.shuffle` swaps two entries by `x[i], x[j] = x[j], x[i]`. Of a tensor `x[i]` is no copy but a view: the first
assignment changes what the second one reads, and one of the two entries is there twice, the other is gone. An order of
ten entries keeps about six, and of a data set that many samples are seen, some of them several times, other ones in
each epoch. Nothing is raised.

## Example
```python
order = torch.arange(len(data))
random.shuffle(order)
```

## Use instead
```python
order = order[torch.randperm(len(order))]
```

## When it is fine
Lists, also of a tensor (`order.tolist()`), and NumPy arrays of one dimension; `np.random.shuffle` of a NumPy array.

## Evidence
torch 2.13.0, Python 3.11: after `random.shuffle(torch.arange(10))` the tensor holds 6 of the 10 numbers; of a list or a
NumPy array it holds 10 (Lib/random.py, `shuffle`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.arithmetic import is_tensor
from gclint.run.events import LibraryCall
from gclint.run.run import Run
from gclint.run.values import Object

CHANGES: tuple[Aspect, ...] = ("random", "loss", "gradients", "updates")

rule = Rule(
    code="GCL833",
    name="tensor-shuffled-by-random",
    docs=__doc__ or "",
    words=((".shuffle(", "import shuffle"), ("import random", "from random"), ("torch",)),
    certainty=("fails",),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_order.py", "bad_order.fixed.py", raises="AssertionError: samples are lost", intent=CHANGES
    ),
)


@rule.on(LibraryCall)
def swaps_views(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Does `random.shuffle` swap the views that a tensor gives for its entries?"""
    if event.name != "random.shuffle" or event.call is None:
        return
    for guard, item in event.call.get("x", 0).possible(event.guard):
        if isinstance(item, Object) and is_tensor(item):
            yield rule.finding(
                run,
                event.site,
                "`random.shuffle` swaps views of this tensor's entries: some are there twice, others are lost",
                guard=event.guard | guard,
                symptom="silent: samples are lost, others are seen several times",
                fixes=(_permuted(event.site),),
                versions=(),
            )
            return


def _permuted(site: Site) -> Fix | None:
    """Write the entries anew in the order of a random permutation."""
    module, call = site.module, rewrite.call_node(site)
    line = module.parents.get(call) if call is not None else None
    if call is None or not isinstance(line, ast.Expr) or len(call.args) != 1 or call.keywords:
        return None
    given = call.args[0]
    text = module.code(given)
    target = text if isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Slice) else f"{text}[:]"
    edits = (
        *rewrite.ensure_import(module, "import torch"),
        rewrite.replace(site, f"{target} = {text}[torch.randperm(len({text}))]"),
    )
    return Fix("randperm", "Order them by torch.randperm", edits, "unsafe", intent=CHANGES)
