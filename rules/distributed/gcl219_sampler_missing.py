"""# sampler-missing (GCL219)

## What it does
Finds loaders without a DistributedSampler on which a DistributedDataParallel model is trained; where accelerate wraps
the model, in a program that asks which process it is, those that it was not given to prepare.

## Why it breaks
Wrapping a model does not divide its data. Each process goes over all of it: in order, or with equal seeds, all draw the
same batches and average equal gradients, so that further processes add nothing. Nothing is raised.

## Example
```python
model = DistributedDataParallel(model)
loader = DataLoader(data, batch_size=8)
```

## Use instead
```python
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))
```

## When it is fine
A sampler or batch sampler; data that is divided by rank, in the dataset, in what it is made from or batch by batch;
items that do not come from their index, or of which the loop takes some by numbers that it draws; an order of its own
for each process, by a seed with its rank; loaders that accelerate, Fabric, Lightning or Trainer prepare. Unseeded
shuffles differ, and only make the epoch longer: fragile.

## Evidence
torch 2.13.0, two gloo ranks: both draw the same 8 batches, where 4 are due to each; so with accelerate 1.15, of a
loader beside the copy that it prepared.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gclint.finding import Aspect, Certainty, Finding, Fix
from gclint.ir.syntax import FUNCTIONS, Module, Site, dotted, nodes
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import enclosing_function
from gclint.run.events import Forward, LibraryCall, RunEnded
from gclint.run.guards import Guard, conj
from gclint.run.parallel import BY_ACCELERATE, alone, forwards_of, wrapped_by, wrapped_by_hand
from gclint.run.ranks import asks_for_the_first
from gclint.run.run import Run
from gclint.run.values import NOTHING, Class, Object, Value

from ..words import BACKWARD
from .drawn_parts import drawn_names, draws, given_names, picks_at_random
from .loaders import by_rank, trained_on

CHANGES: tuple[Aspect, ...] = ("steps", "backwards", "forwards", "loss", "gradients", "updates", "random")
DIVIDES = ("get_rank", "get_world_size", "environ", "getenv", "chunk", "split", "tensor_split", "scatter")
SEEDS = (".manual_seed", ".manual_seed_all", ".seed_everything", ".set_seed")

rule = Rule(
    code="GCL219",
    name="sampler-missing",
    docs=__doc__ or "",
    words=(("DistributedDataParallel", "Accelerator"), ("DataLoader",), BACKWARD),
    bears=("processes",),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_shuffled_alike.py",
        "bad_shuffled_alike.fixed.py",
        processes=2,
        raises="AssertionError: each process trains on all of the data",
        intent=CHANGES,
    ),
)


@rule.on(RunEnded)
def undivided(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does each process of a run train on all of the data?"""
    if not event.whole or alone(run):
        return
    told: set[Object] = set()
    for drawn, backwards in trained_on(run):
        loader, site = drawn.item, drawn.item.site
        certainty = _alike(loader, run)
        if loader in told or site is None or certainty is None or not _is_whole(loader, run):
            continue
        for backward, forward in ((each, item) for each in backwards for item in forwards_of(each, run)):
            both = conj(drawn.guard, backward.guard)
            ddp = next(_wrappers(forward, both, run), None) if both is not None else None
            if ddp is None or ddp[1].site is None or _cut(forward):
                continue
            told.add(loader)
            certainty = "fragile" if _draws_its_items(loader) else certainty
            same = "draws the same batches" if certainty == "fails" else "goes over all of the data"
            yield rule.finding(
                run,
                site,
                f"every process {same}: this loader has no DistributedSampler",
                guard=ddp[0],
                certainty=certainty,
                symptom="silent: further processes add nothing to the training",
                related=[(ddp[1].site, "the model is wrapped here"), (drawn.site, "each process trains on all of it")],
                fixes=(_divide(loader) if not ddp[1].label else None,),
            )
            break


def _wrappers(forward: Forward, guard: Guard, run: Run) -> Iterator[tuple[Guard, Object]]:
    """The DDP through which a forward goes: by hand, or by accelerate in a program that is made for several processes,
    of which it asks which one it is.
    """
    if forward.through is not None:
        yield from wrapped_by_hand(forward.model, guard)
    if asks_for_the_first(run):
        yield from wrapped_by(BY_ACCELERATE, forward.model, guard)


def _alike(loader: Object, run: Run) -> Certainty | None:
    """How sure it is that all processes draw alike; None where a sampler or the seeds may keep them apart."""
    given = loader.attributes
    absent = {"sampler", "batch_sampler", "generator", "collate_fn", "worker_init_fn"}
    shuffle = given.get("shuffle", NOTHING)
    if any(given[name].constant() is not None or given[name].objects() for name in absent & set(given)):
        return None
    if not shuffle.alternatives or shuffle.constant() is False:
        return "fails"
    calls = [each for each in run.of_type(LibraryCall) if each.name.endswith(SEEDS) and each.call is not None]
    seeds: list[Value] = [each.call.get("seed", 0) for each in calls]
    if shuffle.constant() is not True or any(by_rank(seed, run) for seed in seeds):
        return None
    return "fails" if seeds and all(isinstance(seed.constant(), int) for seed in seeds) else "fragile"


