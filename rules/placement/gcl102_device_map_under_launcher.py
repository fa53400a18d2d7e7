"""# device-map-under-launcher (GCL102)

## What it does
Finds a model that `device_map="auto"` (or balanced, sequential) spreads over all devices in a run of more than one
process.

## Why it breaks
Every process would spread its own copy over every device. accelerate refuses: `You can't train a model that has
been loaded with device_map='auto' in any distributed mode`. With raw DDP the copies fight for memory.

## Example
```python
model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
Trainer(model, args, train_dataset=data).train()  # torchrun --nproc_per_node=8
```

## Use instead
```python
model = AutoModelForCausalLM.from_pretrained(name)
```
Quantised models: `device_map={"": PartialState().local_process_index}`.

## When it is fine
One process; a map that puts the whole model on this process's device, also when it is assigned in a branch; a branch
that is left to runs under FSDP, where no launch says that there are any.

## Evidence
accelerate 1.12 and 1.15 (`Accelerator.prepare_model`: `len(model.hf_device_map) > 1`), huggingface/transformers#31557,
huggingface/accelerate#2486.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.frameworks.peft import is_quantised
from gclint.frameworks.sharding import PLAIN_DDP
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Backward, TrainerStarted
from gclint.run.guards import DEEPSPEED, DISTRIBUTED, FSDP, Guard, satisfiable
from gclint.run.run import Run, together
from gclint.run.values import Const, Object

from ..words import TRAINS

SPREAD = ("auto", "balanced", "balanced_low_0", "sequential")
COMMON: tuple[Guard, ...] = (PLAIN_DDP, frozenset({(DEEPSPEED, True)}))
SYMPTOM = "ValueError: You can't train a model that has been loaded with `device_map='auto'` in any distributed mode."

rule = Rule(
    code="GCL102",
    name="device-map-under-launcher",
    docs=__doc__ or "",
    words=(("device_map",), TRAINS),
    bears=("processes", "bits"),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    reproduction=Reproduction(needs="more than one accelerator: the check counts the devices of the map"),
)


@rule.on(Backward, TrainerStarted)
def spread_in_each_process(event: Backward | TrainerStarted, run: Run) -> Iterator[Finding]:
    """Does every process of the run spread the whole model over the devices?"""
    if isinstance(event, TrainerStarted):
        models = list(event.models)
    else:
        models = list(dict.fromkeys(item.attributes["of"].objects()[0] for item in event.forwards))
    several = frozenset({(DISTRIBUTED, True)})
    evident = bool(run.assumed) or "process_group" in run.facts or "env:LOCAL_RANK" in run.facts
    for model in models:
        for guard, item in model.known("device_map"):
            held = together(event.guard, model.born, guard, several)
            if held is None or not evident or not (isinstance(item, Const) and item.value in SPREAD):
                continue
            if (FSDP, True) not in run.assumed and not any(satisfiable(held | kind | run.assumed) for kind in COMMON):
                continue  # the code asks how the processes work together, and spreads it for none that is launched
            certain = bool(run.assumed) or "process_group" in run.facts
            place = model.sites.get("device_map", model.site)
            assert place is not None
            yield rule.finding(
                run,
                place,
                f'device_map="{item.value}" spreads the whole model over the devices in every process',
                guard=held,
                certainty="fails" if certain else "fragile",
                symptom=SYMPTOM,
                related=run.launch_locations("started on more than one process here"),
                fixes=(own_device(model),),
                versions=("transformers", "accelerate"),
            )
            break


def own_device(model: Object) -> Fix | None:
    """No device map; for a quantised model, which cannot be moved later, this process's device."""
    site = model.site
    if site is None or rewrite.argument(site, "device_map") is None:
        return None
    if is_quantised(model) is False:
        edits = rewrite.remove_arguments(site, "device_map", "max_memory", "offload_folder")
        return Fix("no-device-map", "Let the launcher place the model: remove device_map", tuple(edits), "unsafe")
    edit = rewrite.set_argument(site, "device_map", '{"": PartialState().local_process_index}')
    if edit is None:
        return None
    added = rewrite.ensure_import(site.module, "from accelerate import PartialState")
    return Fix("own-device", "Put the whole model on this process's device", (edit, *added), "unsafe")
