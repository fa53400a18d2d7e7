"""# ddp-without-static-graph (GCL201)

## What it does
Finds reentrant gradient checkpointing of a model under DistributedDataParallel whose graph is not declared static.

## Why it breaks
Reentrant checkpointing runs a second backward inside the first. DDP counts each parameter's gradient once per
iteration: with `find_unused_parameters=True`, with a parameter that is used twice, or with two forwards before one
backward, the same parameter is counted twice and the first backward raises
`RuntimeError: Expected to mark a variable ready only once`. transformers' Trainer picks
`find_unused_parameters=True` by itself for a PeftModel. With DDP's defaults and every layer used once it works, and
is one flag away from failing: the finding is then *fragile*.

## Example
```python
args = TrainingArguments("out", gradient_checkpointing=True)  # transformers 4.x: reentrant
trainer = Trainer(get_peft_model(model, lora), args, train_dataset=data)
trainer.train()  # torchrun --nproc_per_node=8
```

## Use instead
```python
args = TrainingArguments("out", gradient_checkpointing=True,
                         gradient_checkpointing_kwargs={"use_reentrant": False})
```

## When it is fine
Non-reentrant checkpointing; a static graph; one process.

## Evidence
torch 2.13.0, two gloo ranks: the matrix of 8 models x reentrant x find_unused_parameters x static graph. Issues:
huggingface/peft#313, huggingface/accelerate#389, pytorch/pytorch#81296.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from packaging.version import Version

from gclint.finding import Edit, Finding, Fix, Location
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite, shared_fixes
from gclint.run.events import Backward, CheckpointCall, ModuleCalled, TrainerStarted
from gclint.run.guards import DISTRIBUTED, Guard, compatible
from gclint.run.parts_of_guards import without_elements
from gclint.run.run import Run, together, ways, weakest
from gclint.run.values import NOTHING, Const, Object, Value, root

from ..placement.gcl102_device_map_under_launcher import SPREAD
from ..words import TRAINS, TURNS_ON

SYMPTOM = "RuntimeError: Expected to mark a variable ready only once."

rule = Rule(
    code="GCL201",
    name="ddp-without-static-graph",
    docs=__doc__ or "",
    words=(("DistributedDataParallel", "Trainer", "LightningCLI", "Accelerator", "Fabric"), TRAINS, TURNS_ON),
    bears=("processes", "accumulation"),
    certainty=("fails", "fragile"),
    fixable="safe",
    reproduction=Reproduction(
        "bad_find_unused.py",
        "bad_find_unused.fixed.py",
        processes=2,
        raises="RuntimeError: Expected to mark a variable ready only once",
    ),
)


@rule.on(Backward, TrainerStarted)
def reentrant_under_ddp(event: Backward | TrainerStarted, run: Run) -> Iterator[Finding]:
    """Does a model train under DDP with reentrant checkpointing and without a static graph?"""
    for model, again in trained(event):
        for guard, (ddp, region) in ways(event.guard, model.known("ddp"), model.known("checkpointing")):
            if isinstance(ddp, Object) and isinstance(region, Object) and not (ddp.label and _is_spread(model, guard)):
                yield from judge(run, model, ddp, region, guard, again)


def _is_spread(model: Object, guard: Guard) -> bool:
    """Whether a model lies on all devices: accelerate, and so Trainer, refuses to train it on several processes."""
    held = model.known("device_map").possible(guard)
    return bool(held) and all(isinstance(item, Const) and item.value in SPREAD for _, item in held)


def trained(event: Backward | TrainerStarted) -> list[tuple[Object, list[Guard]]]:
    """The models that get gradients at an event, each with the guards under which it ran forward twice for it."""
    if isinstance(event, TrainerStarted):
        return [(model, []) for model in event.models]
    forwards: dict[Object, list[Guard]] = {}
    for item in event.forwards:
        forwards.setdefault(item.attributes["of"].objects()[0], []).append(without_elements(item.born))
    return [
        (model, [both for pair in combinations(guards, 2) if (both := together(*pair)) is not None])
        for model, guards in forwards.items()
    ]


def judge(run: Run, model: Object, ddp: Object, region: Object, guard: Guard, again: list[Guard]) -> Iterator[Finding]:
    """The findings for one way the run can go; it runs forward twice under the guards `again`."""
    never = Value([(frozenset(), Const(False))])
    reentrant = region.attributes.get("reentrant", NOTHING)
    for held, (mode, static, unused) in ways(
        guard, reentrant, ddp.state.get("static_graph", never), ddp.state.get("find_unused", never)
    ):
        if mode != Const(True) or static not in (Const(False), Const(None)) or region.site is None:
            continue
        twice = weakest(both for each in again if (both := together(held, each)) is not None)
        cause = _cause(run, model, ddp, unused, twice is not None)
        if unused != Const(True) and twice is not None:
            held = twice
        certain = bool(cause) and ((DISTRIBUTED, True) not in run.open_guard(held) or "process_group" in run.facts)
        message = "reentrant checkpointing under DDP without a static graph"
        message += (
            f": {cause}, so a parameter's gradient arrives twice"
            if cause
            else " fails as soon as find_unused_parameters is on or a parameter is used twice"
        )
        yield rule.finding(
            run,
            region.site,
            message,
            guard=held,
            certainty="fails" if certain else "fragile",
            symptom=SYMPTOM,
            related=_related(run, ddp),
            versions=("torch", "transformers"),
            fixes=_placed(
                ddp,
                _non_reentrant(run, region, ddp),
                shared_fixes.find_unused_off(ddp) if unused == Const(True) else None,
                shared_fixes.static_graph(run, ddp),
                shared_fixes.checkpointing_off(model),
            ),
        )
        return


def _non_reentrant(run: Run, region: Object, ddp: Object) -> Fix | None:
    """Non-reentrant checkpointing, also where a Trainer turns it on once more after a preparation.

    None where the target transformers takes no kwargs for it (they came with 4.35).
    """
    version = run.targets.version("transformers")
    if region.type in ("kbit", "arguments", "method") and version is not None and version < Version("4.35"):
        return None
    fix = shared_fixes.non_reentrant(region)
    args = ddp.attributes.get("args", NOTHING).objects()
    if fix is None or region.type != "kbit" or not args or args[0].site is None or args[0].open:
        return fix
    if args[0].attributes.get("gradient_checkpointing", NOTHING).constant() is False:
        return fix
    again = rewrite.set_argument(args[0].site, shared_fixes.kwargs_name(args[0].site), shared_fixes.KWARGS)
    return fix if again is None else replace(fix, edits=(*fix.edits, again))


def _placed(ddp: Object, *fixes: Fix | None) -> tuple[Fix | None, ...]:
    """The fixes without those that would add a keyword where a parser makes the Trainer's arguments, or beside `**`."""
    args = ddp.attributes.get("args", NOTHING).objects()
    site = args[0].site if args else None
    if site is None or _takes_keywords(site):
        return fixes
    place = site.location()
    first, last = (place.line, place.column), (place.end_line, place.end_column)

    def adds(edit: Edit) -> bool:
        start, end = (edit.line, edit.column), (edit.end_line, edit.end_column)
        return edit.path == place.path and start == end and first <= start <= last

    return tuple(each for each in fixes if each is None or not any(adds(edit) for edit in each.edits))


