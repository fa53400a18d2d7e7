"""# apply-activation-checkpointing-misuse (GCL309)

## What it does
Finds calls of `apply_activation_checkpointing` and `checkpoint_wrapper` that do something else than they
look.

## Why it breaks
`apply_activation_checkpointing` changes the model in place and returns None, so its result is no model. Its
second argument is the wrapper, not the check: a check given by position is called as a wrapper and its
answer takes the layer's place (`TypeError`). Without a check it wraps every submodule, containers too, and
each forward is recomputed at every level. `checkpoint_wrapper` has no `use_reentrant`, unless a `checkpoint_fn`
takes it: `TypeError: got multiple values for keyword argument` from torch 2.1 on. From torch 2.0 on it has no
`offload_to_cpu` either: torch 2.0 ignores it, and nothing is offloaded; later releases hand on what they do not know,
to the forward of the layer that is wrapped, be it True or False.

## Example
```python
model = apply_activation_checkpointing(model, lambda part: isinstance(part, Block))
```

## Use instead
```python
apply_activation_checkpointing(model, check_fn=lambda part: isinstance(part, Block))
```

## When it is fine
The result is not used, and the check goes by name; `offload_to_cpu` with torch 1, or for a `checkpoint_fn`; a
layer whose forward takes any keyword; `use_reentrant` before torch 2.1, which ignores it.

## Evidence
torch 2.13.0: `'NoneType' object is not callable`; a wrapper around every submodule; TypeError. `offload_to_cpu=False`:
`Linear.forward() got an unexpected keyword argument 'offload_to_cpu'`, ValueError where it is reentrant
(pytorch/pytorch#85459 took the argument away). torch 2.0.1 and 2.1.0: `CheckpointWrapper.__init__` of
torch/distributed/algorithms/_checkpoint/checkpoint_wrapper.py drops such keywords, and hands them on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from packaging.version import Version

from gclint.finding import Edit, Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.calls import Call
from gclint.run.closures import body_of
from gclint.run.events import LibraryCall
from gclint.run.run import Run
from gclint.run.values import NOTHING, Const, External, Function, Partial, Value

OFFLOAD, HANDS_ON = "offload_to_cpu", Version("2.1")
MODULE = "torch.distributed.algorithms._checkpoint.checkpoint_wrapper"

rule = Rule(
    code="GCL309",
    name="apply-activation-checkpointing-misuse",
    docs=__doc__ or "",
    words=(("apply_activation_checkpointing", "checkpoint_wrapper"),),
    certainty=("fails", "fragile"),
    fixable="safe",
    reproduction=Reproduction(
        "bad_result_used.py",
        "bad_result_used.fixed.py",
        raises="AttributeError: 'NoneType' object has no attribute 'parameters'",
    ),
)


@rule.on(LibraryCall)
def misuse(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is the call's result used, its check given as a wrapper or left out, or an argument it does not have?"""
    call = event.call
    if call is None or not event.name.startswith("torch."):
        return
    last = event.name.rsplit(".", 1)[-1]
    yield from _says_which(event, call, run)
    yield from _offloads(event, call, run)
    if last != "apply_activation_checkpointing":
        return
    if event.moment.result_used and (edit := _unassigned(event.site)) is not None:
        yield rule.finding(
            run,
            event.site,
            "apply_activation_checkpointing changes the model in place and returns None",
            guard=event.guard,
            symptom="TypeError: 'NoneType' object is not callable",
            fixes=(Fix("in-place", "Keep the model that was changed in place", (edit,), intent=("checkpointing",)),),
        )
    elif _is_check(call):
        check = rewrite.positional(event.site, 1)
        assert check is not None
        made = rewrite.put_before(Site.at(event.site.module, check), "check_fn=")
        yield rule.finding(
            run,
            event.site,
            "the second argument is the wrapper: this check is called as one",
            guard=event.guard,
            symptom="TypeError: the check's answer takes the layer's place",
            fixes=(Fix("check-fn", "Pass the check by name", (made,), intent=("checkpointing",)),),
        )
    elif not call.open and not call.gives("check_fn", 2) and not call.gives("auto_wrap_policy"):
        yield rule.finding(
            run,
            event.site,
            "without check_fn every submodule is wrapped, one inside the other",
            guard=event.guard,
            symptom="silent: each layer is recomputed at every level of the model",
        )


