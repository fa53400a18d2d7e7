"""# state-dict-method-replaced (GCL311)

## What it does
Finds models whose `state_dict` method is replaced on the instance and never restored.

## Why it breaks
Everything that saves the model from then on sees the replacement: checkpoints, trainers, FSDP and averaging
get a part of the weights, or one frozen moment of them, and the run cannot be resumed.

## Example
```python
model.state_dict = lambda *args, **kwargs: only_adapters(plain())
torch.save(model.state_dict(), "last.pt")
```

## Use instead
```python
torch.save(only_adapters(model.state_dict()), "adapters.pt")
```

## When it is fine
The method is restored, or the attribute deleted, before anything else saves.

## Evidence
torch 2.13.0: 2 of 4 tensors were in the file, and the next run loaded those. tloen/alpaca-lora#319.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import AttributeSet, RunEnded
from gclint.run.run import Run
from gclint.run.values import Const, Object

from ..words import assigned

rule = Rule(
    code="GCL311",
    name="state-dict-method-replaced",
    docs=__doc__ or "",
    words=assigned("state_dict"),
    certainty=("fragile",),
    fixable="unsafe",
    reproduction=Reproduction(
        "bad_lambda.py",
        "bad_lambda.fixed.py",
        raises="RuntimeError: Error(s) in loading state_dict for Net:",
        intent=("saved",),
    ),
)


@rule.on(RunEnded)
def replaced(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a model end the run with another state_dict method than its class's?"""
    if not event.whole:
        return
    kept: dict[Object, AttributeSet] = {}
    for change in run.of_type(AttributeSet):
        if (
            change.name != "state_dict"
            or change.target is None
            or change.target.kind not in ("module", "model", "modules", "layer", "ddp", "part")
        ):
            continue
        if _gives_back(change):
            kept.pop(change.target, None)
        else:
            kept.setdefault(change.target, change)
    for target, change in kept.items():
        if "state_dict" not in target.attributes:
            continue
        edit = rewrite.remove_statement(change.site)
        fix = (
            Fix(
                "keep-state-dict",
                "Leave state_dict as it is",
                (edit,),
                "unsafe",
                "whole state dicts are saved",
                intent=("saved",),
            )
            if edit is not None
            else None
        )
        yield rule.finding(
            run,
            change.site,
            "state_dict is replaced for good: whatever saves the model later saves this instead",
            guard=change.guard,
            certainty="fragile",
            symptom="silent: saved states lack weights",
            fixes=(fix,),
        )


def _gives_back(change: AttributeSet) -> bool:
    """Whether what is assigned is a state_dict method that was kept."""
    return any(isinstance(item, Const) or getattr(item, "name", "") == "state_dict" for _, item in change.value)
