"""# foreign-rng (GCL506)

## What it does
Finds random numbers drawn inside a checkpointed region from `random`, numpy, or a generator of its own.

## Why it breaks
torch replays its own global generator when it computes the region again, and no other. The second time
other numbers come out: gradients are wrong, silently, or `CheckpointError` is raised where another branch
is taken.

## Example
```python
def forward(self, x):
    return x if random.random() < 0.1 else x + self.mlp(x)  # checkpointed
```

## Use instead
```python
def forward(self, x):
    return x if torch.rand(()).item() < 0.1 else x + self.mlp(x)
```
Or draw outside of the region and pass the number in.

## When it is fine
`torch.rand` and dropout without a generator: they are replayed.

## Evidence
torch 2.13.0: wrong gradients in 10 of 20 seeds (reentrant); CheckpointError otherwise; exact with
`torch.rand(1)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Edit, Finding, Fix
from gclint.ir.layout import is_spread
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import CheckpointCall, LibraryCall
from gclint.run.regions import region_of, without_gradients
from gclint.run.run import Run

from ..words import CHECKPOINTS

SETUP = (
    "seed",
    "Random",
    "SystemRandom",
    "default_rng",
    "RandomState",
    "getstate",
    "get_state",
    "setstate",
    "set_state",
    "Generator",
    "SeedSequence",
)

rule = Rule(
    code="GCL506",
    name="foreign-rng",
    docs=__doc__ or "",
    words=(CHECKPOINTS, ("checkpoint",), ("random", "generator")),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=("gradients",),
    reproduction=Reproduction("bad_python_random.py", "bad_python_random.fixed.py", intent=("random",)),
)


@rule.on(LibraryCall)
def foreign(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is a number drawn in a region from a generator that torch does not replay?"""
    source = _source(event)
    region = region_of(event, run) if source else None
    if region is None or without_gradients(event) or _seeded(event, region, run):
        return
    yield rule.finding(
        run,
        event.site,
        f"{source} is not replayed when the region is computed again in backward",
        guard=event.guard,
        certainty="fragile",
        symptom="silent: gradients are wrong",
        related=[(region.site, "checkpointed here")],
        fixes=(_fix(event),),
    )


def _seeded(event: LibraryCall, region: CheckpointCall, run: Run) -> bool:
    """Whether the region seeds the generator itself before the draw: both times it draws the same."""
    seed, end = f"{event.name.rpartition('.')[0]}.seed", run.place(event)
    return any(
        item.name == seed and item.guard <= event.guard and region_of(item, run) is region and run.place(item) < end
        for item in run.of_type(LibraryCall)
    )


def _source(event: LibraryCall) -> str:
    top, _, last = event.name.rpartition(".")
    if top in ("random", "numpy.random") and last not in SETUP:
        return f"`{top}`"
    given = event.call.get("generator").objects() if event.call is not None else []
    return "a generator of its own" if given and event.name.startswith(("torch.", "tensor.")) else ""


def _fix(event: LibraryCall) -> Fix | None:
    node, module = rewrite.call_node(event.site), event.site.module
    edits: list[Edit] = []
    if node is not None and event.call is not None and event.call.gives("generator"):
        edits = rewrite.remove_arguments(event.site, "generator")
    elif node is not None and not node.keywords and not any(map(is_spread, node.args)):
        text = _in_torch(event.name, [module.code(item) for item in node.args])
        edits = [rewrite.replace(event.site, text)] if text else []
        edits += rewrite.ensure_import(module, "import torch") if text else []
    return (
        Fix(
            "torch-rng",
            "Draw it from torch's own generator, which is replayed",
            tuple(edits),
            "unsafe",
            "another sequence of random numbers",
            intent=("random",),
        )
        if edits
        else None
    )


def _in_torch(name: str, given: list[str]) -> str:
    """The same draw by torch; "" where there is no plain one."""
    first, second = [*given, "", ""][:2]
    if name in ("random.random", "numpy.random.rand", "numpy.random.random") and not given:
        return "torch.rand(()).item()"
    if name in ("numpy.random.rand", "numpy.random.randn") and given:
        return f"torch.{name.rsplit('.', 1)[-1]}({', '.join(given)}).numpy()"
    if name == "random.uniform" and len(given) == 2:
        return f"torch.empty(()).uniform_({first}, {second}).item()"
    if name == "random.randint" and len(given) == 2:
        return f"torch.randint({first}, {second} + 1, ()).item()"
    return ""
