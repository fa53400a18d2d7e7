"""# device-sync-in-inner-loop (GCL841)

## What it does
Finds numbers that every training step reads back from a GPU: `.item()`, `.tolist()`, `.numpy()`, `.cpu()`, `float()`.

## Why it breaks
Nothing breaks. Python hands a GPU its work ahead of time; to read a number it has to wait until all of that is done,
and the GPU stands still until the next work comes. Small models lose a good part of their speed so.

## Example
```python
for batch in loader:
    loss = step(batch)
    total += loss.item()
```

## Use instead
```python
for batch in loader:
    loss = step(batch)
    total += loss.detach()
```
Or read it every hundredth step.

## When it is fine
Every few steps, also where a number that is drawn says so; after the epoch; on a CPU; a decision that needs the number,
such as leaving out a step that is not finite, or what an environment does next.

## Evidence
https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html, "Avoid unnecessary CPU-GPU synchronization".
`torch.cuda.set_sync_debug_mode("error")` raises at each such call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding
from gclint.frameworks.randomness import GENERATORS, draws
from gclint.frameworks.torch_tensors import READ
from gclint.rule import Reproduction, Rule
from gclint.run.arithmetic import of_a_model
from gclint.run.devices import on_gpu
from gclint.run.events import Backward, LibraryCall, RunEnded
from gclint.run.guards import Guard, conj
from gclint.run.parallel import forwards_of
from gclint.run.parts_of_guards import everything, without_elements
from gclint.run.run import Run
from gclint.run.stepping import every_few_rounds, reaches_a_step
from gclint.run.values import Object, of, sources

from ..words import BACKWARD

METHODS = (*READ, "cpu")
FUNCTIONS = ("builtins.float", "builtins.int", "builtins.bool")

rule = Rule(
    code="GCL841",
    name="device-sync-in-inner-loop",
    docs=__doc__ or "",
    words=(BACKWARD, (".item", ".tolist", ".numpy", ".cpu", "float("), ("cuda", "device")),
    certainty=("costs",),
    oracles=(),
    reproduction=Reproduction(
        "bad_each_loss.py",
        "good_now_and_then.py",
        needs="cuda",
        raises="RuntimeError: called a synchronizing CUDA operation",
    ),
)


@rule.on(RunEnded)
def read_back(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does every step wait for a number of the GPU's?"""
    told: set[ast.AST] = set()
    for backward in run.of_type(Backward):
        if not backward.moment.loops or not reaches_a_step(backward, run):
            continue
        for read in run.of_type(LibraryCall):
            if read.site.node in told or not _is_in_a_round_of(read, backward, run) or not _is_of(read, backward):
                continue
            guard = _in_each_step(read, backward, run)
            if guard is not None:
                told.add(read.site.node)
                yield rule.finding(
                    run,
                    read.site,
                    "every step waits here for the GPU to compute this number",
                    guard=guard,
                    certainty="costs",
                    related=[(backward.site, "each step goes backward here")],
                )


def _is_in_a_round_of(read: LibraryCall, backward: Backward, run: Run) -> bool:
    """Whether each round that goes backward comes to a call, be it in a loop of its own over what the round has; in a
    loop that computes as well, such as the steps of an environment, the next forward may need the number.
    """
    around, loops = backward.moment.loops, read.moment.loops
    if loops[-1:] == around[-1:]:
        return True
    own = loops[len(around) :]
    return loops == around + own and not any(
        own[:1] == each.moment.loops[len(around) :][:1] for each in forwards_of(backward, run)
    )


def _is_of(read: LibraryCall, backward: Backward) -> bool:
    """Whether what a call reads is computed by the models of a backward, and not read back already; what is converted
    to a number may be one already, but for what a gradient flows through.
    """
    call, (_, _, last) = read.call, read.name.rpartition(".")
    if call is not None and call.receiver is not None and last in METHODS:
        held = [call.receiver]
    elif call is not None and read.name in FUNCTIONS:
        held = [item for item in call.get("", 0).objects() if "graph" in item.state]
    else:
        return False
    return any(of_a_model(item) and not _is_read(item) and set(backward.forwards) & item.origins for item in held)


def _is_read(item: Object) -> bool:
    """Whether something is on the CPU already: what such a call gave."""
    node = item.site.node if item.site is not None else None
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS


def _in_each_step(read: LibraryCall, backward: Backward, run: Run) -> Guard | None:
    """The condition under which each step on a GPU reads; None where it does so in some of them only."""
    more = read.guard - backward.guard
    if every_few_rounds(read, run) or any(atom.each for atom, _ in more) or _is_drawn(more, backward, run):
        return None
    for forward in forwards_of(backward, run):
        for moved in on_gpu(forward.model, run):
            both = conj(without_elements(moved), without_elements(read.guard))
            if both is not None:
                return both
    return None


def _is_drawn(guard: Guard, backward: Backward, run: Run) -> bool:
    """Whether a condition is about a number that each round draws anew: it holds in some of them."""
    around = backward.moment.loops
    asked = (item for atom, _ in everything(guard, tacit=False) for one in atom.of if (item := run.subject(one)))
    made = (call for item in asked for part in sources(of(item)) if (call := run.makers.get(part)) is not None)
    return any(draws(call, each) for call in made if call.moment.loops[: len(around)] == around for each in GENERATORS)
