"""# trains-offloaded-parameters (GCL101)

## What it does
Finds training of layers that a device map, a memory limit or an offload function leaves on the CPU or on disk.

## Why it breaks
accelerate keeps such layers as meta tensors and brings the weights in for each forward. Adapters that are added to
them are made on meta: backward raises `Function MmBackward0 returned an invalid gradient at index 1 - expected
device meta but got cuda:0`. Without adapters their parameters silently get no gradient. Gradient checkpointing is
innocent: the same happens without it.

## Example
```python
model = AutoModelForCausalLM.from_pretrained(name, device_map="auto", max_memory={0: "14GB", "cpu": "50GB"})
model = get_peft_model(model, lora)
```

## Use instead
```python
model = AutoModelForCausalLM.from_pretrained(name, device_map={"": 0})
```
When the model does not fit on one device: FSDP or ZeRO with offload, which know about gradients.

## When it is fine
The offloaded layers are frozen and everything that trains is resident; inference.

## Evidence
transformers 4.57.6 and 5.23.0, accelerate 1.12 and 1.15, real dispatch with CPU as the main device.
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.check.this_run import bits_of
from gclint.finding import Finding, Fix
from gclint.ir.layout import value_of
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Backward, ModelLoaded, OptimizerBuilt, TrainerStarted
from gclint.run.guards import ALWAYS, DISTRIBUTED, Guard
from gclint.run.run import Run, together, ways
from gclint.run.values import NOTHING, Const, Object, const

from ..words import TRAINS
from .gcl102_device_map_under_launcher import SPREAD

OFFLOADED = ("cpu", "disk")
META = "RuntimeError: Function MmBackward0 returned an invalid gradient at index 1 - expected but got cuda:0"
NO_GRADIENT = "silent: the offloaded parameters get no gradient and never change"

rule = Rule(
    code="GCL101",
    name="trains-offloaded-parameters",
    docs=__doc__ or "",
    words=(
        (
            "device_map",
            "max_memory",
            "offload_folder",
            "cpu_offload",
            "disk_offload",
            "dispatch_model",
            "load_checkpoint_and_dispatch",
        ),
        TRAINS,
    ),
    bears=("bits",),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=("missing", "changed"),
    reproduction=Reproduction(
        "bad_dispatch.py",
        "bad_dispatch.fixed.py",
        raises="RuntimeError: Function MmBackward0 returned an invalid gradient at index 1 - expected",
        intent=("random",),
    ),
)


@rule.on(Backward, TrainerStarted)
def trains_offloaded(event: Backward | TrainerStarted, run: Run) -> Iterator[Finding]:
    """Do layers train that lie on the CPU or on disk?"""
    if isinstance(event, TrainerStarted):
        models = list(event.models)
    else:
        models = list(dict.fromkeys(item.attributes["of"].objects()[0] for item in event.forwards))
    for model in models:
        for held, trains, place, certain, words in _trained(event, model, run):
            if not certain and ((DISTRIBUTED, True) in held or "process_group" in run.facts):
                continue
            if not certain and isinstance(event, Backward) and not _is_stepped(run):
                continue  # a gradient of the inputs may be all that is asked for
            if not certain and any(bits_of(model, run)):
                continue  # bitsandbytes lets no layer be offloaded unasked (transformers, quantizer_bnb_4bit.py)
            yield _finding(run, model, held, place, certain, words, trains == "adapters")
            break


def _is_stepped(run: Run) -> bool:
    """Whether anything of the program may change parameters: an optimizer, or what nobody knows that steps."""
    return bool(run.of_type(OptimizerBuilt)) or any(True for _ in run.modules_with(".step"))


def _trained(event: Backward | TrainerStarted, model: Object, run: Run) -> Iterator[tuple[Guard, str, Site, bool, str]]:
    """The ways a model is spread while it trains, wholly or by adapters: those that its loading leaves possible."""
    loaded = next((item.guard for item in run.of_type(ModelLoaded) if item.model is model), ALWAYS)
    for guard, place, certain, words in placements(model):
        both = together(event.guard, loaded, guard)
        for held, (item,) in ways(both, model.known("trainable") or const("all")) if both is not None else ():
            trains = str(item.value) if isinstance(item, Const) else "all"
            if trains not in ("none", "some"):
                yield held, trains, place, certain, words


def placements(model: Object) -> Iterator[tuple[Guard, Site, bool, str]]:
    """The ways a model is spread: guard, place, whether layers are offloaded for certain, and how in words."""
    if "offloaded" in model.state:
        for guard, item in model.known("offloaded"):
            if isinstance(item, Const):
                yield guard, model.sites["offloaded"], True, f"every layer is offloaded to {item.value}"
    for guard, item in model.known("device_map"):
        place = model.sites.get("dispatched") or model.sites.get("device_map", model.site)
        assert place is not None
        if isinstance(item, Object) and item.entries is not None:
            for inner, device in (pair for value in item.entries.values() for pair in value):
                if isinstance(device, Const) and device.value in OFFLOADED and len(item.entries) > 1:
                    yield guard | inner, place, True, f"the device map puts layers on {device.value}"
        elif isinstance(item, Const) and item.value in SPREAD:
            yield from _automatic(model, guard, place, str(item.value))


def _automatic(model: Object, guard: Guard, place: Site, name: str) -> Iterator[tuple[Guard, Site, bool, str]]:
    for fact, words in (("max_memory", 'max_memory has room for "cpu"'), ("offload_folder", "offload_folder is given")):
        for inner, item in model.known(fact):
            if _offloads(fact, item):
                yield guard | inner, model.sites.get(fact, place), True, f'device_map="{name}" and {words}'
    for config in model.known("quantization_config").objects():
        for inner, item in config.attributes.get("llm_int8_enable_fp32_cpu_offload", NOTHING):
            if item == Const(True):
                yield guard | inner, place, True, "llm_int8_enable_fp32_cpu_offload is on"
    yield guard, place, False, f'device_map="{name}" offloads layers when the model does not fit'


def _offloads(fact: str, item: object) -> bool:
    if fact == "max_memory":
        return isinstance(item, Object) and "cpu" in (item.entries or {})
    return isinstance(item, Const) and isinstance(item.value, str)


def _finding(run: Run, model: Object, guard: Guard, place: Site, certain: bool, words: str, adapters: bool) -> Finding:
    effect = "adapters of offloaded layers are made on meta" if adapters else "offloaded parameters get no gradient"
    message = f"{words}, and these layers train: {effect}"
    if model.known("checkpointing").objects():
        message += " (gradient checkpointing is not what breaks)"
    related = [(model.site, "the model is loaded here")] if model.site not in (None, place) else []
    return rule.finding(
        run,
        place,
        message,
        guard=guard,
        certainty="fails" if certain else "fragile",
        symptom=META if adapters else NO_GRADIENT,
        related=related,
        fixes=(one_device(model),),
        versions=("transformers", "accelerate"),
        condition="" if certain else "when the model does not fit on the accelerators",
    )


def one_device(model: Object) -> Fix | None:
    """Load the whole model on the first device."""
    title, cost = "Load the whole model on one device", "the whole model has to fit on that device"
    spread = model.sites.get("dispatched") or model.sites.get("offloaded")
    node = rewrite.call_node(spread) if spread is not None else None
    if spread is not None and node is not None and node.args:
        text = spread.module.source(value_of(node.args[0]))
        return Fix("one-device", title, (rewrite.replace(spread, text),), "unsafe", cost, intent=("random",))
    site = model.site
    if site is None or rewrite.call_node(site) is None:
        return None
    edit = rewrite.set_argument(site, "device_map", '{"": 0}', open_=model.open)
    if edit is None or rewrite.argument(site, "device_map") is None:
        return None
    others = rewrite.remove_arguments(site, "max_memory", "offload_folder", "offload_state_dict")
    return Fix("one-device", title, (edit, *others), "unsafe", cost, intent=("random",))
