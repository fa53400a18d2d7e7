"""# evaluation-with-graph (GCL816)

## What it does
Finds evaluations with gradients on that nobody uses: of a model that trains elsewhere in the program, of one that is
made anew of the same class, or of any, in a program that only tests.

## Why it breaks
`eval()` changes dropout and batch norm, and not autograd: each forward keeps its activations for a backward that never
comes. An evaluation takes as much memory as training, and a batch size that fits without runs out of it.

## Example
```python
def evaluate(model, loader):
    model.eval()
    return sum(model(x).mean().item() for x in loader)
```

## Use instead
```python
@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    return sum(model(x).mean().item() for x in loader)
```

## When it is fine
Under `torch.no_grad()` or `inference_mode()`, also through a decorator, or in the forward itself; a volatile input
below torch 0.4; gradients that are used, for a saliency map, an attack or an adaptation; a frozen model; one forward
between the steps, which is let go at once; parts that keep nothing large in evaluation mode: embeddings, dropout, what
changes shapes only.

## Evidence
torch 2.13.0: the output of a forward in evaluation mode has a graph, which holds the activations of all layers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Edit, Finding, Fix
from gclint.frameworks.torch_modules import GIVEN_BACK, PARAMETRIC, trainable
from gclint.ir.syntax import FUNCTIONS, Site, nodes
from gclint.rule import Reproduction, Rule
from gclint.run.closures import contains, enclosing_function
from gclint.run.events import Backward, Forward, LibraryCall, ModuleCalled, OptimizerStep, RunEnded
from gclint.run.parallel import inside
from gclint.run.parts_of_guards import covers
from gclint.run.run import Run
from gclint.run.stepping import walked_alone
from gclint.run.values import NOTHING, Class, Const, Object, of, sources

from ..evaluations import callers, from_outside, is_in_mode, only_tested, records_nothing, untrained
from ..words import BACKWARD, STEP

KEEPS_NOTHING = {
    *("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "Identity"),
    *("Embedding", "EmbeddingBag", "Flatten", "Unflatten"),
}
"""Layers whose backward, in evaluation mode, needs none of their activations; indices at most."""
LOADED = ("load_state_dict", "load_from_checkpoint", "from_pretrained", "pretrained", "weights", "load")
"""What a program that only tests has to do for its weights."""
VARIABLES = ("torch.autograd.Variable", "torch.autograd.variable.Variable")
RECORDS_ALL = Version("0.4.0")
"""The first release in which a volatile input changes nothing (the notes of torch 0.4.0)."""
MODULES = ("module", "modules", "layer", "model", "part", "vision_model", "lightning_module", "unknown")
TAKE_GRADIENTS = ("torch.func.", "functorch.", "torch.autograd.functional.")

UNPICKLES = ("pickle.load", "dill.load", "cloudpickle.load", "joblib.load")

rule = Rule(
    code="GCL816",
    name="evaluation-with-graph",
    docs=__doc__ or "",
    words=((*BACKWARD, ".eval("), (*STEP, *LOADED)),
    certainty=("fragile",),
    fixable="unsafe",
    reproduction=Reproduction(
        "bad_function.py", "bad_function.fixed.py", raises="AssertionError: an evaluation keeps a graph"
    ),
)


@rule.on(RunEnded)
def with_graph(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a model keep graphs in evaluation mode, or after all training, that no backward goes through?"""
    if not event.whole or any(map(_differentiates, run.of_type(LibraryCall))):
        return
    steps = {loop for each in run.of_type(Backward) for loop in each.moment.loops}
    last = max((run.place(each) for each in run.of_type(Backward)), default=-1)
    if last >= 0 and not _steps(run):
        return
    told: list[Forward] = []
    training = _of_training(run)
    for forward in untrained(run, alike=True) if last >= 0 else only_tested(run):
        after_all = run.place(forward) > last >= 0 and steps.isdisjoint(forward.moment.loops)
        if not after_all and not is_in_mode(forward, training=False):
            continue
        if not _records(forward) or _is_frozen(forward) or _turns_it_off_itself(forward, run):
            continue
        if _is_called_without(forward, run):
            continue
        if (run.targets.version("torch") or RECORDS_ALL) < RECORDS_ALL and _is_of_volatile(forward, run):
            continue
        if last < 0:
            if trainable(forward.model) == "some" or any(_goes_along(forward, each) for each in told):
                continue  # what is frozen in some way is not known to train
            told.append(forward)
        site = _of_its_own(from_outside(forward), forward, training)
        yield rule.finding(
            run,
            site,
            "this evaluation keeps a graph for a backward that never comes",
            guard=forward.guard,
            certainty="fragile",
            symptom="silent: an evaluation takes as much memory as training",
            fixes=(_decorated(site, training),),
        )


def _is_frozen(forward: Forward) -> bool:
    """Whether nothing of a model trains when it runs, or takes part in what it gives."""
    if forward.activation is not None and GIVEN_BACK in forward.activation.state:
        return True
    trains = forward.activation.known("trainable").possible(forward.guard) if forward.activation is not None else ()
    frozen = bool(trains) and all(item == Const("none") for _, item in trains)
    return frozen or _is_frozen_in_parts(inside(forward.model)) or _is_unpickled(forward)


