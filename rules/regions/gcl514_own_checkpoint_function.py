"""# own-checkpoint-function (GCL514)

## What it does
Finds autograd functions of the project that recompute in backward without replaying the random number
generator.

## Why it breaks
Dropout inside draws other numbers the second time, so that gradients do not belong to the output: they are
wrong without an error. The state of autocast is not that of forward either, unless the class restores it.

## Example
```python
class Recompute(torch.autograd.Function):
    @staticmethod
    def backward(ctx, *grads):
        with torch.enable_grad():
            outputs = ctx.run(*ctx.inputs)
```

## Use instead
```python
hidden = torch.utils.checkpoint.checkpoint(run, hidden, use_reentrant=False)
```

## When it is fine
The class keeps and restores the state of the generator; nothing inside draws random numbers.

## Evidence
torch 2.13.0: gradients of a block with dropout 0.3 differ from those of torch's own checkpoint.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Edit, Finding, Fix
from gclint.ir.layout import by_place, gather, line_of
from gclint.ir.syntax import FUNCTIONS, WITHS, FunctionDef, Module, Site, With, dotted, nodes
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import calls_in
from gclint.run.events import LibraryCall, RunEnded
from gclint.run.meaning import definition, method_called
from gclint.run.run import Run
from gclint.run.values import Class

REPLAYS = ("rng_state", "fork_rng", "set_device_states", "get_device_states", "manual_seed")

rule = Rule(
    code="GCL514",
    name="own-checkpoint-function",
    docs=__doc__ or "",
    words=(("Function",), ("enable_grad",), ("apply",)),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=("agrees",),
    reproduction=Reproduction("bad_recompute.py", "bad_recompute.fixed.py", intent=("gradients", "random")),
)


@rule.on(RunEnded)
def recomputes(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is an autograd function applied that computes its forward again, with other random numbers?"""
    done = set()
    for call in run.of_type(LibraryCall):
        applied = call.call.owner if call.call is not None and call.name == "torch.autograd.Function.apply" else None
        for part in applied.ancestry() if applied is not None else ():
            if not isinstance(part, Class):
                continue
            module, owner = part.module, part.node
            forward, backward = _method(owner, "forward"), _method(owner, "backward")
            if owner in done or forward is None or backward is None:
                continue
            block = _again(module, backward)
            if block is None or any(word in module.code(owner) for word in REPLAYS):
                continue
            done.add(owner)
            yield rule.finding(
                run,
                Site.at(module, block),
                f"`{owner.name}` computes its forward again without replaying random numbers",
                guard=call.guard,
                certainty="fragile",
                condition="if anything inside draws random numbers",
                symptom="silent: gradients are wrong",
                related=[(call.site, "applied here")],
                fixes=(_fix(module, forward, block),),
            )


def _method(owner: ast.ClassDef, name: str) -> FunctionDef | None:
    return next((part for part in owner.body if isinstance(part, FUNCTIONS) and part.name == name), None)


def _again(module: Module, backward: FunctionDef) -> With | None:
    """The block in which something kept on the context is called with gradients on."""
    context = _context(backward)
    for node in gather(nodes, backward.body):
        if (
            isinstance(node, WITHS)
            and any("enable_grad" in _called(module, item.context_expr) for item in node.items)
            and any(method_called(module, call)[0] == context for call in gather(calls_in, node.body))
        ):
            return node
    return None


def _called(module: Module, node: ast.expr) -> str:
    made = definition(module, node)
    return dotted(definition(module, made.func)) if isinstance(made, ast.Call) else ""


def _context(function: FunctionDef) -> str:
    return next(iter(by_place(function)), "ctx")


def _fix(module: Module, forward: FunctionDef, block: With) -> Fix | None:
    """Keep the generators' state in forward, and set it for the second time."""
    context, last, first = _context(forward), block.items[-1].context_expr, (forward.body[0], block.body[0])
    if any(statement not in line_of(module, statement) for statement in first):
        return None
    edits: list[Edit | None] = [
        rewrite.insert_before(
            Site.at(module, first[0]),
            f"{context}.rng_state = torch.get_rng_state(), torch.cuda.get_rng_state_all()",
        ),
        rewrite.put_behind(Site.at(module, last), ", torch.random.fork_rng()"),
        rewrite.insert_before(
            Site.at(module, first[1]),
            f"torch.set_rng_state({context}.rng_state[0])",
            f"torch.cuda.set_rng_state_all({context}.rng_state[1])",
        ),
    ]
    made = tuple(edit for edit in edits if edit is not None)
    made += tuple(rewrite.ensure_import(module, "import torch"))
    return (
        Fix("replay-rng", "Replay the random numbers of forward", made, "unsafe", intent=("gradients", "random"))
        if len(made) >= 3
        else None
    )
