"""# worker-seed-repeats (GCL831)

## What it does
Finds workers of a DataLoader that start each epoch of training with the same random numbers: seeded with what is the
same each time, with a generator that the data set holds, or with one that torch does not seed in a worker.

## Why it breaks
The workers of each epoch are new processes. torch seeds them from a number that it draws for the epoch; a
`worker_init_fn` that seeds with the worker's number, or adds it to `np.random.get_state()[1][0]`, undoes that: each
epoch has the same augmentation. So does a seed that the data set sets itself, where `__iter__` begins or at a worker's
first item. A generator made in the data set's `__init__` is copied to every worker in the state that it had then: all
of them draw the same numbers, in each epoch again. So is imgaug's generator, and NumPy's by torch before 1.9 (pinned,
or told by a README), where workers are forked, as on Linux. Nothing is raised.

## Example
```python
def worker_init_fn(worker_id):
    np.random.seed(worker_id)
```

## Use instead
```python
def worker_init_fn(worker_id):
    np.random.seed(torch.initial_seed() % 2**32)
```

## When it is fine
`persistent_workers=True`, which seeds once; one epoch; an evaluation; no workers; data sets that draw nothing; a seed
from `torch.initial_seed()`, `get_worker_info().seed` or the epoch; one for each item; a generator made in the worker;
where NumPy is not seeded, workers that `spawn` or `forkserver` starts: each imports NumPy anew, which asks the system.

## Evidence
torch 2.13.0, torch/utils/data/_utils/worker.py: the workers' seeds come from `base_seed`; NumPy's is set from a list,
so that `get_state()[1][0]` is always 2147483648; torch 1.8.1 has no such line. imgaug 0.4.0, random.py: one generator
for the process, made with the first augmenter. Two epochs with two workers draw equal numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gclint.finding import Aspect, Finding, Fix
from gclint.frameworks.augmentation import DRAWS
from gclint.frameworks.randomness import GENERATORS, NO_DRAWS, draws, seeded_by
from gclint.frameworks.torch_workers import GENERATORS as MADE
from gclint.frameworks.torch_workers import leaves_numpy
from gclint.ir.syntax import COMPREHENSIONS, FUNCTIONS, LOOPS, Site, nodes
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import enclosing_function, free_names, read_names, varying_names
from gclint.run.events import AttributeSet, Iterated, LibraryCall, Loop, Restarted, RunEnded
from gclint.run.guards import Guard, all_of, either
from gclint.run.run import Run
from gclint.run.values import NOTHING, Const, Function, Object, ancestors, root

from ..words import BACKWARD
from .loaders import begun_to_train, epochs_of, made_in, worker_counts, worker_of

CHANGES: tuple[Aspect, ...] = ("loss", "gradients", "updates", "random")
ALIKE = "all draw the same numbers, in each epoch again"
ITEM = "an item draws from it here"
SYMPTOM = "silent: each epoch has the same augmentation"
METHOD = "multiprocessing.set_start_method"
ANEW = ("spawn", "forkserver")
"""The ways of starting a process in which it is a new interpreter."""
SAME = ("get_state", "get_worker_info", "get_rank", "get_world_size", "int", "abs", "hash", "min", "max", "range")

rule = Rule(
    code="GCL831",
    name="worker-seed-repeats",
    docs=__doc__ or "",
    words=(
        ("worker_init_fn", "get_worker_info", "default_rng", "RandomState", "random.Random", "imgaug", "numpy"),
        ("num_workers",),
        BACKWARD,
    ),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_seed_of_the_number.py",
        "bad_seed_of_the_number.fixed.py",
        raises="AssertionError: both epochs draw the same numbers",
        intent=CHANGES,
    ),
)


class Repeated(NamedTuple):
    """What repeats: the place that is told, the guard under which workers draw so, what is said of it, and what else
    belongs to it.
    """

    source: LibraryCall
    drawn: Guard
    message: str
    known: bool = True
    related: tuple[tuple[Site, str], ...] = ()
    fix: Fix | None = None


@rule.on(RunEnded)
def draws_again(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Do the workers of a loader draw the same numbers in each epoch of training?"""
    for drawn, backwards in begun_to_train(run):
        loader = drawn.item
        loop = epochs_of(drawn, made_in(loader, run), run)
        if loop is None or loader.attributes.get("persistent_workers", NOTHING).constant() not in (None, False):
            continue
        loops = drawn.around() if isinstance(drawn, Restarted) else {loop}
        inside = [each for each in run.of_type(LibraryCall) if worker_of(each, loader) is not None]
        trains = either(each.guard for each in backwards)
        for each in (
            *_seeded(inside, loops, run),
            *_held(inside, loader, loops, run),
            *_unseeded(inside, loader, loops, run),
        ):
            both = all_of((each.source.guard, each.drawn, drawn.guard, trains))
            for guard, count in worker_counts(loader, both, least=1):
                yield rule.finding(
                    run,
                    each.source.site,
                    each.message,
                    guard=guard,
                    certainty="fails" if count is not None and each.known else "fragile",
                    symptom=SYMPTOM,
                    related=[*each.related, (drawn.site, "each epoch starts its workers anew")],
                    fixes=(each.fix,),
                    versions=("torch",) if _is_judged(run) else (),
                )


