"""Saving by transformers' Trainer, as far as a project's subclass has methods of its own for it.

`_save_checkpoint` is called on every process, by each step that saves; it calls `save_model`, and that calls `_save` on
those that are to save (transformers/trainer.py: _maybe_log_save_evaluate, _save_checkpoint, save_model).
"""

from __future__ import annotations

import ast

from ..run import names
from ..run.calls import Call
from ..run.comparison import truths
from ..run.values import NONE, TRUE, Class, Object, Value, of, union
from .registry import Framework
from .trainer_callbacks import is_off

METHODS = ("_save_checkpoint", "save_model", "_save")
SHOULD = "should_save"
"""What arguments say of the processes that write."""

framework = Framework("saving of trainers")


def save(call: Call, trainer: Object, model: Object, args: Object) -> None:
    """What the project's subclass does when a checkpoint is due."""
    if _has_own(trainer, METHODS) and not is_off("on_save", args):
        names.call_method(call.it, trainer, "_save_checkpoint", call.site, [of(model), NONE])


@framework.method("trainer", "_get_output_dir")
def output_directory(call: Call) -> Value:
    """The folder of the run, the same for all processes; a search for hyperparameters has one for each trial."""
    assert call.receiver is not None
    return union(_argument(call, args, "output_dir") for args in _settings(call.receiver)) or call.unknown()


@framework.method("trainer", "_save_checkpoint")
def save_checkpoint(call: Call) -> Value:
    """The model to a folder of its own; the optimizer, the schedule and the state of the trainer beside it."""
    assert call.receiver is not None
    if _has_own(call.receiver, METHODS[1:]):
        folder = call.it.unknown("output_dir", call.site)
        names.call_method(call.it, call.receiver, "save_model", call.site, [of(folder)], {"_internal_call": TRUE})
    return NONE


@framework.method("trainer", "save_model")
def save_model(call: Call) -> Value:
    """The model, by the processes that are to save."""
    trainer, it = call.receiver, call.it
    assert trainer is not None
    folder = call.get("output_dir", 0)
    for args in _settings(trainer) if _has_own(trainer, METHODS[2:]) else ():
        for guard, asked in _argument(call, args, SHOULD):
            for decided, truth in truths(it, asked):
                with it.under(guard | decided) as possible:
                    if possible and truth:
                        names.call_method(it, trainer, "_save", call.site, [folder])
    return NONE


def _settings(trainer: Object) -> list[Object]:
    return list(trainer.attributes.get("args", NONE).objects())


def _argument(call: Call, args: Object, name: str) -> Value:
    node = call.site.node
    return names.of_object(call.it, args, name, node) if isinstance(node, ast.expr) else call.unknown()


def _has_own(trainer: Object, methods: tuple[str, ...]) -> bool:
    owner = trainer.type
    return isinstance(owner, Class) and any(names.class_attribute(owner, name) is not None for name in methods)
