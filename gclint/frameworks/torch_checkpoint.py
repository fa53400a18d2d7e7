"""torch.utils.checkpoint: regions that are recomputed in backward, and the models that have them."""

from __future__ import annotations

from ..ir.syntax import Site
from ..run.calls import Call
from ..run.events import CheckpointCall, ForwardPatched, LibraryCall
from ..run.interpreter import Interpreter
from ..run.names import class_attribute
from ..run.regions import BEGUN
from ..run.values import FALSE, NOTHING, TRUE, Class, Function, Object, Value, assigned, const, of, root, union
from .registry import Framework

framework = Framework("torch.checkpoint")


def checkpointing_object(it: Interpreter, site: Site, by: str, reentrant: Value) -> Object:
    """Checkpointing as a fact about a model: what turned it on, where, and whether it is reentrant."""
    made = it.new("checkpointing", by, "", site)
    made.attributes["reentrant"] = reentrant
    return made


def turn_on(it: Interpreter, model: Object, checkpointing: Object) -> None:
    """A model checkpoints from here on, under the current guard; beside what it did before."""
    held = model.state.get("checkpointing", FALSE)
    made = assigned(it.guard - it.run.assumed, of(checkpointing), held)
    model.state["checkpointing"] = union(
        [
            made,
            Value(
                (guard, item) for guard, item in held if isinstance(item, Object) and item.type != checkpointing.type
            ),
        ]
    )


# Checkpointing


CHECKPOINT_OPTIONS = (
    "function",
    "functions",
    "segments",
    "input",
    "use_reentrant",
    "preserve_rng_state",
    "context_fn",
    "determinism_check",
    "debug",
    "early_stop",
)


@framework.function("torch.utils.checkpoint.checkpoint", "torch.utils.checkpoint.checkpoint_sequential")
def checkpoint(call: Call) -> Value:
    """A region is recomputed in backward; the module whose forward runs checkpoints."""
    it = call.it
    sequential = call.last == "checkpoint_sequential"
    skip = 2 if sequential else 1
    reentrant = call.get("use_reentrant", None, NOTHING if not call.open else of(it.unknown("**")))
    function = call.get("functions" if sequential else "function", 0)
    arguments = tuple(call.positional[skip:])
    announce(it, CheckpointCall(it.moment(site=call.site), call, function, arguments, reentrant, sequential))
    passed = {name: value for name, value in call.keywords.items() if name not in CHECKPOINT_OPTIONS}
    inner = Call(it, call.site, "checkpointed", list(arguments), passed, call.open, dict(call.places))
    return it.call(function, inner)


@framework.function("torch.utils.checkpoint.CheckpointFunction.apply")
def reentrant_function(call: Call) -> Value:
    """CheckpointFunction.apply(function, preserve_rng_state, *args): what checkpoint() does where it is reentrant."""
    it = call.it
    function, arguments = call.get("run_function", 0), tuple(call.positional[2:])
    announce(it, CheckpointCall(it.moment(site=call.site), None, function, arguments, TRUE))
    return it.call(function, Call(it, call.site, "checkpointed", list(arguments), {}, call.open))


@framework.decorator("torch.utils.checkpoint.checkpoint")
def checkpoint_decorator(call: Call) -> Value:
    """`@checkpoint`: the function is called at once; what it was stays known, so that the walk goes on."""
    name = f"@{call.name}"
    call.it.emit(LibraryCall(call.it.moment(site=call.site), name, call, call.positional[0]))
    return call.positional[0]


def announce(it: Interpreter, event: CheckpointCall) -> None:
    """A region begins: the models whose forward is running checkpoint from here on."""
    it.run.facts.setdefault(BEGUN, {}).setdefault(event.site.node_id, []).append((len(it.run.events), event))
    it.emit(event)
    region = checkpointing_object(it, event.site, "call", event.reentrant or TRUE)
    if event.call is None:
        region.state["takes_no_options"] = TRUE
    for item in it.forwards:
        turn_on(it, root(item), region)


@framework.setter("module", "forward")
@framework.setter("unknown", "forward")
def probe_patched_forward(it: Interpreter, item: Object, value: Value, node: object) -> None:
    """A replaced forward is walked once, with arguments nobody knows, to see whether it checkpoints."""
    if item in it.forwards:
        return
    held, it.expression_statement = it.expression_statement, None
    it.forwards.append(item)
    site = it.site(node)  # type: ignore[arg-type]
    before = len(it.run.events)
    try:
        it.call(value, Call(it, site, "forward", [of(it.unknown("x", site))]))
    finally:
        it.forwards.pop()
        it.expression_statement = held
    again = "forward" in item.attributes and item.known("checkpointed_forward").constant() is True
    made = () if _is_of_its_class(item, value) else it.run.events[before:]
    regions = sum(isinstance(event, CheckpointCall) for event in made)
    item.state["checkpointed_before"] = const(again and regions > 1)
    item.state["checkpointed_forward"] = const(regions > 0)


def _is_of_its_class(item: Object, value: Value) -> bool:
    """Whether a forward is the one that the module has from its class, such as `torch.compile` gives it."""
    own = class_attribute(item.type, "forward") if isinstance(item.type, Class) else None
    functions = {each.node for _, each in own or () if isinstance(each, Function)}
    return all(isinstance(each, Function) and each.node in functions for _, each in value)


@framework.attribute("module", "__dict__")
def instance_dict(it: Interpreter, item: Object, name: str, node: object) -> Value | None:
    """The names set on a module itself, a patched forward among them."""
    made = it.new("instance_dict", "", "__dict__")
    made.attributes["of"] = of(item)
    return of(made)


@framework.method("instance_dict", "pop")
def forget_patch(call: Call) -> Value:
    """`module.__dict__.pop("forward")` gives a module back the forward of its class."""
    assert call.receiver is not None
    held: list[Value] = []
    key = call.get("", 0).constant()
    for item in call.receiver.attributes["of"].objects():
        for target in (event.target for event in call.run.of_type(ForwardPatched)):
            if root(target) is root(item) and key in target.attributes:
                held.append(target.attributes.pop(key))
                call.it.emit(ForwardPatched(call.it.moment(site=call.site), target, NOTHING))
    return union(held) if held else call.unknown()
