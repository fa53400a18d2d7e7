"""Does the program go on from the first file that it saved as it went on after saving it?

It is started again with that file, by its option or because it finds the file, and with other random numbers. What was
saved and is not loaded is told; of what was not saved what a program needs that is told to resume: the states of
optimizer, schedule and scaler.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gclint.rehearse.again.another import Another
from gclint.rehearse.record import Event, Place, Record
from gclint.rehearse.seen import Seen, beside, place
from gclint.verify.recipe import ProgramRecipe

OPTION = re.compile(r"""add_argument\(\s*["'](--(?:resume|restore|load[_-]c)[\w-]*)["']([^)]*)\)""")


def ask(other: Another) -> Iterator[Seen]:
    """Start the program with the file that it saved, and look at its first step."""
    record = other.first.first
    saved = next((each for each in record.of("save") if each["kept"]), None)
    if saved is None:
        return
    given = other.directory / "given"
    (given / saved["kept"]).parent.mkdir(parents=True)
    shutil.copyfile(other.directory / f"saved-{record.rank}", given / saved["kept"])
    words = _words(other.recipe, saved["kept"])
    argv, seed = (*other.recipe.argv, *words), other.recipe.seed + 1
    outcome, recording = other.run("resumed", given=str(given), argv=argv, seed=seed)
    resumed = recording.first
    read = [each for each in resumed.of("read") if each["file"] == saved["file"] and not each["step"]]
    if not read:
        return
    where, origin = place(read[0]["at"]), beside(saved["at"], f"{saved['file']} is saved here")
    if outcome.status == "raised":
        yield Seen(
            "GCS914",
            "resume-fails",
            f"the program cannot go on from {saved['file']}, which it saved",
            where,
            outcome.reason,
            "save what it reads, and read what it saves",
            origin,
        )
        return
    was = next((step for step in record.steps if step["step"] > saved["step"]), None)
    now = next(iter(resumed.steps), None)
    if was is None or now is None or now["optimizer"] != was["optimizer"]:
        return
    yield from _Resumed(saved, was, now, bool(words), where, origin).compared()
    yield from _rows_again(record, resumed, was, now, where, origin)


@dataclass(frozen=True)
class _Resumed:
    """The first step after a file was `saved`: what it `was` in the run that went on, and is `now` in the one that was
    started from it, because it was `asked` to or by itself.
    """

    saved: Event
    was: Event
    now: Event
    asked: bool
    where: Place | None
    origin: tuple[tuple[Place, str], ...]

    def compared(self) -> Iterator[Seen]:
        """What is other: the weights, else what else there is."""
        was, now, after = self.was, self.now, f"after step {self.saved['step']}"
        if not _close(was["before"][0], now["before"][0]):
            told = f"their sum is {now['before'][0]:.6g}, it was {was['before'][0]:.6g} {after}"
            message = f"weights are not those that {self.saved['file']} was saved with"
            yield self._seen("GCS911", "weights", message, told, "load the model's state")
            return
        if not _close(was["before"][1], now["before"][1]) and self._minds("optimizer"):
            told = f"it remembers {now['before'][1]:.4g} in all, {was['before'][1]:.4g} {after}"
            message = f"the optimizer starts anew: its state {self._missing('optimizer')}"
            yield self._seen("GCS912", "optimizer", message, told, "save and load optimizer.state_dict()")
        if was["rates"] and not all(map(_close, was["rates"], now["rates"])) and self._minds("optimizer", "scheduler"):
            told = f"{max(now['rates']):.4g} in the first step, {max(was['rates']):.4g} {after}"
            message = f"the learning rate starts anew: the schedule {self._missing('scheduler')}"
            yield self._seen("GCS913", "schedule", message, told, "save and load scheduler.state_dict()")
        if was["scale"] and now["scale"] and was["scale"] != now["scale"] and self._minds("scaler"):
            told = f"losses are multiplied by {now['scale']:g} in the first step, by {was['scale']:g} {after}"
            message = f"the gradient scaler starts anew: its state {self._missing('scaler')}"
            yield self._seen("GCS915", "scaler", message, told, "save and load scaler.state_dict()")
        kept = {each["generator"] for each in self.saved["parts"] if each["of"] == "random state"}
        other = sorted(name for name in kept if now["random"].get(name) != was["random"].get(name))
        if other:
            told = f"generators in another state at the end of the first step: {', '.join(other)}"
            message = f"random numbers are not those of the run that goes on: the state {self._missing('random state')}"
            yield self._seen("GCS916", "random-state", message, told, "set the states that were saved, last of all")

    def _holds(self, what: str) -> bool:
        return any(each["of"] == what for each in self.saved["parts"])

    def _minds(self, *what: str) -> bool:
        return self.asked or any(map(self._holds, what))

    def _missing(self, what: str) -> str:
        return "is saved and not loaded" if self._holds(what) else "is not saved"

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
        "the file was saved within an epoch, and the program starts that epoch anew",
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


def _words(recipe: ProgramRecipe, file: str) -> tuple[str, ...]:
    """The option with which the program is told to go on, where it has one and it is not given."""
    text = Path(str(recipe.copy_of), recipe.name).read_text(encoding="utf-8", errors="replace")
    for option, rest in OPTION.findall(text):
        if any(word.startswith(option) for word in recipe.argv):
            return ()
        return (option,) if "store_true" in rest else (option, file)
    return ()


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * max(1e-12, abs(one), abs(other)) + 1e-12
