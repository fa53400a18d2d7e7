"""Watches an arbitrary training run from outside: what is called, what is given to backward, what changes.

Nothing of the run is replaced; the public hooks of torch are used where there are any.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from gclint.verify.outcome import Group, Step
from gclint.verify.worker.closures import Given, once_computed
from gclint.verify.worker.flat import whole
from gclint.verify.worker.limit import Limit
from gclint.verify.worker.names import plain
from gclint.verify.worker.orders import Orders
from gclint.verify.worker.randomness import generators
from gclint.verify.worker.regions import watch_recomputation
from gclint.verify.worker.sketch import signed, sketch
from gclint.verify.worker.snapshot import LIMIT, Snapshot, local
from gclint.verify.worker.traffic import Traffic

BY_NAME = 4  # steps whose gradients and moves are kept by parameter
SETTINGS = ("lr", "weight_decay", "momentum", "dampening", "eps", "nesterov", "amsgrad", "maximize")


class Enough(BaseException):
    """Raised inside the run to end it after the wanted number of optimizer steps."""


class Recorder:
    """Collects the measures of `RankReport`; `install` once, then read the attributes."""

    def __init__(self, limit: Limit | None = None, after_backward: Callable[[], None] | None = None):
        self.limit = limit or Limit(None)
        self.after_backward = after_backward
        self.traffic = Traffic()
        self.orders = Orders()
        self.roots: list[Any] = []
        self.extra: list[Any] = []
        self.steps: list[Step] = []
        self.step_count = 0
        self.recomputed = 0
        self.cut = False
        self._called: list[Any] = []
        self._in_backward = False
        self._in_step = False
        self._depth = threading.local()
        self._start = Snapshot()
        self._before = Snapshot()
        self._since: float | None = None
        self._hooked = True
        self._gradient: Callable[[Any], Any] = lambda parameter: parameter.grad
        self._gather: Callable[[list[Any]], Any] | None = None
        self._forget()

    def _forget(self) -> None:
        """Begin a new step."""
        self.losses: list[float] = []
        self.backwards = 0
        self._recomputed = self.recomputed
        self._forwards = [0, 0, 0]
        self._evaluating: dict[str, None] = {}
        self._dtypes: Counter[str] = Counter()
        self._left: set[int] = set()

    def by_hand(self, gradient: Callable[[Any], Any], gather: Callable[[list[Any]], Any] | None) -> None:
        """Leave the steps to `close_step` and `count_step`, for an engine that keeps gradients and parameters in parts.

        `gradient` gives a parameter's whole gradient, `gather` a context in which parameters are whole.
        """
        self._hooked, self._gradient, self._gather = False, gradient, gather

    def install(self) -> None:
        """Start watching this process."""
        self._watch_calls()
        self._watch_backward()
        self.traffic.install()
        self.orders.install()
        watch_recomputation(self._recompute)
        register_optimizer_step_pre_hook(self._before_step)
        register_optimizer_step_post_hook(self._after_step)

    def named_parameters(self) -> dict[str, Any]:
        """Return the parameters of every outermost module that was called, and of the optimizers, by name."""
        named: dict[str, Any] = {}
        seen: set[int] = set()
        for index, root in enumerate(self._with_parameters()):
            prefix = f"model{index}." if index else ""
            for name, parameter in root.named_parameters():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    named[prefix + plain(name)] = parameter
        for index, parameter in enumerate(each for each in self.extra if id(each) not in seen):
            named[f"parameter.{index}"] = parameter
        return named

    def _with_parameters(self) -> list[Any]:
        return [root for root in self.roots if any(True for _ in root.parameters())]

    def named_buffers(self) -> dict[str, Any]:
        """Return the floating-point and counting buffers of the called modules by name."""
        return {
            plain(name): buffer
            for root in self.roots
            for name, buffer in root.named_buffers()
            if buffer.device.type != "meta" and buffer.numel() <= LIMIT
        }

    def finish(self) -> Step:
        """Return what happened after the last optimizer step; a backward that none followed counts as a step kept."""
        try:
            made = self._step(gradients=self.backwards > 0)
        except RuntimeError:  # a model that an exception left half-way does not gather
            made = self._step(gradients=False)
        if made.backwards:
            self.steps.append(made)
        self._forget()
        return made

    def forged(self) -> str:
        """Say that the program has replaced what it is measured by, "" where it has not."""
        whole = torch.autograd.backward is self._watched and torch.nn.Module.__call__ is self._calling
        return "" if whole else "the program replaced what it is measured by"

    def changed(self) -> tuple[int, list[str]]:
        """Return how many trainable tensors changed since the first backward, and the names that did not."""
        parameters = self.named_parameters()
        try:
            with self._whole(parameters):
                known = {name: each for name, each in parameters.items() if self._start.has(each)}
                same = [name for name, each in known.items() if not self._start.changed(each)]
        except RuntimeError:
            if self._gather is None:
                raise
            return 0, []  # an engine that an exception left half-way does not gather
        return len(known) - len(same), same

    def _whole(self, parameters: dict[str, Any]) -> Any:
        return contextlib.nullcontext() if self._gather is None else self._gather(list(parameters.values()))

    def _watch_calls(self) -> None:
        call = torch.nn.Module.__call__
        recorder = self

        def watched(module: Any, *args: Any, **kwargs: Any) -> Any:
            depth = getattr(recorder._depth, "value", 0)
            if depth == 0:
                recorder._outermost(module)
            recorder._depth.value = depth + 1
            try:
                return call(module, *args, **kwargs)
            finally:
                recorder._depth.value = depth

        torch.nn.Module.__call__ = self._calling = watched

    def _recompute(self) -> None:
        self.recomputed += 1

    def _outermost(self, module: Any) -> None:
        if self._in_backward or torch._C._current_graph_task_id() != -1:  # also inside torch.autograd.grad
            return
        if self._since is None:
            self._since = time.perf_counter()
        if not any(module is each for each in self._called):
            self._called.append(module)
        root = unwrap(module)
        if not any(root is each for each in self.roots):
            self.roots.append(root)
        self._note_forward(root)

    def _note_forward(self, root: Any) -> None:
        if not torch.is_grad_enabled():
            self._forwards[2] += 1
            return
        self._forwards[0 if root.training else 1] += 1
        index = next(index for index, each in enumerate(self.roots) if each is root)
        for name in evaluating(root):
            self._evaluating[f"model{index}.{name}".rstrip(".") if index else name] = None
        for kind in ("cpu", "cuda"):
            if torch.is_autocast_enabled(kind):
                self._dtypes[f"autocast {_short(torch.get_autocast_dtype(kind))}"] += 1

    def _watch_backward(self) -> None:
        backward = torch.autograd.backward

        def watched(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if self._in_backward:
                return backward(tensors, *args, **kwargs)
            self._begin_backward(tensors)
            self._in_backward = True
            depth = getattr(self._depth, "value", 0)
            self._depth.value = 0
            try:
                backward(tensors, *args, **kwargs)
            finally:
                self._in_backward = False
                self._depth.value = depth
            if self.after_backward is not None:
                self.after_backward()

        torch.autograd.backward = self._watched = watched

    def _begin_backward(self, tensors: Any) -> None:
        if not self._start:
            parameters = self.named_parameters()
            with self._whole(parameters):
                self._start = Snapshot(parameters.values())
        if not self.backwards and self.steps:
            self._left = {id(each) for each in self.named_parameters().values() if _holds_gradient(each)}
        self.backwards += 1
        for each in tensors if isinstance(tensors, (list, tuple)) else [tensors]:
            if getattr(each, "numel", lambda: 0)() == 1 and each.device.type != "meta":
                self.losses.append(float(each.detach()))
                self._dtypes[f"loss {_short(each.dtype)}"] += 1

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> Given | None:
        if self._in_step or not self._hooked:
            return None
        self._in_step = True
        known = {id(each) for each in self.extra}
        own = [each for group in optimizer.param_groups for each in group["params"]]
        self.extra += [each for each in own if id(each) not in known]
        self._left &= {id(each) for each in own}  # another optimizer's gradients are its own affair
        self._before = Snapshot(own)
        return once_computed(args, kwargs, lambda: self.close_step(groups(optimizer)))

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._in_step = False
        if self._hooked:
            self._note_moves()
            self.count_step()

    def _note_moves(self) -> None:
        if sharded(self._called):
            self.steps[-1] = replace(self.steps[-1], moves=None, random=generators())
            return
        named = {name: each for name, each in self.named_parameters().items() if self._before.has(each)}
        moves = {name: self._before.move(each) for name, each in named.items() if self._before.changed(each)}
        total = _together(moves)
        last = self.steps[-1]
        kept = moves if len(self.steps) <= BY_NAME else {}
        self.steps[-1] = replace(last, moves=kept, total_move=total, random=generators())
        self._before = Snapshot()

    def count_step(self) -> None:
        """Count an optimizer step; raises Enough after the last one wanted."""
        self.step_count += 1
        if self.limit.reached(self.step_count):
            self.cut = True
            raise Enough

    def close_step(self, of: tuple[Group, ...] = ()) -> None:
        """Keep what the step is about to use: losses, gradients, modes, time."""
        self.steps.append(replace(self._step(), groups=of))
        self._forget()
        self._since = time.perf_counter()

    def _step(self, gradients: bool = True) -> Step:
        found: dict[str, list[float] | None] = {}
        with whole(self._called) as flat:
            named = self.named_parameters().items() if gradients else ()
            parameters = {name: each for name, each in named if each.requires_grad and id(each) not in flat}
            for name, parameter in parameters.items():
                grad = self._gradient(parameter)
                found[name] = None if grad is None else (sketch(grad) or None)
        dtypes = self._dtypes + Counter(_short(each.dtype) for each in parameters.values())
        return Step(
            losses=tuple(self.losses),
            gradients=found if len(self.steps) < BY_NAME else {},
            seconds=time.perf_counter() - self._since if self._since is not None else 0.0,
            recomputed=self.recomputed - self._recomputed,
            total_gradient=_together({name: each for name, each in found.items() if each}),
            backwards=self.backwards,
            forwards=(self._forwards[0], self._forwards[1], self._forwards[2]),
            evaluating=tuple(sorted(self._evaluating)),
            dtypes=dict(dtypes),
            random=generators(),
            uncleared=len(self._left),
            **self.traffic.take(),
        )


def groups(optimizer: Any) -> tuple[Group, ...]:
    """Return an optimizer's parameter groups with the numbers that decide how they are stepped."""
    found = []
    for group in optimizer.param_groups:
        settings = {name: float(group[name]) for name in SETTINGS if isinstance(group.get(name), (bool, int, float))}
        settings |= {f"beta{index + 1}": float(each) for index, each in enumerate(group.get("betas", ()))}
        found.append(Group(type(optimizer).__name__, len(group["params"]), settings))
    return tuple(found)


