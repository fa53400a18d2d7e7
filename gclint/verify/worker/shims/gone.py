"""Names that older releases had: what the installed release calls the same thing, by the libraries' own notes.

transformers: MIGRATION_GUIDE_V5.md of its repository, and the release notes of 4.33 (integrations became a package) and
4.50 (AdamW removed); trl: the migration notes of 1.0 (trainers that moved to `trl.experimental`); peft: release notes of 0.4 (`prepare_model_for_kbit_training`) and 0.10 (int8 name removed).
"""

from __future__ import annotations

import importlib
from typing import Any

from gclint.verify.worker.shims import Replacements

# module, name it had, where it is now
RENAMED: tuple[tuple[str, str, str], ...] = (
    ("transformers", "deepspeed", "transformers.integrations.deepspeed"),
    ("transformers", "AdamW", "torch.optim:AdamW"),
    ("transformers", "AutoModelWithLMHead", "transformers:AutoModelForCausalLM"),
    ("transformers", "AutoModelForVision2Seq", "transformers:AutoModelForImageTextToText"),
    ("transformers.trainer", "ALL_LAYERNORM_LAYERS", "transformers.pytorch_utils:ALL_LAYERNORM_LAYERS"),
    ("transformers.trainer", "get_parameter_names", "transformers.trainer_pt_utils:get_parameter_names"),
    ("transformers.trainer", "has_length", "transformers.trainer_utils:has_length"),
    ("transformers.trainer", "is_sagemaker_mp_enabled", "transformers.utils:is_sagemaker_mp_enabled"),
    ("transformers.optimization", "AdamW", "torch.optim:AdamW"),
    *(
        ("trl", f"{name}{kind}", f"trl.experimental.{name.lower()}:{name}{kind}")
        for name in ("ORPO", "CPO", "BCO", "PRM", "GKD", "XPO", "OnlineDPO", "NashMD", "PPO")
        for kind in ("Config", "Trainer")
    ),
    ("trl", "setup_chat_format", "trl:clone_chat_template"),
    ("peft", "prepare_model_for_int8_training", "peft:prepare_model_for_kbit_training"),
)
ABSENT_HARDWARE = ("is_torch_tpu_available", "is_torch_npu_available", "is_torch_xla_available")


def install(found: Replacements) -> None:
    """Give the names back that the program's text uses and the installed libraries no longer have."""
    for home, name, now in RENAMED:
        if name in found.text and home.partition(".")[0] in found.text:
            _give_back(home, name, now, found)
    if "get_kbit_device_map" in found.text and "trl" in found.text:
        _without_accelerator("trl", "get_kbit_device_map")
    for home in ("transformers", "transformers.file_utils", "transformers.utils"):
        for name in ABSENT_HARDWARE:
            if name in found.text and not hasattr(module := importlib.import_module(home), name):
                setattr(module, name, lambda *ignored, **options: False)


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
