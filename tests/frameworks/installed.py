"""Where the installed library keeps what a framework module names."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from gclint.frameworks.registry import SOME_NAME, Library, load_library

LIBRARY: Library = load_library()
LIBRARIES = (
    "torch", "transformers", "peft", "trl", "accelerate", "lightning", "pytorch_lightning", "lightning_fabric",
    "bitsandbytes", "deepspeed", "diffusers", "fairscale", "hydra", "omegaconf", "open_clip", "timm",
)  # fmt: skip
DEEPER = {
    "torch": (
        "torch.amp",
        "torch.distributed.algorithms._checkpoint.checkpoint_wrapper",
        "torch.distributed.fsdp",
        "torch.distributed.fsdp.sharded_grad_scaler",
        "torch.distributed.launcher.api",
        "torch.distributed.optim",
        "torch.multiprocessing",
        "torch.nn",
        "torch.nn.functional",
        "torch.nn.parallel",
        "torch.optim",
        "torch.optim.lr_scheduler",
        "torch.utils.checkpoint",
        "torch.utils.data",
    ),
    "transformers": (
        "transformers.integrations.deepspeed",
        "transformers.optimization",
        "transformers.utils.import_utils",
    ),
    "accelerate": ("accelerate.utils", "accelerate.state"),
    "lightning": ("lightning.pytorch", "lightning.pytorch.strategies", "lightning.fabric"),
    "pytorch_lightning": ("pytorch_lightning.strategies", "lightning_fabric"),
    "lightning_fabric": ("lightning_fabric.strategies",),
    "bitsandbytes": ("bitsandbytes.nn", "bitsandbytes.optim"),
    "diffusers": ("diffusers.utils",),
    "fairscale": ("fairscale.nn", "fairscale.nn.data_parallel", "fairscale.optim"),
    "hydra": ("hydra.utils",),
    "timm": ("timm.models", "timm.models._manipulate", "timm.layers"),
}
# what a module still knows of older releases; each was there in the version that is named
GONE = {
    "peft:P-TuningConfig": "the name of PromptEncoderConfig in old tutorials",
    "peft:prepare_model_for_int8_training": "peft < 0.10",
    "transformers:AdamW": "transformers < 4.50",
    "trl:setup_chat_format": "trl < 1",
}
TAKES = re.compile(r'call\.get\(\s*"(\w+)",\s*(\d+)')
CLASSES = {
    "accelerator": "accelerate.Accelerator",
    "diffusers_model": "diffusers.ModelMixin",
    "ddp": "torch.nn.parallel.DistributedDataParallel",
    "engine": "deepspeed.DeepSpeedEngine",
    "fabric": "lightning.Fabric",
    "lightning_module": "lightning.LightningModule",
    "lightning_trainer": "lightning.Trainer",
    "model": "transformers.PreTrainedModel",
    "module": "torch.nn.Module",
    "optimizer": "torch.optim.Optimizer",
    "parser": "argparse.ArgumentParser",
    "tensor": "torch.Tensor",
    "trainer": "transformers.Trainer",
    "vision_model": "timm.models.VisionTransformer",
}


def named(package: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions and classes of a package that the frameworks name, with what handles them."""
    for name, handler in LIBRARY.all.functions.items():
        if name.split(":")[0].split(".")[0] == package and not name.endswith(SOME_NAME):
            yield name, handler


def found(name: str) -> Any:
    """What the installed library has under a stated name, None when it has nothing."""
    package, colon, last = name.partition(":")
    if not colon:
        package, _, last = name.rpartition(".")
        try:
            return getattr(importlib.import_module(package), last, None)
        except ImportError:
            outer, _, inner = package.rpartition(".")
            return getattr(getattr(importlib.import_module(outer), inner, None), last, None)
    for deeper in DEEPER.get(package, ()):
        importlib.import_module(deeper)
    importlib.import_module(package)
    for module in [sys.modules[package], *(sys.modules[deeper] for deeper in DEEPER.get(package, ()))]:
        held = getattr(module, last, None)
        if held is not None:
            return held
    return None


def positions(handler: Callable[..., Any]) -> list[tuple[str, int]]:
    """The arguments that a handler reads by name and by position."""
    return [(name, int(index)) for name, index in TAKES.findall(inspect.getsource(handler))]


def parameters(function: Any) -> list[str]:
    """The parameters of a function, a constructor or a method, without the object itself."""
    names = list(inspect.signature(function).parameters)
    return names[1:] if names[:1] in (["self"], ["cls"]) else names
