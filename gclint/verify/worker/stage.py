"""What the moments of one run share: the model as it is now, its wrapper, optimizer, saved state."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from gclint.verify.recipe import Recipe


@dataclass
class Stage:
    """`model` is the user's model (with adapters), `wrapped` what the loop calls.

    `calling` says how a class of the project is called (`worker/calling.py`), None for models with input_ids; `engine`
    that `wrapped` is DeepSpeed's engine, which takes the backward and the step.
    """

    recipe: Recipe
    run: Any
    model: Any = None
    wrapped: Any = None
    optimizer: Any = None
    calling: Any = None
    engine: bool = False
    state: dict[str, Any] | None = None
    untouched: dict[str, Any] | None = None
    originals: list[tuple[Any, Any, int]] = field(default_factory=list)

    @property
    def rank(self) -> int:
        """This process's rank."""
        return int(os.environ.get("RANK", "0"))

    @property
    def distributed(self) -> bool:
        """Whether the run has more than one rank."""
        return self.recipe.world_size > 1
