"""Recipes out of analysed runs: what a worker has to do to live through the same moments.

A run leaves conditions open; the recipe is the way on which a finding was made, `chosen`. Everything comes from
the events of the run and the facts about its model, nothing from the rule that asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gclint.frameworks.deepspeed import stage
from gclint.run import events as ev
from gclint.run.guards import ALWAYS, DISTRIBUTED, Guard, conj
from gclint.run.parallel import models_of
from gclint.run.run import Run
from gclint.run.values import FALSE, NONE, NOTHING, Const, Function, Object, Partial, Value, root
from gclint.verify import moments as mo
from gclint.verify.recipe import Recipe
from gclint.verify.rounds import rounds
from gclint.verify.specs import environment_of, model_spec

PACKAGES = ("torch", "transformers", "peft", "accelerate", "trl")


def trained_models(run: Run) -> list[Object]:
    """The models that get gradients in a run, in order."""
    found: dict[Object, None] = {}
    for event in run.of_type(ev.TrainerStarted, ev.Backward):
        if isinstance(event, ev.TrainerStarted):
            found.update(dict.fromkeys(event.models))
        else:
            found.update({item.attributes["of"].objects()[0]: None for item in event.forwards})
    return list(found)


def recipe_of(run: Run, model: Object, chosen: Guard = ALWAYS, title: str = "") -> Recipe:
    """The recipe of a model's training in a run, on the way that `chosen` names."""
    way = _Way(run, model, chosen | run.assumed)
    listed = tuple(way.moments())
    wraps = [item for item in listed if isinstance(item, mo.Wrap)]
    return Recipe(
        title=title,
        world_size=2 if wraps else 1,
        environment=tuple(environment_of(run)),
        target={name: str(version) for name in PACKAGES if (version := run.targets.version(name)) is not None},
        backend="rocm"
        if run.targets.rocm or any(key.startswith(("HIP_", "HSA_")) for key in run.environment)
        else "any",
        model=model_spec(run, model),
        moments=listed,
    )


