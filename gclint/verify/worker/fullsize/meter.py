"""Measures one step of a program at full size, and the same step again in copies of the process with a change each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves

from gclint.verify.footprint import PARTS, SEQUENCE, Footprint, Wanted
from gclint.verify.worker.fullsize import as_on_gpu, fakes
from gclint.verify.worker.fullsize.copies import Copies, in_a_line
from gclint.verify.worker.fullsize.options import Scene
from gclint.verify.worker.layers import layers
from gclint.verify.worker.recorder import Enough

PASSES = 2  # from the second backward on, a step holds the gradients of those before


class Meter:
    """Watches a program until its first optimizer step is over; `footprint` is what it came to.

    The optimizers' states are made before that step, as every later one finds them.
    """

    def __init__(self, wanted: Wanted, data_are_here: Any):
        self.wanted, self.data_are_here = wanted, data_are_here
        self.optimizers: list[Any] = []
        self.stepped: list[Any] = []
        self.model: Any = None
        self.inside = self.warming = False
        self.backwards = 0
        self.states = ""
        self.keeps_gradients = self.is_sharded = False
        self.footprint: Footprint | None = None
        self.copies = Copies()
        self._known: set[int] = set()
        self._size = (0, 0)

    def install(self) -> None:
        """Start watching."""
        as_on_gpu.install()
        self.ledger = fakes.install()
        begin = torch.optim.Optimizer.__init__
        call, backward = torch.nn.Module.__call__, torch.autograd.backward

        def begin_known(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            begin(optimizer, *args, **kwargs)
            self.optimizers.append(optimizer)

        def called(module: Any, *args: Any, **kwargs: Any) -> Any:
            if self.inside:
                return call(module, *args, **kwargs)
            self.inside = True
            try:
                self._called(module, args, kwargs)
                return call(module, *args, **kwargs)
            finally:
                self.inside = False

        def went_back(*args: Any, **kwargs: Any) -> None:
            self.ledger.enter("backward")
            try:
                backward(*args, **kwargs)
            finally:
                self.ledger.enter("forward")
            self.backwards += self.model is not None

        torch.optim.Optimizer.__init__ = begin_known
        torch.nn.Module.__call__ = called
        torch.autograd.backward = went_back
        register_optimizer_step_pre_hook(self._before_step)
        register_optimizer_step_post_hook(self._after_step)

    def _called(self, module: Any, args: Any, kwargs: Any) -> None:
        """A module is called by the program itself."""
        if not torch.is_grad_enabled() or not any(each.requires_grad for each in module.parameters()):
            if self.model is not None:
                self._know(module)
            return
        if self.model is None and (not self.optimizers or not module.training):
            return
        leaves = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
        if self.model is None:
            self._start(module, leaves)
        elif self.backwards >= PASSES and not self.stepped:
            for each in self.optimizers:
                self._step(each)
            self._finish()
        else:
            self._know(module)
            if self._size != (0, 0):
                self._fit_to(leaves, *self._size)

    def _start(self, model: Any, leaves: list[Any]) -> None:
        self.model = model
        batch, length = _shape(leaves)
        rows = self.wanted.batch_size or batch
        columns = length and self._length(length)
        self._resized(leaves, batch, length, rows, columns)
        scene = Scene(model, self.optimizers, lambda to: self._resized(leaves, rows, columns, to, columns), rows)
        self.copies.start(scene)
        self._know(model)
        for each in self.optimizers:
            self._warm(each)
            self.ledger.tag(_gradients(each), "gradients")
        self.ledger.begin()

    def _length(self, own: int) -> int:
        """The tokens of a row: as asked for, as the program's data have them, else as its text says or assumed."""
        if self.wanted.sequence_length:
            return self.wanted.sequence_length
        self.told = ""
        if self.data_are_here():
            return own
        config = getattr(self.model, "config", None)
        most = getattr(config, "max_position_embeddings", None) or SEQUENCE
        self.told = self.wanted.told or f"sequences of at most {SEQUENCE} tokens are assumed"
        return min(self.wanted.likely_length or SEQUENCE, most) if isinstance(most, int) else SEQUENCE

    told = ""

    def _resized(self, leaves: list[Any], batch: int, length: int, rows: int, columns: int) -> None:
        """Give the tensors within reach of the program another size, from now on."""
        self._sizes = (rows, columns)
        if (batch, length) == (rows, columns):
            return
        self._size = (rows, columns)
        self._from = (batch, length)
        self._fit_to([*leaves, *_in_reach(batch)], rows, columns)

    def _fit_to(self, tensors: list[Any], rows: int, columns: int) -> None:
        batch, length = self._from
        for each in {id(each): each for each in tensors}.values():
            shape = list(each.shape)
            if not shape or shape[0] != batch or each.requires_grad:
                continue
            shape[0] = rows
            if length and len(shape) > 1:
                shape[1:] = [columns if size == length else size for size in shape[1:]]
            if isinstance(each, FakeTensor):
                each.data = torch.zeros(shape, dtype=each.dtype)
            else:
                with _disable_current_modes():
                    each.data = torch.zeros(shape, dtype=each.dtype)

    def _know(self, module: Any) -> None:
        """Say of a model's tensors what they are, once."""
        if id(module) in self._known:
            return
        self._known.add(id(module))
        for each in module.parameters():
            self.ledger.tag([each], "trained weights" if each.requires_grad else "frozen weights")
            if each.requires_grad:
                each.register_post_accumulate_grad_hook(self._accumulated)
                if each.grad is not None:
                    self.ledger.tag([each.grad], "gradients")
        self.ledger.tag(module.buffers(), "buffers")

    def _accumulated(self, parameter: Any) -> None:
        if parameter.grad is not None:
            self.ledger.tag([parameter.grad], "gradients")

    def _warm(self, optimizer: Any) -> None:
        """Let an optimizer make its state."""
        self.warming = True
        held = [each for group in optimizer.param_groups for each in group["params"] if each.requires_grad]
        without = [each for each in held if each.grad is None]
        for each in without:
            each.grad = torch.empty_like(each)
        with suppress(TypeError):  # a step that wants a closure
            type(optimizer).step(optimizer)
        for each in () if self.keeps_gradients else without:
            each.grad = None
        for change in (getattr(optimizer, "after_warming", None), self._states_of(optimizer)):
            if change is not None:
                change(optimizer)
        if getattr(optimizer, "_gclint_packed", False):
            optimizer.step = lambda *args, **kwargs: self._after_step(optimizer, args, kwargs)
        states = (each for state in optimizer.state.values() for each in state.values())
        self.ledger.tag((each for each in tree_leaves(list(states)) if _is_tensor(each)), "optimizer state")
        self.warming = False

    def _states_of(self, optimizer: Any) -> Any:
        from gclint.verify.worker.fullsize.packed import pack_states

        if not self.states or getattr(optimizer, "_gclint_packed", False):
            return None
        return lambda each: pack_states(each, paged=self.states == "paged")

    def _step(self, optimizer: Any) -> None:
        with torch.no_grad():
            optimizer.step() if getattr(optimizer, "_gclint_packed", False) else type(optimizer).step(optimizer)

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.ledger.enter("optimizer step")

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.ledger.enter("forward")
        if self.model is None or self.warming:
            return
        again = any(each is optimizer for each in self.stepped)
        self.stepped.append(optimizer)
        if again or len(self.stepped) >= len(self.optimizers):
            self._finish()

    def _finish(self) -> None:
        """Keep what was measured, end a copy, and let the copies measure theirs where the run does not fit."""
        numbers = list(_numbers(self.model))
        self.footprint = Footprint(
            model=type(_inner(self.model)).__name__,
            parameters=sum(number for number, _ in numbers),
            trainable=sum(number for number, is_trained in numbers if is_trained),
            moment=self.ledger.moment,
            parts={name: size for name in PARTS if (size := self.ledger.parts.get(name, 0))},
            reserved=self.ledger.reserved(),
            layer=max((_bytes(layer) for _, layer, _, _ in layers(self.model)), default=0),
            batch_size=self._sizes[0],
            sequence_length=self._sizes[1],
            checkpointing=any(getattr(each, "is_gradient_checkpointing", False) for each in self.model.modules()),
            told=self.told,
        )
        self.is_sharded = bool(_flat(self.model)) or any(
            hasattr(each, "_local_tensor") for each in self.model.parameters()
        )
        self.copies.done({"total": self.footprint.total})
        raise Enough()

    def ended(self, error: BaseException | None) -> None:
        """The program is over: end a copy that has measured nothing."""
        self.copies.done({"error": in_a_line(error) if error else "no optimizer step was taken"})


