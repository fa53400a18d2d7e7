"""# unseeded-split (GCL228)

## What it does
Finds data that each process of a run splits into training and held-out parts by random numbers of its own.

## Why it breaks
Without a seed, or with one that has the rank in it, every process draws another split. What one process holds out,
others train on, and the averaged gradients bring it to all: the evaluation measures training data. Nothing is raised.

## Example
```python
train, held_out = random_split(data, [900, 100])
model = DistributedDataParallel(model)
```

## Use instead
```python
train, held_out = random_split(data, [900, 100], generator=torch.Generator().manual_seed(0))
```

## When it is fine
A generator, `random_state` or `seed`; a seed set earlier in the process; `shuffle=False`; one process; a split that is
made before the processes start, or that one process saves or sends to the others; a part that nobody evaluates.

## Evidence
torch 2.13.0, two gloo processes: `random_split(data, [48, 16])` of 64 items holds out other items in each. The default
generator of a process starts from a random seed (aten/src/ATen/CPUGeneratorImpl.cpp, `getNonDeterministicRandom`);
NumPy's, which scikit-learn and datasets draw from, does so too.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Aspect, Edit, Finding, Fix
from gclint.frameworks.sharding import is_none
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Backward, Forward, Iterated, LibraryCall, RunEnded
from gclint.run.guards import DISTRIBUTED, NEVER, Guard, all_of, conj
from gclint.run.parallel import alone, forwards_of
from gclint.run.run import Run, ways
from gclint.run.values import NONE, TRUE, Object, Value, ancestors, root

from ..words import BACKWARD
from .loaders import by_rank, drawn_to_train, in_loop_over

CHANGES: tuple[Aspect, ...] = ("steps", "backwards", "forwards", "loss", "gradients", "updates", "random")
SPLITS = ("random_split", "train_test_split")
SEEDS = ("generator", "random_state", "seed")
SHARES = ("save", "dump", "broadcast", "broadcast_object_list", "scatter", "scatter_object_list", "save_to_disk")
STARTERS = ("spawn", "start_processes", "process.start", "notebook_launcher", "debug_launcher", "elastic_launch")
DEPTH = 4
SEVERAL = frozenset({(DISTRIBUTED, True)})

rule = Rule(
    code="GCL228",
    name="unseeded-split",
    docs=__doc__ or "",
    words=(SPLITS, ("DistributedDataParallel", "Accelerator"), BACKWARD),
    bears=("processes",),
    certainty=("fails",),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_seeded_by_rank.py",
        "bad_seeded_by_rank.fixed.py",
        processes=2,
        raises="AssertionError: one process trains on what another holds out",
        intent=CHANGES,
    ),
)


@rule.on(RunEnded)
def different_splits(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does each process of a run draw its own split, of which it trains on one part and evaluates another?"""
    if not event.whole or alone(run):
        return
    for split in (each for each in run.of_type(LibraryCall) if _is_unseeded(each, run)):
        use = next(_uses(split, run), None)
        if use is not None:
            guard, trained, evaluated = use
            yield rule.finding(
                run,
                split.site,
                "each process draws a split of its own: what one holds out, another trains on",
                guard=guard,
                symptom="silent: the evaluation measures training data",
                related=[(trained.site, "one part is trained on"), (evaluated.site, "another is evaluated")],
                fixes=(_seed(split),),
            )


def _uses(split: LibraryCall, run: Run) -> Iterator[tuple[Guard, Iterated, Iterated]]:
    """The loops of several processes that train on one part of a split, each with one that evaluates another."""
    parts = _parts(split)
    used = [(each, found) for each in run.of_type(Iterated) if (found := parts & _held(each.item))]
    if not used or _is_shared(parts, run):
        return
    for guard, trained, backward in _trained_by_several(run):
        own = next((found for each, found in used if each is trained), None)
        if own is None or not _in_each_process(split, backward, run):
            continue
        for evaluated, found in used:
            whole = all_of((guard, split.guard, evaluated.guard))
            possible = whole is not None and conj(whole, SEVERAL) is not None
            if whole is not None and possible and found - own and _evaluates(evaluated, backward, run):
                yield whole, trained, evaluated


