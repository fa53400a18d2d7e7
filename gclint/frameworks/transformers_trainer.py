"""transformers: TrainingArguments, and what Trainer does with a model. The sources are those of `transformers.py`."""

from __future__ import annotations

from ..run import names
from ..run.calls import Call
from ..run.events import Loop, TrainerStarted, Wrapped
from ..run.interpreter import Interpreter
from ..run.pages import SPREAD
from ..run.parallel import BY_TRAINER
from ..run.values import FALSE, NONE, NOTHING, TRUE, Class, Const, Function, Object, Value, const, of, replaced, union
from .registry import Framework
from .torch_distributed import unwrapped
from .torch_modules import set_state
from .torch_training import emit_backward
from .trainer_callbacks import AFTER, AT_END, BEFORE, call_back
from .trainer_saving import save
from .transformers import enable_checkpointing, reentrant_of

framework = Framework("transformers.trainer")

STEPS = ("training_step", "compute_loss")
# trainers whose step is one forward of what the data set gives (transformers, trl: no pairs, no rollouts)
PLAIN_TRAINERS = ("Trainer", "Seq2SeqTrainer", "SFTTrainer")


# TrainingArguments


@framework.function("transformers:TrainingArguments", "transformers:Seq2SeqTrainingArguments")
def training_arguments(call: Call) -> Value:
    """The settings of a Trainer; both spellings of the checkpointing ones under the older name."""
    made = call.make("training_args", call.name)
    record_arguments(made, call)
    return of(made)


def record_arguments(made: Object, call: Call) -> None:
    """Keep the keyword arguments of a settings class, and where they stand."""
    for name, value in call.keywords.items():
        older = name.replace("activation_checkpointing", "gradient_checkpointing")
        made.attributes[older] = value
        made.sites[older] = call.place(name)
    if SPREAD in call.places:
        made.sites[SPREAD] = call.places[SPREAD]
    made.open = made.open or call.open
    made.site = made.site or call.site


DEFAULTS: dict[str, Value] = {
    "gradient_checkpointing": FALSE,
    "gradient_checkpointing_kwargs": NONE,
    "ddp_find_unused_parameters": NONE,
    "ddp_static_graph": NONE,
    "gradient_accumulation_steps": const(1),
    "fp16": FALSE,
    "bf16": FALSE,
    "deepspeed": NONE,
    "fsdp": NONE,
    "fsdp_config": NONE,
}


def argument(args: Object, name: str) -> Value:
    """A training argument: as given, else its default; nothing when an unresolved `**` may give it."""
    held = args.attributes.get(name)
    default = args.state.get(f"default:{name}", DEFAULTS.get(name, NONE))
    if held is not None:
        return replaced(held, default)
    return NOTHING if args.open else default


@framework.attribute("training_args", *DEFAULTS)
def asked_argument(it: Interpreter, args: Object, name: str, node: object) -> Value | None:
    """A training argument that the program reads: asking for one that is not given does not give it."""
    return None if args.open or name in args.attributes else argument(args, name)


# Trainer


@framework.function("transformers:Trainer", "transformers:Seq2SeqTrainer")
def make_trainer(call: Call) -> Value:
    """Trainer(model=..., args=...)."""
    made = call.make("trainer", call.name)
    made.attributes["model"] = call.get("model", 0)
    made.attributes["args"] = call.get("args", 1)
    if call.gives("processing_class", 5):
        made.attributes["processing_class"] = call.get("processing_class", 5)
    for name, value in call.keywords.items():
        made.attributes.setdefault(name, value)
    made.sites.update(call.places)
    made.site = made.site or call.site
    made.open = made.open or call.open
    return of(made)


@framework.method("trainer", "train")
def train(call: Call) -> Value:
    """trainer.train(): checkpointing, wrapping and the loop, as the arguments say."""
    assert call.receiver is not None
    start(call, call.receiver)
    return call.unknown()


