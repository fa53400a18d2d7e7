"""# starving-loader (GCL842)

## What it does
Finds loaders without workers whose items are read from files, and batches that are copied with `non_blocking=True` out
of memory that is not pinned, where a model is trained on a GPU.

## Why it breaks
Nothing breaks. Without workers the process that feeds the GPU reads and decodes each item itself, and the GPU waits for
it. `non_blocking=True` lets a copy go on beside the computation only from pinned memory; else it does nothing.

## Example
```python
loader = DataLoader(Pictures(paths), batch_size=32)
```

## Use instead
```python
loader = DataLoader(Pictures(paths), batch_size=32, num_workers=4, pin_memory=True)
```

## When it is fine
Workers; data that lie in memory; training on a CPU; `pin_memory=True`.

## Evidence
torch 2.13.0: without workers all items are made in the training process. torch/utils/data/dataloader.py,
`num_workers`: "0 means that the data will be loaded in the main process"; `pin_memory`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.ir.syntax import FUNCTIONS, Site, dotted, nodes
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.devices import on_gpu, places_on_gpu
from gclint.run.events import Backward, Iterated, LibraryCall, RunEnded
from gclint.run.guards import Guard, conj
from gclint.run.names import class_attribute
from gclint.run.parallel import forwards_of
from gclint.run.run import Run
from gclint.run.values import FALSE, NOTHING, Class, Function, Object, const, root

from ..distributed.loaders import drawn_to_train
from ..words import BACKWARD

CHANGES: tuple[Aspect, ...] = ("random", "loss", "gradients", "updates")
READS = (
    *("open", "imread", "load", "read", "read_image", "read_video", "loadtxt", "imdecode", "decode", "VideoCapture"),
    *("load_image", "pil_loader", "read_bytes", "read_text", "memmap"),
)
"""Last names of the functions that read or decode a file."""

rule = Rule(
    code="GCL842",
    name="starving-loader",
    docs=__doc__ or "",
    words=(("DataLoader",), BACKWARD, ("cuda", "device")),
    certainty=("costs",),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_no_workers.py",
        "bad_no_workers.fixed.py",
        raises="AssertionError: the training process makes the items itself",
        intent=CHANGES,
    ),
)


@rule.on(RunEnded)
def waits_for_data(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a GPU wait for the process that feeds it?"""
    told: set[Object] = set()
    for drawn, backwards in drawn_to_train(run):
        guard = _on_gpu(drawn, backwards, run)
        loader, made = drawn.item, drawn.item.site
        if guard is None or made is None or loader in told or loader.open:
            continue
        told.add(loader)
        reads = _reads(loader)
        if reads is not None and loader.attributes.get("num_workers", const(0)).constant() == 0:
            yield rule.finding(
                run,
                made,
                "the training process reads each item itself, and the GPU waits for it",
                guard=guard,
                certainty="costs",
                related=[(reads, "an item is read here")],
                fixes=(_workers(loader),),
            )
        elif loader.attributes.get("pin_memory", FALSE).constant() is False:
            yield from _unpinned(loader, guard, run)


def _unpinned(loader: Object, guard: Guard, run: Run) -> Iterator[Finding]:
    for moved in run.of_type(LibraryCall):
        call = moved.call
        held = call.receiver if call is not None else None
        if call is None or held is None or held.kind != "data" or call.last not in ("to", "cuda"):
            continue
        own = loader in root(held).known("loader").objects()
        if own and call.get("non_blocking", 1).constant() is True and any(True for _ in places_on_gpu(moved)):
            edit = rewrite.set_argument(loader.site, "pin_memory", "True") if loader.site is not None else None
            yield rule.finding(
                run,
                moved.site,
                "non_blocking does nothing here: the loader does not pin its memory",
                guard=conj(guard, moved.guard) or guard,
                certainty="costs",
                related=[(loader.site, "the batches come from here")] if loader.site is not None else [],
                fixes=(Fix("pin", "Pin the memory of the batches", (edit,), "unsafe") if edit else None,),
            )
            return


def _on_gpu(drawn: Iterated, backwards: list[Backward], run: Run) -> Guard | None:
    """The condition under which a model is trained on a GPU with what is drawn."""
    found = (
        both
        for backward in backwards
        for forward in forwards_of(backward, run)
        for guard in on_gpu(forward.model, run)
        if (both := conj(guard, drawn.guard)) is not None
    )
    return next(found, None)


def _reads(loader: Object) -> Site | None:
    """Where a data set of the project reads a file for each item."""
    data = loader.attributes.get("dataset", NOTHING).only()
    if not isinstance(data, Object) or not isinstance(data.type, Class):
        return None
    getter = class_attribute(data.type, "__getitem__")
    for _, item in getter or NOTHING:
        for node in nodes(item.node) if isinstance(item, Function) and isinstance(item.node, FUNCTIONS) else ():
            if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in READS:
                return Site.at(item.module, node) if isinstance(item, Function) else None
    return None


def _workers(loader: Object) -> Fix | None:
    """Let workers read."""
    edit = rewrite.set_argument(loader.site, "num_workers", "4") if loader.site is not None else None
    cost = "each worker is a process with a copy of the data set"
    return Fix("workers", "Read in workers", (edit,), "unsafe", cost, intent=CHANGES) if edit else None