def _seeded(inside: list[LibraryCall], loops: set[Loop], run: Run) -> Iterator[Repeated]:
    """The seedings of a worker that are the same each time, and what draws after them."""
    seedings = [each for each in inside if seeded_by(each) and each.call is not None]
    for generator in GENERATORS:
        last = next((each for each in reversed(seedings) if generator in seeded_by(each)), None)
        later = [each for each in inside if last is not None and run.place(each) > run.place(last)]
        drawing = [each for each in later if _draws(each, generator)]
        if last is None or not drawing or not _once(last, run):
            continue
        if _is_same(last, inside) and not any(_changes(last, loop, run) for loop in loops):
            message, fix = "the workers of each epoch start from the same seed", _from_the_epoch(last, inside)
            yield Repeated(last, _under(drawing), message, related=((drawing[0].site, ITEM),), fix=fix)


def _once(seeding: LibraryCall, run: Run) -> bool:
    """Whether a worker comes to a seeding once in an epoch: when it begins, when its stream does, or for an item under
    a condition on what it sets itself.
    """
    worker, code = seeding.moment.inside("worker"), _own_code(seeding)
    around = [outer for site in code for outer in site.module.ancestors(site.node)]
    begun = any(isinstance(outer, FUNCTIONS) and outer.name == "__iter__" for outer in around)
    if seeding.moment.inside("worker_init_fn") is not None or (begun and not any(map(_is_a_loop, around))):
        return True
    set_ = {each.name for each in run.of_type(AttributeSet) if each.moment.inside("worker") is worker}
    tests = [test for site in code for test in _conditions(site)]
    asked = {part.attr for test in tests for part in nodes(test) if isinstance(part, ast.Attribute)}
    asked |= {str(part.value) for test in tests for part in nodes(test) if isinstance(part, ast.Constant)}
    return bool(asked & set_)


def _is_a_loop(node: ast.AST) -> bool:
    return isinstance(node, (*LOOPS, *COMPREHENSIONS))


def _conditions(site: Site) -> Iterator[ast.expr]:
    """What has to hold for something to be come to: the `if`s around it, and those before it that return."""
    module, inner = site.module, site.node
    for outer in module.ancestors(site.node):
        if isinstance(outer, ast.If):
            yield outer.test
        if isinstance(inner, ast.stmt):
            block = module.block(inner)
            before = [each for each in block[: block.index(inner)] if isinstance(each, ast.If)]
            ends = [(each.test, part[-1]) for each in before for part in (each.body, each.orelse) if part]
            yield from (test for test, last in ends if isinstance(last, ast.Return))
        if isinstance(outer, FUNCTIONS):
            return
        inner = outer