def start(call: Call, trainer: Object) -> None:
    """What transformers' Trainer does to its model before and in its loop."""
    it = call.it
    models = unwrapped(trainer.attributes.get("model", NOTHING))
    settings = trainer.attributes.get("args", NOTHING)
    found = []
    for guard, model in models.possible(it.guard):
        if not isinstance(model, Object):
            continue
        if model.kind == "unknown":
            model.kind = "model"
        with it.under(guard) as possible:
            if possible:
                found.append(model)
                _apply(call, trainer, model, settings)
    it.emit(TrainerStarted(it.moment(site=call.site), trainer, tuple(found)))


def _apply(call: Call, trainer: Object, model: Object, settings: Value) -> None:
    it = call.it
    for guard, args in settings.possible(it.guard):
        if not isinstance(args, Object) or args.kind != "training_args":
            continue
        with it.under(guard) as possible:
            if possible:
                _train(call, trainer, model, args)


def _train(call: Call, trainer: Object, model: Object, args: Object) -> None:
    it = call.it
    _checkpoint_by_arguments(it, model, args)
    _wrap_by_arguments(call, model, args)
    set_state(it, model, "training", TRUE, FALSE)
    call_back(call, trainer, model, args, BEFORE)
    own_steps(call, trainer, model)
    it.loops.append(Loop(call.site.node))
    save(call, trainer, model, args)
    call_back(call, trainer, model, args, AFTER)
    it.loops.pop()
    call_back(call, trainer, model, args, AT_END)


def own_steps(call: Call, trainer: Object, model: Object) -> None:
    """Walk the steps that the project's subclass of a trainer has of its own, and the forward that its class of a model
    has, with the model as it is wrapped.
    """
    owner = trainer.type
    steps = isinstance(owner, Class) and any(names.class_attribute(owner, name) for name in STEPS)
    if not steps and not (trainer.is_a(*PLAIN_TRAINERS) and _own_forwards(of(model))):
        return
    it = call.it
    held = model.state.get("ddp", NONE) if steps else NONE
    wrapped = Value((guard, item if isinstance(item, Object) else model) for guard, item in held)
    batch = it.new("data", "", "inputs", call.site)
    batch.state["grad"] = FALSE
    it.loops.append(Loop(call.site.node))
    names.call_method(it, trainer, "training_step", call.site, [wrapped, of(batch)])
    it.loops.pop()


def _own_forwards(models: Value) -> list[Function]:
    """The forwards that classes of the project give these models."""
    owners = [item.type for item in unwrapped(models).objects() if isinstance(item.type, Class)]
    held = [names.class_attribute(owner, "forward") for owner in owners]
    return [item for value in held if value is not None for _, item in value if isinstance(item, Function)]


@framework.method("trainer", "training_step")
def training_step(call: Call) -> Value:
    """Trainer's own step: compute_loss, then backward; the loss that it gives is detached (transformers/trainer.py)."""
    assert call.receiver is not None
    given = [call.get("model", 0), call.get("inputs", 1)]
    loss = names.call_method(call.it, call.receiver, "compute_loss", call.site, given)
    emit_backward(call, loss)
    return of(call.it.derived(call.site, [loss]))


@framework.method("trainer", "compute_loss")
def compute_loss(call: Call) -> Value:
    """The loss of one forward."""
    model, inputs = call.get("model", 0), call.get("inputs", 1)
    own = _own_forwards(model)
    given = {} if not own else _columns(call, own[0])
    forward = Call(call.it, call.site, "forward", [] if given else [inputs], given)
    return of(call.it.derived(call.site, [call.it.call(model, forward)]))


def _columns(call: Call, forward: Function) -> dict[str, Value]:
    """What `model(**inputs)` gives a forward: a column for each parameter that it has to get, and for each that is None
    otherwise one that may be there. No gradient flows to them.
    """
    found: dict[str, Value] = {}
    for param in [*forward.node.args.args[1:], *forward.node.args.kwonlyargs]:
        default = forward.defaults.get(param.arg)
        if default is not None and default.constant() is not None:
            continue
        made = call.it.new("data", "", param.arg, call.site) if default is None else call.it.unknown(param.arg)
        made.state["grad"] = FALSE
        found[param.arg] = of(made)
    return found


