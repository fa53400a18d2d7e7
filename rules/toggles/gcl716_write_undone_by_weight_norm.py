"""# write-undone-by-weight-norm (GCL716)

## What it does
Finds weights that are written (initialised, copied, clamped) after `weight_norm`, or a parametrization, was put on
their module.

## Why it breaks
From then on `weight` is no parameter: it is computed anew from others (`weight_g` and `weight_v`, or
`parametrizations.weight.original0` and `original1`) before each forward, and with a parametrization whenever it is
read. What is written into it is thrown away: the layer trains from torch's own initialisation. Nothing is raised.

## Example
```python
def init_weights(m):
    if isinstance(m, nn.ConvTranspose1d):
        m.weight.data.normal_(0.0, 0.01)

self.ups.append(weight_norm(nn.ConvTranspose1d(512, 256, 16)))
self.ups.apply(init_weights)
```

## Use instead
```python
self.ups.append(nn.ConvTranspose1d(512, 256, 16))
self.ups.apply(init_weights)
for up in self.ups:
    weight_norm(up)
```

## When it is fine
Before `weight_norm` is applied, or after it was removed; the bias; `weight_v`, `weight_g` and the `original`s of a
parametrization; weights that are loaded from a file afterwards; `m.weight = tensor` under a parametrization, which
hands the tensor to it. `torch.nn.utils.spectral_norm` (the older one) keeps `weight` in the same memory as
`weight_orig` until the first forward: what is written in place before that has its effect.

## Evidence
torch 2.13.0: `weight_norm` of torch.nn.utils and of parametrizations, `spectral_norm` and `orthogonal` of
parametrizations, each on a Linear: after `weight.data.normal_()`, `nn.init.constant_(weight)`, `weight.data = ...`,
`weight.copy_()` the output is that of before, to the last bit. With torch.nn.utils.spectral_norm it changes before the
first forward. HiFi-GAN's generator writes its upsampling layers so (models.py), TCN both of its convolutions (tcn.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gclint.finding import Finding
from gclint.frameworks.torch_states import is_inside
from gclint.rule import Reproduction, Rule
from gclint.run import names
from gclint.run.events import AttributeSet, Event, ItemSet, LibraryCall, ModuleCalled, RunEnded, StateDictLoaded
from gclint.run.guards import Guard, conj
from gclint.run.run import Run
from gclint.run.values import External, Object, Value

NORMS = {
    "torch.nn.utils.weight_norm": "name",
    **dict.fromkeys((f"torch.nn.utils.parametrizations.{name}" for name in ("weight_norm", "spectral_norm")), "name"),
    "torch.nn.utils.parametrizations.orthogonal": "name",
    "torch.nn.utils.parametrize.register_parametrization": "tensor_name",
}
"""What makes a tensor of a module a computed one, and the argument that names it."""
REMOVERS = {
    "torch.nn.utils.remove_weight_norm": "name",
    "torch.nn.utils.parametrize.remove_parametrizations": "tensor_name",
}
WRITERS = {
    *("normal_", "uniform_", "zero_", "fill_", "copy_", "mul_", "div_", "add_", "sub_", "clamp_", "clip_", "lerp_"),
    *("bernoulli_", "exponential_", "cauchy_", "log_normal_", "random_", "set_", "clamp_min_", "clamp_max_"),
}
INITIALISERS = "torch.nn.init."

rule = Rule(
    code="GCL716",
    name="write-undone-by-weight-norm",
    docs=__doc__ or "",
    words=(("weight_norm", "spectral_norm", "orthogonal", "register_parametrization"), ("weight",)),
    certainty=("fragile",),
    oracles=(),
    reproduction=Reproduction(
        "bad_by_apply.py",
        "good_before.py",
        raises="AssertionError: what was written is gone",
        intent=("loss", "gradients", "updates"),
    ),
)


class Changed(NamedTuple):
    """Something that is done to a tensor of a module."""

    event: Event
    module: Object
    name: str


@rule.on(RunEnded)
def undone(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is a weight written that is computed anew before it is used?"""
    norms, removed = list(_named(run, NORMS)) if run.is_program else [], list(_named(run, REMOVERS))
    writes = list(_writes(run)) if norms else []
    for write in writes:
        norm = _last(norms, write, run)
        guard = conj(norm.event.guard, write.event.guard) if norm is not None else None
        if norm is None or guard is None:
            continue
        again = _last(removed, write, run)
        if again is not None and run.place(again.event) > run.place(norm.event):
            continue
        if _is_loaded(write, run) or _writes_what_it_comes_from(write, writes, run):
            continue
        yield rule.finding(
            run,
            write.event.site,
            f"`{write.name}` is computed anew before it is used: what is written into it here is thrown away",
            guard=guard,
            certainty="fragile",
            symptom="silent: the layer trains from what it was initialised with before",
            related=[(norm.event.site, "from here on it is computed from other parameters")],
        )


