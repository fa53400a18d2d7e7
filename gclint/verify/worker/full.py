"""A recipe's training step at full size, with fake tensors: shapes and memory, and no number computed."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from gclint.verify.footprint import BATCH, SEQUENCE, Footprint, Sizes
from gclint.verify.moments import Adapter, Kbit, Wrap
from gclint.verify.recipe import ModelSpec, Recipe
from gclint.verify.worker import device
from gclint.verify.worker.build import dtype_of, from_config, override
from gclint.verify.worker.layers import layers
from gclint.verify.worker.live import LiveBytes
from gclint.verify.worker.loop import make_batch
from gclint.verify.worker.optimizers import state_bytes, step_bytes
from gclint.verify.worker.perform import SHAPING
from gclint.verify.worker.published import full_config, part_heads
from gclint.verify.worker.shrink import give_start_token
from gclint.verify.worker.stack import SHORT, Peak, cut, equal_layers, stretched
from gclint.verify.worker.stage import Stage

QUANTISED = {"4bit": 0.5 + 4 / 64, "8bit": 1.0}


def footprint(recipe: Recipe, sizes: Sizes, hardware: device.Hardware) -> Footprint:
    """Return what one rank of the run holds on its device at the fullest moment of a full-size step."""
    empty = Footprint(capacity=device.capacity(hardware))
    if recipe.model.origin == "project" or not (recipe.model.name or recipe.model.model_type):
        return replace(empty, unknown="the full-size model is not one that transformers builds")
    try:
        config, how = _config_of(recipe.model)
    except LookupError as error:
        return replace(empty, unknown=str(error))
    empty = replace(empty, config=how)
    override(config, recipe.model)
    give_start_token(config)
    try:
        return _measured(FullSize(recipe, sizes, config), config, empty)
    except Exception as error:
        said = (str(error).strip().splitlines() or [""])[0][:160]
        return replace(empty, unknown=f"its step cannot be followed without data ({type(error).__name__}: {said})")


def _config_of(spec: ModelSpec) -> tuple[Any, str]:
    """The config of a checkpoint, or the one that the program builds of a type, and where it is from."""
    import transformers

    if spec.name:
        return full_config(spec.name)
    if spec.model_type not in transformers.CONFIG_MAPPING:
        raise LookupError(f"transformers knows no type {spec.model_type}")
    return transformers.CONFIG_MAPPING[spec.model_type](), f"type {spec.model_type}, as the program builds it"


def _measured(full: FullSize, config: Any, found: Footprint) -> Footprint:
    sizes, recipe = full.sizes, full.recipe
    batch, length = sizes.batch_size or BATCH, _length(sizes, config)
    full.play()
    live = full.step(batch, length)
    trainable = [each for each in full.model.parameters() if each.requires_grad]
    gradients = sum(each.nbytes for each in trainable)
    buckets = gradients if any(isinstance(each, Wrap) and each.kind == "ddp" for each in recipe.moments) else 0
    added = [each for each in full.model.parameters() if id(each) not in full.base]
    temporary = step_bytes(sizes.optimizer, trainable)
    found = replace(
        found,
        model=type(full.inner).__name__,
        parameters=full.count,
        trainable=sum(each.numel() for each in trainable),
        weights=full.weights,
        adapters=sum(each.nbytes for each in added),
        optimizer=state_bytes(sizes.optimizer, trainable),
        layer=_layer(full.model),
        batch_size=batch,
        sequence_length=length,
        checkpointing=full.checkpointing,
    )
    if sizes.accumulate > 1:
        return replace(found, gradients=gradients + buckets, activations=max(live.peak, temporary))
    if gradients + temporary > live.peak:
        return replace(found, gradients=gradients + buckets, activations=temporary, moment="optimizer step")
    return replace(found, gradients=live.held + buckets, activations=live.peak - live.held)


def _length(sizes: Sizes, config: Any) -> int:
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    places = getattr(text, "max_position_embeddings", None)
    wanted = sizes.sequence_length or SEQUENCE
    return min(wanted, places) if isinstance(places, int) and places > 0 else wanted


def _layer(model: Any) -> int:
    sizes = [sum(each.nbytes for each in layer.parameters()) for _, layer, _, _ in layers(model)]
    return max(sizes, default=0)


def shaped(recipe: Recipe, sizes: Sizes, model: Any) -> Any:
    """Return `model` after the moments of `recipe` that shape it, with adapters of the user's rank."""
    run = types.SimpleNamespace(limits=[], evidence="architecture", reference=False, job={})
    stage = Stage(recipe, run, model, model)
    for moment in recipe.moments:
        if isinstance(moment, Adapter) and sizes.rank:
            moment = replace(moment, rank=sizes.rank)
        if moment.do in SHAPING:
            SHAPING[moment.do](stage, moment)
    return stage.model