def _takes_keywords(site: Site) -> bool:
    """Whether a call is of the class itself, and no `**` in it can give a keyword already."""
    try:
        node = ast.parse(site.text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return True
    if not isinstance(node, ast.Call):
        return True
    name = ast.unparse(node.func).rpartition(".")[2]
    return not name.startswith("parse_") and all(keyword.arg is not None for keyword in node.keywords)


def _cause(run: Run, model: Object, ddp: Object, unused: object, twice: bool) -> str:
    if unused == Const(True):
        picked = ddp.state.get("picked")
        by_trainer = picked is not None and picked.constant()
        return (
            "Trainer picks find_unused_parameters=True for this model" if by_trainer else "find_unused_parameters is on"
        )
    if twice:
        return "forward runs more than once before backward"
    return "a checkpointed module is used twice" if reused(run, model) else ""


def reused(run: Run, model: Object) -> bool:
    """Whether one module of the model is checkpointed more than once in a forward: at two places, or again and again
    in a loop around one.
    """
    places: dict[Object, list[CheckpointCall]] = {}
    before: set[tuple[Object, tuple[Site, ...], Site]] = set()
    around = 0
    for event in run.of_type(CheckpointCall, ModuleCalled):
        if isinstance(event, ModuleCalled):
            if event.module is root(model):
                before.clear()
                places.clear()
                around = event.moment.vague
            continue
        item = event.function.only()
        if not isinstance(item, Object) or item.each or root(item) is not root(model):
            continue
        looped = any(_in_same_function(event, loop.node) for loop in event.moment.loops)
        here = (item, event.moment.stack, event.site)
        if looped and (event.moment.vague > around or here in before):
            return True
        before.add(here)
        others = places.setdefault(item, [])
        if any(each.site.node_id != event.site.node_id and compatible(each.guard, event.guard) for each in others):
            return True
        others.append(event)
    return False


def _in_same_function(event: CheckpointCall, loop: object) -> bool:
    return any(outer is loop for outer in event.site.module.ancestors(event.site.node))


def _related(run: Run, ddp: Object) -> list[Location | tuple]:  # type: ignore[type-arg]
    places: list[Location | tuple] = []  # type: ignore[type-arg]
    if "find_unused_parameters" in ddp.sites:
        places.append((ddp.sites["find_unused_parameters"], "find_unused_parameters is set here"))
    elif ddp.site is not None:
        places.append(
            (
                ddp.site,
                "the model is wrapped by the Trainer with these arguments"
                if ddp.attributes.get("args")
                else "the model is wrapped here",
            )
        )
    return places + run.launch_locations("started on more than one process here")
