"""The step: backwards, zeroing and optimizers."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from gclint.rehearse.observe.graph import node_of
from gclint.rehearse.observe.parameters import note_living
from gclint.rehearse.observe.precision import Precision
from gclint.rehearse.observe.tensors import (
    KEPT,
    SAMPLED,
    copies_of,
    holds,
    local,
    norms_of,
    number_of,
    rooted,
    state_of,
    sums_of,
    version_of,
)
from gclint.rehearse.observe.watch import Known, Watch
from gclint.verify.worker.closures import Given, closure_of, once_computed
from gclint.verify.worker.randomness import generators

DETAILED, SOME = 16, 6


class Training:
    """Watches how gradients are made, used and thrown away."""

    def __init__(self, watch: Watch):
        self.watch, self.precision = watch, Precision(watch)
        self._losses: list[dict[str, Any]] = []
        self._pending: dict[int, dict[Known, tuple[int, int]]] = {}
        self._tried: set[int] = set()
        self._open: dict[str, Any] | None = None
        self._lost: list[dict[str, Any]] = []
        self._zeroed: tuple[str, int] | None = None
        self._copies: dict[int, Any] = {}
        self._next = 0
        self._step: dict[str, Any] = {}
        self._stepped_since_backward: set[int] = set()
        self._twice: set[int] = set()
        self._hooks: list[Any] = []

    def prepare(self) -> None:
        """Start watching steps."""
        self._hooks = [
            register_optimizer_step_pre_hook(self.watch.patches.hook(self._before_step)),
            register_optimizer_step_post_hook(self.watch.patches.hook(self._after_step)),
        ]

    def install(self) -> None:
        """Start watching what leads to them."""
        patches = self.watch.patches
        patches.around(torch.optim.Optimizer, "__init__", self._building)
        patches.around(torch.optim.Optimizer, "zero_grad", self._zeroing)
        patches.around(torch.nn.Module, "zero_grad", self._zeroing)
        patches.around(torch.autograd, "backward", self._backward)
        patches.around(torch.autograd, "grad", self._asking)
        self.precision.install()

    def remove(self) -> None:
        """Stop watching the steps; the patches are given back by their owner."""
        for hook in self._hooks:
            hook.remove()

    def rest(self) -> dict[str, Any]:
        """What happened after the last step."""
        return {"losses": self._losses}

    def _building(self, original: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(optimizer, *args, **kwargs)
        note_living(self.watch)
        self._numbered(optimizer)
        return result

    def meet(self, optimizer: Any) -> None:
        """Take in an optimizer that was built before anything was watched."""
        self._numbered(optimizer)

    def _numbered(self, optimizer: Any) -> int:
        known = len(self.watch.optimizers)
        number = self.watch.number_of(self.watch.optimizers, optimizer)
        if number == known:
            for parameter in (p for group in optimizer.param_groups for p in group["params"]):
                mine = self.watch.know(parameter)
                if mine is not None:
                    mine.optimizers.add(number)
            groups = [
                [k.number for p in group["params"] if (k := self.watch.know(p))] for group in optimizer.param_groups
            ]
            frozen = [sum(not p.requires_grad for p in group["params"]) for group in optimizer.param_groups]
            self.watch.write(
                "optimizer",
                self.watch.places.here(),
                number=number,
                groups=groups,
                frozen=frozen,
                name=type(optimizer).__name__,
            )
        return number

    def _zeroing(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        self._zeroed = self.watch.places.here()
        self.watch.write("zeroed", self._zeroed)
        return original(*args, **kwargs)

    def _backward(self, original: Any, tensors: Any, *args: Any, **kwargs: Any) -> Any:
        if self.watch.in_backward:
            return original(tensors, *args, **kwargs)
        place = self.watch.places.here()
        self._learns()
        self._close_backward()
        given = [
            each for each in (tensors if isinstance(tensors, (list, tuple)) else [tensors]) if torch.is_tensor(each)
        ]
        values = [number_of(each) for each in given if each.numel() == 1]
        said = {
            "values": values,
            "leaf": bool(given) and all(node_of(each) is None for each in given),
            "dtype": str(given[0].dtype).removeprefix("torch.") if given else "",
            "batch": self.watch.batch,
        }
        self._stepped_since_backward = set()
        self.watch.in_backward = True
        try:
            return original(tensors, *args, **kwargs)
        finally:
            self.watch.in_backward = False
            self._losses.append({"values": values, "at": place, "batch": self.watch.batch})
            self.watch.write("backward", place, **said)
            self._open_backward(place)

    def _asking(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        self.watch.write("asked", self.watch.places.here(), batch=self.watch.batch)
        return original(*args, **kwargs)

    def _learns(self) -> None:
        if self.watch.closely:
            self.watch.evaluations.trained()

    def _open_backward(self, place: Any) -> None:
        """Keep which gradients a backward leaves, to see whether a step uses them."""
        held = [each for each in self.watch.known.values() if each.optimizers or self._is_listed(each)]
        for each in held:
            each.gradients += not each.optimizers and each.parameter.grad is not None
        having = [each.parameter for each in held if each.parameter.grad is not None][:400]
        self._open = (
            {
                "at": place,
                "having": having,
                "grads": [version_of(each) for each in having],
                "values": sums_of(having[:SOME]),
            }
            if having
            else None
        )

    def _is_listed(self, known: Any) -> bool:
        return bool(self.watch.optimizers) and known.parameter.requires_grad

    def _close_backward(self) -> None:
        """Before a backward: what the last one left is there, was used by a step, or was thrown away unused."""
        for number, waiting in list(self._pending.items()):
            self._pending[number] = {known: left for known, left in waiting.items() if _is_left(known, left)}
            self._tried.add(number)
        if self._open is None:
            return
        having, opened = self._open["having"], self._open
        self._open = None
        if any(map(_is_left, having, opened["grads"])) or sums_of(having[:SOME]) != opened["values"]:
            return
        self._lost.append({"at": opened["at"], "zeroed": self._zeroed})

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> Given | None:
        if self.watch.stepping:
            return None
        self.watch.stepping, self._step = True, {}
        self._keep_copies([p for group in optimizer.param_groups for p in group["params"] if self.watch.know(p)])
        look = self.watch.patches.hook(self._before_gradients_are_used)
        return once_computed(args, kwargs, lambda: look(optimizer))

    def _before_gradients_are_used(self, optimizer: Any) -> None:
        self._learns()
        number = self._numbered(optimizer)
        own = [(k, p) for group in optimizer.param_groups for p in group["params"] if (k := self.watch.know(p))]
        gradients = self._gradients(number, own)
        norms = [each for each in gradients.values() if each is not None]
        twice = self._stepped_since_backward & {known.number for known, _ in own if gradients[known.number]}
        self._stepped_since_backward |= {known.number for known, _ in own}
        same = self._open is not None and any(
            version_of(p) in self._open["grads"] for _, p in own if p.grad is not None
        )
        self._step = {
            "optimizer": number,
            "at": self.watch.places.here(),
            "losses": self._losses,
            "total": rooted(norms),
            "none": sum(each is None for each in gradients.values()),
            "parameters": len(own),
            "gradients": gradients if self.watch.step < DETAILED else {},
            "uncleared": sorted(k.number for k in self._pending.get(number, ())) if number in self._tried else [],
            "lost": self._lost if same else [],
            "emptied": self._zeroed if self._open is not None and not norms else None,
            "before": state_of(optimizer, [p for _, p in own]) if self.watch.closely else [],
            "twice": sorted(twice),
            "rates": [float(group["lr"]) for group in optimizer.param_groups if "lr" in group],
            **self.precision.at_step(own, gradients),
        }
        if self._open is not None and norms:
            self._open = None
        self._losses, self._lost = [], []

    def _keep_copies(self, own: list[Any]) -> None:
        """Keep parameters as they are, to see which of them a step moves: in a real run some at a time."""
        most = KEPT if self.watch.closely else SAMPLED
        self._copies, self._next = copies_of(own, self._next, most)

    def _gradients(self, number: int, own: list[Any]) -> dict[int, float | None]:
        """The norm of each parameter's gradient by number, None where it has none."""
        having = [(known, p) for known, p in own if p.grad is not None and p.grad.device.type != "meta"]
        found: dict[int, float | None] = {known.number: None for known, _ in own}
        for (known, parameter), norm in zip(having, norms_of([p.grad for _, p in having]), strict=True):
            found[known.number] = norm
            known.gradients += 1
            known.nonzero += norm != 0 or holds(parameter)
        for known, _ in own:
            known.optimizers.add(number)
            known.steps += 1
        return found

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self.watch.stepping:
            return
        self.watch.stepping = False
        if not self._step:  # a closure that was not called
            self._before_gradients_are_used(optimizer)
        number, rates = self._step["optimizer"], max(self._step["rates"], default=1.0)
        own = {p: group.get("lr", rates) for group in optimizer.param_groups for p in group["params"]}
        copied = [p for p in own if id(p) in self._copies]
        sums = sums_of(copied)
        moves, broken, total = dict[int, float](), list[int](), 0.0
        apart = norms_of([local(p.detach()) - self._copies[id(p)] for p in copied])
        for parameter, whole, way in zip(copied, sums, apart, strict=True):
            known = self.watch.know(parameter)
            if known is None:
                continue
            total += whole * (1 + known.number % 7)
            if not math.isfinite(whole):
                broken.append(known.number)
                known.broken = True
            known.compared += 1
            known.moving_rates += own[parameter] != 0
            if way or not torch.equal(self._copies[id(parameter)], local(parameter.detach())):
                known.moves += 1
                moves[known.number] = way
        self._copies = {}
        self._tried.discard(number)
        gradients = {k: version_of(p) for p in own if p.grad is not None and (k := self.watch.know(p))}
        self._pending[number] = {k: left for k, left in gradients.items() if k.nonzero}
        detailed = self.watch.step < DETAILED
        self.watch.step += 1
        place = self._step.pop("at")
        if closure_of(args, kwargs) is not None:  # what it does when it is called again is used by this step, too
            self._step["losses"] += self._losses
            self._losses, self._open = [], None
        self.watch.write(
            "step",
            place,
            **self._step,
            compared=len(copied),
            moved=len(moves),
            moves=moves if detailed else {},
            move=rooted(list(moves.values())),
            sum=total,
            broken=broken[:20],
            random=generators() if self.watch.closely else {},
        )


def _is_left(held: Any, left: tuple[int, int]) -> bool:
    """Whether a parameter has a gradient that is not 0: the one that was left, or one that is looked at."""
    parameter = held.parameter if isinstance(held, Known) else held
    return parameter.grad is not None and (version_of(parameter) == left or holds(parameter))
