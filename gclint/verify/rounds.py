"""The rounds of a training loop: in which mode a model trains first, and how it goes on after an evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from gclint.frameworks.torch_states import mode_set
from gclint.run.events import Backward, LibraryCall, Loop
from gclint.run.guards import Guard, conj
from gclint.run.run import Run
from gclint.run.values import Object
from gclint.verify.moments import Evaluate, Train


def rounds(run: Run, backward: Backward, model: Object, way: Guard, train: Train) -> Iterator[Train | Evaluate]:
    """The training around a backward, on one way through the run: `train`, and where the loop evaluates the model
    after that backward, the evaluation and the next round as well.
    """
    switches = [event for event in run.of_type(LibraryCall) if mode_set(event, model) is not None]
    switches = [event for event in switches if conj(way, event.guard) is not None]
    places = [run.place(each) for each in run.of_type(Backward) if each.site == backward.site]
    here = run.place(backward)
    end = min((place for place in places if place > here), default=None)
    earlier = [event for event in switches if run.place(event) < here]
    later = [event for event in switches if here < run.place(event) and (end is None or run.place(event) < end)]
    loop = next((loop for loop in reversed(backward.moment.loops) if _stays(later, loop)), None)
    after = _modes(_stays(later, loop), model, loop)
    if all(after):
        yield train
        return
    first = [mode_set(event, model) for event in earlier]
    again = [*after, *_modes(earlier, model, loop)]
    yield replace(train, train_mode=first[-1] if first else None)
    yield Evaluate()
    yield replace(train, train_mode=again[-1] or None)


def _stays(switches: Sequence[LibraryCall], loop: Loop | None) -> list[LibraryCall]:
    """Those before the walk leaves a loop: what is in it later belongs to another run of it."""
    return list(takewhile(lambda event: any(outer is loop for outer in event.moment.loops), switches))


def _modes(switches: Sequence[LibraryCall], model: Object, loop: Loop | None) -> list[bool | None]:
    """The modes that a round of a loop sets, in order."""
    return [mode_set(event, model) for event in switches if any(outer is loop for outer in event.moment.loops)]
