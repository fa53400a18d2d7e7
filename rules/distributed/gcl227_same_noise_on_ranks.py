"""# same-noise-on-ranks (GCL227)

## What it does
Finds random numbers of a training step, such as the noise and the time steps of a diffusion, that all processes draw
from the same seed.

## Why it breaks
With equal seeds all processes draw equal numbers, step for step. N processes train on N batches and one set of noise,
time steps or masks: the gradient has the variance of a single process's noise. Nothing is raised.

## Example
```python
set_seed(args.seed)
noise = torch.randn_like(latents)
```

## Use instead
```python
set_seed(args.seed, device_specific=True)
```
Or `torch.manual_seed(seed + dist.get_rank())`, once the weights are made.

## When it is fine
A seed with the rank in it, also a later one; a generator of each process's own; no seed, for then each process has
another; numbers that no loss is computed from; one process; two processes of which one draws by itself besides.

## Evidence
torch 2.13.0 and accelerate 1.15.0, two gloo ranks: after `set_seed(42)` both draw the noise 0.3367, 0.1288 and the time
steps 26, 335, 620. Batches of different shapes draw apart in time: fragile.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gclint.finding import Aspect, Edit, Finding, Fix
from gclint.frameworks.process_starters import FRESH
from gclint.frameworks.randomness import GENERATORS, draws, seeded_by
from gclint.ir.syntax import Site, dotted
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import read_names
from gclint.run.events import Backward, Event, LibraryCall, RunEnded
from gclint.run.guards import NEVER, Guard, all_of, compatible, either
from gclint.run.parallel import alone, forwards_of, is_group_of_one, of_several
from gclint.run.ranks import Pair
from gclint.run.run import Run
from gclint.run.stepping import reaches_a_step
from gclint.run.values import FALSE, Const, Object, Value, ancestors, of, root, sources

from ..words import TRAINS
from .loaders import by_rank

CHANGES: tuple[Aspect, ...] = ("random", "loss", "gradients", "updates")

TWO = 2
OF_A_WORKER = "get_worker_info"
"""What tells a loader's worker of itself, its own seed among it (torch/utils/data/_utils/worker.py)."""

rule = Rule(
    code="GCL227",
    name="same-noise-on-ranks",
    docs=__doc__ or "",
    words=(
        ("manual_seed", "set_seed", "seed_everything", "random.seed"),
        ("rand", "random", "normal", "multinomial", "bernoulli"),
        (
            "DistributedDataParallel",
            "Accelerator",
            "FullyShardedDataParallel",
            "fully_shard",
            "LightningModule",
            "Fabric",
            "deepspeed",
        ),
        TRAINS,
    ),
    bears=("processes",),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_one_seed.py",
        "bad_one_seed.fixed.py",
        processes=2,
        raises="AssertionError: both processes train on the same noise",
        intent=CHANGES,
    ),
)


