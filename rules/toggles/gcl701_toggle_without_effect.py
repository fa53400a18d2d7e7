"""# toggle-without-effect (GCL701)

## What it does
Finds settings of gradient checkpointing that nothing reads: an attribute set on a loaded model or its config,
kwargs for checkpointing that is off, `gradient_checkpointing=False` after it was turned on by hand, layers wrapped
into a loop variable.

## Why it breaks
Nothing happens, and nothing says so. transformers reads the flag of the inner modules, which only
`gradient_checkpointing_enable()` and `gradient_checkpointing_disable()` set; the config's flag is read once, when the
model is built; Trainer with `gradient_checkpointing=False` does not turn off what is on.

## Example
```python
model.gradient_checkpointing = False
model.config.gradient_checkpointing = False
```

## Use instead
```python
model.gradient_checkpointing_disable()
```

## When it is fine
A class of the project that reads the attribute; the config's flag before the model is built.

## Evidence
transformers 4.57.6 and 5.23.0: the number of recomputed regions after each (`modeling_utils.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Finding, Fix
from gclint.frameworks.transformers_trainer import argument
from gclint.ir.layout import gather, on_its_own
from gclint.ir.syntax import FORS, Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import read_names
from gclint.run.events import AttributeSet, LoopNameRebound, TrainerStarted
from gclint.run.meaning import definition
from gclint.run.run import Run, ways
from gclint.run.values import NOTHING, Class, Object

from ..words import CHECKPOINTS, LIBRARIES

NAMES = ("gradient_checkpointing", "activation_checkpointing")
SYMPTOM = "silent: the setting has no effect"

rule = Rule(
    code="GCL701",
    name="toggle-without-effect",
    docs=__doc__ or "",
    words=((*LIBRARIES, *CHECKPOINTS), ("gradient_checkpointing", "activation_checkpointing", *CHECKPOINTS)),
    certainty=("fails",),
    fixable="unsafe",
    oracles=("recompute",),
    reproduction=Reproduction(
        "bad_attribute.py", "bad_attribute.fixed.py", oracles=("recompute-off",), intent=("checkpointing",)
    ),
)


@rule.on(AttributeSet)
def set_on_the_outside(event: AttributeSet, run: Run) -> Iterator[Finding]:
    """Is the flag set where nothing reads it?"""
    target = event.target
    if event.name not in NAMES or target is None:
        return
    owner = _model_of(run, target)
    if owner is None or isinstance(owner.type, Class) or _is_there(event) or _read_from_it(run, target):
        return
    wanted = event.value.constant()
    where = "config" if target.kind == "config" else "model"
    yield rule.finding(
        run,
        event.site,
        f"`{event.name}` set on a loaded {where}: nothing reads it",
        guard=event.guard,
        symptom=SYMPTOM,
        fixes=(_call_instead(event, where, wanted),),
        versions=("transformers",),
        related=[(owner.site, "the model is loaded here")] if owner.site is not None else [],
    )


def _is_there(event: AttributeSet) -> bool:
    """Whether it is, or may be, only set where the object has it already: the class that defines it reads it."""
    module, node = event.site.module, event.site.node
    tests = [outer.test for outer in module.ancestors(node) if isinstance(outer, ast.If)]
    calls = [part for test in tests for part in ast.walk(test) if isinstance(part, ast.Call) and len(part.args) == 2]
    asked = [definition(module, call.args[1]) for call in calls if module.code(call.func) == "hasattr"]
    return any(not isinstance(name, ast.Constant) or name.value == event.name for name in asked)


def _read_from_it(run: Run, target: Object) -> bool:
    """Whether models still read it from their configuration, as before transformers 4.11
    (https://github.com/huggingface/transformers/pull/13657).
    """
    version = run.targets.version("transformers")
    return target.kind == "config" and version is not None and version < Version("4.11")


def _model_of(run: Run, target: Object) -> Object | None:
    if target.kind == "model":
        return target
    return next((model for model in run.models if target in model.attributes.get("config", NOTHING).objects()), None)


def _call_instead(event: AttributeSet, where: str, wanted: object) -> Fix | None:
    site = event.site
    line = on_its_own(site.module, site.node)
    if not isinstance(site.node, ast.Attribute) or not isinstance(line, ast.Assign) or not isinstance(wanted, bool):
        return None
    holder = site.node.value
    if where == "config" and isinstance(holder, ast.Attribute):
        holder = holder.value
    verb = "enable" if wanted else "disable"
    text = f"{site.module.code(holder)}.{event.name}_{verb}()"
    return Fix(
        "call-" + verb,
        f"Call {event.name}_{verb}()",
        (rewrite.replace(Site.at(site.module, line), text),),
        "unsafe",
        intent=("checkpointing",),
    )


@rule.on(LoopNameRebound)
def wrapped_into_a_loop_variable(event: LoopNameRebound, run: Run) -> Iterator[Finding]:
    """Is each layer wrapped into the loop's own variable, and the model left as it was?"""
    module, node = event.site.module, event.site.node
    old, new = event.old.objects(), event.value.objects()
    if not old or not new or not isinstance(node, ast.Assign) or set(old) & set(new):
        return
    if not all(item.kind in ("module", "layer", "part", "modules") for item in [*old, *new]):
        return
    loop = next((outer for outer in module.ancestors(node) if isinstance(outer, FORS)), None)
    if loop is None:
        return
    reads = sum(name == event.name for name in gather(read_names, loop.body))
    if reads > sum(name == event.name for name in read_names(node)):
        return
    yield rule.finding(
        run,
        event.site,
        f"the wrapped layer is kept in the loop variable `{event.name}` only: the model keeps the old one",
        guard=event.guard,
        symptom=SYMPTOM,
    )


@rule.on(TrainerStarted)
def arguments_that_do_nothing(event: TrainerStarted, run: Run) -> Iterator[Finding]:
    """Do the arguments say something about checkpointing that comes to nothing?"""
    for args in event.trainer.attributes.get("args", NOTHING).objects():
        if args.kind != "training_args" or args.open:
            continue
        flag = argument(args, "gradient_checkpointing")
        given, stated = args.sites.get("gradient_checkpointing_kwargs"), args.sites.get("gradient_checkpointing")
        if given is not None and flag.constant() is False and not _is_a_switch(stated, given):
            yield rule.finding(
                run,
                given,
                "kwargs for gradient checkpointing that is not turned on",
                guard=event.guard,
                symptom=SYMPTOM,
                versions=("transformers",),
                fixes=(_turned_on(args),),
            )
        if stated is not None and flag.constant() is False:
            yield from _still_on(event, run, stated)


def _is_a_switch(stated: Site | None, given: Site) -> bool:
    """Whether whoever starts the program says if checkpointing is on: how it is to be then may stand there anyway."""
    if stated is None:
        return False
    return stated.location().path != given.location().path or _is_computed(stated.node)


def _is_computed(node: ast.AST) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))


def _turned_on(args: Object) -> Fix | None:
    if args.site is None:
        return None
    edit = rewrite.set_setting(args, "gradient_checkpointing", "True")
    return (
        Fix("turn-on", "Turn gradient checkpointing on", (edit,), "unsafe", intent=("checkpointing",))
        if edit is not None
        else None
    )


def _still_on(event: TrainerStarted, run: Run, stated: Site) -> Iterator[Finding]:
    for model in event.models:
        for guard, (region,) in ways(event.guard, model.known("checkpointing")):
            if isinstance(region, Object) and region.type in ("method", "kbit") and region.site is not None:
                yield rule.finding(
                    run,
                    stated,
                    "gradient_checkpointing=False does not turn off what is on already",
                    guard=guard,
                    symptom="silent: checkpointing stays on",
                    versions=("transformers",),
                    related=[(region.site, "checkpointing is turned on here")],
                )
                return
