"""What Lightning's checkpoints hold besides states: all that the constructor of a module was given, where it calls
`save_hyperparameters()` (lightning/pytorch/core/mixins/hparams_mixin.py, trainer/connectors/checkpoint_connector.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from gclint.run.events import LibraryCall, StateDictLoaded
from gclint.run.guards import Guard
from gclint.run.run import Run, together
from gclint.run.values import Object

from .refused import unsafe
from .resumed import file_of

STATES = "['state_dict']"
"""Under which key such a file has the states of its module."""
KEEPS = "lightning_module.save_hyperparameters"
CHOOSES = ("ignore", "frame")


def refused_beside_states(load: LibraryCall, run: Run) -> tuple[LibraryCall, Guard, str] | None:
    """The call that keeps something in the checkpoints of a module, filled from a file, that torch.load refuses; with
    the guard of both and what that is.
    """
    files = [item for item in load.result.objects() if STATES in item.attributes]
    for model in _filled(files, run) if files else ():
        for kept in run.of_type(LibraryCall):
            call = kept.call
            if kept.name != KEEPS or call is None or call.receiver is not model or call.positional:
                continue
            positional, keywords = model.built or ([], {})
            for given in (*positional, *keywords.values()) if not any(map(call.gives, CHOOSES)) else ():
                found = unsafe(given, run)
                guard = together(load.guard, kept.guard, found[0]) if found is not None else None
                if found is not None and guard is not None:
                    return kept, guard, found[1]
    return None


def _filled(files: list[Object], run: Run) -> Iterator[Object]:
    """Lightning's modules that get a state of one of these files."""
    for each in run.of_type(StateDictLoaded):
        if any(file_of(item) in files for item in each.source.objects()):
            yield from (model for model in each.target.objects() if model.kind == "lightning_module")