def evaluating(root: Any) -> list[str]:
    """Return the names of the topmost modules of a model that are in evaluation mode, "" for the model itself."""
    found: list[str] = []
    for name, module in root.named_modules():
        below = found == [""] or any(name.startswith(f"{outer}.") for outer in found)
        if not module.training and not below:
            found.append(plain(name))
    return found


def _together(sketches: dict[str, list[float]]) -> list[float]:
    """One sketch of several tensors, told apart by their order: wrappers change their names."""
    each = [signed(str(index), numbers) for index, numbers in enumerate(sketches.values())]
    return [sum(column) for column in zip(*each, strict=True)]


def _holds_gradient(parameter: Any) -> bool:
    grad = parameter.grad
    return grad is not None and grad.device.type != "meta" and bool((local(grad) != 0).any())


def _short(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def sharded(modules: list[Any]) -> bool:
    """Whether the parameters of one of the modules lie in shards, one on each rank."""
    return any(
        type(module).__name__ == "FullyShardedDataParallel"
        or any(hasattr(each, "to_local") for each in module.parameters())
        for module in modules
    )


def unwrap(module: Any) -> Any:
    """Return the user's module inside data-parallel and compile wrappers."""
    wrappers = (
        "DistributedDataParallel", "PlainParallel", "FullyShardedDataParallel", "DataParallel", "DeepSpeedEngine",
    )  # fmt: skip
    while True:
        if type(module).__name__ in wrappers:
            module = module.module
        elif hasattr(module, "_orig_mod"):
            module = module._orig_mod
        else:
            return module
