"""Ranges of versions: judged for the newest that is allowed; a finding says where the oldest gives another answer.

A release that nothing states, and that is not installed, is assumed: what fails with it has to fail with the oldest
that the rules were measured with, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from gclint.finding import Finding
from gclint.pins.pin import canonical

from ..pins.releases import MEASURED_FROM
from ..pins.versions import Target, Targets

ASSUMED = "newest"  # where nothing says the release
Key = tuple[str, int, str]
Again = Callable[[set[str], Mapping[str, str]], Iterable[Finding]]


def key_of(finding: Finding) -> Key:
    """What makes two findings the same one, whatever versions they were made for."""
    return finding.location.path, finding.location.line, finding.code


class Origins:
    """Which entry each finding came from, and what the pins around that entry leave open."""

    def __init__(self) -> None:
        self._entries: dict[Key, tuple[str, Targets]] = {}

    def remember(self, finding: Finding, path: str, targets: Targets) -> None:
        """A finding was made in the walk of a file, judged for these targets."""
        self._entries.setdefault(key_of(finding), (path, targets))

    def open_targets(self, finding: Finding) -> dict[str, Target]:
        """The packages the finding was judged for of which the pins allow several releases, or, where it fails, of
        which nothing says the release: for the newest it would only be assumed to fail.
        """
        held = self._entries.get(key_of(finding))
        if held is None:
            return {}
        found: dict[str, Target] = {}
        for package, _ in finding.target:
            stated = held[1].stated.get(canonical(package))
            if stated is None and finding.certainty == "fails":
                stated = _assumed(package, held[1][package])
            if stated is not None and stated.oldest and not stated.exact:
                found[package] = stated
        return found

    def entry(self, finding: Finding) -> str:
        """The file whose walk made the finding."""
        return self._entries[key_of(finding)][0]


def said(findings: list[Finding], origins: Origins, again: Again) -> list[Finding]:
    """The findings, each saying where it does not hold for the oldest releases that its pins allow; it is fragile then:
    nobody knows which release runs.

    `again` walks some entries for other targets and gives what is found then.
    """
    concerned = {key_of(finding): open_ for finding in findings if (open_ := origins.open_targets(finding))}
    if not concerned:
        return findings
    entries = {origins.entry(finding) for finding in findings if key_of(finding) in concerned}
    oldest = {name: f"=={target.oldest}" for open_ in concerned.values() for name, target in open_.items()}
    then = {key_of(finding): finding for finding in again(entries, oldest)}
    return [
        _said(finding, concerned[key_of(finding)], then.get(key_of(finding)))
        if key_of(finding) in concerned
        else finding
        for finding in findings
    ]


def _said(finding: Finding, open_: Mapping[str, Target], then: Finding | None) -> Finding:
    if then is not None and (then.certainty == finding.certainty or then.certainty == "fails"):
        return finding
    named = " and ".join(f"{name} {target.oldest}, which {_reason(target)}" for name, target in sorted(open_.items()))
    answer = "only fragile" if then is not None else "not so"
    return replace(finding, certainty="fragile", message=f"{finding.message}; with {named}, it is {answer}")


def _reason(target: Target) -> str:
    return "nothing rules out" if target.origin == ASSUMED else f"{target.origin} allows too"


def _assumed(package: str, target: Target) -> Target | None:
    """The releases that an assumed one stands for; None where it is not assumed, or no others were measured."""
    from packaging.version import Version

    if target.origin != ASSUMED or package not in MEASURED_FROM:
        return None
    return replace(target, oldest=Version(MEASURED_FROM[package]))
