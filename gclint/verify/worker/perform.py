"""Plays the moments of a recipe in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from gclint.verify.moments import Load, Moment, Optimizer, Train
from gclint.verify.recipe import Recipe
from gclint.verify.worker import adapters, forwards, loop, placement, states
from gclint.verify.worker.stage import Stage

Player = Callable[[Stage, Any], None]
SHAPING: dict[str, Player] = {  # what the model becomes, whether it is run or only sized
    "adapter": adapters.adapt,
    "kbit": adapters.prepare_kbit,
    "freeze": adapters.freeze,
    "input_grads": adapters.require_input_grads,
    "checkpointing": forwards.set_checkpointing,
    "patch_forward": forwards.patch_forwards,
    "restore_forward": forwards.restore_forwards,
    "set_attribute": forwards.set_attribute,
}
PLAYERS: dict[str, Player] = {
    **SHAPING,
    "load": placement.load,
    "override_checkpoint": forwards.override_checkpoint,
    "save_state": states.save_state,
    "load_state": states.load_state,
    "optimizer": loop.build_optimizer,
    "wrap": loop.wrap,
    "train": loop.train,
    "evaluate": loop.evaluate,
}


def completed(moments: tuple[Moment, ...]) -> tuple[Moment, ...]:
    """Return the moments with what a run cannot do without: a model first, an optimizer, a loop."""
    found = list(moments)
    if not any(isinstance(each, Load) for each in found):
        found.insert(0, Load())
    if not any(isinstance(each, Train) for each in found):
        found.append(Train())
    if not any(isinstance(each, Optimizer) for each in found):
        found.insert(next(i for i, each in enumerate(found) if isinstance(each, Train)), Optimizer())
    return tuple(found)


class Performance:
    """One recipe, played on one rank."""

    def __init__(self, run: Any, recipe: Recipe):
        self.run, self.recipe = run, recipe
        self.stage = Stage(recipe, run)

    def play(self) -> None:
        """Play every moment; what one of them raises is raised here."""
        if self.recipe.world_size > 1:
            torch.distributed.init_process_group(self.run.hardware.backend)
        for moment in completed(self.recipe.moments):
            torch.manual_seed(self.recipe.seed + 2)
            PLAYERS[moment.do](self.stage, moment)
        if self.recipe.world_size > 1 and not self.stage.engine:  # an engine's parameters are gathered once more
            torch.distributed.destroy_process_group()
