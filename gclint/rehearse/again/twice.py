"""Does an evaluation give the same twice and change nothing, is all of the model in what is saved, and do workers
fetch rows of their own?

The first run leaves out the evaluation of libraries' trainers; here they evaluate half-way. The program is run once
more and looked at without regard for the run (`gclint.rehearse.observe.twice`, `.unchanged`, `.saved`, `.workers`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gclint.rehearse.again.another import Another, has_trainer
from gclint.rehearse.questions import modes
from gclint.rehearse.record import Event, Place
from gclint.rehearse.seen import Seen, listed, place
from gclint.verify.recipe import Evaluation


def ask(other: Another) -> Iterator[Seen]:
    """Run it closely where there is something to look at."""
    record = other.first.first
    found = record.end.get("evaluations") or [["", "", 0, 0, []]]
    file, name, first, line, trains = found[-1]
    trainer = has_trainer(other.outcome) and other.outcome.first.planned.get("evaluates") != "False"
    saved = any(part.get("root", -1) >= 0 for each in record.of("save") for part in each["parts"])
    workers = any(each["workers"] > 1 for each in record.of("loader"))
    evaluates = any(not each["training"] and not each["gradient"] for each in record.of("forward"))
    if not evaluates and not saved and not workers and not trainer:
        return
    half = max(1, len(record.steps) // 2) if trainer else 0
    twice = Evaluation(file, name, first, line, tuple(trains))
    outcome, closer = other.run("closely", closely=True, twice=twice, evaluated_at=half)
    if outcome.status != "finished" and (trainer or line):
        yield from map(_failed, () if other.first.made_up else closer.first.of("evaluation failed"))
        closer = other.run("closely-once", closely=True)[1]
    elif trainer:
        yield from modes.ask(closer)
    told = _Evaluated(f"{name}()", (file, first)) if name and not line else _Evaluated("the evaluation", (file, line))
    for event in closer.first.of("evaluated"):
        yield from told.looked_at(event)
    if not any(event["changed"] for event in closer.first.of("evaluated")):
        yield from map(_unsettled, closer.first.of("unsettled"))
    for event in closer.first.of("incomplete"):
        yield from _incomplete(event)
    for event in closer.first.of("workers"):
        yield _workers(event)


@dataclass(frozen=True)
class _Evaluated:
    """What was computed twice: its name in a sentence, and where it stands."""

    name: str
    where: Place

    def looked_at(self, event: Event) -> Iterator[Seen]:
        """What the two turns told; a trainer's evaluation says itself where it is."""
        where = place(event["at"]) or self.where
        name = "the evaluation" if event["at"] else self.name
        if event["changed"]:
            yield Seen(
                "GCS307",
                "evaluation-changes-model",
                f"{name} leaves the model other than it found it: {listed(event['changed'])}",
                where,
                f"{len(event['changed'])} parameters and buffers are others after one call",
                "put back what the evaluation exchanges, and update nothing while module.training is False",
            )
        elif event["same"] and (event["apart"] or event["outputs"]):
            told = "the model gives others for the same input"
            if event["apart"]:
                told = f"{event['apart'][0]:.6g} in the first call, {event['apart'][1]:.6g} in the second"
            yield Seen(
                "GCS306",
                "evaluation-not-repeatable",
                f"{name} gives other numbers the second time",
                where,
                f"{told}, with the same rows, weights and random numbers",
                "reset what the evaluation adds up, at its head",
            )


def _failed(event: Event) -> Seen:
    return Seen(
        "GCS308",
        "evaluation-fails",
        "the trainer's evaluation ends with an error",
        place(event["at"]),
        event["error"],
        "mend it before the run comes to its first evaluation",
    )


def _unsettled(event: Event) -> Seen:
    return Seen(
        "GCS307",
        "evaluation-changes-model",
        f"a forward of {event['root']} in evaluation mode changes what it keeps: {listed(event['changed'])}",
        place(event["at"]),
        f"{len(event['changed'])} parameters and buffers are others after one call without gradients",
        "update nothing while module.training is False",
    )


def _incomplete(event: Event) -> Iterator[Seen]:
    if event["missing"]:
        yield Seen(
            "GCS904",
            "saved-without-state",
            f"what is saved of {event['root']} is not all that it computes with: {listed(event['missing'])}",
            place(event["at"]),
            "loaded into the model as it was before the first step, it gives other outputs",
            "register_buffer() what the model has to remember",
        )


def _workers(event: Event) -> Seen:
    if event["stream"]:
        return Seen(
            "GCS410",
            "stream-repeated-by-workers",
            "every worker of this loader goes through the whole stream",
            place(event["at"]),
            f"the first {event['rows']} rows of workers 0 and 1 are the same: each comes {event['workers']} times",
            "divide the stream by torch.utils.data.get_worker_info()",
        )
    return Seen(
        "GCS409",
        "workers-repeat-draws",
        "the workers of this loader draw the same random numbers",
        place(event["at"]),
        f"rows 0, 0 and 1 come out alike in workers 0 and 1 of {event['workers']}, and row 0 twice in two ways",
        "make the generator in each worker, from torch.initial_seed()",
    )
