"""The step: backwards, clipping, zeroing and optimizers."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from gclint.rehearse.observe.graph import node_of
from gclint.rehearse.observe.parameters import note_living
from gclint.rehearse.observe.tensors import copies_of, holds, local, norm_of, number_of, rooted, sums_of
from gclint.rehearse.observe.watch import Watch
from gclint.verify.worker.randomness import generators

DETAILED = 16


class Training:
    """Watches how gradients are made, used and thrown away."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self._losses: list[dict[str, Any]] = []
        self._clips: list[tuple[set[int], float]] = []
        self._pending: dict[int, set[int]] = {}
        self._tried: set[int] = set()
        self._open: dict[str, Any] | None = None
        self._lost: list[dict[str, Any]] = []
        self._zeroed: tuple[str, int] | None = None
        self._copies: dict[int, Any] = {}
        self._step: dict[str, Any] = {}
        self._stepped_since_backward: set[int] = set()
        self._twice: set[int] = set()
        self._hooks: list[Any] = []
        self._ever_scaled = False
        self._scaler: Any = None

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
        for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
            patches.around(owner, "clip_grad_norm_", self._clipping)
        patches.around(torch.amp.autocast_mode.autocast, "__enter__", self._casting)
        patches.around(torch.amp.GradScaler, "scale", self._scaling)
        patches.around(torch.amp.GradScaler, "unscale_", self._unscaling)
        patches.around(torch.amp.GradScaler, "update", self._unscaling)

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

    def _casting(self, original: Any, context: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(context, "fast_dtype", None) is torch.float16 and torch.is_grad_enabled():
            self.watch.half = self.watch.places.here() or ("", 0)
        return original(context, *args, **kwargs)

    def _scaling(self, original: Any, scaler: Any, *args: Any, **kwargs: Any) -> Any:
        self.watch.scaled = bool(scaler.is_enabled())
        self._ever_scaled, self._scaler = True, scaler
        return original(scaler, *args, **kwargs)

    def _unscaling(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        self.watch.scaled = False
        return original(*args, **kwargs)

    def _clipping(self, original: Any, parameters: Any, max_norm: float, *args: Any, **kwargs: Any) -> Any:
        given = [parameters] if torch.is_tensor(parameters) else list(parameters)
        norm = original(given, max_norm, *args, **kwargs)
        with_gradient = [each for each in given if each.grad is not None]
        waiting = sum(each.parameter.grad is not None for each in self.watch.known.values())
        kind = kwargs.get("norm_type", args[0] if args else 2.0)
        if float(kind) == 2.0:
            self._clips.append(({id(each) for each in with_gradient}, float(max_norm)))
        self.watch.write(
            "clip",
            self.watch.places.here(),
            limit=float(max_norm),
            parameters=len(given),
            gradients=len(with_gradient),
            waiting=waiting,
            norm=number_of(norm),
            scaled=self.watch.scaled,
        )
        return norm

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
                "grads": [id(each.grad) for each in having],
                "values": [float(each.detach().double().sum()) for each in having[:6]],
            }
            if having
            else None
        )

    def _is_listed(self, known: Any) -> bool:
        return bool(self.watch.optimizers) and known.parameter.requires_grad

    def _close_backward(self) -> None:
        """Before a backward: what the last one left is there, was used by a step, or was thrown away unused."""
        for number, waiting in list(self._pending.items()):
            group = [each for each in self.watch.known.values() if each.number in waiting]
            self._pending[number] = {each.number for each in group if holds(each.parameter)}
            self._tried.add(number)
        if self._open is None:
            return
        having, opened = self._open["having"], self._open
        self._open = None
        if any(holds(each) for each in having):
            return
        moved = [float(each.detach().double().sum()) for each in having[:6]] != opened["values"]
        if not moved:
            self._lost.append({"at": opened["at"], "zeroed": self._zeroed})

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self.watch.stepping:
            return
        self.watch.stepping = True
        self._learns()
        number = self._numbered(optimizer)
        own = [(k, p) for group in optimizer.param_groups for p in group["params"] if (k := self.watch.know(p))]
        gradients: dict[int, float | None] = {}
        for known, parameter in own:
            known.optimizers.add(number)
            known.steps += 1
            gradients[known.number] = self._gradient(known, parameter)
        twice = self._stepped_since_backward & {known.number for known, _ in own if gradients[known.number]}
        self._stepped_since_backward |= {known.number for known, _ in own}
        same = self._open is not None and any(id(p.grad) in self._open["grads"] for _, p in own if p.grad is not None)
        norms = [each for each in gradients.values() if each is not None]
        self._step = {
            "optimizer": number,
            "at": self.watch.places.here(),
            "losses": self._losses,
            "total": rooted(norms),
            "none": sum(each is None for each in gradients.values()),
            "parameters": len(own),
            "gradients": gradients if self.watch.step < DETAILED else {},
            "uncleared": sorted(self._pending.get(number, set())) if number in self._tried else [],
            "lost": self._lost if same else [],
            "emptied": self._zeroed if self._open is not None and not norms else None,
            "before": sums_of(optimizer, own),
            "half": self.watch.half,
            "flushed": self._flushed(own) if self.watch.half and not self._ever_scaled else 0.0,
            "twice": sorted(twice),
            "rates": [float(group["lr"]) for group in optimizer.param_groups if "lr" in group],
            "clipped": [[limit, norm_of(own, ids)] for ids, limit in self._clips if any(id(p) in ids for _, p in own)],
            "scaled": self.watch.scaled,
            "scale": self._scaler.get_scale() if self._scaler is not None and self._scaler.is_enabled() else None,
        }
        self._copies = copies_of(own)
        if self._open is not None and any(p.grad is not None for _, p in own):
            self._open = None
        self._losses, self._lost, self._clips = [], [], []

    def _flushed(self, own: list[Any]) -> float:
        """The share of gradient elements that float16 cannot hold."""
        grads = [local(p.grad) for _, p in own if p.grad is not None and not p.grad.is_sparse]
        some = sum(int((each != 0).sum()) for each in grads)
        small = sum(int(((each != 0) & (each.abs() < 6e-8)).sum()) for each in grads)
        return small / some if some else 0.0

    def _gradient(self, known: Any, parameter: Any) -> float | None:
        grad = parameter.grad
        if grad is None or grad.device.type == "meta":
            return None
        part = local(grad)
        norm = float(part.double().norm()) if not part.is_sparse else float(part.coalesce().values().double().norm())
        known.gradients += 1
        known.nonzero += norm != 0
        return norm

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self.watch.stepping:
            return
        self.watch.stepping = False
        rates = max(self._step["rates"], default=1.0)
        moves: dict[int, float] = {}
        total, broken = 0.0, []
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                known = self.watch.know(parameter)
                if known is None:
                    continue
                value = local(parameter.detach()).double()
                whole = float(value.sum()) if value.numel() and value.device.type != "meta" else 0.0
                total += whole * (1 + known.number % 7)
                if not math.isfinite(whole):
                    broken.append(known.number)
                    known.broken = True
                held = self._copies.get(id(parameter))
                known.moving_rates += group.get("lr", rates) != 0
                known.moves += held is None
                if held is not None and not torch.equal(held, local(parameter.detach())):
                    known.moves += 1
                    moves[known.number] = float((value - held.double()).norm())
        self._copies = {}
        number = self._step["optimizer"]
        self._tried.discard(number)
        self._pending[number] = {
            known.number
            for group in optimizer.param_groups
            for p in group["params"]
            if (known := self.watch.know(p)) and holds(p)
        }
        detailed = self.watch.step < DETAILED
        self.watch.step += 1
        place = self._step.pop("at")
        self.watch.write(
            "step",
            place,
            **self._step,
            moved=len(moves),
            moves=moves if detailed else {},
            move=rooted(list(moves.values())),
            sum=total,
            broken=broken[:20],
            random=generators() if self.watch.closely else {},
        )