def _own_code(seeding: LibraryCall) -> list[Site]:
    """The place of a worker's seeding, and of the calls that led to it within the worker."""
    worker, stack = seeding.moment.inside("worker"), seeding.moment.stack
    led = stack[stack.index(worker.site) + 1 :] if worker is not None and worker.site in stack else ()
    return [seeding.site, *led]


def _is_same(seeding: LibraryCall, inside: list[LibraryCall]) -> bool:
    """Whether a worker's seed is made of nothing but its number, what was known before, and the state it has then."""
    assert seeding.call is not None
    worker, names = seeding.moment.inside("worker"), {}
    for each in inside:
        names.update(dict.fromkeys(each.result.objects(), each.name.rsplit(".", 1)[-1]))
    seed = seeding.call.get("seed", 0)
    if worker is None or not seed or any(item == Const(None) for _, item in seed):
        return False
    parts = [item for item in ancestors(seed) if isinstance(item, Object)]
    beginning = seeding.moment.inside("worker_init_fn") is not None
    for item in (*parts, *map(root, parts)):
        if item.id > worker.id and item.site == worker.site:
            if not beginning:
                return False  # of the item that it is asked for first
            continue  # its number, which is there where the loader is gone over, in a call as well
        made = item.site.node if item.site is not None else None
        if item.id > worker.id and isinstance(made, ast.Call) and names.get(item) not in SAME:
            return False
    ends = {"get_worker_info": ("id", "num_workers"), "get_state": ("[1][0]",)}
    return all(
        item.site is not None and item.site.module.code(item.site.node).endswith(ends[names[root(item)]])
        for item in parts
        if names.get(root(item)) in ends
    )


def _changes(seeding: LibraryCall, loop: Loop, run: Run) -> bool:
    """Whether the code of a worker's seeding reads what the loop sets anew in each round, of what was there before the
    worker was.
    """
    worker = seeding.moment.inside("worker")
    bodies = [enclosing_function(site.module, site.node) for site in _own_code(seeding)]
    apart = [body for body in bodies if isinstance(body, FUNCTIONS) and loop.node not in nodes(body)]
    read = {name for body in bodies for name in (free_names(body) if body in apart else read_names(body))}
    asked = {part.attr for body in bodies for part in nodes(body) if isinstance(part, ast.Attribute)}
    changed = [
        each for each in run.of_type(AttributeSet) if loop in each.moment.loops and each.moment.inside("worker") is None
    ]
    set_ = {each.name for each in changed if each.target is None or worker is None or each.target.id < worker.id}
    return bool(read & varying_names(loop.node) or asked & set_)


def _held(inside: list[LibraryCall], loader: Object, loops: set[Loop], run: Run) -> Iterator[Repeated]:
    """What draws in a worker from a generator that was made before, unless something gives each worker its own."""
    init, data = loader.attributes.get("worker_init_fn", NOTHING), loader.attributes["dataset"].only()
    if init.alternatives and init.only() != Const(None):
        return
    if any(each.target is data and loops.intersection(each.moment.loops) for each in run.of_type(AttributeSet)):
        return
    for each in inside:
        receiver, worker = each.call.receiver if each.call is not None else None, worker_of(each, loader)
        if receiver is None or worker is None or receiver.id > worker.id or receiver.kind not in MADE:
            continue
        used = [other for other in run.of_type(LibraryCall) if other.call and other.call.receiver is receiver]
        seeded = any(other.name.rsplit(".", 1)[-1] in NO_DRAWS for other in used)
        if not seeded and all(other in inside for other in used if loops.intersection(other.moment.loops)):
            yield Repeated(each, each.guard, f"every worker has a copy of this generator: {ALIKE}")


