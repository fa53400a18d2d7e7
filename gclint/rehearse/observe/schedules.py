"""Schedules of the learning rate: what each is made for, how often it is stepped, and where it would go."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import torch

from gclint.rehearse.observe.watch import Watch

LIMITS = ("T_max", "total_iters", "total_steps", "T_0")
TOTALS = ("T_max", "total_iters", "total_steps", "num_training_steps")
POINTS, FARTHEST = 200, 200_000


class Schedules:
    """Watches schedulers; `told` has them as they are at the end."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self._schedulers: list[Any] = []
        self._told: list[dict[str, Any]] = []
        self._over = False

    def install(self) -> None:
        """Start watching."""
        kind = torch.optim.lr_scheduler.LRScheduler
        self.watch.patches.around(kind, "__init__", self._scheduling)
        for each in (kind, torch.optim.lr_scheduler.ReduceLROnPlateau):
            self.watch.patches.around(each, "step", self._scheduled)

    def told(self) -> list[dict[str, Any]]:
        """Each schedule: its limits, how far it is, and where it would go on to (`plan`); the run is over then."""
        self._over = True
        return [
            {
                **told,
                "last": getattr(each, "last_epoch", None),
                "limits": {name: getattr(each, name) for name in LIMITS if isinstance(getattr(each, name, None), int)},
                "plan": _plan(each) if self.watch.closely and told["steps"] > 0 else [],
            }
            for each, told in zip(self._schedulers, self._told, strict=True)
        ]

    def _scheduling(self, original: Any, scheduler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        place = self.watch.places.here()
        index = len(self._schedulers)
        self._schedulers.append(scheduler)
        self._told.append(
            {"name": type(scheduler).__name__, "made": place, "stepped": None, "steps": -1, "optimizer": -1}
        )
        result = original(scheduler, optimizer, *args, **kwargs)
        self._told[index]["steps"] = 0
        inner = getattr(optimizer, "optimizer", optimizer)
        self._told[index]["optimizer"] = self.watch.number_of(self.watch.optimizers, inner)
        return result

    def _scheduled(self, original: Any, scheduler: Any, *args: Any, **kwargs: Any) -> Any:
        if self._over:
            return original(scheduler, *args, **kwargs)
        index = self.watch.number_of(self._schedulers, scheduler)
        if index == len(self._told):
            optimizer = self.watch.number_of(self.watch.optimizers, scheduler.optimizer)
            told = {"made": None, "stepped": None, "steps": 0, "optimizer": optimizer}
            self._told.append({"name": type(scheduler).__name__, **told})
        if self._told[index]["steps"] >= 0:
            self._told[index]["steps"] += 1
            self._told[index]["stepped"] = self.watch.places.here()
        return original(scheduler, *args, **kwargs)


def _plan(scheduler: Any) -> list[list[float]]:
    """The largest rate at some of the steps that are left up to the total that a schedule was made for: a copy of it is
    stepped on. Empty where it knows no total.
    """
    total, done = total_of(scheduler), int(getattr(scheduler, "last_epoch", 0) or 0)
    if not done < total <= FARTHEST:
        return []
    step = SimpleNamespace(_wrapped_by_lr_sched=True)
    groups = [{name: value for name, value in group.items() if name != "params"} for group in _groups(scheduler)]
    stand_in = SimpleNamespace(param_groups=groups, step=step, _opt_called=True, defaults={})
    try:
        other = copy.deepcopy(scheduler, {id(scheduler.optimizer): stand_in})
        found = []
        for at in range(done + 1, total + 1):
            other.step()
            if at == total or (at - done) % max((total - done) // POINTS, 1) == 0:
                found.append([float(at), max(float(group["lr"]) for group in groups)])
        return found
    except Exception:
        return []  # a schedule of one's own that asks for more than rates


def _groups(scheduler: Any) -> list[dict[str, Any]]:
    return list(scheduler.optimizer.param_groups)


def total_of(scheduler: Any) -> int:
    """The number of steps that a schedule was made for, as far as it says, else 0; of several in a row that of all."""
    parts = getattr(scheduler, "_schedulers", None)
    if parts:
        return int([0, *getattr(scheduler, "_milestones", [])][-1]) + total_of(parts[-1])
    keepers = [vars(scheduler), *(getattr(each, "keywords", {}) for each in getattr(scheduler, "lr_lambdas", ()))]
    held = [each.get(name) for each in keepers for name in TOTALS]
    return max((each for each in held if isinstance(each, int)), default=0)
