"""Callbacks of the user's that transformers' Trainer calls: `callbacks=[...]`, `add_callback`.

Each hook is given args, state and control, and model, tokenizer, optimizer, schedule and loaders by name, on every
process (transformers/trainer_callback.py, CallbackHandler.call_event).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..run import names
from ..run.calls import Call
from ..run.guards import Guard
from ..run.values import NONE, NOTHING, Class, Object, Value, of
from .registry import Framework

BEFORE = ("on_train_begin", "on_epoch_begin", "on_step_begin")
AFTER = ("on_step_end", "on_log", "on_evaluate", "on_save", "on_epoch_end")
AT_END = ("on_train_end",)
ASKED = {"on_evaluate": ("eval_strategy", "evaluation_strategy"), "on_save": ("save_strategy",)}
"""The hooks that are not called where one of these arguments is "no", as the first is unless it is given."""
NEVER = "no"
UNKNOWN = ("optimizer", "lr_scheduler", "train_dataloader", "eval_dataloader")
MORE = {"on_log": ("logs",), "on_evaluate": ("metrics",)}
"""What each hook is given by name that is not known, and what single ones are."""

framework = Framework("trainer callbacks")


@framework.method("trainer", "add_callback")
def add_callback(call: Call) -> Value:
    """trainer.add_callback(callback), an object or its class."""
    assert call.receiver is not None
    added = call.receiver.state.get("callbacks", NOTHING)
    call.receiver.state["callbacks"] = Value((*added, *call.get("callback", 0).under(call.it.guard)))
    return NONE


def call_back(call: Call, trainer: Object, model: Object, args: Object, hooks: Iterable[str]) -> None:
    """Walk these hooks of each callback whose class is the project's."""
    it = call.it
    for guard, callback in callbacks_of(call, trainer):
        with it.under(guard) as possible:
            for hook in hooks if possible else ():
                if is_off(hook, args):
                    continue
                if isinstance(callback.type, Class) and names.class_attribute(callback.type, hook) is not None:
                    told = [of(args), *(of(it.unknown(name, call.site)) for name in ("state", "control"))]
                    names.call_method(it, callback, hook, call.site, told, _named(call, hook, trainer, model))


def is_off(hook: str, args: Object) -> bool:
    """Whether the arguments say that a hook is never called."""
    given = [args.attributes[name] for name in ASKED.get(hook, ()) if name in args.attributes]
    by_default = hook == "on_evaluate" and not args.open
    return any(value.constant() == NEVER for value in given) if given else by_default


def _named(call: Call, hook: str, trainer: Object, model: Object) -> dict[str, Value]:
    tokenizer = trainer.attributes.get("processing_class", trainer.attributes.get("tokenizer", NONE))
    given = {"model": of(model), "tokenizer": tokenizer, "processing_class": tokenizer}
    return given | {name: of(call.it.unknown(name, call.site)) for name in (*UNKNOWN, *MORE.get(hook, ()))}


def callbacks_of(call: Call, trainer: Object) -> Iterator[tuple[Guard, Object]]:
    """The callbacks, each with the guard under which there is one; a class is called as the Trainer does."""
    listed = trainer.attributes.get("callbacks", NOTHING).possible(call.it.guard)
    held = [value for _, item in listed if isinstance(item, Object) for value in item.items or ()]
    for value in (*held, trainer.state.get("callbacks", NOTHING)):
        for guard, item in value:
            if isinstance(item, Class):
                made = call.it.call(of(item), Call(call.it, call.site, item.name, []))
                yield from ((guard, each) for each in made.objects())
            elif isinstance(item, Object):
                yield guard, item
