"""Notes the environment at the moment torch is imported, which is when several variables are read."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

from gclint.verify.worker.shims import CACHES

PREFIXES = ("HIP_", "HSA_", "AMD_", "ROCR_", "CUDA_", "PYTORCH_", "TORCH_", "TORCHDYNAMO_", "OMP_", "MKL_")


class ImportWatch(importlib.abc.MetaPathFinder):
    """Keeps the environment of torch's import, and calls `then` once torch is imported."""

    def __init__(self, then: Callable[[], None] | None = None):
        self.then = then
        self.at_import: dict[str, str] | None = dict(os.environ) if "torch" in sys.modules else None

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Take the note when torch is looked for; leave the finding to the others."""
        if name != "torch" or self.at_import is not None:
            return None
        self.at_import = dict(os.environ)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None and self.then is not None:
            _call_after(spec.loader, self.then)
        return spec

    def report(self, names: Iterable[str]) -> dict[str, Any]:
        """Return `at_import` and `at_end` of the named variables and of backend ones that the program changed."""
        seen = self.at_import if self.at_import is not None else dict(os.environ)
        changed = {
            name
            for name in {*os.environ, *seen}
            if name.startswith(PREFIXES) and name not in CACHES and seen.get(name) != os.environ.get(name)
        }
        wanted = sorted({*names, *changed})
        return {
            "at_import": {name: seen.get(name) for name in wanted},
            "at_end": {name: os.environ.get(name) for name in wanted},
        }


def _call_after(loader: Any, then: Callable[[], None]) -> None:
    execute = loader.exec_module

    def executed(module: ModuleType) -> None:
        execute(module)
        then()

    loader.exec_module = executed
