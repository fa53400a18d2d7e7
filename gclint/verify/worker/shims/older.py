"""A project written for transformers 4 where 5 is installed: the defaults of 4, and its arguments that are gone.

What changed is in the library's migration guide
(https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md).
"""

from __future__ import annotations

import argparse
import functools
import importlib
import inspect
import re
import sys
from typing import Any

import transformers

from gclint.verify.worker.shims import Replacements

OVERRIDDEN = ("compute_loss", "training_step", "log", "_get_train_sampler", "_save_checkpoint", "get_batch_samples")
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
    for trainer in (transformers.Trainer, transformers.Seq2SeqTrainer):
        trainer.__init__ = _with_processing_class(_fitting_overrides(trainer.__init__))
    parser = transformers.HfArgumentParser
    parser.__init__ = _resolving(parser.__init__)
    parser.parse_known_args = _lenient(parser.parse_known_args)
    parser.parse_args_into_dataclasses = _dropping_options(parser.parse_args_into_dataclasses, found)


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


def _resolving(begin: Any) -> Any:
    """Two of the program's dataclasses may have an option that the older release's arguments did not have."""

    @functools.wraps(begin)
    def begun(self: Any, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("conflict_handler", "resolve")
        begin(self, *args, **kwargs)

    return begun


class _Lenient(argparse.Namespace):
    """What is parsed for two dataclasses that share an option: the first one takes it, the second has its default."""

    def __delattr__(self, name: str) -> None:
        self.__dict__.pop(name, None)


def _lenient(parse: Any) -> Any:
    @functools.wraps(parse)
    def parsed(self: Any, args: Any = None, namespace: Any = None) -> Any:
        return parse(self, args, _Lenient() if namespace is None else namespace)

    return parsed


def _dropping_options(parse: Any, found: Replacements) -> Any:
    """Options of the command line that only the older release has: renamed, else kept as plain attributes."""

    @functools.wraps(parse)
    def parsed(self: Any, args: Any = None, *more: Any, **kwargs: Any) -> Any:
        words = [_renamed(each, self._option_string_actions) for each in (sys.argv[1:] if args is None else args)]
        unknown = self.parse_known_args(list(words))[1]
        left: dict[str, Any] = {}
        for index, word in enumerate(unknown):
            if word.startswith("--"):
                after = unknown[index + 1] if index + 1 < len(unknown) else ""
                left[word[2:].partition("=")[0]] = True if not after or after.startswith("--") else after
        for name in left:
            found.note(f"--{name} is not known to the installed version")
        for word in unknown:
            words.remove(word)
        made = parse(self, words, *more, **kwargs)
        for each in made:
            if isinstance(each, transformers.TrainingArguments):
                for name, value in left.items():
                    object.__setattr__(each, name, value)
        return made

    return parsed


def _renamed(word: str, known: Any) -> str:
    name, equals, value = word.removeprefix("--").partition("=")
    new = RENAMED.get(name, "")
    if word.startswith("--") and f"--{name}" not in known and f"--{new}" in known:
        return f"--{new}{equals}{value}"
    return word


def _fitting_overrides(begin: Any) -> Any:
    """A trainer of the program overrides methods with the parameters that they had: the newer ones are left out."""

    @functools.wraps(begin)
    def begun(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in OVERRIDDEN:
            method, plain = getattr(type(self), name, None), getattr(transformers.Trainer, name, None)
            if method is not None and plain is not None and method is not plain:
                _fit(self, name, method, plain)
        begin(self, *args, **kwargs)

    return begun


def _fit(trainer: Any, name: str, method: Any, plain: Any) -> None:
    taken = inspect.signature(method).parameters
    kinds = {each.kind for each in taken.values()}
    if inspect.Parameter.VAR_KEYWORD in kinds or set(inspect.signature(plain).parameters) <= set(taken):
        return
    count = len(taken) - 1

    @functools.wraps(method)
    def fitted(*args: Any, **kwargs: Any) -> Any:
        return method(trainer, *args[:count], **{key: value for key, value in kwargs.items() if key in taken})

    setattr(trainer, name, fitted)
