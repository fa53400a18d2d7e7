"""Weights in 4 or 8 bits by bitsandbytes itself, as from_pretrained gives them; on the CPU too, from its 0.46 on."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from gclint.verify.worker.build import Built


def quantise(built: Built, bits: str, scratch: Path) -> None:
    """Replace a scaled-down architecture by its quantised self; where that cannot be, the limits say why."""
    why = "it is a stand-in" if built.evidence == "stand-in" else _missing()
    if not why:
        try:
            built.model = _quantised(built.model, bits, scratch / ".unquantised")
            built.name += f", {bits} by bitsandbytes"
            return
        except (ImportError, NotImplementedError, RuntimeError, ValueError) as error:
            why = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    built.limits.append(f"the weights are not quantised to {bits} here: {why}")


def _missing() -> str:
    try:
        importlib.import_module("bitsandbytes")
    except ImportError:
        return "bitsandbytes is not installed"
    return ""


def _quantised(model: Any, bits: str, directory: Path) -> Any:
    import transformers

    dtype = next(each.dtype for each in model.parameters() if each.is_floating_point())
    model.should_save_on_this_rank = lambda main: True
    model.save_pretrained(directory)
    four = bits == "4bit"
    config = transformers.BitsAndBytesConfig(
        load_in_4bit=four, load_in_8bit=not four, bnb_4bit_compute_dtype=dtype if four else torch.float32
    )
    place = torch.cuda.current_device() if torch.cuda.is_available() else "cpu"
    return type(model).from_pretrained(directory, quantization_config=config, dtype=dtype, device_map={"": place})
