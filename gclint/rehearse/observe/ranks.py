"""What ranks do together, and the random numbers that each draws for itself."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

import torch

from gclint.rehearse.observe.watch import Watch

COLLECTIVES = (
    "all_reduce", "broadcast", "reduce", "all_gather", "all_gather_into_tensor", "all_gather_object", "gather",
    "gather_object", "scatter", "reduce_scatter", "reduce_scatter_tensor", "all_to_all", "all_to_all_single", "barrier",
    "broadcast_object_list", "scatter_object_list",
)  # fmt: skip
DRAWS = ("randn", "rand", "randint", "randperm", "randn_like", "rand_like", "randint_like", "normal", "bernoulli")
MOST_DRAWS = 400
LONGEST = timedelta(seconds=20)


class Ranks:
    """Watches collectives, splits and draws of the user's own lines."""

    def __init__(self, watch: Watch, impatient: bool):
        self.watch, self._impatient = watch, impatient
        self._depth = self._count = self._draws = 0

    def install(self) -> None:
        """Start watching."""
        around = self.watch.patches.around
        if torch.distributed.is_available():
            inner = torch.distributed.distributed_c10d
            for name in COLLECTIVES:
                for owner in {id(each): each for each in (torch.distributed, inner)}.values():
                    around(owner, name, self._communicating(name))
            for owner in (torch.distributed, inner):
                around(owner, "init_process_group", self._beginning)
            around(torch.nn.parallel.DistributedDataParallel, "__init__", self._wrapping)
        around(torch.utils.data, "random_split", self._splitting)
        for name in DRAWS:
            around(torch, name, self._drawing(name))

    def _beginning(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        """Ranks that do not meet are not waited for for long."""
        if self._impatient:
            kwargs["timeout"] = min(kwargs.get("timeout") or LONGEST, LONGEST)
        return original(*args, **kwargs)

    def _wrapping(self, original: Any, wrapper: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(wrapper, *args, **kwargs)
        self.watch.write("wrapped", self.watch.places.here(), by="DistributedDataParallel")
        return result

    def _communicating(self, name: str) -> Any:
        def communicating(original: Any, *args: Any, **kwargs: Any) -> Any:
            if self._depth:
                return original(*args, **kwargs)
            self._depth += 1
            self._count += 1
            number = self._count
            group = kwargs.get("group")
            members = None if group is None else _members(group)
            self.watch.write(
                "collective", self.watch.places.here(), name=name, number=number, group=members, shape=_shape(args)
            )
            try:
                result = original(*args, **kwargs)
            finally:
                self._depth -= 1
            self.watch.write("joined", None, number=number)
            return result

        return communicating

    def _splitting(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        parts = original(*args, **kwargs)
        digests = [hashlib.sha1(str(list(part.indices)).encode()).hexdigest()[:12] for part in parts]
        self.watch.write("split", self.watch.places.here(), parts=digests, sizes=[len(part) for part in parts])
        return parts

    def _drawing(self, name: str) -> Any:
        def drawing(original: Any, *args: Any, **kwargs: Any) -> Any:
            drawn = original(*args, **kwargs)
            if self._draws < MOST_DRAWS and self.watch.optimizers and not self.watch.stepping:
                place = self.watch.places.directly()
                if place is not None and torch.is_tensor(drawn) and drawn.numel() and drawn.device.type == "cpu":
                    self._draws += 1
                    flat = drawn.detach().reshape(-1)[:64].double()
                    self.watch.write(
                        "draw",
                        place,
                        name=name,
                        value=float(f"{float((flat * 0.7).cos().sum()):.9g}"),
                        count=drawn.numel(),
                    )
            return drawn

        return drawing


def _members(group: Any) -> list[int] | None:
    try:
        return sorted(torch.distributed.get_process_group_ranks(group))
    except (ValueError, RuntimeError, AttributeError, KeyError):
        return None


def _shape(args: Any) -> list[int] | None:
    return list(args[0].shape) if args and torch.is_tensor(args[0]) else None
