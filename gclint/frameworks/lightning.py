"""Lightning: modules, and what Trainer.fit does with them.

From 2.2 on `fit` leaves the modules in the mode they are in; before, it put all of them into training mode
(loops/fit_loop.py of 2.1.4, 2.2.0 and 2.6.6).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..run import names
from ..run.calls import Call
from ..run.events import GradientsCleared, Loop, OptimizerStep, StateDictLoaded
from ..run.guards import ALWAYS, Guard, all_of, either
from ..run.interpreter import Interpreter
from ..run.invocation import instantiate
from ..run.values import FALSE, NONE, TRUE, Class, Const, Function, Object, Value, const, of, union
from .lightning_strategies import started, wrap
from .registry import Framework
from .settings import with_settings
from .torch_modules import run_forward
from .torch_parameters import mark_trainable
from .torch_states import set_mode
from .torch_training import emit_backward
from .trainer_callbacks import callbacks_of
from .transformers import at_least

PACKAGES = ("lightning", "pytorch_lightning")

OPTIMIZERS = "optimizers"
"""The fact of a module that steps itself: what its `configure_optimizers` gave."""

BEFORE_TRAINING = ("on_fit_start", "on_train_start")
"""What modules and callbacks may do between `configure_optimizers` and the first step (trainer/trainer.py of 2.6)."""

framework = Framework(
    "lightning",
    kinds={"lightning_module": "module"},
    bases={f"{top}:LightningModule": "lightning_module" for top in PACKAGES},
)


@framework.function(*(f"{top}:LightningModule" for top in PACKAGES))
def make_module(call: Call) -> Value:
    """A LightningModule's own constructor."""
    return of(call.make("lightning_module"))


@framework.function(*(f"{top}:load_from_checkpoint" for top in PACKAGES))
def load_from_checkpoint(call: Call) -> Value | None:
    """A module of a class of the project, made of what its file says and filled from it, in the mode in which it is
    made (lightning/pytorch/core/saving.py).
    """
    if call.owner is None:
        return None
    made = instantiate(call.it, call.owner, Call(call.it, call.site, call.owner.name, open=True))
    file = call.it.new("dict", "checkpoint_file", "", call.site)
    file.entries, file.open, file.attributes["path"] = {}, True, call.get("checkpoint_path", 0)
    moment = call.it.moment(site=call.site)
    call.it.emit(StateDictLoaded(moment, made, of(file), call.get("strict", None, TRUE)))
    return made


@framework.method("lightning_module", "freeze", "unfreeze")
def freeze(call: Call) -> Value:
    """Nothing trains, in evaluation mode; everything does, in training mode (lightning/pytorch/core/module.py)."""
    assert call.receiver is not None
    trains = call.last == "unfreeze"
    mark_trainable(call.it, call.receiver, "all" if trains else "none", call.site)
    set_mode(Call(call.it, call.site, f"lightning_module.{'train' if trains else 'eval'}", receiver=call.receiver))
    return NONE


@framework.function(*(f"{top}:Trainer" for top in PACKAGES))
def make_trainer(call: Call) -> Value:
    """The trainer and its settings."""
    made = with_settings(call, "lightning_trainer")
    made.site = call.site
    return of(made)


@framework.function(*(f"{top}:add_argparse_args" for top in PACKAGES))
def add_options(call: Call) -> Value:
    """The parser with an option more for each setting of a trainer or a data module, before 2.0."""
    parsers = call.get("parent_parser", 0)
    for parser in parsers.objects():
        parser.open = True
    return parsers


@framework.function(*(f"{top}:from_argparse_args" for top in PACKAGES))
def make_trainer_of_options(call: Call) -> Value | None:
    """A trainer whose settings are the options that are called like them, and what is given besides, before 2.0."""
    if call.name.split(".")[-2] != "Trainer":
        return None
    held = [(name, value) for item in call.get("args", 0).objects() for name, value in item.attributes.items()]
    settings = {**dict(held), **call.keywords}
    settings.pop("args", None)
    return make_trainer(Call(call.it, call.site, call.name, [], settings, places=call.places))


@framework.method("lightning_trainer", "fit")
def fit(call: Call) -> Value:
    """The module's `setup`, its wrapping, configure_optimizers, then training_step and backward for every batch."""
    it, trainer = call.it, call.receiver
    assert trainer is not None
    with started(it, trainer):
        for module in call.get("model", 0).objects():
            if isinstance(module.type, Class):
                _modes(call, module)
                _hook(call, trainer, module, "setup", [const("fit")])
                wrap(call, trainer, module, trainer.attributes.get("accumulate_grad_batches", const(1)))
                _train(call, trainer, module)
    return NONE


def _hook(call: Call, trainer: Object, module: Object, name: str, given: Sequence[Value] = ()) -> None:
    """A hook of each callback of the project's own, and then of the module (lightning/pytorch/trainer/call.py)."""
    for guard, callback in callbacks_of(call, trainer):
        with call.it.under(guard) as possible:
            if possible and isinstance(callback.type, Class):
                _run(call.it, callback, name, call, [of(trainer), of(module), *given])
    _run(call.it, module, name, call, list(given))


