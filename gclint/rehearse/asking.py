"""The questions by name, and asking them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from gclint.rehearse.questions import batches, labels, losses, memory, modes, parameters, ranks, schedule, states, steps
from gclint.rehearse.record import Recording
from gclint.rehearse.seen import Seen

Question = Callable[[Recording], Iterator[Seen]]
QUESTIONS: dict[str, Question] = {
    "parameters": parameters.ask,
    "steps": steps.ask,
    "losses": losses.ask,
    "modes": modes.ask,
    "batches": batches.ask,
    "labels": labels.ask,
    "schedule": schedule.ask,
    "ranks": ranks.ask,
    "memory": memory.ask,
    "states": states.ask,
}


NAMES = (*QUESTIONS, "reference", "resume")


def ask(run: Recording, only: Collection[str] = ()) -> tuple[list[Seen], list[str]]:
    """What the questions find in a run, a place told once for each code; and which of them failed, with the error."""
    found: dict[tuple[object, ...], Seen] = {}
    failed = [f"a watcher of rank {record.rank}: {text}" for record in run for text in record.end.get("failed", ())]
    for name, question in QUESTIONS.items():
        if not only or name in only:
            for seen in attempted(name, question(run), failed):
                found.setdefault((seen.code, seen.place), seen)
    return list(found.values()), failed


def attempted(name: str, answers: Iterable[Seen], failed: list[str]) -> Iterator[Seen]:
    """What a question finds until it fails; then its name and the error are added to `failed`."""
    try:
        yield from answers
    except Exception as error:
        failed.append(f"{name}: {type(error).__name__}: {error}")


EXPLAINED = {
    "GCS1": "What should learn does not",
    "GCS2": "Gradients are lost, left over or spoilt",
    "GCS3": "The model is in the wrong mode",
    "GCS4": "The data is not what each rank, epoch or label should get",
    "GCS5": "A loss function gets what it is not made for",
    "GCS6": "The learning rate does not go as it was meant to",
    "GCS7": "The ranks do not stay together",
    "GCS8": "Memory grows",
    "GCS9": "States are not saved, loaded or continued whole",
}
