"""Questions that take a second run: the same program without wrappers, and the program started from what it saved."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from gclint.rehearse.record import Event, Place, Record, Recording, read_records
from gclint.rehearse.seen import Seen, beside, listed, place
from gclint.verify import Verifier
from gclint.verify.outcome import Outcome
from gclint.verify.recipe import ProgramRecipe

EXACT, COARSE = 1e-3, 5e-2
OPTION = re.compile(r"""add_argument\(\s*["'](--(?:resume|restore|load[_-]c)[\w-]*)["']([^)]*)\)""")


def ask_of_second_runs(
    recipe: ProgramRecipe, outcome: Outcome, run: Recording, verifier: Verifier, directory: Path, only: Collection[str]
) -> Iterator[Seen]:
    """Run the program once more, where there is something to compare, and compare."""
    if outcome.status != "finished" or len(run.first.steps) < 2:
        return
    wraps = outcome.first.recomputed or run.first.of("wrapped")
    if wraps and (not only or "reference" in only):
        yield from _reference(recipe, outcome, run, verifier, directory / "reference")
    saved = next((each for each in run.first.of("save") if each["kept"]), None)
    if saved is not None and (not only or "resume" in only):
        yield from _resumed(recipe, run.first, saved, verifier, directory)


def _reference(
    recipe: ProgramRecipe, outcome: Outcome, run: Recording, verifier: Verifier, directory: Path
) -> Iterator[Seen]:
    """Gradients of the first step without checkpointing and data parallelism, but averaged over the ranks."""
    directory.mkdir()
    other = verifier.outcome(replace(recipe, record=str(directory)), reference=True)
    told = _told(outcome, other, run)
    if told is None:
        return
    directory = directory.with_name("once-more")
    directory.mkdir()
    if _told(outcome, verifier.outcome(replace(recipe, record=str(directory))), run) is None:
        yield told  # and the program is the same twice


def _told(outcome: Outcome, other: Outcome, run: Recording) -> Seen | None:
    """What is other in another run of the program: gradients of the first step, else what follows from it."""
    what = "checkpointing" if outcome.first.recomputed else "data parallelism"
    where = place(run.first.steps[0]["at"])
    help_ = f"look at what runs inside {what}: randomness, state that changes, forwards that go past the wrapper"
    differing = _differing(outcome, other)
    if differing:
        name, off = max(differing.items(), key=lambda each: each[1])
        return Seen(
            "GCS951",
            "gradients-change-with-wrapper",
            f"gradients are others with {what} than without it: {listed(differing)}",
            where,
            f"{len(differing)} parameters in the first step; {name} is off by {100 * off:.0f} % of its gradient",
            help_,
        )
    if run.first.of("wrapped") or other.status != "finished":
        return None
    buffers = [name for name, mine in outcome.first.buffers.items() if _apart(mine, other.first.buffers.get(name))]
    if buffers:
        return Seen(
            "GCS952",
            "buffers-change-with-wrapper",
            f"buffers are others with {what} than without it: {listed(buffers)}",
            where,
            f"{len(buffers)} buffers after {len(outcome.first.steps)} steps; the region runs twice in each step",
            help_,
        )
    pairs = list(zip(outcome.losses[:4], other.losses[:4], strict=False))
    first = next((at for at, pair in enumerate(pairs) if abs(pair[0] - pair[1]) > EXACT * abs(pair[1]) + 1e-9), None)
    if first is None or outcome.first.precision not in ("float32", "float64"):
        return None
    return Seen(
        "GCS953",
        "losses-change-with-wrapper",
        f"losses are others with {what} than without it",
        where,
        f"loss {first + 1} is {pairs[first][0]:.5g} and {pairs[first][1]:.5g} without",
        help_,
    )


def _apart(mine: list[float], theirs: list[float] | None) -> bool:
    """Whether two sketches are of tensors that differ by more than rounding."""
    if theirs is None or len(mine) != len(theirs) or not mine:
        return False
    apart = (sum((a - b) ** 2 for a, b in zip(mine[1:], theirs[1:], strict=True)) / 8) ** 0.5
    return bool(apart > EXACT * max(mine[0], theirs[0]) + 1e-9)


def _differing(one: Outcome, other: Outcome) -> dict[str, float]:
    """By how much the gradients of the first step differ on rank 0, of their size, where it is more than rounding."""
    if other.status != "finished" or not one.first.steps or not other.first.steps:
        return {}
    limit = EXACT if one.first.precision in ("float32", "float64") else COARSE
    mine, theirs = one.first.steps[0].gradients, other.first.steps[0].gradients
    largest = max((each[0] for each in mine.values() if each), default=0.0)
    found = {}
    for name in (name for name in mine if name in theirs):
        first, second = mine[name] or [0.0] * 9, theirs[name] or [0.0] * 9
        apart = (sum((a - b) ** 2 for a, b in zip(first[1:], second[1:], strict=True)) / 8) ** 0.5
        size = max(first[0], second[0])
        if size > 1e-4 * largest and apart > limit * size:
            found[name] = apart / size
    return found


def _resumed(
    recipe: ProgramRecipe, record: Record, saved: Event, verifier: Verifier, directory: Path
) -> Iterator[Seen]:
    """The program started with the file that it saved, against what it did after saving it."""
    later = [step for step in record.steps if step["step"] > saved["step"]]
    place_of_record = directory / "resumed"
    place_of_record.mkdir()
    given = directory / "given"
    (given / saved["kept"]).parent.mkdir(parents=True)
    shutil.copyfile(directory / f"saved-{record.rank}", given / saved["kept"])
    words = _words(recipe, saved["kept"])
    again = replace(recipe, record=str(place_of_record), given=str(given), argv=(*recipe.argv, *words))
    outcome = verifier.outcome(again)
    resumed = read_records(place_of_record, 1)[0]
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
    holds = {each["of"] for each in saved["parts"]}
    first = next((step for step in resumed.steps), None)
    if not later or first is None or first["optimizer"] != later[0]["optimizer"]:
        return
    yield from _compared(later[0], first, holds, bool(words), where, origin, saved)


def _compared(
    was: Event,
    now: Event,
    holds: set[str],
    asked: bool,
    where: Place | None,
    origin: tuple[tuple[Place, str], ...],
    saved: Event,
) -> Iterator[Seen]:
    """The first step after the file was saved, in the run that went on and in the one that was started from it."""
    after = f"after step {saved['step']}"
    if not _close(was["before"][0], now["before"][0]):
        yield Seen(
            "GCS911",
            "resume-without-weights",
            f"weights are not those that {saved['file']} was saved with",
            place(where),
            f"their sum is {now['before'][0]:.6g}, it was {was['before'][0]:.6g} {after}",
            "load the model's state",
            origin,
        )
        return
    if not _close(was["before"][1], now["before"][1]) and ("optimizer" in holds or asked):
        missing = "is saved and not loaded" if "optimizer" in holds else "is not saved"
        yield Seen(
            "GCS912",
            "resume-without-optimizer",
            f"the optimizer starts anew: its state {missing}",
            place(where),
            f"it remembers {now['before'][1]:.4g} in all, {was['before'][1]:.4g} {after}",
            "save and load optimizer.state_dict()",
            origin,
        )
    if (
        was["rates"]
        and not all(map(_close, was["rates"], now["rates"]))
        and (holds & {"optimizer", "scheduler"} or asked)
    ):
        missing = "is saved and not loaded" if "scheduler" in holds else "is not saved"
        yield Seen(
            "GCS913",
            "resume-without-schedule",
            f"the learning rate starts anew: the schedule {missing}",
            place(where),
            f"{max(now['rates']):.4g} in the first step, {max(was['rates']):.4g} {after}",
            "save and load scheduler.state_dict()",
            origin,
        )


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
