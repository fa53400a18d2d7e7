"""A project written for transformers 4 where 5 is installed: the defaults of 4, and its arguments that are gone.

What changed is in the library's migration guide
(https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md).
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from typing import Any

import transformers

from gclint.verify.worker.shims import Replacements

RENAMED = {"evaluation_strategy": "eval_strategy", "use_mps_device": "use_cpu", "no_cuda": "use_cpu"}


def older_target(target: dict[str, str]) -> bool:
    """Whether the project asks for transformers 4 where 5 or later is installed."""
    asked, installed = target.get("transformers", ""), transformers.__version__
    return asked.startswith("4.") and int(installed.split(".")[0]) >= 5


def install(found: Replacements, target: dict[str, str]) -> None:
    """Spell out the defaults of the version that the project asks for, and drop the arguments it alone knows."""
    if not older_target(target):
        return
    _reentrant_by_default(found, target["transformers"])
    for kind in (transformers.TrainingArguments, transformers.Seq2SeqTrainingArguments, *_of_trl(found)):
        kind.__init__ = _dropping(kind.__init__, found)
    transformers.Trainer.__init__ = _with_processing_class(transformers.Trainer.__init__)


def _reentrant_by_default(found: Replacements, version: str) -> None:
    begin = transformers.TrainingArguments.__post_init__
    enable = transformers.PreTrainedModel.gradient_checkpointing_enable

    def begun(arguments: Any) -> None:
        if arguments.gradient_checkpointing and not arguments.gradient_checkpointing_kwargs:
            arguments.gradient_checkpointing_kwargs = {"use_reentrant": True}
            found.note(f"checkpointing is reentrant, the default of transformers {version}")
        begin(arguments)

    @functools.wraps(enable)
    def enabled(model: Any, gradient_checkpointing_kwargs: Any = None, *args: Any, **kwargs: Any) -> Any:
        if gradient_checkpointing_kwargs is None:
            gradient_checkpointing_kwargs = {"use_reentrant": True}
            found.note(f"checkpointing is reentrant, the default of transformers {version}")
        return enable(model, gradient_checkpointing_kwargs, *args, **kwargs)

    transformers.TrainingArguments.__post_init__ = begun
    transformers.PreTrainedModel.gradient_checkpointing_enable = enabled


def _of_trl(found: Replacements) -> list[Any]:
    names = set(re.findall(r"\b(?:SFT|DPO|ORPO|CPO|KTO|GRPO|Reward)Config\b", found.text))
    if not names:
        return []
    try:
        trl = importlib.import_module("trl")
    except ImportError:
        return []
    return [getattr(trl, name) for name in sorted(names) if hasattr(trl, name)]


def _dropping(begin: Any, found: Replacements) -> Any:
    known = set(inspect.signature(begin).parameters)

    @functools.wraps(begin)
    def begun(self: Any, *args: Any, **kwargs: Any) -> None:
        for old, new in RENAMED.items():
            if old in kwargs and old not in known and new in known:
                kwargs[new] = kwargs.pop(old)
        for name in [name for name in kwargs if name not in known]:
            found.note(f"{type(self).__name__}: {name} is not known to the installed version")
            del kwargs[name]
        begin(self, *args, **kwargs)

    return begun


def _with_processing_class(begin: Any) -> Any:
    known = set(inspect.signature(begin).parameters)

    @functools.wraps(begin)
    def begun(self: Any, *args: Any, **kwargs: Any) -> None:
        if "tokenizer" in kwargs and "tokenizer" not in known:
            kwargs["processing_class"] = kwargs.pop("tokenizer")
        begin(self, *args, **kwargs)

    return begun
