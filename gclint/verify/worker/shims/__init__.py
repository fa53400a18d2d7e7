"""What a program finds instead of hub models, data sets and accelerators, and a note of every replacement."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from gclint.verify.recipe import ProgramRecipe


@dataclass
class Replacements:
    """`replaced`: harmless substitutions, in words; `limits`: what of the program was therefore not run."""

    scratch: Path
    replaced: list[str] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Add a substitution once."""
        if text not in self.replaced:
            self.replaced.append(text)

    def limit(self, text: str) -> None:
        """Add something that is not run, once."""
        if text not in self.limits:
            self.limits.append(text)


def install(recipe: ProgramRecipe, family: str, found: Replacements) -> None:
    """Put the replacements in place that the program's text can need."""
    everything = "\n".join([recipe.text, *recipe.files.values()])
    if recipe.copy_of is not None:
        everything += "transformers datasets peft cuda"
    if family == "cpu" and any(word in everything for word in ("cuda", "nccl", "device_map", "hip")):
        from gclint.verify.worker.shims import devices

        devices.install(found)
    if "datasets" in everything:
        from gclint.verify.worker.shims import data

        data.install(found)
    if any(word in everything for word in ("transformers", "trl", "peft", "unsloth")) and _present("transformers"):
        from gclint.verify.worker.shims import models, tokenizers, trainers

        models.install(found, family)
        tokenizers.install(found)
        trainers.install(found, family)


def _present(name: str) -> bool:
    from importlib.util import find_spec

    return name in sys.modules or find_spec(name) is not None