def _is_whole(loader: Object, run: Run) -> bool:
    """Whether the data are known to be the same, and all of them, for each process: of a class of the project whose
    items come from their index, by code that asks for no rank and draws nothing.
    """
    data = loader.attributes.get("dataset", NOTHING)
    held = data.only()
    if not isinstance(held, Object) or not isinstance(held.type, Class) or by_rank(data, run):
        return False
    classes = list(held.type.ancestry())
    own = [each for each in classes if isinstance(each, Class)]
    library = {each.name.rsplit(".", 1)[-1] for each in classes if not isinstance(each, Class)}
    getters = [node for each in own for node in each.node.body if _named(node, "__getitem__")]
    if library - {"object"} != {"Dataset"} or not getters or held.site is None:
        return False
    makers: list[tuple[Module, ast.AST]] = [
        (each.module, node) for each in own for node in each.node.body if _named(node, "__init__")
    ]
    makers.append((held.site.module, enclosing_function(held.site.module, held.site.node)))
    if any(_divides(each.node) for each in own) or any(_slices(module, maker) for module, maker in makers):
        return False
    getter = getters[0]
    assert isinstance(getter, FUNCTIONS)
    index = getter.args.args[-1].arg if len(getter.args.args) > 1 else ""
    named = [node for node in nodes(getter) if isinstance(node, ast.Name) and node.id == index]
    return bool(named) and index not in drawn_names(getter) and not picks_at_random(getter, {"self"})


def _draws_its_items(loader: Object) -> bool:
    """Whether the code of the data draws numbers, which may decide in what order they stand."""
    held = loader.attributes.get("dataset", NOTHING).only()
    owner = held.type if isinstance(held, Object) else None
    return isinstance(owner, Class) and any(draws(each.node) for each in owner.ancestry() if isinstance(each, Class))


def _named(node: ast.AST, name: str) -> bool:
    return isinstance(node, FUNCTIONS) and node.name == name


def _divides(node: ast.AST) -> bool:
    """Whether code asks for the rank, or cuts something in parts."""
    texts = {part.func for part in nodes(node) if isinstance(part, ast.Call) and _splits_a_text(part)}
    parts = (part for part in nodes(node) if isinstance(part, NAMES) and part not in texts)
    return any((dotted(part) or getattr(part, "attr", "")).rsplit(".", 1)[-1] in DIVIDES for part in parts)


def _splits_a_text(call: ast.Call) -> bool:
    """Whether a call is `text.split()`, or one at some other text."""
    given = call.args[0] if call.args else ast.Constant("")
    return isinstance(call.func, ast.Attribute) and isinstance(given, ast.Constant) and isinstance(given.value, str)


NAMES = (ast.Name, ast.Attribute)


def _cut(forward: Forward) -> bool:
    """Whether code around the forward may take a part of the batch, by a slice that is no literal, by numbers that it
    draws or by a function.
    """
    around = [forward.site, *forward.moment.stack]
    loops = {each.node for each in forward.moment.loops}
    bodies = {
        next(
            (each for each in site.module.ancestors(site.node) if each in loops),
            enclosing_function(site.module, site.node),
        )
        for site in around
        if any(each in loops for each in site.module.ancestors(site.node)) or site is forward.site
    }
    return any(
        _divides(body) or picks_at_random(body, given_names(body)) or any(_varies(node) for node in nodes(body))
        for body in bodies
    )


def _slices(module: Module, scope: ast.AST) -> bool:
    """Whether a function or module, but what is defined in it, takes such a part of something."""
    return any(_varies(node) and enclosing_function(module, node) is scope for node in nodes(scope))


def _varies(node: ast.AST) -> bool:
    """Whether a node is a slice by a computed step, or between two computed ends."""
    if not isinstance(node, ast.Slice):
        return False
    lower, upper, step = (
        part is not None and not isinstance(part, ast.Constant) for part in (node.lower, node.upper, node.step)
    )
    return step or (lower and upper)


def _divide(loader: Object) -> Fix | None:
    """Make a DistributedSampler before the loader, and give it to it."""
    site = loader.site
    call = rewrite.call_node(site) if site is not None else None
    if (
        site is None
        or call is None
        or not call.args
        or not dotted(call.args[0])
        or re.search(r"\bsampler\b", site.module.text)
    ):
        return None
    shuffle, module = rewrite.argument(site, "shuffle"), site.module
    if rewrite.positional(site, 2) is not None:
        return None
    order = "" if loader.attributes.get("shuffle", NOTHING).constant() is True else ", shuffle=False"
    made = rewrite.insert_before(site, f"sampler = DistributedSampler({module.code(call.args[0])}{order})")
    passed = rewrite.add_argument(site, "sampler=sampler")
    if shuffle is not None:
        passed = rewrite.replace(Site.at(module, shuffle), "sampler=sampler")
    if made is None or passed is None:
        return None
    imported = rewrite.ensure_import(module, "from torch.utils.data import DistributedSampler")
    return Fix("sampler", "Divide the data over the processes", (*imported, made, passed), "unsafe", intent=CHANGES)