def _flat(model: Any) -> list[Any]:
    """The flat parameters of FSDP1, of which each process keeps its shard."""
    handles: list[Any] = [getattr(each, "_handle", None) for each in model.modules()]
    return [each.flat_param for each in handles if hasattr(each, "flat_param")]


def _numbers(model: Any) -> Iterator[tuple[int, bool]]:
    """The numbers of each parameter, whole where it is packed or one of several shards, and whether it is trained."""
    flat, seen = _flat(model), set[int]()
    for one in flat:
        kept = one._params if one._params is not None else [one] * len(one._shapes)
        seen.update(map(id, (one, *kept)))
        yield from ((shape.numel(), each.requires_grad) for shape, each in zip(one._shapes, kept, strict=True))
    for each in model.parameters():
        if id(each) not in seen:
            yield int(getattr(each, "numbers", each.shape.numel())), each.requires_grad


def _shape(leaves: list[Any]) -> tuple[int, int]:
    """The rows of a batch, and the tokens of a row where its rows are tokens."""
    tokens = [each for each in leaves if each.ndim == 2 and not each.dtype.is_floating_point]
    if tokens:
        return int(tokens[0].shape[0]), int(tokens[0].shape[1])
    return next((int(each.shape[0]) for each in leaves if each.ndim), 0), 0


def _in_reach(batch: int) -> list[Any]:
    """The tensors of a batch's rows that the functions now running hold in their variables."""
    found, frame = [], sys._getframe(1)
    while frame is not None:
        if "/torch/" not in frame.f_code.co_filename and not frame.f_globals.get("__name__", "").startswith("gclint"):
            held = [each for each in frame.f_locals.values() if isinstance(each, (torch.Tensor, dict, list, tuple))]
            with suppress(Exception):
                found += [each for each in tree_leaves(held) if _is_tensor(each) and each.ndim]
        frame = frame.f_back  # type: ignore[assignment]
    return [each for each in found if each.shape[0] == batch and not isinstance(each, torch.nn.Parameter)]


def _gradients(optimizer: Any) -> list[Any]:
    held = [each for group in optimizer.param_groups for each in group["params"]]
    return [each.grad for each in held if each.grad is not None]


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _bytes(module: Any) -> int:
    return sum(each.nbytes for each in module.parameters())


def _inner(model: Any) -> Any:
    for name in ("base_model", "model"):
        inner = getattr(model, name, None)
        if type(model).__name__.startswith(("Peft", "Lora")) and isinstance(inner, torch.nn.Module):
            model = inner
    return model
