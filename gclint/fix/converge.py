"""Fixes applied round after round until nothing is left to apply, all in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gclint.finding import Finding
from gclint.fix.choose import Policy, choose
from gclint.fix.documents import check_settings
from gclint.fix.edits import BadEdit, Chosen, apply_all, compatible, spans_of
from gclint.fix.left_out import LeftOut, left_out, moved, remaining
from gclint.fix.remains import Made, idle, made, shifted, tried_again
from gclint.fix.soundness import Unsound, check_sound
from gclint.source.source import Source, Unwritable

ROUNDS = 10
REMAINS = "the finding remains after it"
UNDOES = "it would only undo what another fix does"
ENDLESS = f"its finding comes again elsewhere, {ROUNDS} times over"
Sources = Mapping[str, Source]
Check = Callable[[Sources], Sequence[Finding]]
Reader = Callable[[str], "Source | None"]


@dataclass(frozen=True)
class Refused:
    """A fix that was not applied, because its result would be broken or it does not work, and why."""

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


def converge(check: Check, read: Reader, policy: Policy, without: Iterable[Chosen] = ()) -> Convergence:
    """Return what the files become when every fix that `policy` lets through is applied, those of `without` left out.

    `check` returns the findings of the project with the changed files it is given in place of those on disk; `read`
    returns a file that a fix edits, None for one that must not be edited. A fix after which its finding is still
    there, that undoes another or that has no end is refused, and the others are applied as if it were not offered.
    """
    search = _Search(check, read, policy, without)
    while not search.ended:
        search.advance()
    return search.state


@dataclass(frozen=True)
class _Round:
    """What there was before the fixes of a round: changed files, fixes kept and left out, how many were refused."""

    changed: dict[str, Source]
    kept: list[Made]
    out: list[LeftOut]
    refused: int


class _Search:
    """Rounds of fixes, gone back on where one of them did not work.

    It ends: whoever goes back to a round leaves out a fix that was made there, and there are `ROUNDS` at most.
    """

    def __init__(self, check: Check, read: Reader, policy: Policy, without: Iterable[Chosen]):
        self.state, self.ended = Convergence(), False
        self._check, self._read, self._policy = check, read, policy
        self._rounds: list[_Round] = []
        self._kept: list[Made] = []
        self._out = left_out(without)

    def advance(self) -> None:
        """Make a round, or go back on one; `ended` says when there is nothing left to do."""
        state = self.state
        state.remaining = list(self._check(state.changed))
        refused = {item.chosen for item in state.refused}
        wanted = [one for one in remaining(choose(state.remaining, self._policy), self._out) if one not in refused]
        current = self._sources({edit.path for one in wanted for edit in one.fix.edits}, state.changed)
        accepted, broken = _sound_round(current, wanted)
        failed = self._failed(wanted, ended=not accepted)
        if failed:
            self._go_back(failed, REMAINS)
            return
        state.refused += broken
        if accepted and len(self._rounds) == ROUNDS:
            self._give_up(accepted)
        elif accepted:
            self._make(accepted, current)
        self.ended = self.ended or not accepted
        state.applied = [each.chosen for each in self._kept]

    def _failed(self, wanted: list[Chosen], ended: bool) -> list[Made]:
        """The fixes that did not work: those of the last round that are wanted again in the same place, and once there
        is nothing more to apply all whose findings are still there.
        """
        places = {each.chosen.finding.location.path for each in self._kept}
        held = idle(self._kept, self.state.remaining, self._sources(places, self.state.changed))
        if ended or not held:
            return held
        last = [each for each in held if each.round == len(self._rounds) - 1]
        edited = {edit.path for each in self._kept for edit in each.chosen.fix.edits}
        before, now = (self._sources(edited, each) for each in (self._rounds[-1].changed, self.state.changed))
        return tried_again(last, self._kept, wanted, before, now)

    def _make(self, accepted: list[Chosen], current: Sources) -> None:
        """Apply the fixes of a round; where that leads back to an earlier one, the last of those between goes."""
        state = self.state
        places = {chosen.finding.location.path for chosen in accepted}
        fresh = made(accepted, state.remaining, self._sources(places, state.changed), len(self._rounds))
        self._rounds.append(_Round(dict(state.changed), self._kept, self._out, len(state.refused)))
        old = {path: source.text for path, source in current.items()}
        new = apply_all(old, accepted)
        edits = [edit for chosen in accepted for edit in chosen.fix.edits]
        self._kept = shifted([*self._kept, *fresh], old, new, edits)
        self._out = moved(self._out, old, new, accepted)
        state.changed |= {path: current[path].with_text(text) for path, text in new.items()}
        known = [self._differing(each) for each in (*(one.changed for one in self._rounds), state.changed)]
        turn = known.index(known[-1])
        if turn < len(self._rounds):
            circle = [each for each in self._kept if each.round >= turn]
            latest = max(_name(each.chosen) for each in circle)
            self._go_back([each for each in circle if _name(each.chosen) == latest], UNDOES)

    def _give_up(self, accepted: list[Chosen]) -> None:
        """Take back what leads to ever more fixes, from the first that has one of their codes."""
        codes = {chosen.finding.code for chosen in accepted}
        chain = [each for each in self._kept if each.chosen.finding.code in codes]
        if chain:
            self._go_back(chain, ENDLESS)
        else:
            self.state.refused += [Refused(chosen, ENDLESS) for chosen in accepted]
            self.ended = True

    def _go_back(self, failed: list[Made], why: str) -> None:
        """Take up the first round of those that failed again, without what failed there."""
        number = min(each.round for each in failed)
        dropped = [each.chosen for each in failed if each.round == number]
        before = self._rounds[number]
        del self._rounds[number:]
        self._kept, self._out = before.kept, [*before.out, *left_out(dropped, alike=False)]
        self.state.changed = dict(before.changed)
        self.state.refused = [*self.state.refused[: before.refused], *(Refused(chosen, why) for chosen in dropped)]

    def _sources(self, paths: Iterable[str], changed: Sources) -> dict[str, Source]:
        """The files of these paths, as they are in place of those on disk."""
        held = {path: changed.get(path) or self._read(path) for path in sorted(paths)}
        return {path: source for path, source in held.items() if source is not None}

    def _differing(self, changed: Sources) -> dict[str, str]:
        """The texts of the files that are not as they are on disk."""
        start = self._sources(changed, {})
        return {path: one.text for path, one in changed.items() if path not in start or start[path].text != one.text}


def _name(chosen: Chosen) -> tuple[str, str]:
    return chosen.finding.code, chosen.fix.name


def _sound_round(current: Sources, wanted: list[Chosen]) -> tuple[list[Chosen], list[Refused]]:
    """Return the fixes of one round that leave every file sound, and those that would not."""
    texts = {path: source.text for path, source in current.items()}
    accepted = compatible(texts, wanted)
    why = fault(current, accepted)
    if why is None:
        return _effective(texts, accepted, [])
    sound: list[Chosen] = []
    broken = []
    for chosen in accepted:
        wrong = fault(current, [*sound, chosen])
        if wrong is None:
            sound.append(chosen)
        else:
            broken.append(Refused(chosen, wrong))
    return _effective(texts, sound, broken)


def _effective(
    texts: Mapping[str, str], accepted: list[Chosen], broken: list[Refused]
) -> tuple[list[Chosen], list[Refused]]:
    """Return `accepted` and `broken`; those that together change no text are refused as well."""
    if apply_all(texts, accepted):
        return accepted, broken
    return [], [*broken, *(Refused(chosen, REMAINS) for chosen in accepted)]


def fault(current: Sources, accepted: Sequence[Chosen]) -> str | None:
    """Return why these fixes would break one of the files they edit, None where they leave all of them sound."""
    try:
        for path, text in apply_all({path: source.text for path, source in current.items()}, accepted).items():
            source = current[path]
            edits = [edit for chosen in accepted for edit in chosen.fix.edits if edit.path == path]
            spans = spans_of(source.text, edits)
            if source.kind in {"python", "notebook"}:
                check_sound(source.text, text, spans)
            else:
                check_settings(source, text, spans)
            source.with_text(text)
    except (BadEdit, Unsound, Unwritable) as error:
        return str(error)
    return None
