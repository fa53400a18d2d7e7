"""# conflicting-configuration (GCL903)

## What it does
Finds settings that exclude each other in the configuration files of accelerate, DeepSpeed, axolotl, LLaMA-Factory and
torchtune.

## Why it breaks
The tool refuses them when it starts, mostly after the job waited in a queue; a few train, and badly.

## Example
```yaml
distributed_type: DEEPSPEED
deepspeed_config:
  deepspeed_config_file: zero3.json
  zero_stage: 3
```

## Use instead
```yaml
distributed_type: DEEPSPEED
deepspeed_config:
  deepspeed_config_file: zero3.json
```

## When it is fine
Either of the two settings alone.

## Evidence
The checks of accelerate 1.15 (`DeepSpeedPlugin._deepspeed_config_checks`, `FullyShardedDataParallelPlugin`), and what
axolotl, LLaMA-Factory and torchtune refuse in their own validation, read.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding
from gclint.rule import Reproduction, Rule
from gclint.run.events import ConfigurationRead
from gclint.run.run import Run

from .conflicts import CONFLICTS, SIGNS, at, is_to_be_filled, tool_of

rule = Rule(
    code="GCL903",
    name="conflicting-configuration",
    docs=__doc__ or "",
    words=(tuple(sorted({way[0] for ways in SIGNS.values() for way in ways})),),
    certainty=("fails", "fragile"),
    reproduction=Reproduction(needs="the launchers' own start: it is no training script that fails"),
)


@rule.on(ConfigurationRead)
def excluded(event: ConfigurationRead, run: Run) -> Iterator[Finding]:
    """Does a configuration combine what its tool does not take together?"""
    value = event.document.value if event.document is not None else None
    tool = tool_of(value)
    for conflict in CONFLICTS:
        first, second = at(value, conflict.first), at(value, conflict.second)
        known = not is_to_be_filled(first) and not is_to_be_filled(second)
        if conflict.tool != tool or not known or not conflict.holds(first, second):
            continue
        related = [event.place(*conflict.second).location("and this one")] if second is not None else []
        yield rule.finding(
            run,
            event.place(*conflict.first),
            f"{tool}: {conflict.words}",
            certainty=conflict.certainty,
            symptom=conflict.symptom,
            related=related if conflict.first != conflict.second else [],
            versions=(),
        )