def _unseeded(inside: list[LibraryCall], loader: Object, loops: set[Loop], run: Run) -> Iterator[Repeated]:
    """What draws from a generator that nothing seeds in a worker, which has it as it is when the worker starts."""
    made, begins = run.makers.get(loader), loader.attributes.get("worker_init_fn", NOTHING).only()
    for generator, words in _copied(run).items():
        drawing = [each for each in inside if _draws(each, generator)]
        if made is None or not drawing or any(generator in seeded_by(each) for each in inside):
            continue
        called = [each for each in run.of_type(LibraryCall) if loops.intersection(each.moment.loops)]
        here = [each for each in called if each.moment.inside("worker") is None]  # nor in another loader's workers
        if any(_draws(each, generator) or generator in seeded_by(each) for each in here) or _is_new(drawing[0]):
            continue
        if _takes_rows_itself(loader, loops, run) or _starts_anew(loader, run):
            continue
        start = ((Site.at(begins.module, begins.node), "it seeds others"),) if isinstance(begins, Function) else ()
        related = ((drawing[0].site, ITEM), *start)
        yield Repeated(made, _under(drawing), f"{words}: {ALIKE}", known=False, related=related)


def _starts_anew(loader: Object, run: Run) -> bool:
    """Whether a loader's workers are new interpreters, which import all modules again: none has a copy of what the
    process had (multiprocessing/context.py; a child of such a process starts its own so as well, spawn.py).
    """
    told = [each.call.get("method", 0) for each in run.of_type(LibraryCall) if each.name.endswith(METHOD) and each.call]
    context = loader.attributes.get("multiprocessing_context", NOTHING)
    return any(method.constant() in ANEW for method in (context, *told[-1:]))


def _takes_rows_itself(loader: Object, loops: set[Loop], run: Run) -> bool:
    """Whether the process takes rows of another loader, one without workers: they may draw as well."""
    others = [
        each for each in run.of_type(Iterated) if loops.intersection(each.moment.loops) and each.item is not loader
    ]
    return any(
        each.item.kind == loader.kind and not any(worker_counts(each.item, each.guard, least=1)) for each in others
    )


def _copied(run: Run) -> dict[str, str]:
    """The generators that torch seeds in no worker, each with why."""
    imgaug = {"imgaug.": "nothing seeds imgaug's generator in a worker"}
    told = "" if _is_judged(run) else f", of which {run.targets.told('torch').place} tells,"
    numpy = {"numpy.random.": f"torch before 1.9{told} does not seed NumPy in its workers"}
    return imgaug | numpy if leaves_numpy(run) else imgaug


def _is_judged(run: Run) -> bool:
    """Whether it is this torch that a run is judged for, and none that only a README tells."""
    return run.targets.told("torch") is run.targets["torch"]


def _is_new(draw: LibraryCall) -> bool:
    """Whether what draws was made in the worker."""
    receiver, worker = draw.call.receiver if draw.call is not None else None, draw.moment.inside("worker")
    return receiver is not None and worker is not None and receiver.id > worker.id


def _under(drawing: list[LibraryCall]) -> Guard:
    """The guard under which any of these calls is made."""
    return either(each.guard for each in drawing)


def _draws(event: LibraryCall, generator: str) -> bool:
    """Whether a call draws from a process's generator, itself or as a transform does."""
    return event.name == DRAWS.get(generator) or draws(event, generator)


def _from_the_epoch(seeding: LibraryCall, inside: list[LibraryCall]) -> Fix | None:
    """Seed from what torch gives the worker for the epoch."""
    worker = seeding.moment.inside("worker")
    call = rewrite.call_node(seeding.site)
    own = seeding.moment.stack and worker is not None and seeding.moment.stack[-1] == worker.site
    reseeded = any("torch." in seeded_by(each) for each in inside)
    if not own or reseeded or call is None or len(call.args) != 1 or call.keywords:
        return None
    module = seeding.site.module
    edit = rewrite.replace(Site.at(module, call.args[0]), "torch.initial_seed() % 2**32")
    imported = rewrite.ensure_import(module, "import torch")
    return Fix("initial-seed", "Seed with torch.initial_seed()", (*imported, edit), "unsafe", intent=CHANGES)
