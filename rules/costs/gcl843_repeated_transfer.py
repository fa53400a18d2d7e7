"""# repeated-transfer (GCL843)

## What it does
Finds tensors that were made before the training loop and are copied to a GPU in each of its steps.

## Why it breaks
Nothing breaks. The same numbers go over the bus in every step, and each copy out of memory that is not pinned waits for
the GPU.

## Example
```python
weights = torch.tensor([1.0, 4.0])
for x, y in loader:
    loss = nn.functional.cross_entropy(model(x), y, weight=weights.to(device))
```

## Use instead
```python
weights = torch.tensor([1.0, 4.0], device=device)
```

## When it is fine
What a loop draws anew; a name that is given the copy, for then the next step finds it there; a buffer of the model.

## Evidence
https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html: a tensor that is on the device already is returned
itself, any other is copied. `torch.cuda.set_sync_debug_mode("error")` raises at each such copy.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding
from gclint.rule import Reproduction, Rule
from gclint.run.closures import bound_names, read_names
from gclint.run.devices import places_on_gpu
from gclint.run.events import Backward, LibraryCall, RunEnded
from gclint.run.guards import Guard, conj
from gclint.run.meaning import definition
from gclint.run.run import Run
from gclint.run.stepping import every_few_rounds, reaches_a_step
from gclint.run.values import sources

from ..distributed.loaders import made_in
from ..words import BACKWARD

MADE = ("tensor", "zeros", "ones", "randn", "rand", "arange", "full", "eye", "linspace", "from_numpy", "as_tensor")

rule = Rule(
    code="GCL843",
    name="repeated-transfer",
    docs=__doc__ or "",
    words=((".to(", ".cuda("), BACKWARD, ("cuda", "device"), MADE),
    certainty=("costs",),
    oracles=(),
    reproduction=Reproduction(
        "bad_weights_of_classes.py",
        "good_made_there.py",
        needs="cuda",
        raises="RuntimeError: called a synchronizing CUDA operation",
    ),
)


@rule.on(RunEnded)
def copied_again(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does each step copy to a GPU what was there before the loop?"""
    told: set[ast.AST] = set()
    for backward in run.of_type(Backward):
        if not backward.moment.loops or not reaches_a_step(backward, run):
            continue
        made_of = sources(backward.loss)
        for move in run.of_type(LibraryCall):
            if move.site.node in told or not made_of.intersection(move.result.objects()):
                continue
            guard = _repeats(move, backward, run)
            if guard is not None:
                told.add(move.site.node)
                yield rule.finding(
                    run,
                    move.site,
                    "every step copies the same tensor to the GPU",
                    guard=guard,
                    certainty="costs",
                    related=[(backward.site, "each step goes backward here")],
                )


def _repeats(move: LibraryCall, backward: Backward, run: Run) -> Guard | None:
    """The condition under which a tensor from before a loop goes to a GPU in each round of it."""
    call, loop = move.call, backward.moment.loops[-1]
    held = call.receiver if call is not None else None
    if call is None or held is None or held.kind != "tensor" or call.last not in ("to", "cuda"):
        return None
    making = [each for each in run.of_type(LibraryCall) if held in each.result.objects()]
    if loop not in move.moment.loops or every_few_rounds(move, run) or not making or loop in made_in(held, run):
        return None
    own = making[0].name.startswith("torch.") and making[0].name.rpartition(".")[2] in MADE
    if not own or making[0].call is None or making[0].call.gives("device") or _is_kept(move):
        return None
    found = (both for guard in places_on_gpu(move) if (both := conj(guard, backward.guard)) is not None)
    return next(found, None)


def _is_kept(move: LibraryCall) -> bool:
    """Whether the copy takes the place of what is copied, for the next round."""
    module, node = move.site.module, move.site.node
    line = module.statement(node)
    read = set(read_names(line.value)) if isinstance(line, ast.Assign) else set()
    if isinstance(node, ast.Call):  # the method may be kept in a variable
        read |= set(read_names(definition(module, node.func)))
    return isinstance(line, ast.Assign) and bool(set(bound_names(line)) & read)
