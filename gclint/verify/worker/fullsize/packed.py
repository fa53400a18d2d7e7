"""Weights and optimizer states in few bits, as bitsandbytes keeps them: their bytes, and what using them makes."""

from __future__ import annotations

import types
from typing import Any

import torch

BLOCK = 64  # weights that share one float32 scale (bitsandbytes: Params4bit.blocksize)
STATE_BLOCK, SMALLEST = 256, 4096  # numbers that share one scale of an 8-bit state; smaller tensors stay float32


class _Multiply(torch.autograd.Function):  # type: ignore[misc]
    """A product with a packed weight, which is unpacked for the product and again for its gradient."""

    @staticmethod
    def forward(context: Any, hidden: Any, module: Any) -> Any:
        context.module = module
        context.hidden = hidden  # kept, as MatMul4Bit does, though the gradient does not need it
        weight = hidden.new_empty(module.unpacked)
        return torch.nn.functional.linear(hidden, weight, module.bias)

    @staticmethod
    def backward(context: Any, gradient: Any) -> Any:
        weight = gradient.new_empty(context.module.unpacked)
        return gradient @ weight, None


def pack(model: Any, bits: str, dtype: Any, twice: bool = False, frozen: bool = False) -> None:
    """Pack the linear layers of `model` but its output embedding; products are made in `dtype`.

    `twice`: the scales are packed in 8 bits too (bnb_4bit_use_double_quant). `frozen`: only layers that do not train.
    """
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    for module in model.modules():
        if type(module) is not torch.nn.Linear or module is head or not module.weight.is_floating_point():
            continue
        if not (frozen and module.weight.requires_grad):
            _pack_one(module, bits, dtype, twice)


def _pack_one(module: Any, bits: str, dtype: Any, twice: bool) -> None:
    weight = module.weight
    module.unpacked = weight.shape
    count = weight.numel()
    made = torch.empty((-(-count // 2), 1) if bits == "4bit" else weight.shape, dtype=torch.uint8)
    module.weight = torch.nn.Parameter(made, requires_grad=False)
    module.weight.numbers = count
    blocks = count // BLOCK if bits == "4bit" else weight.shape[0]
    scales = torch.empty(blocks, dtype=torch.uint8 if twice else torch.float32)
    module.register_buffer("scales", scales, persistent=False)
    if twice:
        module.register_buffer("scales_of_scales", torch.empty(blocks // STATE_BLOCK), persistent=False)

    def forward(self: Any, hidden: Any) -> Any:
        return _Multiply.apply(hidden.to(dtype), self).to(hidden.dtype)

    module.forward = types.MethodType(forward, module)


def pack_states(optimizer: Any, paged: bool = False) -> None:
    """Keep an optimizer's state in 8 bits from now on, or, paged, in memory that need not lie on the device."""
    for state in optimizer.state.values():
        for name, each in list(state.items()):
            if isinstance(each, torch.Tensor) and each.numel() >= SMALLEST:
                state[name] = None if paged else _in_8_bits(each)
    optimizer._gclint_packed = True


def _in_8_bits(tensor: Any) -> list[Any]:
    return [torch.empty(tensor.shape, dtype=torch.uint8), torch.empty(tensor.numel() // STATE_BLOCK)]
