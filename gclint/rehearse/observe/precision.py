"""What is done to gradients between backward and step: autocast to halves, scaling, clipping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from gclint.rehearse.observe.tensors import local, number_of, rooted
from gclint.rehearse.observe.watch import Watch

SMALLEST = 6e-8  # of float16


class Precision:
    """Watches autocast, gradient scalers and clip_grad_norm_."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self._clips: list[tuple[set[int], float]] = []
        self._scaler: Any = None

    def install(self) -> None:
        """Start watching."""
        patches = self.watch.patches
        for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
            patches.around(owner, "clip_grad_norm_", self._clipping)
        patches.around(torch.amp.autocast_mode.autocast, "__enter__", self._casting)
        patches.around(torch.amp.GradScaler, "scale", self._scaling)
        patches.around(torch.amp.GradScaler, "unscale_", self._unscaling)
        patches.around(torch.amp.GradScaler, "update", self._unscaling)

    def at_step(self, own: Sequence[Any], gradients: Mapping[int, float | None]) -> dict[str, Any]:
        """What a step finds, of the parameters that are its `own` and the norms of their gradients, by number."""
        clipped = [(limit, [gradients[k.number] or 0.0 for k, p in own if id(p) in ids]) for ids, limit in self._clips]
        self._clips = []
        scaled = self._scaler is not None and self._scaler.is_enabled()
        return {
            "half": self.watch.half,
            "flushed": _flushed(own) if self.watch.half and self._scaler is None else 0.0,
            "clipped": [[limit, rooted(parts)] for limit, parts in clipped if parts],
            "scaled": self.watch.scaled,
            "scale": self._scaler.get_scale() if scaled else None,
        }

    def _casting(self, original: Any, context: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(context, "fast_dtype", None) is torch.float16 and torch.is_grad_enabled():
            self.watch.half = self.watch.places.here() or ("", 0)
        return original(context, *args, **kwargs)

    def _scaling(self, original: Any, scaler: Any, *args: Any, **kwargs: Any) -> Any:
        self.watch.scaled = bool(scaler.is_enabled())
        self._scaler = scaler
        return original(scaler, *args, **kwargs)

    def _unscaling(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        self.watch.scaled = False
        return original(*args, **kwargs)

    def _clipping(self, original: Any, parameters: Any, max_norm: float, *args: Any, **kwargs: Any) -> Any:
        given = [parameters] if torch.is_tensor(parameters) else list(parameters)
        norm = original(given, max_norm, *args, **kwargs)
        with_gradient = [each for each in given if each.grad is not None]
        kind = kwargs.get("norm_type", args[0] if args else 2.0)
        if float(kind) == 2.0:
            self._clips.append(({id(each) for each in with_gradient}, float(max_norm)))
        self.watch.write(
            "clip",
            self.watch.places.here(),
            limit=float(max_norm),
            parameters=len(given),
            gradients=len(with_gradient),
            norm=number_of(norm),
            scaled=self.watch.scaled,
        )
        return norm


def _flushed(own: Sequence[Any]) -> float:
    """The share of gradient elements that float16 cannot hold."""
    grads = [local(p.grad) for _, p in own if p.grad is not None and not p.grad.is_sparse]
    some = sum(int((each != 0).sum()) for each in grads)
    small = sum(int(((each != 0) & (each.abs() < SMALLEST)).sum()) for each in grads)
    return small / some if some else 0.0
