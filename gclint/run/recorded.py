"""Which event of a recorded run an event of a walk is: the same things under two names."""

from __future__ import annotations

from . import events as ev
from .values import Alternative, Object

KINDS: dict[type[ev.Event], str] = {
    ev.OptimizerBuilt: "optimizer",
    ev.OptimizerStep: "step",
    ev.Backward: "backward",
    ev.GradientsCleared: "zeroed",
    ev.GradientsClipped: "clip",
    ev.Forward: "forward",
    ev.LossComputed: "loss",
    ev.StateDictLoaded: "load",
    ev.TrainerStarted: "trainer",
}
CALLED = {
    "torch.save": "save",
    "trainer.save_model": "save",
    "torch.load": "read",
    "schedule.step": "schedule step",
}


def kind_of(event: ev.Event) -> str:
    """What happens, in the words of recorded events (`gclint.rehearse.record`); "" for what is not recorded."""
    if loader_of(event) is not None:
        return "loader"
    if not isinstance(event, ev.LibraryCall):
        return KINDS.get(type(event), "")
    made = event.result.only()
    built = isinstance(made, Object) and made.kind == "schedule" and made.site == event.site
    return "scheduler" if built else CALLED.get(event.name, "")


def loader_of(event: ev.Event) -> Object | None:
    """The loader that an event begins to iterate over."""
    item: Alternative | None = None
    if isinstance(event, ev.Iterated):
        item = event.item
    elif isinstance(event, ev.LibraryCall) and event.name == "builtins.iter" and event.call is not None:
        item = event.call.get("", 0).only()
    return item if isinstance(item, Object) and item.kind == "loader" else None
