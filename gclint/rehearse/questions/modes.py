"""Is the model in training mode when it trains, and in evaluation mode when it is evaluated?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gclint.rehearse.record import Event, Record, Recording
from gclint.rehearse.seen import Seen, place

LEAST = 2


def ask(run: Recording) -> Iterator[Seen]:
    """Look at the forwards of rank 0."""
    record = run.first
    for number, root in enumerate(_roots(record)):
        if not any(each["root"] == number and each["moves"] for each in record.parameters.values()):
            continue
        yield from _trains_in_evaluation(record, number, root)
        yield from _evaluates(record, number, root)
    for where in dict.fromkeys(place(each["at"]) for each in record.of("dropout")):
        mine = [each for each in record.of("dropout") if place(each["at"]) == where]
        yield Seen(
            "GCS303",
            "dropout-in-evaluation",
            f"{mine[0]['root']} drops out while it is in evaluation mode",
            where,
            f"{len(mine)} calls with a share of {mine[0]['share']:g}; two evaluations differ",
            "training=self.training, or nn.Dropout; dropout_p=self.p if self.training else 0.0",
        )


def _roots(record: Record) -> list[dict[str, Any]]:
    return next((each["roots"] for each in record.of("model")), [])


def _trains_in_evaluation(record: Record, number: int, root: dict[str, Any]) -> Iterator[Seen]:
    """Windows between backwards: the forwards of a model that lead to one."""
    windows: list[list[Event]] = [[]]
    for event in record.of("forward", "backward"):
        if event["kind"] == "backward":
            windows.append([])
        elif event["root"] == number and event["graph"]:
            windows[-1].append(event)
    used = [window for window in windows[:-1] if window]
    modes = [any(each["training"] for each in window) for window in used]
    if len(modes) < LEAST or all(modes) or not (root["dropouts"] or root["norms_trained"]):
        return
    first = next((index for index, mode in enumerate(modes) if not any(modes[index:])), None)
    if first is None or len(modes) - first < LEAST:
        return
    left = next((each for each in record.of("forward") if each["root"] == number and not each["training"]), None)
    where, at = place(used[first][0]["at"]), place(left["at"]) if left is not None else None
    parts = " and ".join(
        f"{root[name]} {told}"
        for name, told in (("dropouts", "dropout layers"), ("norms", "batch norms"))
        if root[name]
    )
    if first == 0:
        yield Seen(
            "GCS301",
            "trains-in-evaluation-mode",
            f"{root['class']} is in evaluation mode in every step",
            where,
            f"{parts} do not do what they do in training",
            "call model.train() before the loop",
        )
    else:
        yield Seen(
            "GCS302",
            "evaluation-mode-not-left",
            f"after an evaluation {root['class']} trains on in evaluation mode",
            where,
            f"from backward {first + 1} of {len(modes)} on; {parts} stay off",
            "call model.train() after it",
            ((at, "first called in evaluation mode here"),) if at and at != where else (),
        )


def _evaluates(record: Record, number: int, root: dict[str, Any]) -> Iterator[Seen]:
    """Forwards on loaders of which no batch ever leads to a backward."""
    trained = {each["batch"][0] for each in record.of("backward", "asked") if each["batch"]}
    apart = [
        each
        for each in record.of("forward")
        if each["root"] == number and each["batch"] and each["batch"][0] not in trained
    ]
    training = [each for each in apart if each["training"] and not each["gradient"]]
    if training and (root["dropouts"] or root["norms"]):
        yield Seen(
            "GCS304",
            "evaluation-in-training-mode",
            f"{root['class']} is evaluated in training mode",
            place(training[0]["at"]),
            f"{len(training)} forwards without gradients on a loader that is not trained on; "
            f"{root['dropouts']} dropout layers drop, {root['norms']} batch norms learn from it",
            "call model.eval() before the evaluation, model.train() after it",
        )
    graphs = [each for each in apart if each["graph"]]
    if len(graphs) >= LEAST and not training:
        yield Seen(
            "GCS305",
            "evaluation-keeps-graph",
            f"{root['class']} is evaluated with gradients on",
            place(graphs[0]["at"]),
            f"{len(graphs)} forwards built a graph that no backward used",
            "evaluate under torch.inference_mode() or torch.no_grad()",
        )
