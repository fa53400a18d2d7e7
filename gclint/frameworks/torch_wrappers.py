"""torch.distributed's checkpoint wrappers: modules that checkpoint what they hold."""

from __future__ import annotations

from ..run.calls import Call
from ..run.events import CheckpointCall
from ..run.interpreter import Interpreter
from ..run.values import FALSE, NONE, Const, External, Object, Partial, Value, const, of, union
from .registry import Framework
from .torch_checkpoint import announce, checkpointing_object, turn_on
from .torch_modules import promote

framework = Framework("torch.wrappers", kinds={"checkpointed": "module"})


@framework.function("torch:checkpoint_wrapper")
def make_wrapper(call: Call) -> Value:
    """A module that recomputes the one it holds in backward; its state dict keeps the plain names."""
    made = call.make("checkpointed", "torch.CheckpointWrapper")
    inner = call.get("module", 0)
    made.attributes["_checkpoint_wrapped_module"] = inner
    made.attributes.update({name: value for name, value in call.keywords.items() if name != "module"})
    made.state["reentrant"] = reentrant_of(call.get("checkpoint_impl", 1, NONE))
    made.sites["wrapped"] = call.site
    call.run.facts.setdefault("wrapped_layers", []).append(made)
    for part in inner.objects():
        made.parent = made.parent or part.parent
        part.parent = made
    return of(made)


def reentrant_of(variant: Value) -> Value:
    """Whether a CheckpointImpl is the reentrant one; left out, it is not."""
    parts = []
    for guard, item in variant:
        if isinstance(item, External):
            parts.append(const(item.name.rsplit(".", 1)[-1] == "REENTRANT").under(guard))
        else:
            parts.append(FALSE.under(guard))
    return union(parts)


@framework.calling("checkpointed")
def call_wrapped(call: Call) -> Value | None:
    """The inner module's forward, as a checkpointed region."""
    it, item = call.it, call.receiver
    assert item is not None
    inner, place = item.attributes["_checkpoint_wrapped_module"], item.sites["wrapped"]
    moment, given = it.moment(site=place), tuple(call.positional)
    announce(it, CheckpointCall(moment, None, inner, given, item.state["reentrant"]))
    again = Call(it, place, "checkpointed", call.positional, call.keywords, call.open, call.places)
    return it.call(inner, again)


@framework.function("torch:apply_activation_checkpointing")
def wrap_layers(call: Call) -> Value:
    """Submodules of a model are replaced by checkpointing wrappers, in place; gives nothing back."""
    wrapper = call.get("checkpoint_wrapper_fn", 1, NONE).only()
    variant = wrapper.keywords.get("checkpoint_impl", NONE) if isinstance(wrapper, Partial) else NONE
    keywords = wrapper.keywords if isinstance(wrapper, Partial) else {}
    for model in call.get("model", 0).objects():
        wrap(call.it, model, call, reentrant_of(variant), keywords)
    return of(Const(None))


def wrap(it: Interpreter, model: Object, call: Call, reentrant: Value, keywords: dict[str, Value]) -> None:
    """Record that layers of a model are wrapped, and how."""
    promote(model)
    held = checkpointing_object(it, call.site, "wrapper", reentrant)
    held.attributes.update(keywords)
    model.sites["layers_wrapped"] = call.site
    turn_on(it, model, held)
