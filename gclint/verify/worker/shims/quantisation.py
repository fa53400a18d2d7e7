"""Models that a program wants in 4 or 8 bits where the library for it is not installed: they run in plain weights."""

from __future__ import annotations

import functools
from importlib.util import find_spec
from typing import Any

import torch

from gclint.verify.worker.shims import Replacements
from gclint.verify.worker.standing import STANDS_FOR

LIBRARIES = {"bitsandbytes": "bitsandbytes", "gptq": "gptqmodel", "awq": "awq", "hqq": "hqq", "torchao": "torchao"}
LAYERS = {"4bit": "bitsandbytes.nn.Linear4bit", "8bit": "bitsandbytes.nn.Linear8bitLt"}
# what transformers 4 took and 5 does not
GONE = ("load_in_8bit", "load_in_4bit", "use_auth_token", "from_tf", "from_flax", "resume_download", "mirror")


def plain_weights(kwargs: dict[str, Any], older: bool, found: Replacements) -> str:
    """Take out of `from_pretrained`'s keywords what cannot be quantised here; return the bits it asked for, or ""."""
    bits = next((name[8:] for name in ("load_in_8bit", "load_in_4bit") if older and kwargs.get(name)), "")
    for name in GONE if older else ():
        kwargs.pop(name, None)
    config = kwargs.get("quantization_config")
    if config is None:
        kwargs.pop("quantization_config", None)
    else:
        bits = bits or bits_of(config)
    if not bits:
        return ""
    library = LIBRARIES.get(_method(config), "") if config is not None else "bitsandbytes"
    if library and find_spec(library) is not None:
        return ""
    kwargs.pop("quantization_config", None)
    found.limit(f"the weights are not quantised to {bits} here: {library or 'its library'} is not installed")
    return bits


def as_quantised(model: Any, bits: str) -> Any:
    """Mark a plain model as the libraries mark a quantised one, which is what they and programs go by.

    It has no map of devices: training one that lies on the CPU is refused for quantised weights only. Its linear
    layers but the head pass for those of bitsandbytes, by which programs look for them.
    """
    if bits in LAYERS:
        setattr(model, f"is_loaded_in_{bits}", True)
        model.__dict__.pop("hf_device_map", None)
        for module in model.modules():
            if type(module) is torch.nn.Linear and module is not model.get_output_embeddings():
                setattr(module, STANDS_FOR, LAYERS[bits])
        model.num_parameters = functools.partial(_counted, model, f"is_loaded_in_{bits}")
    return model


def _counted(model: Any, mark: str, *args: Any, **kwargs: Any) -> Any:
    """The model's own count of parameters, which asks bitsandbytes for the size of quantised ones."""
    setattr(model, mark, False)
    try:
        return type(model).num_parameters(model, *args, **kwargs)
    finally:
        setattr(model, mark, True)


def _method(config: Any) -> str:
    method = config.get("quant_method", "") if isinstance(config, dict) else getattr(config, "quant_method", "")
    return str(getattr(method, "value", method)) or "bitsandbytes"


def bits_of(config: Any) -> str:
    """What a quantisation config asks for: "4bit", "8bit", or other bits in words."""
    held = config if isinstance(config, dict) else {name: getattr(config, name, None) for name in dir(config)}
    if held.get("load_in_4bit"):
        return "4bit"
    return "8bit" if held.get("load_in_8bit") else f"{held.get('bits') or 'fewer'} bits"
