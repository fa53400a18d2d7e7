"""The model and the environment of an analysed run, as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gclint.run import events as ev
from gclint.run.run import Run
from gclint.run.values import NONE, Class, Object
from gclint.verify.recipe import ModelSpec, Variable

RELEVANT = ("HIP_", "HSA_", "AMD_", "OMP_", "TORCH_", "PYTORCH_", "CUDA_VISIBLE_DEVICES")


def environment_of(run: Run) -> Iterator[Variable]:
    """The variables that torch or a backend reads, as code and launcher set them, before or after torch is imported."""
    at_import = next(
        (index for index, event in enumerate(run.events) if isinstance(event, ev.Imported) and event.name == "torch"),
        len(run.events),
    )
    set_by_code = set()
    for index, event in enumerate(run.events):
        if isinstance(event, ev.EnvSet) and event.name.startswith(RELEVANT):
            literal = event.value.constant()
            if literal is not None:
                set_by_code.add(event.name)
                yield Variable(event.name, str(literal), "before-import" if index < at_import else "after-import")
    for name, value in sorted(run.environment.items()):
        literal = value.constant()
        if name not in set_by_code and name.startswith(RELEVANT) and literal is not None:
            yield Variable(name, str(literal))


def model_spec(run: Run, model: Object) -> ModelSpec:
    """Which model it is: an architecture by name or class, a class of the project, or a stand-in."""
    if isinstance(model.type, Class) or model.kind not in ("model",):
        return ModelSpec("project" if isinstance(model.type, Class) else "stand-in", class_name=model.class_name)
    name, dtype = model.known("name").constant(), model.known("dtype").constant()
    parts = str(model.type).split(".")
    owner = parts[-2] if parts[-1] in ("from_pretrained", "from_config") and len(parts) > 1 else parts[-1]
    stand_in = bool(model.state.get("unsloth")) or not model.type
    return ModelSpec(
        "stand-in" if stand_in else "transformers",
        auto_class=owner if owner.startswith("Auto") else "AutoModelForCausalLM",
        name=name if isinstance(name, str) else "",
        class_name="" if owner.startswith("Auto") else owner,
        dtype=dtype if dtype in ("float16", "bfloat16", "float32") else None,
        quantization=_quantization(model),
    )


def _quantization(model: Object) -> Any:
    configs = [model, *model.known("quantization_config").objects()]
    for name, literal in (("load_in_4bit", "4bit"), ("load_in_8bit", "8bit")):
        for holder in configs:
            value = holder.state.get(name) or holder.attributes.get(name, NONE)
            if value.constant() is True and not model.state.get("unsloth"):
                return literal
    return None
