"""State dicts: taken, changed in the ways projects change them, and loaded."""

from __future__ import annotations

from typing import Any

from gclint.verify.moments import LoadState, SaveState
from gclint.verify.worker.stage import Stage


def save_state(stage: Stage, moment: SaveState) -> None:
    """Keep the model's state dict as it is now, with the prefix the code gives it."""
    stage.state = {moment.prefix + name: tensor.detach().clone() for name, tensor in stage.model.state_dict().items()}


def load_state(stage: Stage, moment: LoadState) -> None:
    """Load the saved state, or that of an untouched model whose weights are others."""
    given = stage.state if stage.state is not None else _other(stage)
    given = {moment.prefix + name: tensor for name, tensor in given.items()}
    if moment.filtered or moment.merged:
        own = stage.model.state_dict()
        given = {name: tensor for name, tensor in given.items() if name in own}
        if moment.merged:
            given = {**own, **given}
    stage.model.load_state_dict(given, strict=moment.strict)


def _other(stage: Stage) -> dict[str, Any]:
    """The state of a run before this one: the untouched weights, moved a little and by known amounts."""
    assert stage.untouched is not None
    return {name: tensor * 1.25 if tensor.is_floating_point() else tensor for name, tensor in stage.untouched.items()}
