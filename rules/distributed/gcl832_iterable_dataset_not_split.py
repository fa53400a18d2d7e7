"""# iterable-dataset-not-split (GCL832)

## What it does
Finds an IterableDataset whose `__iter__` gives all of its data in each of several workers of a DataLoader, or in each
of several processes that train together.

## Why it breaks
Each worker has its own copy of the data set and goes over all that it gives; the DataLoader divides nothing. With N
workers each item comes N times in an epoch, and neighbouring batches are the same ones. A stream has no sampler, so
that N processes under DistributedDataParallel go over all of it, too: their gradients are those of one. Nothing is
raised.

## Example
```python
class Lines(IterableDataset):
    def __iter__(self):
        for line in open(self.path):
            yield line

loader = DataLoader(Lines(), batch_size=8, num_workers=4)
```

## Use instead
```python
class Lines(IterableDataset):
    def __iter__(self):
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        for line in islice(open(self.path), first, None, step):
            yield line
```

## When it is fine
No worker or one; data divided by `get_worker_info`, by `worker_init_fn` or by the name of the process, and by rank
where several processes train; items drawn at random or taken from a queue; a source that divides itself, as
WebDataset's and those of datasets do; loaders that accelerate, Fabric, Lightning or Trainer prepare.

## Evidence
torch 2.13.0: of six items three workers give eighteen. torch/utils/data/dataset.py, IterableDataset: "each worker
process will have a different copy of the dataset object".
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.ir.syntax import FORS, FUNCTIONS, For, FunctionDef, Module, Site, dotted, nodes
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import bound_names, enclosing_function, read_names
from gclint.run.events import Backward, Iterated, LibraryCall, RunEnded
from gclint.run.guards import all_of
from gclint.run.parallel import alone, forwards_of, of_several
from gclint.run.run import Run
from gclint.run.values import NOTHING, Class, Const, Object

from ..words import BACKWARD
from .loaders import by_rank, trained_on, worker_counts, worker_of

CHANGES: tuple[Aspect, ...] = ("steps", "backwards", "forwards", "loss", "gradients", "updates", "random")
LIBRARY = {"IterableDataset", "Dataset", "Generic", "ABC", "object"}
APART = (
    *("get_worker_info", "current_process", "getpid", "getenv", "get_rank", "get_world_size", "islice", "scatter"),
    *("shuffle", "sample", "choice", "choices", "randint", "rand", "randn", "randperm", "random", "permutation"),
    *("normal", "multinomial", "bernoulli", "rand_like", "randn_like", "randint_like", "uuid4", "urandom", "time"),
)
"""Library functions by which a worker takes a part of its own."""
OF_WORKERS = ("get_worker_info", "islice")
"""Those of them that say nothing of processes by themselves."""
IMPORTS = ("from itertools import islice", "from torch.utils.data import get_worker_info")
GENERATORS = ("random.", "numpy.random.", "multiprocessing.")
WHOLE = (
    *("open", "glob", "iglob", "rglob", "iterdir", "listdir", "scandir", "sorted", "list", "range", "reader"),
    *("DictReader", "load", "loads", "read_csv", "readlines", "splitlines", "read_text", "split"),
)
"""Calls whose result is the same, and all of it, in each worker."""

rule = Rule(
    code="GCL832",
    name="iterable-dataset-not-split",
    docs=__doc__ or "",
    words=(("IterableDataset",), ("num_workers", "DistributedDataParallel", "FullyShardedDataParallel"), BACKWARD),
    bears=("processes",),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_all_to_each_worker.py",
        "bad_all_to_each_worker.fixed.py",
        raises="AssertionError: each item comes twice",
        intent=CHANGES,
    ),
)


@rule.on(RunEnded)
def gives_all(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does each of several workers give all of a stream that is trained on?"""
    told: set[Object] = set()
    for drawn, backwards in trained_on(run) if event.whole else ():
        loader, given = drawn.item, drawn.item.attributes
        data, init = given.get("dataset", NOTHING).only(), given.get("worker_init_fn", NOTHING)
        if loader in told or loader.site is None or (init.alternatives and init.only() != Const(None)):
            continue
        if not isinstance(data, Object) or not isinstance(data.type, Class) or not data.is_a("IterableDataset"):
            continue
        giving = _giving(data.type)
        if giving is None or not _is_whole(loader, run):
            continue
        yield from _by_processes(drawn, backwards, giving, run)
        if _divided(loader, run):
            continue
        for guard, count in worker_counts(loader, all_of((drawn.guard, backwards[0].guard)), least=2):
            told.add(loader)
            yield rule.finding(
                run,
                loader.site,
                f"each item comes {count or 'several'} times: every worker gives all of the data",
                guard=guard,
                certainty="fails" if count else "fragile",
                symptom="silent: an epoch has each item once for each worker",
                related=[(giving, "this gives all of it"), (drawn.site, "and is trained on here")],
                fixes=(_split(giving),),
            )
            break


