"""# checkpointing-call-signature (GCL705)

## What it does
Finds checkpointing asked for in a way that the library does not take: `use_reentrant` given to
`gradient_checkpointing_enable`, `gradient_checkpointing` given to `from_pretrained`, transformers' method on a
diffusers model, Trainer's setting with a plain `nn.Module`.

## Why it breaks
Each raises when it is called: `TypeError: ... got an unexpected keyword argument`, or
`AttributeError: ... has no attribute 'gradient_checkpointing_enable'`.

## Example
```python
model.gradient_checkpointing_enable(use_reentrant=False)
```

## Use instead
```python
model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
```

## When it is fine
A class of the project that defines the method with that argument.

## Evidence
transformers 4.57.6 and 5.23.0, diffusers 0.42.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Edit, Finding, Fix
from gclint.frameworks.transformers_trainer import argument
from gclint.ir.syntax import Site, arguments
from gclint.rule import Reproduction, Rule
from gclint.run import names, rewrite
from gclint.run.calls import Call
from gclint.run.events import LibraryCall, TrainerStarted
from gclint.run.run import Run, ways
from gclint.run.values import NOTHING, Class, Const, Object

from ..words import LIBRARIES

ENABLE = ("gradient_checkpointing_enable", "activation_checkpointing_enable")
OPTIONS = ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "early_stop")

rule = Rule(
    code="GCL705",
    name="checkpointing-call-signature",
    docs=__doc__ or "",
    words=(LIBRARIES, ("gradient_checkpointing", "activation_checkpointing")),
    certainty=("fails",),
    fixable="safe",
    reproduction=Reproduction(
        "bad_options.py",
        "bad_options.fixed.py",
        raises="TypeError: PreTrainedModel.activation_checkpointing_enable() got an unexpected keyword",
    ),
)


@rule.on(LibraryCall)
def refused_call(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is checkpointing turned on by a call that raises?"""
    call = event.call
    if call is None:
        return
    if call.last in ENABLE and call.receiver is not None and not isinstance(call.receiver.type, Class):
        if call.receiver.kind == "diffusers_model":
            yield _finding(
                run,
                event,
                event.site,
                "diffusers models have no such method",
                f"AttributeError: object has no attribute '{call.last}'",
                _renamed(event.site),
            )
            return
        given = [name for name in OPTIONS if name in call.keywords]
        if given:
            yield _finding(
                run,
                event,
                call.place(given[0]),
                f"`{given[0]}` is not an argument of {call.last}",
                f"TypeError: {call.last}() got an unexpected keyword argument '{given[0]}'",
                _in_a_dict(event.site, call, given),
            )
    elif (
        call.last == "from_pretrained"
        and call.name.startswith("transformers.")
        and ("gradient_checkpointing" in call.keywords and _is_model(event))
        and not _is_of_configurations(run)
    ):
        yield _finding(
            run,
            event,
            call.place("gradient_checkpointing"),
            "from_pretrained hands `gradient_checkpointing` to the model's constructor, which refuses it",
            "TypeError: __init__() got an unexpected keyword argument 'gradient_checkpointing'",
            _separate_call(event.site, call),
        )


def _finding(run: Run, event: LibraryCall, site: Site, words: str, symptom: str, fix: Fix | None) -> Finding:
    return rule.finding(run, site, words, guard=event.guard, symptom=symptom, fixes=(fix,), versions=("transformers",))


def _is_model(event: LibraryCall) -> bool:
    return any(item.kind == "model" for item in event.result.objects())


def _renamed(site: Site) -> Fix | None:
    node = rewrite.call_node(site)
    if node is None or not isinstance(node.func, ast.Attribute) or arguments(node):
        return None
    edit = rewrite.replace_name(Site.at(site.module, node.func), "enable_gradient_checkpointing")
    return Fix("diffusers-name", "Call enable_gradient_checkpointing()", (edit,))


def _in_a_dict(site: Site, call: Call, given: list[str]) -> Fix | None:
    """Hand the options over in the dict that the method takes."""
    node = rewrite.call_node(site)
    held = [rewrite.argument(site, name) for name in given]
    if node is None or len(arguments(node)) != len(given) or not all(held):
        return None
    entries = ", ".join(
        f'"{name}": {site.module.code(item.value)}' for name, item in zip(given, held, strict=True) if item is not None
    )
    spans = [site.module.span(item) for item in arguments(node)]
    kwargs = call.last.replace("_enable", "_kwargs")
    edit = Edit(site.module.path, *spans[0][:2], *spans[-1][2:], f"{kwargs}={{{entries}}}")
    return Fix("kwargs-dict", f"Pass them in {kwargs}", (edit,))


def _separate_call(site: Site, call: Call) -> Fix | None:
    """Turn checkpointing on by a call of its own after the model is loaded."""
    line = site.module.statement(site.node)
    wanted = call.keywords["gradient_checkpointing"].constant()
    if not isinstance(line, ast.Assign) or line.value is not site.node or not isinstance(wanted, bool):
        return None
    edits = rewrite.remove_arguments(site, "gradient_checkpointing")
    if edits and wanted:
        target = site.module.code(line.targets[0])
        later = rewrite.insert_after(site, f"{target}.gradient_checkpointing_enable()")
        edits = [*edits, later] if later is not None else []
    return Fix("separate-call", "Turn checkpointing on by its own call", tuple(edits)) if edits else None


def _is_of_configurations(run: Run) -> bool:
    """Whether it is still an argument of configurations, as before transformers 4.11
    (https://github.com/huggingface/transformers/pull/13657).
    """
    version = run.targets.version("transformers")
    return version is not None and version < Version("4.11")


@rule.on(TrainerStarted)
def trainer_with_plain_module(event: TrainerStarted, run: Run) -> Iterator[Finding]:
    """Does Trainer turn on checkpointing of a module that has no method for it?"""
    for args in event.trainer.attributes.get("args", NOTHING).objects():
        place = args.sites.get("gradient_checkpointing")
        for guard, (flag,) in ways(event.guard, argument(args, "gradient_checkpointing")):
            for model in event.models if flag == Const(True) and place is not None else ():
                if _has_no_method(model):
                    yield rule.finding(
                        run,
                        place or event.site,
                        "Trainer turns on checkpointing of a plain module, which has no method for it",
                        guard=guard,
                        versions=("transformers",),
                        symptom="AttributeError: object has no attribute 'gradient_checkpointing_enable'",
                        related=[(model.site, "the model is made here")] if model.site is not None else [],
                    )


def _has_no_method(model: Object) -> bool:
    if not isinstance(model.type, Class) or model.kind != "module":
        return False
    return all(
        names.class_attribute(model.type, name) is None and name not in model.attributes
        for name in (*ENABLE, "__getattr__")
    )