@rule.on(RunEnded)
def drawn_alike(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Are the random numbers of a step of several processes the same in all of them?"""
    if not event.whole or alone(run) or is_group_of_one(run):
        return
    calls = run.of_type(LibraryCall)
    for generator in GENERATORS:
        drawn = [each for each in calls if draws(each, generator)]
        seeds = [each for each in calls if generator in seeded_by(each)]
        alone_drawn = _by_the_first([*drawn, *seeds], run)
        drawn, seeds = ([each for each in held if each.site not in alone_drawn] for held in (drawn, seeds))
        if not seeds or not drawn or _apart(drawn, seeds, run):
            continue
        if alone_drawn and run.launch_places and all(each.world_size == TWO for each in run.launch_places):
            continue
        trained = _trained(drawn, seeds, run)
        found = next(trained, None)
        if found is not None:
            seed, draw, backward = found
            guard = _of_all(seed, draw, backward, run)
            if guard is not None and any(Pair(run).only(process, guard) is not None for process in (0, 1)):
                ways = [_of_all(*each, run) or NEVER for each in trained if _places(each) == _places(found)]
                guard = either([guard, *ways])  # the others come to the same places in a branch of their own
            yield rule.finding(
                run,
                seed.site,
                "all processes start from this seed: in each step they draw the same random numbers",
                guard=backward.guard if guard is None else guard,
                certainty="fragile",
                symptom="silent: the processes differ in their data only, not in their noise",
                condition="with more than two processes" if alone_drawn else "",
                related=[
                    (draw.site, "drawn in each step"),
                    (backward.site, "trained on by all processes"),
                    *((site, "the first process draws, or seeds, here by itself") for site in alone_drawn[:1]),
                ],
                fixes=(_by_rank(seed, run),),
            )
            return


def _places(events: Sequence[Event]) -> list[Site]:
    return [each.site for each in events]


def _apart(drawn: list[LibraryCall], seeds: list[LibraryCall], run: Run) -> bool:
    """Whether processes may draw apart: by a seed with their number, or where one draws or seeds and others do not, but
    the first by itself, which leaves the others alike.
    """
    if any(each.call is None or _is_own(each, run) for each in seeds):
        return True
    pair = Pair(run)
    return any(pair.only(1, guard) is not None for guard in _met([*drawn, *seeds], run).values())


def _by_the_first(events: list[LibraryCall], run: Run) -> list[Site]:
    """The places to which the first process comes and the others do not."""
    pair = Pair(run)
    return [site for site, guard in _met(events, run).items() if pair.only(0, guard) is not None]


def _met(events: list[LibraryCall], run: Run) -> dict[Site, Guard]:
    """Under what each place is come to: one that a process comes to in another call than the others is no less met."""
    met: dict[Site, list[Guard]] = {}
    for each in events:
        met.setdefault(each.site, []).append(each.guard - run.assumed)
    return {site: either(guards) for site, guards in met.items()}


def _is_own(seed: LibraryCall, run: Run) -> bool:
    """Whether each process seeds with a number of its own."""
    assert seed.call is not None
    return any(by_rank(value, run) for value in seed.call.inputs()) or (
        seed.call.get("device_specific", 1 if seed.name.startswith("accelerate") else None, FALSE).constant()
        is not False
    )


def _trained(
    drawn: list[LibraryCall], seeds: list[LibraryCall], run: Run
) -> Iterator[tuple[LibraryCall, LibraryCall, Backward]]:
    """What seeds, what is drawn after it in a loop, and the backward of several processes in that loop from it."""
    for backward in run.of_type(Backward):
        engine = any(each.through is not None and each.through.kind == "engine" for each in forwards_of(backward, run))
        if not backward.moment.loops or not (engine or reaches_a_step(backward, run)):
            continue
        made_of = sources(backward.loss, len(run.heap))
        for draw in drawn:
            if draw.moment.loops[:1] != backward.moment.loops[:1] or not made_of.intersection(draw.result.objects()):
                continue
            before = [
                each
                for each in seeds
                if run.place(each) < run.place(draw)
                and compatible(each.guard - run.assumed, draw.guard)
                and not _is_left_behind(each, draw, run)
            ]
            if before and _is_alike(before[-1], run) and _of_all(before[-1], draw, backward, run) is not None:
                yield before[-1], draw, backward


def _is_left_behind(seed: LibraryCall, draw: LibraryCall, run: Run) -> bool:
    """Whether a seed is that of the program which starts new interpreters, in which is drawn: they run the file again,
    but for what it asks for its own name before.
    """
    started = run.facts.get(FRESH, set()).intersection(draw.moment.stack)
    first = (*seed.moment.stack, seed.site)[0]
    asked = (each.test for each in first.module.ancestors(first.node) if isinstance(each, ast.If))
    return not started <= set(seed.moment.stack) and any("__name__" in read_names(test) for test in asked)


def _of_all(seed: LibraryCall, draw: LibraryCall, backward: Backward, run: Run) -> Guard | None:
    """The condition under which several processes train on what is drawn after a seed."""
    both = all_of((seed.guard - run.assumed, draw.guard, backward.guard))
    found = (of_several(both, forward) for forward in forwards_of(backward, run)) if both is not None else ()
    return next((guard for guard in found if guard is not None), None)


def _is_alike(seed: LibraryCall, run: Run) -> bool:
    """Whether a seed is known to be the same in all processes: a number, an option or a setting, or computed from
    these.
    """
    assert seed.call is not None
    given = seed.call.get("seed", 0)
    parts = ancestors(Value([pair for pair in given.possible(seed.guard) if pair[1] != Const(None)]))
    return bool(parts) and all(isinstance(item, Const) or _is_plain(item, run) for item in parts)


def _is_plain(item: object, run: Run) -> bool:
    if not isinstance(item, Object):
        return False
    node = item.site.node if item.site is not None else None
    computed = isinstance(node, ast.BinOp) or (isinstance(node, ast.Call) and _is_int(node))
    return item.kind == "option" or computed or _is_setting(item, run)


def _is_setting(item: Object, run: Run) -> bool:
    """Whether something is an attribute, or an entry, of what the program made or read once, as of a settings file."""
    whole = root(item)
    node = whole.site.node if whole is not item and whole.site is not None else None
    made = isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] != OF_A_WORKER
    return item.kind == "unknown" and made and not by_rank(of(whole), run)


def _is_int(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "int"


def _by_rank(seed: LibraryCall, run: Run) -> Fix | None:
    """Seed each process with a number of its own."""
    before = [each for each in run.of_type(LibraryCall) if run.place(each) < run.place(seed)]
    if seed.name.startswith("accelerate") and any(each.name.endswith(".Accelerator") for each in before):
        edit = rewrite.set_argument(seed.site, "device_specific", "True")
    else:
        start = next((each for each in before if each.name == "torch.distributed.init_process_group"), None)
        edit = _with_rank(seed, start) if start is not None and seed.name.startswith("torch.") else None
    return Fix("by-rank", "Seed each process differently", (edit,), "unsafe", intent=CHANGES) if edit else None


def _with_rank(seed: LibraryCall, start: LibraryCall) -> Edit | None:
    """Add the process's number, which is known by the package that starts the processes, to the seed."""
    given, call = rewrite.positional(seed.site, 0), rewrite.call_node(start.site)
    package = dotted(call.func).rpartition(".")[0] if call is not None else ""
    if given is None or not package or start.site.module is not seed.site.module or isinstance(given, ast.IfExp):
        return None
    return rewrite.put_behind(Site.at(seed.site.module, given), f" + {package}.get_rank()")