def _by_processes(drawn: Iterated, backwards: list[Backward], giving: Site, run: Run) -> Iterator[Finding]:
    """The finding of a stream that each of several processes goes over."""
    loader = drawn.item
    if alone(run) or _divided_by_rank(loader, run) or loader.site is None:
        return
    for backward, forward in ((each, item) for each in backwards for item in forwards_of(each, run)):
        both = all_of((drawn.guard, backward.guard))
        several = of_several(both, forward) if both is not None else None
        if several is not None:
            yield rule.finding(
                run,
                loader.site,
                "each item comes once for each process: every process goes over all of the data",
                guard=several,
                symptom="silent: further processes add nothing to the training",
                related=[(giving, "this gives all of it"), (drawn.site, "and is trained on here")],
            )
            return


def _divided_by_rank(loader: Object, run: Run) -> bool:
    """Whether something in a process may tell it from the others, or the data were divided before."""
    calls = [each for each in run.of_type(LibraryCall) if worker_of(each, loader, "process") is not None]
    last = [(each, each.name.rpartition(".")[2]) for each in calls]
    drawn = any((name in APART and name not in OF_WORKERS) or each.name.startswith(GENERATORS) for each, name in last)
    values = (value for each in calls if each.call is not None for value in each.call.inputs())
    return drawn or by_rank(loader.attributes["dataset"], run) or any(by_rank(value, run) for value in values)


def _giving(type_: Class) -> Site | None:
    """The `__iter__` of a class of the project, whose items all come from what its loops go over."""
    classes = list(type_.ancestry())
    own = [each for each in classes if isinstance(each, Class)]
    library = {each.name.rsplit(".", 1)[-1] for each in classes if not isinstance(each, Class)}
    givers = [(each, node) for each in own for node in each.node.body if isinstance(node, FUNCTIONS)]
    first = next(((each, node) for each, node in givers if node.name == "__iter__"), None)
    if first is None or library - LIBRARY or not all(_from_loops(each.module, node) for each, node in givers):
        return None
    return Site.at(first[0].module, first[1])


def _from_loops(module: Module, function: FunctionDef) -> bool:
    """Whether everything that a function yields is computed from the items of a loop around."""
    for node in nodes(function):
        if isinstance(node, ast.Yield) and enclosing_function(module, node) is function:
            loops = [each for each in module.ancestors(node) if isinstance(each, FORS)]
            if not loops or not set(read_names(node)) & _computed(loops[-1]):
                return False
    return True


def _computed(loop: For) -> set[str]:
    """The names in a loop that are bound to what is computed from its items."""
    found = {part.id for part in nodes(loop.target) if isinstance(part, ast.Name)}
    lines = [part for part in nodes(loop) if isinstance(part, (ast.Assign, ast.AugAssign, ast.With, *FORS, ast.Expr))]
    for _ in range(2):
        for line in lines:
            source = line.iter if isinstance(line, FORS) else line
            if found & set(read_names(source)):
                found.update(bound_names(line))
                found.update(_filled(line))
    return found


def _filled(line: ast.AST) -> Iterator[str]:
    """The collection that a statement adds to: `items.append(item)`."""
    call = line.value if isinstance(line, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
        yield call.func.value.id


def _divided(loader: Object, run: Run) -> bool:
    """Whether something in a worker may tell it from the others."""
    names = [each.name for each in run.of_type(LibraryCall) if worker_of(each, loader) is not None]
    return any(name.rsplit(".", 1)[-1] in APART or name.startswith(GENERATORS) for name in names)


def _is_whole(loader: Object, run: Run) -> bool:
    """Whether all that a worker goes over is known to be the same in each of them."""
    given = loader.known("gives").objects()
    inside = [(each, worker) for each in run.of_type(Iterated) if (worker := worker_of(each, loader, "process"))]
    return (
        bool(given)
        and all(item.kind == "list" for item in given)
        and all(_same(each.item, worker) for each, worker in inside)
    )


def _same(item: Object, worker: Object) -> bool:
    """Whether something is all there in each worker; a file that is open already is shared by them."""
    if item.kind == "list":
        return True
    node = item.site.node if item.site is not None else None
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else dotted(node.func)
    if name == "islice":  # a part of it, which is told by what takes it
        return any(_same(part, worker) for value in item.made_of[:1] for part in value.objects())
    return name in WHOLE and (name != "open" or item.id > worker.id)


def _split(giving: Site) -> Fix | None:
    """Let the outermost loop of `__iter__` take every Nth, from the worker's number on."""
    module, function = giving.module, giving.node
    assert isinstance(function, FUNCTIONS)
    loops = [line for line in function.body if isinstance(line, FORS)]
    used = {part.id for part in nodes(function) if isinstance(part, ast.Name)}
    if len(loops) != 1 or used & {"worker", "first", "step"}:
        return None
    over = loops[0].iter
    made = rewrite.insert_before(
        Site.at(module, loops[0]),
        "worker = get_worker_info()",
        "first, step = (worker.id, worker.num_workers) if worker else (0, 1)",
    )
    edit = rewrite.replace(Site.at(module, over), f"islice({module.code(over)}, first, None, step)")
    lines = [line for line in IMPORTS if rewrite.ensure_import(module, line)]
    imports = rewrite.ensure_import(module, "\n".join(lines)) if lines else []
    return Fix("split", "Give each worker its part", (*imports, made, edit), "unsafe", intent=CHANGES) if made else None
