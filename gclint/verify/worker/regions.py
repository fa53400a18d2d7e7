"""Counts how often a checkpointed region is recomputed.

Reentrant regions recompute in `CheckpointFunction.backward`, the others in their frame's `recompute_fn` (both
present in torch 2.1 to 2.13). Where a torch has neither, nothing is counted and `COUNTABLE` is false.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch.utils.checkpoint as regions

COUNTABLE = hasattr(regions, "CheckpointFunction") and hasattr(regions, "_CheckpointFrame")


def watch_recomputation(count: Callable[[], None]) -> None:
    """Call `count` at every recomputation of a region in this process."""
    if not COUNTABLE:
        return
    backward = regions.CheckpointFunction.backward

    def counted(context: Any, *gradients: Any) -> Any:
        count()
        return backward(context, *gradients)

    regions.CheckpointFunction.backward = staticmethod(counted)
    begin = regions._CheckpointFrame.__init__

    def begun(frame: Any, recompute: Any, *args: Any, **kwargs: Any) -> None:
        def again(*inputs: Any) -> Any:
            count()
            return recompute(*inputs)

        begin(frame, again, *args, **kwargs)

    regions._CheckpointFrame.__init__ = begun
