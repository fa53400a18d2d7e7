"""Does the program go on from what it saved first as it went on after saving it?

It is started again with the files that it had written by then, by its option or because it finds them, and with other
random numbers. What was saved and is not loaded is told; of what was not saved what a program needs that is told to
resume: the states of optimizer, schedule and scaler. Libraries' trainers save in a run of their own, half-way.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from gclint.rehearse.again.another import Another, has_trainer
from gclint.rehearse.record import Event, Place, Record
from gclint.rehearse.seen import Seen, beside, place
from gclint.verify.recipe import ProgramRecipe

OUTSIDE = ".outside"  # what a program writes outside of its copy lies there (gclint.verify.worker.shims.files)
STEPS = 2  # the learning rate of the first is often the optimizer's own, which the schedule replaces after it


def ask(other: Another) -> Iterator[Seen]:
    """Start the program with what it saved, and look at its first step."""
    other = _that_saves(other)
    record = other.first.first
    saved = _first_checkpoint(record)
    if saved is None:
        return
    given = other.directory / "given"
    shutil.unpack_archive(other.directory / f"saved-{record.rank}", given, "tar")
    options, seed = _options(record, other.recipe, saved.path), other.recipe.seed + 1
    outcome, recording = other.run("resumed", given=str(given), options=options, seed=seed)
    resumed = recording.first
    reads = [*resumed.of("read"), *resumed.of("weights read")]
    read = [each for each in reads if each["file"] in saved.files and not each["step"]]
    if not read:
        return
    where, origin = place(read[0]["at"]), beside(saved.at, f"{saved.name} is saved here")
    if outcome.status == "raised":
        yield Seen(
            "GCS914",
            "resume-fails",
            f"the program cannot go on from {saved.name}, which it saved",
            where,
            outcome.reason,
            "save what it reads, and read what it saves",
            origin,
        )
        return
    went_on = [step for step in record.steps if step["step"] > saved.step]
    pairs = tuple(zip(went_on[:STEPS], resumed.steps[:STEPS], strict=False))
    if not pairs or any(was["optimizer"] != now["optimizer"] for was, now in pairs):
        return
    asked = options != other.recipe.options
    yield from _Resumed(saved.read_as(read[0]["file"]), pairs, asked, where, origin).compared()
    yield from _rows_again(record, resumed, *pairs[0], where, origin)


def _that_saves(other: Another) -> Another:
    """The run, or one in which a library's trainer saves half-way."""
    if other.first.first.of("kept") or not has_trainer(other.outcome):
        return other
    half = max(1, len(other.first.first.steps) // 2)
    outcome, first = other.run("saving", saved_at=half)
    recipe = replace(other.recipe, saved_at=half)
    return replace(other, recipe=recipe, outcome=outcome, first=first, directory=other.directory / "saving")


@dataclass(frozen=True)
class _Checkpoint:
    """What was saved after one step: a file that holds every kind of state there is, else the directory of all files.
    `path` is relative to the copy of the project; `parts` are the states by the file that they are in.
    """

    step: int
    at: Place | None
    path: str
    parts: dict[str, list[Event]]

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name

    @property
    def files(self) -> set[str]:
        return {self.name, *self.parts}

    def read_as(self, file: str) -> _Checkpoint:
        """What is read where one of its files is: that file alone, or all of the directory."""
        return replace(self, parts={file: self.parts[file]}) if self.name in self.parts else self

    def holds(self, what: str) -> bool:
        """Whether a state of this kind was saved."""
        return any(each["of"] == what for parts in self.parts.values() for each in parts)


def _first_checkpoint(record: Record) -> _Checkpoint | None:
    saves = [each for each in (*record.of("save"), *record.of("weights")) if each["parts"] and each["step"]]
    kept = next(iter(record.of("kept")), None)
    if kept is None or not saves:
        return None
    first = min(saves, key=lambda each: each["step"])
    alone = kept["files"][0] if len(kept["files"]) == 1 else ""  # what a library writes from a buffer
    held = {each["path"] or alone: each["parts"] for each in saves if each["step"] == first["step"]}
    held.pop("", None)
    if not held:
        return None
    kinds = {part["of"] for parts in held.values() for part in parts}
    loose = {each["path"] for each in record.of("weights")}  # a library's file of weights, beside its configuration
    whole = next((p for p, parts in held.items() if {each["of"] for each in parts} == kinds and p not in loose), None)
    path = whole or os.path.commonpath([os.path.dirname(each) for each in held])
    parts = {PurePosixPath(each).name: parts for each, parts in held.items()}
    return _Checkpoint(first["step"], place(first["at"]), path, parts)


@dataclass(frozen=True)
class _Resumed:
    """The first steps after a checkpoint was `saved`: `pairs` of what they were in the run that went on, and are in the
    one that was started from it, because it was `asked` to or by itself.
    """

    saved: _Checkpoint
    pairs: tuple[tuple[Event, Event], ...]
    asked: bool
    where: Place | None
    origin: tuple[tuple[Place, str], ...]

    def compared(self) -> Iterator[Seen]:
        """What is other: the weights, else what else there is."""
        (was, now), after = self.pairs[0], f"after step {self.saved.step}"
        if not _close(was["before"][0], now["before"][0]):
            told = f"their sum is {now['before'][0]:.6g}, it was {was['before'][0]:.6g} {after}"
            message = f"weights are not those that {self.saved.name} was saved with"
            yield self._seen("GCS911", "weights", message, told, "load the model's state")
            return
        if not _close(was["before"][1], now["before"][1]) and self._minds("optimizer"):
            told = f"it remembers {now['before'][1]:.4g} in all, {was['before'][1]:.4g} {after}"
            message = f"the optimizer starts anew: its state {self._missing('optimizer')}"
            yield self._seen("GCS912", "optimizer", message, told, "save and load optimizer.state_dict()")
        rates = [(was["rates"], now["rates"]) for was, now in self.pairs if was["rates"] and now["rates"]]
        at = next((at for at, (old, new) in enumerate(rates) if not all(map(_close, old, new))), None)
        if at is not None and self._minds("optimizer", "scheduler"):
            told = f"{max(rates[at][1]):.4g} in step {at + 1}, {max(rates[at][0]):.4g} in that of the run that went on"
            message = f"the learning rate starts anew: the schedule {self._missing('scheduler')}"
            yield self._seen("GCS913", "schedule", message, told, "save and load scheduler.state_dict()")
        if was["scale"] and now["scale"] and was["scale"] != now["scale"] and self._minds("scaler"):
            told = f"losses are multiplied by {now['scale']:g} in the first step, by {was['scale']:g} {after}"
            message = f"the gradient scaler starts anew: its state {self._missing('scaler')}"
            yield self._seen("GCS915", "scaler", message, told, "save and load scaler.state_dict()")
        states = (each for parts in self.saved.parts.values() for each in parts if each["of"] == "random state")
        kept = {each["generator"] for each in states}
        other = sorted(name for name in kept if now["random"].get(name) != was["random"].get(name))
        if other:
            told = f"generators in another state at the end of the first step: {', '.join(other)}"
            message = f"random numbers are not those of the run that goes on: the state {self._missing('random state')}"
            yield self._seen("GCS916", "random-state", message, told, "set the states that were saved, last of all")

    def _minds(self, *what: str) -> bool:
        return self.asked or any(map(self.saved.holds, what))

    def _missing(self, what: str) -> str:
        return "is saved and not loaded" if self.saved.holds(what) else "is not saved"

    def _seen(self, code: str, what: str, message: str, effect: str, help_: str) -> Seen:
        return Seen(code, f"resume-without-{what}", message, self.where, effect, help_, self.origin)


def _rows_again(
    record: Record, resumed: Record, was: Event, now: Event, where: Place | None, origin: tuple[tuple[Place, str], ...]
) -> Iterator[Seen]:
    """An epoch in the middle of which the file was saved, and that starts anew with the same batches."""
    before, after = _epoch(record, was), _epoch(resumed, now)
    if before is None or after is None:
        return
    (rows, done), (again, start) = before, after
    same = [one for one, other in zip(rows[start:done], again[start:], strict=False) if one == other]
    if len(same) < 2 or len(same) < min(done, len(again)) - start:
        return
    yield Seen(
        "GCS917",
        "resume-repeats-rows",
        "the checkpoint was saved within an epoch, and the program starts that epoch anew",
        where,
        f"{done} batches were trained on before, and the first {len(same)} of them come again in the same order",
        "save which batch is next, and skip to it",
        origin,
    )


def _epoch(record: Record, step: Event) -> tuple[list[list[float]], int] | None:
    """The rows of each batch of the epoch that a step is in, and how many came before; None where it has no batch."""
    batch = next((each["batch"] for each in step["losses"] if each["batch"]), None)
    if batch is None:
        return None
    loader, epoch, number = batch
    rows = [each["rows"] for each in record.of("batch") if (each["loader"], each["epoch"]) == (loader, epoch)]
    return rows, number


def _options(record: Record, recipe: ProgramRecipe, path: str) -> dict[str, str]:
    """The options of the run, with the one by which the program is told to go on, where it has one that is free."""
    asks = next(iter(record.of("asks")), None)
    if asks is None or not asks["free"]:
        return recipe.options
    outside = PurePosixPath(path).parts[:1] == (OUTSIDE,)
    path = path.removeprefix(OUTSIDE) if outside else os.path.relpath(path, recipe.directory or ".")
    return {**recipe.options, asks["option"]: "" if asks["switch"] else path}


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * max(1e-12, abs(one), abs(other)) + 1e-12
