"""Builds the model of a recipe: the real architecture scaled down, or a stand-in."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from gclint.verify.outcome import Evidence
from gclint.verify.project import TooLarge
from gclint.verify.recipe import ModelSpec, OwnClass
from gclint.verify.worker.calling import Calling, calling_of
from gclint.verify.worker.own import CannotBuild, build_own
from gclint.verify.worker.patterns import model_type_of
from gclint.verify.worker.quantised import quantise
from gclint.verify.worker.shrink import shrink
from gclint.verify.worker.standin import StandIn


class Built:
    """A model with what it shows and what was left out: `evidence`, `name`, `limits`."""

    def __init__(self, model: Any, evidence: Evidence, name: str, limits: list[str]):
        self.model, self.evidence, self.name, self.limits = model, evidence, name, limits
        self.calling: Calling | None = None


def build(spec: ModelSpec, target: dict[str, str], seed: int, scratch: Path) -> Built:
    """Return the model of `spec` in eval mode and in its dtype, as from_pretrained gives it.

    A class of the project is imported from a copy below `scratch`.
    """
    limits: list[str] = []
    torch.manual_seed(seed)
    if spec.origin == "transformers":
        built = _architecture(spec, limits)
    elif spec.own is not None:
        built = _own(spec, spec.own, limits, scratch)
    else:
        built = _stand_in(spec, spec.why, limits)
    built.model.to(dtype_of(spec, target))
    if spec.quantization is not None:
        quantise(built, spec.quantization, scratch)
    if spec.origin == "transformers":
        built.model.eval()
    return built


def _stand_in(spec: ModelSpec, why: str, limits: list[str]) -> Built:
    named = f"stand-in decoder ({why})" if why else "stand-in decoder"
    return Built(StandIn(spec.dropout or 0.0, spec.tied), "stand-in", named, limits)


def _own(spec: ModelSpec, own: OwnClass, limits: list[str], scratch: Path) -> Built:
    try:
        model, smaller = build_own(own, scratch)
        calling = calling_of(model)
    except (CannotBuild, TooLarge, OSError) as error:
        return _stand_in(spec, f"{spec.class_name} cannot be built: {error}", limits)
    made = Built(model, "architecture", f"{spec.class_name}, imported ({smaller}; loss: {calling.loss})", limits)
    made.calling = calling
    return made


def _architecture(spec: ModelSpec, limits: list[str]) -> Built:
    config, how = find_config(spec)
    if config is None:
        return _stand_in(spec, how, limits)
    override(shrink(config), spec)
    model = from_config(spec, config)
    return Built(model, "architecture", f"{type(model).__name__}, scaled down ({how})", limits)


def from_config(spec: ModelSpec, config: Any) -> Any:
    """Return a model of `config` by the auto class of `spec`, or by the language-model class its type has.

    A classifier of sequences gets a padding token: programs set one once the model is loaded.
    """
    import transformers

    if "SequenceClassification" in spec.auto_class and getattr(config, "pad_token_id", None) is None:
        config.pad_token_id = 0
    names = (spec.auto_class, "AutoModelForCausalLM", "AutoModelForSeq2SeqLM")
    known: list[Any] = [getattr(transformers, name, None) for name in names]
    classes = [each for each in known if hasattr(each, "from_config")]
    suitable = next((each for each in classes if type(config) in each._model_mapping), None)
    if suitable is None:
        return classes[0].from_config(config)
    made = suitable._model_mapping[type(config)]
    wanted = made[0].config_class if isinstance(made, tuple) else made.config_class
    inner = next((each for each in vars(config).values() if type(each) is wanted), config)
    return suitable.from_config(config) if type(config) is wanted or inner is config else made(inner)


def find_config(spec: ModelSpec, read: Any = None) -> tuple[Any | None, str]:
    """Return the config of the model, full size, and where it comes from; None and why when there is none.

    `read` is `AutoConfig.from_pretrained`, for a caller that has replaced it.
    """
    try:
        import transformers
    except ImportError:
        return None, "transformers is not installed"
    if spec.name:
        with suppress(Exception):
            read = read or transformers.AutoConfig.from_pretrained
            found = read(spec.name, local_files_only=True, trust_remote_code=False)
            return found, f"config of {spec.name}"
    model_type = spec.model_type or (model_type_of(spec.name) if spec.name else None)
    if model_type not in transformers.CONFIG_MAPPING:
        return None, f"no known architecture for {spec.name or spec.model_type or 'this model'}"
    how = f"type {model_type}" + (f", from the name {spec.name}" if spec.name and not spec.model_type else "")
    return transformers.CONFIG_MAPPING[model_type](), how


def override(config: Any, spec: ModelSpec) -> None:
    """Set the fields of `config` that the recipe names, and its dropout."""
    for name, value in spec.config.items():
        setattr(config, name, value)
    if spec.dropout is not None:
        for name in list(vars(config)):
            if "dropout" in name or name.endswith("pdrop"):
                setattr(config, name, spec.dropout)


def dtype_of(spec: ModelSpec, target: dict[str, str]) -> Any:
    """Return the torch dtype of the weights: as given, else the target version's default."""
    if spec.dtype and spec.dtype != "auto":
        return getattr(torch, spec.dtype.removeprefix("torch."))
    if spec.origin != "transformers":
        return torch.float32
    if spec.dtype == "auto":
        return torch.bfloat16
    import transformers

    version = target.get("transformers") or transformers.__version__
    return torch.bfloat16 if int(version.split(".")[0]) >= 5 else torch.float32
