"""Fixes applied round after round until nothing is left to apply, all in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gclint.files.source import Source, Unwritable
from gclint.finding import Finding
from gclint.fix.choose import Policy, choose
from gclint.fix.edits import BadEdit, Chosen, apply_all, compatible, spans_of
from gclint.fix.left_out import left_out, moved, remaining
from gclint.fix.soundness import Unsound, check_sound

ROUNDS = 10
Sources = Mapping[str, Source]
Check = Callable[[Sources], Sequence[Finding]]
Reader = Callable[[str], "Source | None"]


class NotConverging(RuntimeError):
    """Fixes that still apply after `ROUNDS` rounds; the message names their codes."""


@dataclass(frozen=True)
class Refused:
    """A fix that was not applied because its result would be broken, and why."""

    chosen: Chosen
    why: str


@dataclass
class Convergence:
    """The files as they would be: `changed` by path, the fixes `applied` in order, those `refused`, what
    is left.
    """

    changed: dict[str, Source] = field(default_factory=dict)
    applied: list[Chosen] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    remaining: list[Finding] = field(default_factory=list)
    rounds: int = 0


def converge(check: Check, read: Reader, policy: Policy, without: Iterable[Chosen] = ()) -> Convergence:
    """Return what the files become when every fix that `policy` lets through is applied, those of `without` left out.

    `check` returns the findings of the project with the changed files it is given in place of those on
    disk; `read` returns a file that a fix edits, None for one that must not be edited. Raises
    `NotConverging`.
    """
    state = Convergence()
    refused: set[Chosen] = set()
    out = left_out(without)
    for state.rounds in range(ROUNDS + 1):
        state.remaining = list(check(state.changed))
        wanted = [c for c in remaining(choose(state.remaining, policy), out) if c not in refused]
        current = _files(wanted, state.changed, read)
        accepted, broken = _sound_round(current, wanted)
        refused |= {item.chosen for item in broken}
        state.refused += broken
        if not accepted:
            return state
        if state.rounds == ROUNDS:
            break
        texts = {path: source.text for path, source in current.items()}
        new = apply_all(texts, accepted)
        out = moved(out, texts, new, accepted)
        state.changed |= {path: current[path].with_text(text) for path, text in new.items()}
        state.applied += accepted
    codes = ", ".join(sorted({chosen.finding.code for chosen in accepted}))
    raise NotConverging(f"fixes of {codes} still apply after {ROUNDS} rounds; nothing was written")


def _files(wanted: Iterable[Chosen], changed: Sources, read: Reader) -> dict[str, Source]:
    files: dict[str, Source] = {}
    for path in sorted({edit.path for chosen in wanted for edit in chosen.fix.edits}):
        source = changed.get(path) or read(path)
        if source is not None:
            files[path] = source
    return files


def _sound_round(current: Sources, wanted: list[Chosen]) -> tuple[list[Chosen], list[Refused]]:
    """Return the fixes of one round that leave every file sound, and those that would not."""
    texts = {path: source.text for path, source in current.items()}
    accepted = compatible(texts, wanted)
    why = _fault(current, accepted)
    if why is None:
        return _effective(texts, accepted), []
    sound: list[Chosen] = []
    broken = []
    for chosen in accepted:
        fault = _fault(current, [*sound, chosen])
        if fault is None:
            sound.append(chosen)
        else:
            broken.append(Refused(chosen, fault))
    return _effective(texts, sound), broken


def _effective(texts: Mapping[str, str], accepted: list[Chosen]) -> list[Chosen]:
    """Return `accepted`, or nothing when together they change no text."""
    return accepted if apply_all(texts, accepted) else []


def _fault(current: Sources, accepted: Sequence[Chosen]) -> str | None:
    try:
        for path, text in apply_all({path: source.text for path, source in current.items()}, accepted).items():
            source = current[path]
            edits = [edit for chosen in accepted for edit in chosen.fix.edits if edit.path == path]
            if source.kind in {"python", "notebook"}:
                check_sound(source.text, text, spans_of(source.text, edits))
            source.with_text(text)
    except (BadEdit, Unsound, Unwritable) as error:
        return str(error)
    return None