class _Way:
    """One way through a run: the open conditions decided as they come up."""

    def __init__(self, run: Run, model: Object, chosen: Guard):
        self.run = run
        self.model = model
        self.chosen = chosen
        self.by_call = False
        self.has_optimizer = False
        self.patched: set[int] = set()

    def moments(self) -> Iterator[mo.Moment]:
        for event in self.run.events:
            both = conj(self.chosen, event.guard)
            if both is None:
                continue
            made = list(self._of(event))
            if made:
                self.chosen = both
            yield from made
            if any(isinstance(item, mo.Train) for item in made):
                return

    def pick(self, value: Value, default: Any = None) -> Any:
        """The alternative of a value on this way: a literal, or an object."""
        for guard, item in value:
            both = conj(self.chosen, guard)
            if both is not None:
                self.chosen = both
                return item.value if isinstance(item, Const) else item
        return default

    def _of(self, event: ev.Event) -> Iterator[mo.Moment]:
        if isinstance(event, ev.ModelLoaded) and event.model is self.model:
            yield self._load()
        elif isinstance(event, ev.Adapted) and event.model is self.model:
            yield self._adapter()
        elif isinstance(event, ev.OptimizerBuilt):
            yield from self._optimizer(event)
        elif isinstance(event, ev.CheckpointingEnabled) and event.model is self.model:
            yield from self._enabled(event)
        elif isinstance(event, ev.LibraryCall):
            yield from self._library_call(event)
        elif isinstance(event, ev.CheckpointCall):
            yield from self._region(event)
        elif isinstance(event, ev.ForwardPatched):
            yield from self._patched(event)
        elif isinstance(event, ev.AttributeSet):
            yield from self._attribute(event)
        elif isinstance(event, (ev.StateDictLoaded, ev.StateDictSaved)):
            yield from self._state(event)
        elif isinstance(event, ev.TrainerStarted) and self.model in event.models:
            yield from self._trainer(event)
        elif isinstance(event, ev.Backward):
            yield from self._backward(event)

    def _load(self) -> mo.Load:
        model = self.model
        placed, limits = self.pick(model.known("device_map")), self.pick(model.known("max_memory"))
        offload, parts, to = self._offload(placed, limits)
        written = placed if isinstance(placed, (str, dict)) else None
        return mo.Load(device_map=written, offload=offload, offload_parts=parts, offload_to=to)

    def _offload(self, placed: Any, limits: Any) -> tuple[Any, tuple[str, ...], Any]:
        if "offloaded" in self.model.state:
            return "all", (), self.pick(self.model.known("offloaded"), "cpu")
        if isinstance(placed, Object) and placed.entries is not None:
            devices = {name: value.constant() for name, value in placed.entries.items()}
            away = {name: device for name, device in devices.items() if device in ("cpu", "disk")}
            if away and len(devices) > 1:
                parts = tuple(str(name) for name in away if name)
                return "some", parts, "disk" if "disk" in away.values() else "cpu"
        spread = placed in ("auto", "balanced", "balanced_low_0", "sequential")
        room = isinstance(limits, Object) and "cpu" in (limits.entries or {})
        folder = isinstance(self.pick(self.model.known("offload_folder")), str)
        if spread and (room or folder):
            return "some", (), "disk" if folder and not room else "cpu"
        return "none", (), "cpu"

    def _adapter(self) -> mo.Adapter:
        adapter = self.pick(self.model.known("adapter"))
        config = self.pick(adapter.attributes.get("config", NONE)) if isinstance(adapter, Object) else None
        given = config.attributes if isinstance(config, Object) else {}
        targets = self.pick(given.get("target_modules", NONE))
        listed = targets.items or [] if isinstance(targets, Object) else []
        names = tuple(literal for value in listed if isinstance(literal := value.constant(), str))
        rank = self.pick(given.get("r", NONE))
        return mo.Adapter(
            targets=names,
            rank=min(rank, 4) if isinstance(rank, int) else 4,
            trainable=self.model.known("trainable").constant() != "none",
        )

    def _optimizer(self, event: ev.OptimizerBuilt) -> Iterator[mo.Moment]:
        """The first optimizer of the model's parameters, where it is built."""
        if not self.has_optimizer and any(root(item) is self.model for item in models_of(event.parameters)):
            self.has_optimizer = True
            yield mo.Optimizer("all")

    def _enabled(self, event: ev.CheckpointingEnabled) -> Iterator[mo.Moment]:
        made = event.checkpointing
        if made.type == "kbit":
            return
        reentrant = self.pick(made.attributes.get("reentrant", NOTHING))
        yield mo.Checkpointing(reentrant=reentrant if isinstance(reentrant, bool) else None)

    def _library_call(self, event: ev.LibraryCall) -> Iterator[mo.Moment]:
        call = event.call
        if call is None:
            return
        last = event.name.rsplit(".", 1)[-1]
        if call.receiver is self.model and last in (
            "gradient_checkpointing_disable",
            "activation_checkpointing_disable",
        ):
            yield mo.Checkpointing(on=False)
        elif last == "prepare_model_for_kbit_training" and self.model in call.get("model", 0).objects():
            kwargs = call.get("gradient_checkpointing_kwargs", 2, NONE).objects()
            mode = self.pick(kwargs[0].entries.get("use_reentrant", NONE)) if kwargs and kwargs[0].entries else None
            yield mo.Kbit(self.pick(call.get("use_gradient_checkpointing", 1, NONE), None) is not False, mode)

    def _region(self, event: ev.CheckpointCall) -> Iterator[mo.Moment]:
        inside = any(root(item) is self.model for item in event.moment.forwards)
        patched = any(
            "checkpointed_forward" in item.state or "forward" in item.attributes for item in event.moment.forwards
        )
        if not inside or patched or self.by_call or not event.moment.forwards:
            return
        self.by_call = True
        mode = self.pick(event.reentrant)
        yield mo.Checkpointing(
            reentrant=mode if isinstance(mode, bool) else None,
            by="call",
            swallow_errors=bool(event.moment.handlers),
        )

    def _patched(self, event: ev.ForwardPatched) -> Iterator[mo.Moment]:
        if root(event.target) is not self.model or event.site.node_id in self.patched:
            return
        if not event.value:
            self.patched = {event.site.node_id}
            yield mo.RestoreForward()
            return
        calls = [call for call in self.run.of_type(ev.CheckpointCall) if event.target in call.moment.forwards]
        if not calls:
            return
        self.patched.add(event.site.node_id)
        mode = self.pick(calls[0].reentrant)
        yield mo.PatchForward(
            style=_style(event.value),
            reentrant=mode if isinstance(mode, bool) else None,
            swallow_errors=bool(calls[0].moment.handlers),
        )

    def _attribute(self, event: ev.AttributeSet) -> Iterator[mo.Moment]:
        if event.library_name == "torch.utils.checkpoint.checkpoint":
            yield mo.OverrideCheckpoint()
        elif event.target is self.model and event.name in (
            "gradient_checkpointing",
            "activation_checkpointing",
        ):
            yield mo.SetAttribute(event.name, self.pick(event.value))

    def _state(self, event: ev.StateDictLoaded | ev.StateDictSaved) -> Iterator[mo.Moment]:
        if self.model not in [root(item) for item in event.target.objects()]:
            return
        if isinstance(event, ev.StateDictSaved):
            return
        source = next(iter(event.source.objects()), None)
        filtered = source is not None and "filtered" in source.state
        yield mo.LoadState(
            self.pick(event.strict) is not False,
            filtered,
            merged=filtered and source is not None and source.type == "state_dict",
        )

    def _wrap(self, ddp: Value, by_trainer: bool) -> Iterator[mo.Moment]:
        made = self.pick(ddp)
        if isinstance(made, Object):
            yield mo.Wrap(
                find_unused_parameters=self.pick(made.state.get("find_unused", FALSE)) is True,
                static_graph=self.pick(made.state.get("static_graph", FALSE)) is True,
                by_trainer=by_trainer,
            )

    def _before_training(self, by_trainer: bool, args: Object | None = None) -> Iterator[mo.Moment]:
        if self.model.kind == "model":
            yield mo.InputGrads(self.pick(self.model.state.get("input_grads", FALSE)) is True)
        sharded = self._sharded(by_trainer, args)
        if sharded is not None:
            yield sharded
        elif self.model.state.get("ddp") is not None:
            if conj(self.chosen, frozenset({(DISTRIBUTED, True)})) is not None and by_trainer:
                self.chosen = self.chosen | {(DISTRIBUTED, True)}
            yield from self._wrap(self.model.known("ddp"), by_trainer)

    def _sharded(self, by_trainer: bool, args: Object | None) -> mo.Wrap | None:
        """How the model is sharded on this way, by DeepSpeed or by torch's FSDP; None when it is not."""
        state = self.model.state
        config = self.pick(state.get("deepspeed", NONE))
        if isinstance(config, Object):
            return mo.Wrap("zero", stage(config) or 2, by_trainer=by_trainer)
        if self.pick(state.get("sharded", NONE)) is True:
            return mo.Wrap("fsdp2")
        if isinstance(self.pick(state.get("fsdp", NONE)), Object):
            return mo.Wrap("fsdp1")
        asked = self.pick(args.attributes.get("fsdp", NONE)) if args is not None else None
        launched = self.run.environment.get("ACCELERATE_USE_FSDP", NOTHING).constant() == "true"
        return mo.Wrap("fsdp1", by_trainer=True) if asked or launched else None

    def _trainer(self, event: ev.TrainerStarted) -> Iterator[mo.Moment]:
        args = event.trainer.attributes.get("args", NOTHING).objects()
        yield from self._before_training(True, args[0] if args else None)
        steps = self.pick(args[0].attributes.get("gradient_accumulation_steps", NONE)) if args else None
        count = steps if isinstance(steps, int) else 1
        yield mo.Train(accumulate=min(count, 2), no_sync=count > 1)

    def _backward(self, event: ev.Backward) -> Iterator[mo.Moment]:
        models = [item.attributes["of"].objects()[0] for item in event.forwards]
        if self.model not in models:
            return
        yield from self._before_training(False)
        training = self.pick(self.model.state.get("training", NONE))
        train = mo.Train(
            forwards_per_backward=models.count(self.model),
            no_sync=event.moment.inside("no_sync") is not None,
            accumulate=2 if event.moment.inside("no_sync") is not None else 1,
            train_mode=training if isinstance(training, bool) else None,
        )
        yield from rounds(self.run, event, self.model, self.chosen, train)


def _style(value: Value) -> Any:
    item = value.only()
    if isinstance(item, Partial):
        return "partial"
    if isinstance(item, Function):
        from gclint.run.closures import late_bound
        from gclint.run.events import Loop

        loops = [Loop(each) for each in item.module.ancestors(item.node)]
        return "late-binding-lambda" if late_bound(item, loops) else "lambda"
    return "partial"
