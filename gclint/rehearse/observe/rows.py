"""Which rows of what a model gives get a gradient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from gclint.rehearse.observe.watch import Watch

LEAST, MOST = 4, 64  # rows of a batch, forwards that are looked at


class Rows:
    """Notes, for the first forwards that train, which rows of the outcome have a gradient of nothing but zeros."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self._depth = self._forwards = 0

    def install(self) -> None:
        """Start watching."""
        self.watch.patches.around(torch.nn.Module, "__call__", self._calling)

    def _calling(self, original: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
        self._depth += 1
        try:
            result = original(module, *args, **kwargs)
        finally:
            self._depth -= 1
        if self._depth == 0 and module.training and self._forwards < MOST and not self.watch.in_backward:
            self._follow((*args, *kwargs.values()), result)
        return result

    def _follow(self, given: Any, result: Any) -> None:
        count = next((len(each) for each in given if torch.is_tensor(each) and each.dim()), 0)
        outcome = next((each for each in _tensors(result) if each.requires_grad and len(each) == count), None)
        if count < LEAST or outcome is None:
            return
        self._forwards += 1
        forward, batch = self._forwards, self.watch.batch

        def look(gradient: Any) -> None:
            silent = (gradient.detach().reshape(count, -1) == 0).all(1).nonzero().reshape(-1).tolist()
            self.watch.write("rows", forward=forward, batch=batch, count=count, silent=silent)

        outcome.register_hook(self.watch.patches.hook(look))


def _tensors(result: Any) -> Iterator[Any]:
    """The tensors in what a model gives that have rows."""
    held = result.values() if isinstance(result, dict) else result if isinstance(result, (list, tuple)) else (result,)
    return (each for each in held if torch.is_tensor(each) and each.dim() and each.is_floating_point())