def _checkpoint_by_arguments(it: Interpreter, model: Object, args: Object) -> None:
    from ..run.comparison import truths

    if "unsloth" in model.state:
        return  # its own flag decides (unsloth/models/_utils.py)
    for guard, item in argument(args, "gradient_checkpointing"):
        for decided, truth in truths(it, item) if args.site else ():
            if not truth:
                continue
            with it.under(guard | decided) as possible:
                if possible:
                    _enable_by_arguments(it, model, args)


def _enable_by_arguments(it: Interpreter, model: Object, args: Object) -> None:
    kwargs = argument(args, "gradient_checkpointing_kwargs")
    reentrant = args.state.get("reentrant_default")
    value = reentrant_of(it, kwargs)
    if reentrant is not None:
        value = union(
            reentrant.under(guard) if item == Const(None) else reentrant_of(it, Value([(guard, item)]))
            for guard, item in kwargs
        )
    value = args.state.get("reentrant_forced", value)
    place = args.sites.get("gradient_checkpointing", args.site)
    if place is None:
        return
    made = enable_checkpointing(it, model, value, place, "arguments")
    made.attributes["kwargs"], made.attributes["args"] = kwargs, of(args)
    if "gradient_checkpointing_kwargs" in args.sites:
        made.sites["kwargs"] = args.sites["gradient_checkpointing_kwargs"]


def _wrap_by_arguments(call: Call, model: Object, args: Object) -> None:
    """DDP on more than one process, with find_unused_parameters as Trainer picks it when it is unset."""
    from .deepspeed import remember
    from .sharding import PLAIN_DDP, remember_launched

    it = call.it
    if any(item not in (Const(None), Const("")) for _, item in argument(args, "deepspeed")):
        remember(call, model, argument(args, "deepspeed"))
        return
    remember_launched(call, model)
    if any(item not in (Const(None), Const(""), Const(False)) for _, item in argument(args, "fsdp")):
        return
    with it.under(PLAIN_DDP) as possible:
        if not possible:
            return
        made = it.new("ddp", "torch.nn.parallel.DistributedDataParallel", BY_TRAINER, args.site)
        made.attributes["module"] = of(model)
        made.attributes["args"] = of(args)
        picked = argument(args, "ddp_find_unused_parameters")
        made.state["find_unused"] = union(
            _picked_find_unused(model).under(guard) if item == Const(None) else Value([(guard, item)])
            for guard, item in picked
        )
        made.state["picked"] = const(bool(picked.is_const(None)))
        made.state["static_graph"] = replaced_none(argument(args, "ddp_static_graph"), FALSE)
        made.state["accumulation"] = argument(args, "gradient_accumulation_steps")
        set_state(it, model, "ddp", of(made), const(None))
        it.emit(Wrapped(it.moment(site=call.site), model, made))


def replaced_none(value: Value, default: Value) -> Value:
    """The default where the value is None."""
    return union(default.under(guard) if item == Const(None) else Value([(guard, item)]) for guard, item in value)


def _picked_find_unused(model: Object) -> Value:
    """True for a PeftModel or a plain nn.Module; else the opposite of whether the model checkpoints.

    What a library picks in its place is the model's `picked_find_unused`.
    """
    parts = []
    for guard, item in model.state.get("adapter", NONE):
        if isinstance(item, Object):
            parts.append(model.state.get("picked_find_unused", TRUE).under(guard))
            continue
        if model.kind != "model":
            parts.append(TRUE.under(guard))
            continue
        for inner, held in model.state.get("checkpointing", FALSE):
            parts.append(const(not isinstance(held, Object)).under(guard | inner))
    return union(parts)
