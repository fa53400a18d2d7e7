"""Names that older releases had, and what the installed release calls the same thing.

Every pair was read off the libraries: transformers 5.23, peft 0.21 and trl 1.16 have the right name and not the left.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

from gclint.verify.worker.shims import Replacements

# module, name it had, where it is now
RENAMED: tuple[tuple[str, str, str], ...] = (
    ("transformers", "deepspeed", "transformers.integrations.deepspeed"),
    ("transformers", "AdamW", "torch.optim:AdamW"),
    ("transformers", "AutoModelWithLMHead", "transformers:AutoModelForCausalLM"),
    ("transformers", "AutoModelForVision2Seq", "transformers:AutoModelForImageTextToText"),
    ("transformers.trainer", "ALL_LAYERNORM_LAYERS", "transformers.pytorch_utils:ALL_LAYERNORM_LAYERS"),
    ("transformers.optimization", "AdamW", "torch.optim:AdamW"),
    *(
        ("trl", f"{name}{kind}", f"trl.experimental.{name.lower()}:{name}{kind}")
        for name in ("ORPO", "CPO", "GKD")
        for kind in ("Config", "Trainer")
    ),
    ("peft", "prepare_model_for_int8_training", "peft:prepare_model_for_kbit_training"),
)
ABSENT_HARDWARE = ("is_torch_tpu_available", "is_torch_npu_available", "is_torch_xla_available")


def install(found: Replacements) -> None:
    """Give the names back that the program's text uses and the installed libraries no longer have."""
    for home, name, now in RENAMED:
        if _used(home, name, found.text):
            _give_back(home, name, now, found)
    if "get_kbit_device_map" in found.text and "trl" in found.text:
        _without_accelerator("trl", "get_kbit_device_map")
    for home in ("transformers", "transformers.file_utils", "transformers.utils"):
        for name in ABSENT_HARDWARE:
            if name in found.text and not hasattr(module := importlib.import_module(home), name):
                setattr(module, name, lambda *ignored, **options: False)


def _used(home: str, name: str, text: str) -> bool:
    """Whether a text takes the name from that module, by an import or as its attribute."""
    module = re.escape(home)
    imported = rf"from {module} import (?:\([^)]*|[^\n(]*)\b{name}\b"
    return re.search(rf"{imported}|\b{module}\.{name}\b", text) is not None


def _without_accelerator(home: str, name: str) -> None:
    """A function that answered None where there is no accelerator."""
    try:
        owner = importlib.import_module(home)
    except ImportError:
        return
    if not _has(owner, name):
        setattr(owner, name, lambda: None)


def _give_back(home: str, name: str, now: str, found: Replacements) -> None:
    try:
        owner: Any = importlib.import_module(home)
        if _has(owner, name):
            return
        place, _, attribute = now.partition(":")
        value: Any = importlib.import_module(place)
        setattr(owner, name, getattr(value, attribute) if attribute else value)
    except (ImportError, AttributeError):
        return
    found.note(f"{home}.{name}: {now.replace(':', '.')}, its name in the installed version")


def _has(owner: Any, name: str) -> bool:
    try:
        return getattr(owner, name, None) is not None
    except Exception:  # a lazy module raises what importing the name raises
        return False