def _is_unpickled(forward: Forward) -> bool:
    """Whether a model stands in a pickle, as averages do, which have no gradients where they were made: so it has none
    here, for all that is known.
    """
    assert forward.activation is not None
    known = (forward.call.run.makers.get(item) for item in sources(of(inside(forward.model)))) if forward.call else ()
    return any(each is not None and each.name.startswith(UNPICKLES) for each in known)


def _is_frozen_in_parts(model: Object, depth: int = 3) -> bool:
    """Whether a model of the program has no parameters of its own, and all of its parts are frozen."""
    if trainable(model) == "none":
        return True
    held = [item for value in model.attributes.values() for item in value.objects() if item.parent is model]
    parts = [item for item in held if item.kind in MODULES and not _has_no_parameters(item)]
    own = any(item.kind == "parameter" for item in held)
    known = isinstance(model.type, Class) and bool(parts) and bool(depth) and not own and not model.open
    return known and all(_is_frozen_in_parts(part, depth - 1) for part in parts)


def _has_no_parameters(item: Object) -> bool:
    return item.kind == "layer" and item.class_name not in PARAMETRIC


def _steps(run: Run) -> bool:
    """Whether what goes backward trains something: it steps, or the text on the way to a backward speaks of that."""
    ways = [site.module.text for each in run.of_type(Backward) for site in (each.site, *each.moment.stack)]
    return bool(run.of_type(OptimizerStep)) or any(word in text for text in dict.fromkeys(ways) for word in STEP)


def _goes_along(forward: Forward, other: Forward) -> bool:
    """Whether another forward is made in the same rounds whenever this one is."""
    return forward.moment.loops[0] is other.moment.loops[0] and covers(other.guard, forward.guard)


def _differentiates(call: LibraryCall) -> bool:
    """Whether a call takes gradients without a backward: of a result, or of a function that it is given."""
    return call.name.endswith("autograd.grad") or call.name.startswith(TAKE_GRADIENTS)


def _records(forward: Forward) -> bool:
    """Whether autograd surely keeps activations of a forward: no block is around it that nobody knows."""
    called = forward.called
    if called.kind == "part" or (called.kind == "layer" and called.class_name in KEEPS_NOTHING):
        return False  # a part is a method, for all that is known
    known = all(item.kind == "context" and not item.is_a("set_grad_enabled") for item in forward.moment.contexts)
    return known and forward.moment.unrecorded() is None


def _turns_it_off_itself(forward: Forward, run: Run) -> bool:
    """Whether all layers that a model calls in its own forward are called where autograd records nothing."""
    called = [
        each
        for each in run.of_type(ModuleCalled)
        if each.module.kind == "layer" and any(site.node_id == forward.site.node_id for site in each.moment.stack)
    ]
    return bool(called) and all(each.moment.unrecorded() is not None for each in called)


def _is_called_without(forward: Forward, run: Run) -> bool:
    """Whether the definition that was walked for its own sake is called only where autograd records nothing, or, as a
    model's own forward, by whatever calls the model.
    """
    alone = walked_alone(forward)
    if isinstance(alone, FUNCTIONS) and alone.name == "forward":
        return True
    calls = callers(forward, run)
    return bool(calls) and all(records_nothing(each, run) for each in calls)


def _is_of_volatile(forward: Forward, run: Run) -> bool:
    """Whether what a model is given comes of a `Variable(..., volatile=True)`."""
    made = [each for each in run.of_type(LibraryCall) if each.name in VARIABLES and each.call is not None]
    marked = [each for each in made if each.call and each.call.get("volatile").constant() is True]
    given = forward.activation.attributes.get("inputs", NOTHING) if forward.activation is not None else NOTHING
    results = {item for each in marked for item in each.result.objects()}
    return bool(results) and not results.isdisjoint(sources(given, len(run.heap)))


def _of_training(run: Run) -> set[Site]:
    """The places of backwards, and of forwards that these go through, with the calls that lead to them."""
    used = {item for each in run.of_type(Backward) for item in each.forwards}
    trains = (each for each in run.of_type(Backward, Forward) if isinstance(each, Backward) or each.activation in used)
    return {site for each in trains for site in (each.site, *each.moment.stack)}


def _of_its_own(site: Site, forward: Forward, training: set[Site]) -> Site:
    """Where an evaluation parts from training, which calls a model by the same function: in the evaluation's loop."""
    loops = [loop.node for loop in forward.moment.loops]
    parted = next((each for each in reversed(forward.moment.stack) if each not in training), None)
    if parted is None or not any(contains(loop, parted.node, parted.module) for loop in loops):
        return site
    return parted if _trains_in(enclosing_function(site.module, site.node), training) else site


def _trains_in(function: ast.AST, training: set[Site]) -> bool:
    """Whether a function is gone through in training as well."""
    inside = set(map(id, nodes(function)))
    return any(id(each.node) in inside for each in training)


def _decorated(site: Site, training: set[Site]) -> Fix | None:
    """Turn gradients off for the function around, where it does not train as well."""
    module = site.module
    function = enclosing_function(module, site.node)
    if not isinstance(function, FUNCTIONS) or not any(line.strip() == "import torch" for line in module.lines):
        return None
    if _trains_in(function, training):
        return None
    first = min(each.lineno for each in (function, *function.decorator_list))
    lead = " " * function.col_offset
    edit = Edit(module.path, first, 1, first, 1, f"{lead}@torch.no_grad()\n")
    return Fix("no-grad", "Turn gradients off", (edit,), "unsafe")
