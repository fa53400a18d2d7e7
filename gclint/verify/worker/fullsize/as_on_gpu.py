"""Operations that keep other tensors on a CPU than on a GPU, done as a GPU does them."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

# what CUDA's autocast computes in float32 and the CPU's does not (aten/src/ATen/autocast_mode.h, AT_FORALL_FP32)
FLOAT32 = (
    "softmax", "log_softmax", "layer_norm", "group_norm", "norm", "nll_loss", "cross_entropy", "cosine_similarity",
    "cumsum", "cumprod", "prod", "sum", "exp", "log", "pow", "__pow__", "rsqrt", "reciprocal", "softplus", "l1_loss",
    "smooth_l1_loss", "mse_loss", "kl_div", "poisson_nll_loss",
)  # fmt: skip


def install() -> None:
    """Attend and drop out with the fused kernels, step optimizers all at once, and cast as CUDA's autocast does."""
    functional = torch.nn.functional
    functional.scaled_dot_product_attention = _attending(functional.scaled_dot_product_attention)
    functional.dropout = _dropping(functional.dropout)
    for found in pkgutil.iter_modules(torch.optim.__path__):
        module: Any = importlib.import_module(f"torch.optim.{found.name}")
        if hasattr(module, "_default_to_fused_or_foreach"):
            module._default_to_fused_or_foreach = _all_at_once
    for owner in (torch, torch.Tensor, functional):
        for name in FLOAT32:
            if hasattr(owner, name):
                setattr(owner, name, _casting(getattr(owner, name)))


def _attending(attend: Any) -> Any:
    """Attention whose weights are never written out, with dropout too."""

    @functools.wraps(attend)
    def fused(
        query: Any, key: Any, value: Any, mask: Any = None, dropout_p: float = 0.0, *args: Any, **more: Any
    ) -> Any:
        return _laid_out(attend(query, key, value, more.pop("attn_mask", mask), 0.0, *args, **more))

    return fused


def _laid_out(made: Any) -> Any:
    """What attention gives, as CUDA's kernel for float32 writes it: by batch, place and head
    (aten/src/ATen/native/transformers/cuda/attention.cu). The CPU's lies as the query does, which saves some a copy.
    """
    if not isinstance(made, FakeTensor) or made.dtype is not torch.float32 or made.dim() != 4:
        return made
    _, heads, places, width = made.shape
    return made.as_strided(made.shape, (places * heads * width, width, heads * width, 1))


def _dropping(drop: Any) -> Any:
    """Dropout that keeps a mask of one byte a number."""

    @functools.wraps(drop)
    def dropped(hidden: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        if inplace or not training or not p:
            return drop(hidden, p, training, inplace)
        return torch.native_dropout(hidden, p, True)[0]

    return dropped


def _all_at_once(parameters: Any, differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    return False, not differentiable


def _casting(function: Any) -> Any:
    """A function that is computed in float32 where autocast is on."""

    @functools.wraps(function)
    def cast(*args: Any, **kwargs: Any) -> Any:
        if not torch.is_autocast_enabled("cpu"):
            return function(*args, **kwargs)
        with torch.autocast("cpu", enabled=False):
            return function(*map(_float32, args), **{name: _float32(each) for name, each in kwargs.items()})

    return cast


def _float32(value: Any) -> Any:
    half = isinstance(value, torch.Tensor) and value.dtype in (torch.bfloat16, torch.float16)
    return value.float() if half else value
