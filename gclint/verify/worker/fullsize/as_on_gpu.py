"""Operations that keep other tensors on a CPU than on a GPU, done as a GPU does them."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

# what CUDA's autocast computes in float32 and the CPU's does not (aten/src/ATen/autocast_mode.h, AT_FORALL_FP32)
FLOAT32 = frozenset(
    "softmax log_softmax layer_norm group_norm norm nll_loss cross_entropy cosine_similarity cumsum cumprod prod sum "
    "exp log pow rsqrt reciprocal softplus l1_loss smooth_l1_loss mse_loss kl_div poisson_nll_loss".split()
)


def install() -> None:
    """Attend and drop out with the fused kernels, step optimizers all at once, and cast as CUDA's autocast does."""
    functional = torch.nn.functional
    functional.scaled_dot_product_attention = _attending(functional.scaled_dot_product_attention)
    functional.dropout = _dropping(functional.dropout)
    for found in pkgutil.iter_modules(torch.optim.__path__):
        module = importlib.import_module(f"torch.optim.{found.name}")
        if hasattr(module, "_default_to_fused_or_foreach"):
            module._default_to_fused_or_foreach = _all_at_once
    _Casts().__enter__()


def _attending(attend: Any) -> Any:
    """Attention whose weights are never written out, with dropout too."""

    @functools.wraps(attend)
    def fused(query: Any, key: Any, value: Any, mask: Any = None, dropout_p: float = 0.0, *args: Any, **more: Any) -> Any:
        return attend(query, key, value, more.pop("attn_mask", mask), 0.0, *args, **more)

    return fused


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


class _Casts(TorchFunctionMode):  # type: ignore[misc]
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(function, "__name__", "") not in FLOAT32 or not torch.is_autocast_enabled("cpu"):
            return function(*args, **kwargs)
        with torch.autocast("cpu", enabled=False):
            return function(*map(_float32, args), **{name: _float32(each) for name, each in kwargs.items()})


def _float32(value: Any) -> Any:
    half = isinstance(value, torch.Tensor) and value.dtype in (torch.bfloat16, torch.float16)
    return value.float() if half else value