def _is_unseeded(split: LibraryCall, run: Run) -> bool:
    """Whether a call divides data by random numbers that nothing before it has seeded alike in all processes."""
    call = split.call
    if call is None or call.open or split.name.rpartition(".")[2] not in SPLITS:
        return False
    if not split.name.startswith("sklearn.") and len(call.positional) > 2:
        return False
    given = call.keywords
    if not all(is_none(given.get(name, NONE)) for name in SEEDS) or given.get("shuffle", TRUE).constant() is not True:
        return False
    return all(
        any(by_rank(value, run) for value in each.call.inputs())
        for each in run.of_type(LibraryCall)
        if ("seed" in each.name or "rng_state" in each.name) and run.place(each) < run.place(split)
    )


def _parts(split: LibraryCall) -> set[Object]:
    """The parts that a split gives."""
    made = split.result.objects()
    held = [value for item in made for value in (*(item.items or ()), *(item.entries or {}).values())]
    return {part for value in held for part in value.objects()}


def _held(item: Object) -> set[Object]:
    """All objects that something was made of or holds, to a depth."""
    found: set[Object] = set()
    newest = {item}
    for _ in range(DEPTH):
        found |= newest
        values = [value for each in newest for value in each.attributes.values()]
        newest = {part for value in values for part in _objects(value)} - found
    return found | newest


def _is_shared(parts: set[Object], run: Run) -> bool:
    """Whether a part, or something of one, is written or sent: others may take it from there."""
    for each in run.of_type(LibraryCall):
        if each.call is None or each.name.rpartition(".")[2] not in SHARES:
            continue
        given = {item for value in each.call.inputs() for item in _objects(value)}
        if parts & given.union(root(item) for item in given):
            return True
    return False


def _objects(value: Value) -> set[Object]:
    """All that a value was computed from, with what lists and dicts among it hold."""
    found = {item for item in ancestors(value) if isinstance(item, Object)}
    held = [inner for item in found for inner in (*(item.items or ()), *(item.entries or {}).values())]
    return found.union(*({item for item in ancestors(inner) if isinstance(item, Object)} for inner in held))


def _trained_by_several(run: Run) -> Iterator[tuple[Guard, Iterated, Backward]]:
    """What a loop trains on whose gradients are averaged over processes."""
    for drawn, backwards in drawn_to_train(run):
        for backward in backwards:
            both = conj(drawn.guard, backward.guard)
            for forward in forwards_of(backward, run):
                for guard, (ddp,) in ways(NEVER if both is None else both, forward.model.known("ddp")):
                    if isinstance(ddp, Object) and (forward.through is not None or ddp.label):
                        yield guard, drawn, backward


def _evaluates(drawn: Iterated, backward: Backward, run: Run) -> bool:
    """Whether a loop asks the trained model about what it goes over, and does not train on it."""
    models = {each.model for each in forwards_of(backward, run)}
    inside = in_loop_over(drawn, run, Forward, Backward)
    return any(isinstance(each, Forward) and each.model in models for each in inside) and not any(
        isinstance(each, Backward) for each in inside
    )


def _in_each_process(split: LibraryCall, backward: Backward, run: Run) -> bool:
    """Whether each process that trains makes the split with a generator of its own: a process that starts the others
    makes it for all of them, and one that is forked goes on with the generator of the first.
    """
    starts = {each.site.node: each.name for each in run.of_type(LibraryCall) if each.name.endswith(STARTERS)}
    around = {site.node for site in backward.moment.stack} & starts.keys()
    own = all(starts[node].endswith(".spawn") for node in around)
    return own and around <= {site.node for site in split.moment.stack}


def _seed(split: LibraryCall) -> Fix | None:
    """Give the split a seed."""
    imported: list[Edit] = []
    name, value = "random_state" if split.name.startswith("sklearn.") else "seed", "0"
    if split.name.startswith("torch."):
        name, value = "generator", "torch.Generator().manual_seed(0)"
        imported = rewrite.ensure_import(split.site.module, "import torch")
    passed = rewrite.set_argument(split.site, name, value)
    if passed is None:
        return None
    return Fix("seed", "Draw the same split in each process", (*imported, passed), "unsafe", intent=CHANGES)
