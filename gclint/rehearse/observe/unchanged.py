"""A forward in evaluation mode, without gradients: does it leave the model as it was?"""

from __future__ import annotations

from typing import Any

import torch

from gclint.rehearse.observe.numbers import numbers
from gclint.rehearse.observe.parameters import plain, unwrapped
from gclint.rehearse.observe.watch import Watch

MOST = 20  # forwards that are looked at


class Unchanged:
    """Compares what is saved of a model that learns before and after its first evaluations; notes the first change."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self._depth = self._seen = 0
        self._told = False

    def install(self) -> None:
        """Start looking."""
        self.watch.patches.around(torch.nn.Module, "__call__", self._calling)

    def _calling(self, original: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
        root = unwrapped(module)
        looked = self._depth == 0 and not self._told and self._seen < MOST and self._is_evaluated(root)
        self._seen += looked
        before = saved(root) if looked else {}
        self._depth += 1
        try:
            return original(module, *args, **kwargs)
        finally:
            self._depth -= 1
            after = saved(root) if looked else {}
            changed = sorted(name for name, value in before.items() if after.get(name, value) != value)
            if changed:
                self._told = True
                self.watch.write("unsettled", self.watch.places.here(), root=type(root).__name__, changed=changed)

    def _is_evaluated(self, root: Any) -> bool:
        known = (self.watch.known.get(id(each)) for each in root.parameters())
        learns = any(each is not None and each.optimizers for each in known)
        return learns and not root.training and not torch.is_grad_enabled()


def saved(module: Any) -> dict[str, list[float]]:
    """What the parameters and buffers that a module's state dict has add up to, by name."""
    return {plain(name): numbers(each) for name, each in module.state_dict().items() if torch.is_tensor(each)}