class FullSize:
    """The full-size model of a recipe: built on the meta device, adapted, then made of fake tensors."""

    def __init__(self, recipe: Recipe, sizes: Sizes, config: Any):
        from torch._subclasses.fake_tensor import FakeTensorMode

        self.recipe, self.sizes = recipe, sizes
        self.fake = FakeTensorMode(allow_non_fake_inputs=True)
        with torch.device("meta"):
            self.inner = part_heads(from_config(recipe.model, config))
            self.inner.to(_dtype(recipe, config))
        self.quantised = _quantised(self.inner, recipe.model)
        self.count = sum(each.numel() for each in self.inner.parameters())
        self.base = {id(each) for each in self.inner.parameters()}
        self.model = self.inner
        self.checkpointing = False

    @property
    def weights(self) -> int:
        """The bytes of the base model's parameters, quantised ones as bitsandbytes packs them, and buffers."""
        ratio = QUANTISED.get(self.recipe.model.quantization or "", 0.0)
        packed = {id(each.weight) for each in self.quantised}
        total = 0.0
        for each in self.model.parameters():
            if id(each) in self.base:
                total += each.numel() * ratio if id(each) in packed else each.nbytes
        return int(total + sum(each.nbytes for each in self.model.buffers()))

    def play(self) -> None:
        """Play the moments that shape the model, with the user's rank, and give every tensor fake storage."""
        dtype = self.inner.dtype
        with torch.device("meta"):
            self.model = shaped(self.recipe, self.sizes, self.inner)
        for moment in self.recipe.moments:
            self.checkpointing = _checkpoints(moment, self.checkpointing)
        for module in self.quantised:
            module.weight.data = module.weight.data.to(dtype if dtype != torch.float32 else torch.bfloat16)
            module.forward = types.MethodType(_dequantised, module)
        self._give_storage()

    def step(self, batch: int, length: int) -> Peak:
        """Return what forward and backward need as they are before an optimizer step.

        Where a step has several passes this is its last one: the gradients are there from the start.
        """
        stack = equal_layers(self.inner)
        if stack is not None:
            with contextlib.suppress(Exception):
                added = 0 if self.sizes.accumulate > 1 else sum(map(_gradient, stack[0].parameters()))
                peaks = [self._short(batch, length, stack, count) for count in SHORT]
                found = stretched(peaks[0], peaks[1], len(stack), added)
                if found is not None:
                    return found
        return self.run(batch, length)

    def _short(self, batch: int, length: int, stack: Any, count: int) -> Peak:
        with cut(stack, count):
            return self.run(batch, length)

    def run(self, batch: int, length: int) -> Peak:
        """Return what forward and backward of the layers there are need."""
        self.model.train()
        trainable = [each for each in self.model.parameters() if each.requires_grad]
        dtype = getattr(torch, self.sizes.autocast or "bfloat16")
        given = make_batch(self.inner, self.recipe.model, (batch, length), 0, torch.device("cpu"))
        with self.fake:
            for each in trainable:
                each.grad = torch.empty_like(each) if self.sizes.accumulate > 1 else None
            grads = [each.grad for each in trainable if each.grad is not None]
            live = LiveBytes([*self.model.parameters(), *self.model.buffers(), *grads])
            live.watch_gradients(trainable)
            with live, _fused_attention():
                given = {name: torch.empty(each.shape, dtype=each.dtype) for name, each in given.items()}
                with torch.autocast("cpu", dtype=dtype, enabled=bool(self.sizes.autocast)):
                    loss = self.model(attention_mask=torch.ones_like(given["input_ids"]), **given).loss
                kept = live.live
                loss.backward()
        return Peak(live.peak, live.held, kept)

    def _give_storage(self) -> None:
        """Replace meta tensors by fake ones of the CPU, whose autocast and kernels are those of real ones.

        Tensors that are shared stay shared.
        """
        given: dict[int, Any] = {}
        with self.fake:
            for module in self.model.modules():
                for holder in (module._parameters, module._buffers, vars(module)):
                    for name, tensor in list(holder.items()):
                        if isinstance(tensor, torch.Tensor):
                            if id(tensor) not in given:
                                given[id(tensor)] = (tensor, _fake(tensor))
                            holder[name] = given[id(tensor)][1]
        self.base = {id(given[each][1]) for each in self.base}


@contextlib.contextmanager
def _fused_attention() -> Iterator[None]:
    """Attend as GPUs do, which fuse attention with dropout too; the CPU would write out every weight."""
    functional = torch.nn.functional
    attend = functional.scaled_dot_product_attention

    def fused(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, **kwargs: Any) -> Any:
        return attend(query, key, value, attn_mask, 0.0, **kwargs)

    functional.scaled_dot_product_attention = fused
    try:
        yield
    finally:
        functional.scaled_dot_product_attention = attend


def _gradient(parameter: Any) -> int:
    return int(parameter.nbytes) if parameter.requires_grad else 0


def _fake(tensor: Any) -> Any:
    made = torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu")
    parameter = isinstance(tensor, torch.nn.Parameter)
    return torch.nn.Parameter(made, requires_grad=tensor.requires_grad) if parameter else made


def _dtype(recipe: Recipe, config: Any) -> Any:
    own = getattr(config, "dtype", None) or getattr(config, "torch_dtype", None)
    chosen = dtype_of(recipe.model, recipe.target)
    by_library = recipe.model.dtype in (None, "auto") and chosen is torch.bfloat16
    return own if by_library and isinstance(own, torch.dtype) else chosen


def _quantised(model: Any, spec: ModelSpec) -> list[Any]:
    """The linear layers that bitsandbytes packs: all but the output embedding."""
    if spec.quantization is None:
        return []
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    return [each for each in model.modules() if type(each) is torch.nn.Linear and each is not head]


def _dequantised(module: Any, hidden: Any) -> Any:
    return torch.nn.functional.linear(hidden.to(module.weight.dtype), module.weight, module.bias).to(hidden.dtype)


def _checkpoints(moment: Any, before: bool) -> bool:
    if moment.do == "checkpointing":
        return bool(moment.on)
    if isinstance(moment, Kbit):
        return before or moment.checkpointing
    return {"patch_forward": True, "restore_forward": False}.get(moment.do, before)
