"""Releases that are not known: judged for the newest that is allowed; what a finding says of the others.

What fails with a release that nothing states has to fail with the oldest that the rules were measured with, too. What
does not hold for the release that people are told to install is not told.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gclint.config import CERTAINTIES
from gclint.finding import Finding
from gclint.pins.pin import canonical

from ..pins.releases import MEASURED_FROM, allowed
from ..pins.versions import ASSUMED, Target, Targets
from .walks import Key as FindingKey
from .walks import Sought, Wanted

if TYPE_CHECKING:
    from packaging.version import Version

FEW_WALKS = 4
OF_NAMES = "GCL9"
LAST_WITH = {"No module named 'torch._six'": (("torch", "==1.13.1"),)}
"""The last release that has what a program imports, by what importing it raises since (torch 2.0 has none)."""
Key = tuple[str, int, str]
Pins = tuple[tuple[str, str], ...]
Again = Callable[[Collection[Wanted], Mapping[str, str]], Iterable[Finding]]


def key_of(finding: Finding) -> Key:
    """What makes two findings the same one, whatever versions they were made for."""
    return finding.location.path, finding.location.line, finding.code


class Origins:
    """Which walk each finding came from, and what the pins around that walk's program leave open."""

    def __init__(self) -> None:
        self._walks: dict[FindingKey, tuple[Wanted, Targets]] = {}
        self.ends: dict[Wanted, Pins] = {}

    def keep_its_end(self, found: Collection[Finding], wanted: Wanted) -> None:
        """Keep of a walk whether what it judges ends at an import, and the last release with which it does not."""
        for each in found:
            last = [pins for raised, pins in LAST_WITH.items() if each.symptom.endswith(raised) and not each.condition]
            if last:
                self.ends[wanted] = last[0]

    def remember(self, finding: Finding, wanted: Wanted, targets: Targets) -> None:
        """A finding was made in a walk, judged for these targets; it says more than those of earlier walks."""
        self._walks[finding.key] = wanted, targets

    def open_targets(self, finding: Finding) -> dict[str, Target]:
        """The packages the finding was judged for of which the pins allow several releases, or, where it fails, of
        which nothing says the release: for the newest it would only be assumed to fail.
        """
        found: dict[str, Target] = {}
        for package, targets in self._judged_for(finding):
            stated = targets.stated.get(package)
            if finding.certainty == "fails" and (stated is None or stated.origin == ASSUMED):
                stated = _assumed(package, targets[package])
            if stated is not None and stated.oldest and not stated.exact:
                found[package] = stated
        return found

    def hints(self, finding: Finding) -> dict[str, Target]:
        """The packages the finding was judged for of which nothing but a hint says the release."""
        judged = self._judged_for(finding)
        found = {package: targets.hints.get(package) for package, targets in judged}
        return {package: hint for package, hint in found.items() if hint is not None and hint.version is not None}

    def is_of_a_walk(self, finding: Finding) -> bool:
        """Whether a walk is known that made a finding."""
        return finding.key in self._walks

    def walk(self, finding: Finding) -> Wanted:
        """The walk that made the finding."""
        return self._walks[finding.key][0]

    def _judged_for(self, finding: Finding) -> list[tuple[str, Targets]]:
        held = self._walks.get(finding.key)
        return [(canonical(package), held[1]) for package, _ in finding.target] if held is not None else []


def said(findings: list[Finding], origins: Origins, again: Again, small: bool) -> list[Finding]:
    """The findings that hold with what people are told to install, each saying for which of the releases that its pins
    allow it holds; one that does not hold for all of them is fragile: nobody knows which runs.

    `again` makes some walks for other targets, until what they are made for is found, and gives what is found then.
    """
    other = _Others(origins, again, small)
    hinted = other.found({key_of(finding): _newest(origins.hints(finding)) for finding in findings}, findings)
    kept = [finding for finding in findings if hinted.get(key_of(finding), finding) is not None]
    ended = other.found({key_of(each): pins for each, pins in _of_ended(kept, origins)}, kept)
    kept = [finding for finding in kept if ended.get(key_of(finding), finding) is not None]
    open_ = {key_of(finding): origins.open_targets(finding) for finding in kept}
    then = other.found({key: _oldest(targets) for key, targets in open_.items()}, kept)
    return [_said(finding, open_[key_of(finding)], then, other) for finding in kept]


def _of_ended(findings: Iterable[Finding], origins: Origins) -> Iterator[tuple[Finding, Pins]]:
    """The findings of walks that end at an import, but for those of names that are gone, which are mended together,
    each with the last release that has what is imported: what does not hold with that nobody meets.
    """
    for each in findings:
        walk = origins.walk(each) if origins.is_of_a_walk(each) else None
        pins = origins.ends.get(walk, ()) if walk is not None else ()
        if pins and not each.code.startswith(OF_NAMES):
            yield each, pins


