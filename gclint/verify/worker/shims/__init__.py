"""What a program finds instead of hub models, data sets and accelerators, and a note of every replacement."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gclint.verify.recipe import ProgramRecipe

STEPS, OBSERVED = 3, 8
CACHES = ("NUMBA_CACHE_DIR", "MPLCONFIGDIR", "XDG_CACHE_HOME", "TORCH_HOME", "TRITON_CACHE_DIR")


@dataclass
class Replacements:
    """`replaced`: harmless substitutions, in words; `limits`: what of the program was therefore not run,
    `planned`: what the program asked for where it was cut, `made_up`: of what its data is not its own.

    `text` is the program's Python text, a NUL between files; `began` when the run began (seconds since 1970);
    `read_config` is the library's own reader of model configs.
    """

    scratch: Path
    text: str = ""
    replaced: list[str] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    planned: dict[str, str] = field(default_factory=dict)
    made_up: dict[str, None] = field(default_factory=dict)
    began: float = field(default_factory=time.time)
    read_config: Any = None

    def note(self, text: str, made_up: str = "") -> None:
        """Add a substitution once, and what of the program's data is `made_up` by it."""
        if text not in self.replaced:
            self.replaced.append(text)
        if made_up:
            self.made_up[made_up] = None

    def limit(self, text: str) -> None:
        """Add something that is not run, once."""
        if text not in self.limits:
            self.limits.append(text)

    def made_here(self, path: Path, name: str) -> bool:
        """Whether the run itself wrote the file `name` in `path`: then it is small, and read as it is."""
        file = path / name
        return file.exists() and file.stat().st_mtime >= self.began and self.scratch in file.resolve().parents


def stay_in_copy(found: Replacements) -> None:
    """Keep a copied project's writing below its copy, and its connections on this machine."""
    from gclint.verify.worker.shims import files, folders, network, terminal

    network.install(found)
    files.install(found)
    folders.install(found)
    terminal.install()
    for name in CACHES:
        os.environ[name] = os.environ["TMPDIR"]


def install(recipe: ProgramRecipe, family: str, found: Replacements) -> Any:
    """Put the replacements in place that the program's text can need; return the loader of full-size models, if any."""
    loader: Any = None
    steps = recipe.stop_after or (OBSERVED if recipe.record else STEPS)
    if family == "cpu" and any(word in found.text for word in ("cuda", "nccl", "device_map", "hip", "accelerator")):
        from gclint.verify.worker.shims import devices

        devices.install(found)
    if family == "cpu" and "deepspeed" in found.text and _present("deepspeed"):
        from gclint.verify.worker import zero

        zero.without_shared_memory()
    if "datasets" in found.text:
        from gclint.verify.worker.shims import data

        data.install(found)
    if any(word in found.text for word in ("transformers", "trl", "peft", "unsloth")) and _present("transformers"):
        from gclint.verify.worker.shims import gone, models, older, processors, tokenizers, trainers

        gone.install(found)
        if recipe.full is None:
            models.install(found, family, recipe.target)
        else:
            from gclint.verify.worker.fullsize.loading import Loader

            loader = Loader(found, recipe.full.config, recipe.target)
            loader.install()
        tokenizers.install(found)
        processors.install(found)
        trainers.install(found, family, steps, recipe)
        older.install(found, recipe.target)
    if recipe.copy_of is not None:
        from gclint.verify.worker import small
        from gclint.verify.worker.shims import files, hub, loops, options, pictures, removed

        options.install(found, "numbers" in recipe.small, recipe.options)
        removed.install(found)
        if any(name in found.text for name in ("hub", "torchvision", "model_zoo")):
            hub.install(found)
        if "layers" in recipe.small:
            small.keep_few_layers(found)
        if "torchvision" in found.text:
            pictures.install(found)
        loops.install(found, family, steps, recipe)
        files.keep_saved(found)
    return loader


def _present(name: str) -> bool:
    from importlib.util import find_spec

    return name in sys.modules or find_spec(name) is not None