def _train(call: Call, trainer: Object, module: Object) -> None:
    it = call.it
    optimizers = _run(it, module, "configure_optimizers", call, [])
    given = [of(_batch(call)), of(it.unknown("batch_idx", call.site))]
    for hook in BEFORE_TRAINING:
        _hook(call, trainer, module, hook)
    it.loops.append(Loop(call.site.node))
    _hook(call, trainer, module, "on_train_epoch_start")
    if module.attributes.get("automatic_optimization", TRUE).constant() is False:
        module.state[OPTIMIZERS] = optimizers
        _run(it, module, "training_step", call, given)
        it.loops.pop()
        return
    loss = _forward(call, module, given)
    entries = [value for item in loss.objects() for key, value in (item.entries or {}).items() if key == "loss"]
    _backward(call, union(entries) if entries else loss)
    held: dict[Object, list[Guard]] = {}
    for optimizer, guard in _optimizers(optimizers):
        held.setdefault(optimizer, []).append(guard)
    for event in OptimizerStep, GradientsCleared:
        for optimizer, guards in held.items():
            with it.under(either(guards)) as possible:
                if possible:
                    it.emit(event(it.moment(site=call.site), optimizer))
    it.loops.pop()


def _backward(call: Call, loss: Value) -> None:
    """The backward, which is left out where a step gives None (lightning/pytorch/loops/optimization/automatic.py)."""
    given = Value([pair for pair in loss if pair[1] != Const(None)])
    sometimes = len(given.alternatives) < len(loss.alternatives)
    with call.it.under(either([guard for guard, _ in given]) if sometimes else ALWAYS) as possible:
        if possible and given:
            emit_backward(call, given)


def _forward(call: Call, module: Object, given: list[Value]) -> Value:
    """training_step, which is the forward of what DDP wraps."""
    assert isinstance(module.type, Class)
    held = names.class_attribute(module.type, "training_step")
    if held is None:
        return NONE
    bound = Value((guard, item.bound(module) if isinstance(item, Function) else item) for guard, item in held)
    result = run_forward(Call(call.it, call.site, "training_step", given), module, bound)
    result = result if result is not None else call.unknown()
    for item in result.objects():
        for entry in [part for value in (item.entries or {}).values() for part in value.objects()]:
            entry.origins |= item.origins
    return result


@framework.method("lightning_module", "manual_backward")
def manual_backward(call: Call) -> Value:
    """self.manual_backward(loss)."""
    emit_backward(call, call.get("loss", 0))
    return NONE


@framework.method("lightning_module", "optimizers")
def own_optimizers(call: Call) -> Value | None:
    """self.optimizers() where the code steps itself: what `configure_optimizers` made, one by itself, several as a list
    (lightning/pytorch/core/module.py).
    """
    assert call.receiver is not None
    found = list(_optimizers(call.receiver.known(OPTIMIZERS)))
    if not found or any(guard - call.it.guard for _, guard in found):
        return None
    if len(found) == 1:
        return of(found[0][0])
    made = call.make("list", "")
    made.items = [of(optimizer) for optimizer, _ in found]
    return of(made)


@framework.method("lightning_module", "save_hyperparameters")
def save_hyperparameters(call: Call) -> Value:
    """self.hparams gets what the constructor was given."""
    assert call.receiver is not None
    made = call.it.new("namespace", "hparams", "hparams", call.site)
    made.open = True
    made.attributes.update(
        {name: value for name, value in call.it.scope.names.items() if call.receiver not in value.objects()}
    )
    made.attributes.update(call.keywords)
    call.receiver.attributes["hparams"] = of(made)
    return NONE


def _modes(call: Call, module: Object) -> None:
    old = all(
        call.run.targets[name].origin not in ("newest", "unknown") and not at_least(call.it, name, "2.2")
        for name in ("lightning",)
    ) or (
        call.run.targets["pytorch-lightning"].origin not in ("newest", "unknown")
        and not at_least(call.it, "pytorch-lightning", "2.2")
    )
    if old:
        set_mode(Call(call.it, call.site, "lightning_module.train", receiver=module))


def _batch(call: Call) -> Object:
    made = call.it.new("data", "", "batch", call.site)
    made.state["grad"] = FALSE
    return made


def _run(it: Interpreter, module: Object, name: str, call: Call, given: list[Value]) -> Value:
    assert isinstance(module.type, Class)
    held = names.class_attribute(module.type, name)
    if held is None:
        return NONE
    bound = Value((guard, item.bound(module) if isinstance(item, Function) else item) for guard, item in held)
    return it.call(bound, Call(it, call.site, name, given))


def _optimizers(value: Value, depth: int = 3) -> Iterator[tuple[Object, Guard]]:
    """Each optimizer in what `configure_optimizers` returned, with a guard under which it is there."""
    for guard, item in value:
        if not isinstance(item, Object):
            continue
        if item.kind == "optimizer":
            yield item, guard
        elif depth:
            for part in [*(item.items or []), *(item.entries or {}).values()]:
                for optimizer, under in _optimizers(part, depth - 1):
                    both = all_of((guard, under))
                    if both is not None:
                        yield optimizer, both
