"""Ranges of versions: judged for the newest that is allowed; a finding says where the oldest gives another answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from gclint.finding import Finding
from gclint.pins.pin import canonical

from .versions import Target, Targets

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
        """The packages the finding was judged for of which the pins allow several releases."""
        held = self._entries.get(key_of(finding))
        if held is None:
            return {}
        stated = {package: held[1].stated.get(canonical(package)) for package, _ in finding.target}
        return {name: target for name, target in stated.items() if target and target.oldest and not target.exact}

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
    named = " and ".join(
        f"{name} {target.oldest}, which {target.origin} allows too" for name, target in sorted(open_.items())
    )
    answer = "only fragile" if then is not None else "not so"
    return replace(finding, certainty="fragile", message=f"{finding.message}; with {named}, it is {answer}")
