"""# fsdp-double-checkpointing (GCL215)

## What it does
Finds Trainer settings that ask for checkpointing twice: `activation_checkpointing` in `fsdp_config` and
`gradient_checkpointing=True`.

## Why it breaks
Both would wrap the same layers. Trainer refuses at its start: `ValueError: The activation_checkpointing in FSDP config
and the gradient_checkpointing in training arg can't be set to True simultaneously`.

## Example
```python
TrainingArguments("out", fsdp="full_shard", fsdp_config={"activation_checkpointing": True},
                  gradient_checkpointing=True)
```

## Use instead
```python
TrainingArguments("out", fsdp="full_shard", fsdp_config={"activation_checkpointing": True})
```

## When it is fine
One of the two; no FSDP.

## Evidence
`Trainer.create_accelerator_and_postprocess` of transformers 4.46.3, 4.57.6 and 5.23.0, read; it needs a GPU to run.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.frameworks.transformers_trainer import argument
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import TrainerStarted
from gclint.run.run import Run, ways
from gclint.run.values import NOTHING, Const, Object

NAMES = ("activation_checkpointing", "fsdp_activation_checkpointing")

rule = Rule(
    code="GCL215",
    name="fsdp-double-checkpointing",
    docs=__doc__ or "",
    words=(("fsdp_config",), ("gradient_checkpointing", "activation_checkpointing")),
    bears=("processes",),
    certainty=("fails",),
    fixable="unsafe",
    reproduction=Reproduction(needs="cuda"),
)


@rule.on(TrainerStarted)
def asked_twice(event: TrainerStarted, run: Run) -> Iterator[Finding]:
    """Do FSDP's configuration and the arguments both turn checkpointing on?"""
    for args in event.trainer.attributes.get("args", NOTHING).objects():
        for guard, (flag, config, strategy) in ways(
            event.guard, argument(args, "gradient_checkpointing"), argument(args, "fsdp_config"), argument(args, "fsdp")
        ):
            place = args.sites.get("gradient_checkpointing")
            if (
                flag != Const(True)
                or not isinstance(config, Object)
                or place is None
                or strategy in (Const(None), Const(""), Const(False))
            ):
                continue
            named = next((name for name in NAMES if config.entries and name in config.entries), None)
            if named is None or config.entries is None or config.entries[named].constant() is not True:
                continue
            edit = rewrite.replace(place, "False")
            yield rule.finding(
                run,
                place,
                "checkpointing is turned on by fsdp_config already, and Trainer refuses both",
                guard=guard,
                symptom="ValueError: The activation_checkpointing in FSDP config and the gradient_checkpointing in "
                "training arg can't be set to True simultaneously.",
                related=[(config.sites[named], "turned on for FSDP here")] if named in config.sites else [],
                fixes=(Fix("fsdp-only", "Leave checkpointing to FSDP", (edit,), "unsafe", intent=("checkpointing",)),),
                versions=("transformers",),
            )
            return