def _says_which(event: LibraryCall, call: Call, run: Run) -> Iterator[Finding]:
    """Is the wrapper told by `use_reentrant` what it is told otherwise?"""
    version = run.targets.version("torch")
    wraps = event.name.rpartition(".")[2] == "checkpoint_wrapper" and not call.gives("checkpoint_fn", 2)
    if wraps and call.gives("use_reentrant") and (version is None or version >= HANDS_ON):
        yield rule.finding(
            run,
            event.site,
            "checkpoint_wrapper takes no use_reentrant: checkpoint_impl says it",
            guard=event.guard,
            symptom="TypeError: got multiple values for keyword argument 'use_reentrant'",
            fixes=(_by_variant(call),),
        )


def _offloads(event: LibraryCall, call: Call, run: Run) -> Iterator[Finding]:
    """Is the wrapper given an argument that it had in torch 1 only, itself or by a partial of it?"""
    version = run.targets.version("torch")
    if version is not None and version < Version("2.0"):
        return
    hands_on = version is None or version >= HANDS_ON
    for given, places in _given(event, call):
        if OFFLOAD in given and "checkpoint_fn" not in given and (hands_on or not given[OFFLOAD].is_const(False)):
            does = "it goes to the forward of the layer" if hands_on else "torch 2.0 ignores it, and offloads nothing"
            raised = f"TypeError: forward() got an unexpected keyword argument '{OFFLOAD}'"
            yield rule.finding(
                run,
                places.get(OFFLOAD, event.site),
                f"checkpoint_wrapper takes no {OFFLOAD} from torch 2.0 on: {does}",
                guard=event.guard,
                certainty="fragile",
                symptom=raised if hands_on else "silent: what is kept for the backward stays on the device",
                versions=("torch",),
            )


def _given(event: LibraryCall, call: Call) -> Iterator[tuple[Mapping[str, Value], Mapping[str, Site]]]:
    """The keywords that checkpoint_wrapper is given at a call, each lot with their places."""
    last = event.name.rsplit(".", 1)[-1]
    if last == "checkpoint_wrapper" and not call.gives("checkpoint_fn", 2):
        yield call.keywords, call.places
    wrappers = call.get("checkpoint_wrapper_fn", 1) if last == "apply_activation_checkpointing" else NOTHING
    for _, item in wrappers:
        made = item.function if isinstance(item, Partial) else None
        if isinstance(item, Partial) and isinstance(made, External) and made.name.endswith(".checkpoint_wrapper"):
            yield item.keywords, item.places


def _unassigned(site: Site) -> Edit | None:
    """The edit that leaves out the assignment of the result."""
    only = site.module.statement(site.node)
    if not isinstance(only, ast.Assign) or only.value is not site.node:
        return None
    start, end = Site.at(site.module, only).location(), site.location()
    return Edit(start.path, start.line, start.column, end.line, end.column, "")


def _is_check(call: Call) -> bool:
    """Whether the second positional argument answers a question about a module."""
    if len(call.positional) != 2 or rewrite.positional(call.site, 1) is None:
        return False
    given = [item for _, item in call.positional[1] if isinstance(item, Function)]
    return any(not any("checkpoint" in item.module.code(part) for part in body_of(item.node)) for item in given)


def _by_variant(call: Call) -> Fix | None:
    given = call.get("use_reentrant").only()
    if not isinstance(given, Const) or rewrite.argument(call.site, "use_reentrant") is None:
        return None
    if not given.value:
        return Fix(
            "variant",
            "Leave use_reentrant out: False is what it means",
            tuple(rewrite.remove_arguments(call.site, "use_reentrant")),
            intent=("checkpointing",),
        )
    held = rewrite.argument(call.site, "use_reentrant")
    place = Site.at(call.site.module, held) if held is not None else call.site
    edits = rewrite.ensure_import(call.site.module, f"from {MODULE} import CheckpointImpl")
    text = "checkpoint_impl=CheckpointImpl.REENTRANT"
    return Fix(
        "variant", "Say it by checkpoint_impl", (*edits, rewrite.replace(place, text)), intent=("checkpointing",)
    )
