"""torchvision from an index, built for CUDA, beside a torch for CPUs: what imports it shall find it all the same."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path


def declare_missing_operators() -> None:
    """Declare the operators that torchvision registers on import where its compiled part cannot be loaded."""
    found = importlib.util.find_spec("torchvision")
    if found is None or found.origin is None:
        return
    import torch

    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        text = Path(found.origin).with_name("_meta_registrations.py").read_text(encoding="utf-8")
        for name in re.findall(r'register_fake\("(torchvision::\w+)"\)', text):
            torch.library.define(name, "(Tensor x) -> Tensor")


declare_missing_operators()
