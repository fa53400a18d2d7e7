"""# frozen-part-trains-again (GCL715)

## What it does
Finds frozen parts of a model that were put into evaluation mode, and that a later `train()` of the whole model, or of
Trainer, puts back into training mode before they are used.

## Why it breaks
`train()` reaches every module below. A frozen encoder with dropout gives another answer to the same input each time,
and the running statistics of its batch norms move although its weights do not: what was meant to be a fixed function
changes while the rest learns from it. Nothing is raised.

## Example
```python
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = encoder().requires_grad_(False).eval()
        self.head = nn.Linear(8, 2)

net = Net()
for epoch in range(epochs):
    net.train()
    step(net)
```

## Use instead
```python
    net.train()
    net.encoder.eval()
```

## When it is fine
A class of its own `train` that leaves the part in evaluation mode; `eval()` once more after each `train()`; a part
without dropout and batch norm; one that trains, be it for a while only. Lightning from 2.2 on leaves the modes
as they are.

## Evidence
torch 2.13.0: a frozen part of BatchNorm1d and Dropout, in evaluation mode before `net.train()`: within 10 steps the
running mean of inputs around 1 moves from 0 to 0.72, and the same input gives another output each time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Finding, Fix
from gclint.frameworks.torch_modules import trainable
from gclint.frameworks.torch_states import is_inside, mode_set
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Backward, Event, LibraryCall, ModuleCalled, RunEnded, TrainableChanged, TrainerStarted
from gclint.run.names import class_attribute
from gclint.run.parallel import inside
from gclint.run.run import Run
from gclint.run.stepping import receiver_text, together
from gclint.run.values import Class, Function, Object

from ..words import TRAINS
from .modes import has_mode

CHANGES: tuple[Aspect, ...] = ("modes", "random", "loss", "gradients", "updates", "buffers")

rule = Rule(
    code="GCL715",
    name="frozen-part-trains-again",
    docs=__doc__ or "",
    words=((".eval",), TRAINS, ("requires_grad", "freeze")),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_in_the_constructor.py",
        "bad_in_the_constructor.fixed.py",
        raises="AssertionError: the frozen part is in training mode",
        intent=CHANGES,
    ),
)


@rule.on(RunEnded)
def trains_again(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is a frozen part used in training mode, after it was put into evaluation mode?"""
    modes = [each for each in run.of_type(LibraryCall) if each.name.endswith((".eval", ".train"))]
    told: set[int] = set()
    for left in modes:
        part = left.call.receiver if left.call is not None else None
        if part is None or part.parent is None or left.site.node_id in told or mode_set(left, part) is not False:
            continue
        if trainable(part) != "none" or has_mode(part, run) is False:
            continue
        back = _put_back(part, left, modes, run)
        if back is None or not together(left, back):
            continue
        told.add(left.site.node_id)
        yield rule.finding(
            run,
            back.site,
            "this puts a frozen part back into training mode, which was put into evaluation mode",
            guard=back.guard,
            certainty="fragile",
            symptom="silent: its dropout is on, and its statistics move",
            related=[(left.site, "evaluation mode is set here")],
            fixes=(_once_more(back, part),) if isinstance(back, LibraryCall) else (),
        )


def _put_back(
    part: Object, left: LibraryCall, modes: list[LibraryCall], run: Run
) -> LibraryCall | TrainerStarted | None:
    """What has put a part into training mode when it is used and trained with; None where nothing has."""
    trainers: list[TrainerStarted] = [each for each in run.of_type(TrainerStarted) if _puts_into_training(each, part)]
    last = max((run.place(each) for each in run.of_type(Backward)), default=0)
    switches: list[LibraryCall] = [each for each in modes if each.call is not None and is_inside(part, _receiver(each))]
    for use in _uses(part, left, switches, run):
        before = [each for each in switches if run.place(each) < run.place(use)]
        if not run.place(left) < run.place(use) < last or not before or _trains_at(use, part, run):
            continue
        started = next((each for each in trainers if _is_within(use, each)), None)
        if started is not None and not _is_within(before[-1], started):
            return started
        if mode_set(before[-1], part) and _receiver(before[-1]) is not part:
            return before[-1]
    return None


def _trains_at(use: ModuleCalled, part: Object, run: Run) -> bool:
    """Whether a part that is frozen in the end trains where it is used: what was last said before unfroze it."""
    changes = [
        each
        for each in run.of_type(TrainableChanged)
        if run.place(each) < run.place(use)
        and together(each, use)
        and (is_inside(part, each.module) or is_inside(each.module, part))
    ]
    return bool(changes) and changes[-1].after != "none"


def _uses(part: Object, left: LibraryCall, switches: list[LibraryCall], run: Run) -> list[ModuleCalled]:
    """Where a part is called; of a library's model, whose forward is not walked, where a whole is called that has it,
    unless it is put into evaluation mode once more on the way.
    """
    calls: list[ModuleCalled] = run.of_type(ModuleCalled)
    own = [each for each in calls if is_inside(each.module, part)]
    again = any(mode_set(each, part) is False and run.place(each) > run.place(left) for each in switches)
    return own if own or part.kind != "model" or again else [each for each in calls if is_inside(part, each.module)]


def _puts_into_training(started: TrainerStarted, part: Object) -> bool:
    """Whether Trainer puts the model that a part is of into training mode, and no class around the part has a `train`
    of its own, which may leave it out.
    """
    holders = [part]
    while (holder := holders[-1].parent) is not None:
        holders.append(holder)
    own = (class_attribute(each.type, "train") for each in holders if isinstance(each.type, Class))
    inner = any(is_inside(part, model) for model in started.models)
    return inner and not any(isinstance(item, Function) for held in own for _, item in held or ())


def _is_within(event: Event, started: TrainerStarted) -> bool:
    """Whether something happens in what a trainer runs."""
    return any(site.node is started.site.node for site in (*event.moment.stack, event.site))


def _receiver(event: LibraryCall) -> Object:
    assert event.call is not None and event.call.receiver is not None
    return event.call.receiver


def _once_more(back: LibraryCall, part: Object) -> Fix | None:
    """Put the part into evaluation mode after the whole was put into training mode."""
    way, holder = _way_to(part, _receiver(back)), receiver_text(back.site)
    if not way or not holder or not isinstance(back.site.module.statement(back.site.node), ast.Expr):
        return None
    edit = rewrite.insert_after(back.site, f"{holder}.{way}.eval()")
    return (
        Fix("eval-once-more", "Put the part back into evaluation mode", (edit,), "unsafe", intent=CHANGES)
        if edit
        else None
    )


def _way_to(part: Object, whole: Object) -> str:
    """The attributes that lead from a whole to a part; "" where none do."""
    names: list[str] = []
    inner = inside(whole)
    while part is not inner:
        holder = part.parent
        held = holder.attributes.items() if holder is not None else ()
        name = next((name for name, value in held if value.only() is part), "")
        if holder is None or not name.isidentifier():
            return ""
        names.insert(0, name)
        part = holder
    return ".".join([*(["module"] if inner is not whole else []), *names])