def _named(run: Run, functions: dict[str, str]) -> Iterator[Changed]:
    """The calls of functions that are given a module and the name of a tensor of it."""
    for event in run.of_type(LibraryCall):
        argument = functions.get(event.name)
        if argument is None or event.call is None:
            continue
        given = event.call.get(argument, 1)
        name = names.const_text(given) if given else "weight"
        yield from (Changed(event, item, name) for item in event.call.get("module", 0).objects() if name)


def _writes(run: Run) -> Iterator[Changed]:
    for event in run.of_type(LibraryCall, AttributeSet, ItemSet, ModuleCalled):
        for tensor in _written(event):
            while tensor.parent is not None and (tensor.parent.kind == "parameter" or _last_name(tensor) == "data"):
                tensor = tensor.parent
            if tensor.parent is not None:
                yield Changed(event, tensor.parent, _last_name(tensor))


def _written(event: Event) -> list[Object]:
    """The tensors that an event writes."""
    if isinstance(event, AttributeSet):
        return [event.target] if event.name == "data" and event.target is not None else []
    if isinstance(event, ItemSet):
        return [event.target]
    if isinstance(event, ModuleCalled):
        return [event.module.parent] if event.module.parent is not None and _last_name(event.module) in WRITERS else []
    if not isinstance(event, LibraryCall) or event.call is None:
        return []
    if event.name.startswith(INITIALISERS) and not event.call.last.startswith("_"):
        return event.call.get("tensor", 0).objects()
    given = event.call.receiver
    return [given] if given is not None and event.call.last in WRITERS else []


def _last_name(item: Object) -> str:
    """The attribute by which something was read of what it is a part of."""
    own = item.parent.state.items() if item.parent is not None and item.kind == "parameter" else ()
    name = next((fact.removeprefix("parameter ") for fact, value in own if value.only() is item), "")
    return name or item.text.rpartition(".")[2]


def _last(changes: list[Changed], write: Changed, run: Run) -> Changed | None:
    """The last of some changes of the tensor that is written, before that."""
    earlier = [each for each in changes if each.name == write.name and run.place(each.event) < run.place(write.event)]
    mine = (each for each in reversed(earlier) if each.module is write.module or _stands_for(write, each.module, run))
    return next(mine, None)


def _stands_for(write: Changed, layer: Object, run: Run) -> bool:
    """Whether a write to any of the modules of a whole, of which not all are known, reaches this one: it is of a class
    that is asked for.
    """
    part, whole = write.module, write.module.parent
    if not part.each or whole is None or "modules()" not in part.label or not is_inside(layer, whole):
        return False
    asked = (each for each in run.of_type(LibraryCall) if each.name == "builtins.isinstance" and each.call is not None)
    return any(
        _is_one(layer, each.call.get("", 1))
        for each in asked
        if part in each.call.get("", 0).objects() and _holds(each.result, write.event.guard)
    )


def _holds(answer: Value, guard: Guard) -> bool:
    """Whether something is only done where this is true."""
    asked = {f"#{item.id}" for item in answer.objects()}
    return any(truth and atom.key in asked for atom, truth in guard)


def _is_one(layer: Object, classes: Value) -> bool:
    """Whether a layer is of a class, or of one of several."""
    given = [part for item in classes.objects() for value in item.items or () for _, part in value]
    named = [item for _, item in classes] + given
    return any(isinstance(item, External) and layer.is_a(item.name.rpartition(".")[2]) for item in named)


def _is_loaded(write: Changed, run: Run) -> bool:
    """Whether the module gets its weights from a file, or another module, after it was written."""
    loads: list[StateDictLoaded] = run.of_type(StateDictLoaded, start=run.place(write.event))
    loads = [each for each in loads if each.guard <= write.event.guard]
    return any(is_inside(write.module, target) for each in loads for target in each.target.objects())


def _writes_what_it_comes_from(write: Changed, writes: list[Changed], run: Run) -> bool:
    """Whether what the weight is computed from is written as well, after it."""
    sources = (f"{write.name}_g", f"{write.name}_v", f"{write.name}_orig", "original", "original0", "original1")
    later = [each for each in writes if run.place(each.event) > run.place(write.event) and each.name in sources]
    return any(is_inside(each.module, write.module) for each in later)
