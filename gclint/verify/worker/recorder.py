"""Watches an arbitrary training run from outside: what is called, what is given to backward, what changes.

Nothing of the run is replaced; the public hooks of torch are used where there are any.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from gclint.verify.outcome import KeysLoaded, Step
from gclint.verify.worker.names import plain
from gclint.verify.worker.regions import watch_recomputation
from gclint.verify.worker.sketch import sketch

KEPT_STEPS = 3
SNAPSHOT_LIMIT = 1 << 30


class Enough(BaseException):
    """Raised inside the run to end it after the wanted number of optimizer steps."""


class Recorder:
    """Collects the measures of `RankReport`; `install` once, then read the attributes."""

    def __init__(self, stop_after: int | None = None, after_backward: Callable[[], None] | None = None):
        self.stop_after = stop_after
        self.after_backward = after_backward
        self.roots: list[Any] = []
        self.extra: list[Any] = []
        self.steps: list[Step] = []
        self.step_count = 0
        self.losses: list[float] = []
        self.keys: list[KeysLoaded] = []
        self.recomputed = 0
        self._called: list[Any] = []
        self._open = False
        self._in_backward = False
        self._in_step = False
        self._depth = threading.local()
        self._snapshot: dict[int, Any] = {}
        self._since: float | None = None
        self._hooked = True
        self._gradient: Callable[[Any], Any] = lambda parameter: parameter.grad
        self._gather: Callable[[list[Any]], Any] | None = None

    def by_hand(self, gradient: Callable[[Any], Any], gather: Callable[[list[Any]], Any] | None) -> None:
        """Leave the steps to `close_step` and `count_step`, for an engine that keeps gradients and parameters in parts.

        `gradient` gives a parameter's whole gradient, `gather` a context in which parameters are whole.
        """
        self._hooked, self._gradient, self._gather = False, gradient, gather

    def install(self) -> None:
        """Start watching this process."""
        self._watch_calls()
        self._watch_backward()
        self._watch_loads()
        watch_recomputation(self._recompute)
        register_optimizer_step_pre_hook(self._before_step)
        register_optimizer_step_post_hook(self._after_step)

    def named_parameters(self) -> dict[str, Any]:
        """Return the parameters of every outermost module that was called, and of the optimizers, by name."""
        named: dict[str, Any] = {}
        seen: set[int] = set()
        for index, root in enumerate(self.roots):
            prefix = f"model{index}." if index else ""
            for name, parameter in root.named_parameters():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    named[prefix + plain(name)] = parameter
        for index, parameter in enumerate(each for each in self.extra if id(each) not in seen):
            named[f"parameter.{index}"] = parameter
        return named

    def named_buffers(self) -> dict[str, Any]:
        """Return the floating-point and counting buffers of the called modules by name."""
        return {
            plain(name): buffer
            for root in self.roots
            for name, buffer in root.named_buffers()
            if buffer.device.type != "meta" and buffer.numel() <= SNAPSHOT_LIMIT
        }

    def finish(self) -> None:
        """Close the last step when the run took a backward that no optimizer step followed."""
        if self._open:
            self.close_step()

    def changed(self) -> tuple[int, list[str]]:
        """Return how many trainable tensors changed since the first backward, and the names that did not."""
        parameters = self.named_parameters()
        try:
            with self._whole(parameters):
                return self._compare(parameters)
        except RuntimeError:
            if self._gather is None:
                raise
            return 0, []  # an engine that an exception left half-way does not gather

    def _whole(self, parameters: dict[str, Any]) -> Any:
        return contextlib.nullcontext() if self._gather is None else self._gather(list(parameters.values()))

    def _compare(self, parameters: dict[str, Any]) -> tuple[int, list[str]]:
        changed, same = 0, []
        for name, parameter in parameters.items():
            old = self._snapshot.get(id(parameter))
            if old is None:
                continue
            if old is not parameter and not torch.equal(_local(parameter).cpu(), old):
                changed += 1
            else:
                same.append(name)
        return changed, same

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

        torch.nn.Module.__call__ = watched

    def _recompute(self) -> None:
        self.recomputed += 1

    def _outermost(self, module: Any) -> None:
        if self._in_backward:
            return
        if self._since is None:
            self._since = time.perf_counter()
        if not any(module is each for each in self._called):
            self._called.append(module)
        root = unwrap(module)
        if not any(root is each for each in self.roots):
            self.roots.append(root)

    def _watch_backward(self) -> None:
        backward = torch.autograd.backward

        def watched(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if self._in_backward:
                return backward(tensors, *args, **kwargs)
            self._take_snapshot()
            self._record_loss(tensors)
            self._in_backward = True
            depth = getattr(self._depth, "value", 0)
            self._depth.value = 0
            try:
                backward(tensors, *args, **kwargs)
            finally:
                self._in_backward = False
                self._depth.value = depth
                self._open = True
            if self.after_backward is not None:
                self.after_backward()

        torch.autograd.backward = watched

    def _record_loss(self, tensors: Any) -> None:
        several = tensors if isinstance(tensors, (list, tuple)) else [tensors]
        for each in several:
            if getattr(each, "numel", lambda: 0)() == 1 and each.device.type != "meta":
                self.losses.append(float(each.detach()))

    def _take_snapshot(self) -> None:
        if self._snapshot:
            return
        parameters = self.named_parameters()
        with self._whole(parameters):
            self._keep(parameters)

    def _keep(self, parameters: dict[str, Any]) -> None:
        budget = SNAPSHOT_LIMIT
        for parameter in parameters.values():
            local = _local(parameter)
            if not local.numel():
                continue
            budget -= local.numel() * local.element_size()
            if parameter.requires_grad and budget > 0:
                meta = parameter.device.type == "meta"
                self._snapshot[id(parameter)] = parameter if meta else local.clone().cpu()

    def _watch_loads(self) -> None:
        load = torch.nn.Module.load_state_dict

        def watched(module: Any, state_dict: Any, strict: bool = True, *args: Any, **kwargs: Any) -> Any:
            self.keys.append(_count_keys(module, state_dict, strict))
            return load(module, state_dict, strict, *args, **kwargs)

        torch.nn.Module.load_state_dict = watched

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self._in_step or not self._hooked:
            return
        self._in_step = True
        known = {id(each) for each in self.extra}
        for group in optimizer.param_groups:
            self.extra += [each for each in group["params"] if id(each) not in known]
        self.close_step()

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._in_step = False
        if self._hooked:
            self.count_step()

    def count_step(self) -> None:
        """Count an optimizer step; raises Enough after the last one wanted."""
        self.step_count += 1
        if self.stop_after is not None and self.step_count >= self.stop_after:
            raise Enough

    def close_step(self) -> None:
        """Keep what the step is about to use: losses, gradients, time."""
        seconds = time.perf_counter() - self._since if self._since is not None else 0.0
        parameters = {n: p for n, p in self.named_parameters().items() if p.requires_grad}
        gradients: dict[str, list[float] | None] = {}
        if len(self.steps) < KEPT_STEPS:
            with whole(self._called):
                for name, parameter in parameters.items():
                    grad = self._gradient(parameter)
                    gradients[name] = None if grad is None else (sketch(grad) or None)
        recomputed = self.recomputed - sum(step.recomputed for step in self.steps)
        self.steps.append(Step(tuple(self.losses), gradients, seconds, recomputed))
        self.losses = []
        self._open = False
        self._since = time.perf_counter()


@contextlib.contextmanager
def whole(modules: list[Any]) -> Iterator[None]:
    """Gather the parameters and gradients that FSDP1 keeps in shards, while the block runs."""
    with contextlib.ExitStack() as stack:
        for module in modules:
            if type(module).__name__ == "FullyShardedDataParallel":
                gathered = type(module).summon_full_params(module, with_grads=True, writeback=False)
                stack.enter_context(gathered)
        yield


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


def _local(parameter: Any) -> Any:
    value = parameter.detach()
    return value.to_local() if hasattr(value, "to_local") else value


def _count_keys(module: Any, state_dict: Any, strict: bool) -> KeysLoaded:
    own = torch.nn.Module.state_dict(module)
    fresh = [key for key, value in state_dict.items() if key in own and not _same_storage(value, own[key])]
    return KeysLoaded(len(fresh), len(state_dict), len(own), bool(strict))


def _same_storage(one: Any, other: Any) -> bool:
    if not (torch.is_tensor(one) and torch.is_tensor(other)) or "meta" in (
        one.device.type,
        other.device.type,
    ):
        return False
    return bool(one.numel() and one.data_ptr() == other.data_ptr())