class _Others:
    """What is found for other releases than those that a check is judged for, each walk made once for them; in a
    `small` project also for several between.
    """

    def __init__(self, origins: Origins, again: Again, small: bool) -> None:
        self.origins, self._again, self._small = origins, again, small
        self._halved: set[Wanted] = set()
        self._made: dict[tuple[Pins, tuple[Wanted, ...]], dict[Key, Finding]] = {}

    def found(self, asked: Mapping[Key, Pins], findings: Iterable[Finding]) -> dict[Key, Finding | None]:
        """What each finding is for the releases that are asked of it; nothing is asked of one without any."""
        groups: list[tuple[dict[str, str], list[Finding]]] = []
        for finding in findings:
            pins = dict(asked.get(key_of(finding), ()))
            fitting = (group for group in groups if all(group[0].get(name, pin) == pin for name, pin in pins.items()))
            group = next(fitting, None) if pins else ({}, [])
            if group is None:
                groups.append(group := ({}, []))
            group[0].update(pins)
            group[1].append(finding)
        return {
            key_of(finding): made.get(key_of(finding))
            for pins, group in groups
            for made in [self.walked(tuple(sorted(pins.items())), group)]
            for finding in group
        }

    def walked(self, pins: Pins, findings: Collection[Finding]) -> dict[Key, Finding]:
        """What is found for these releases in the walks that made some findings."""
        sought: dict[Wanted, set[Sought]] = {}
        for each in findings:
            sought.setdefault(self.origins.walk(each), set()).add(Sought(*key_of(each), each.certainty))
        walks = tuple(walk._replace(until=frozenset(held)) for walk, held in sought.items())
        if (pins, walks) not in self._made:
            self._made[pins, walks] = {key_of(finding): finding for finding in self._again(walks, dict(pins))}
        return self._made[pins, walks]

    def since(self, finding: Finding, package: str, target: Target) -> str:
        """The first of the allowed releases for which a finding holds; "" in a project that is not small, and once that
        was asked of many programs, as each answer takes some walks.
        """
        if not self._small:
            return ""
        walk = self.origins.walk(finding)
        self._halved |= {walk} if len(self._halved) < FEW_WALKS else set()
        possible = [each for each in allowed(package, target.range) if _within(each, target)]
        if walk not in self._halved or not possible:
            return ""
        without, held = 0, len(possible) - 1
        while held - without > 1:
            middle = (without + held) // 2
            then = self.walked(((package, f"=={possible[middle]}"),), [finding]).get(key_of(finding))
            without, held = (without, middle) if _as_sure(finding, then) else (middle, held)
        return str(possible[held])


def _within(version: Version, target: Target) -> bool:
    return target.oldest is not None and target.version is not None and target.oldest <= version <= target.version


def _oldest(targets: Mapping[str, Target]) -> Pins:
    return tuple(sorted((name, f"=={target.oldest}") for name, target in targets.items()))


def _newest(targets: Mapping[str, Target]) -> Pins:
    return tuple(sorted((name, f"=={target.version}") for name, target in targets.items()))


def _as_sure(finding: Finding, then: Finding | None) -> bool:
    return then is not None and CERTAINTIES.index(then.certainty) >= CERTAINTIES.index(finding.certainty)


def _said(finding: Finding, open_: Mapping[str, Target], then: Mapping[Key, Finding | None], other: _Others) -> Finding:
    if not open_:
        return finding
    found = then[key_of(finding)]
    if _as_sure(finding, found):
        oldest = {name: str(target.oldest) for name, target in open_.items()}
        basis = tuple(replace(each, oldest=oldest.get(canonical(each.package), "")) for each in finding.basis)
        return replace(finding, basis=basis)
    answer = _not_for_all(finding, open_, "only fragile" if found is not None else "not so", other)
    certainty = "fragile" if finding.certainty == "fails" else finding.certainty
    return replace(finding, certainty=certainty, message=f"{finding.message}; {answer}")


def _not_for_all(finding: Finding, open_: Mapping[str, Target], answer: str, other: _Others) -> str:
    """For which releases a finding holds that does not hold for the oldest."""
    (package, target), *more = sorted(open_.items())
    since = "" if more or answer != "not so" else other.since(finding, package, target)
    if since:
        return f"it is so from {package} {since} on, {_reason(target)}"
    named = " and ".join(f"{name} {each.oldest}, which {_allows(each)}" for name, each in [(package, target), *more])
    return f"with {named}, it is {answer}"


def _reason(target: Target) -> str:
    """What leaves the oldest release possible."""
    if target.origin == ASSUMED:
        return "and nothing says which release runs"
    return f"and {target.place or 'the target'} allows {target.oldest} too"


def _allows(target: Target) -> str:
    return "nothing rules out" if target.origin == ASSUMED else f"{target.place or 'the target'} allows too"


def _assumed(package: str, target: Target) -> Target | None:
    """The releases that an assumed one stands for; None where it is not assumed, or no others were measured."""
    from packaging.version import Version

    if target.origin != ASSUMED or package not in MEASURED_FROM or target.version is None:
        return None
    return replace(target, oldest=min(target.version, Version(MEASURED_FROM[package])))
