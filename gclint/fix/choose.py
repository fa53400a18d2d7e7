"""Which fix of a finding is applied: what the user allows, and which of the alternatives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from gclint.config import BadConfig, suggestion
from gclint.finding import Finding, Fix
from gclint.fix.edits import Chosen


@dataclass(frozen=True)
class Decision:
    """Which fix, by name, one finding gets; None leaves it as it is."""

    finding: Finding
    name: str | None


@dataclass(frozen=True)
class Policy:
    """What may be fixed: `unsafe` fixes too, which codes (prefixes), and `chosen` names of fixes by code.

    `decisions` go before all that for their findings; with `decided_only` the others are left as they are.
    """

    unsafe: bool = False
    fixable: tuple[str, ...] = ()
    unfixable: tuple[str, ...] = ()
    chosen: Mapping[str, str] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()
    decided_only: bool = False

    def covers(self, finding: Finding) -> bool:
        """Whether findings of this code may be fixed at all."""
        if self.fixable and not finding.code.startswith(self.fixable):
            return False
        return not (self.unfixable and finding.code.startswith(self.unfixable))

    def deciding(self, finding: Finding, name: str | None) -> Policy:
        """Return this policy with one finding decided."""
        return replace(self, decisions=(*self.decisions, Decision(finding, name)))

    def pick(self, finding: Finding) -> Fix | None:
        """Return the fix of `finding` to apply, None when there is none that is allowed.

        A fix chosen by name is applied even when it is unsafe: naming it is the consent.
        """
        if not self.covers(finding):
            return None
        decided = self._decided(finding)
        if decided or self.decided_only:
            names = {each.name for each in decided}
            return _named(finding, names.pop()) if len(names) == 1 else None
        name = self.chosen.get(finding.code)
        if name is not None:
            return _named(finding, name)
        first = finding.fixes[:1]
        allowed = (fix for fix in first if fix.automatic and (self.unsafe or fix.applicability == "safe"))
        return next((fix for fix in allowed if fix.edits), None)

    def _decided(self, finding: Finding) -> list[Decision]:
        """The decisions on a finding: by its place, or by what it says once other edits have moved it."""
        alike = [each for each in self.decisions if _said(each.finding) == _said(finding)]
        return [each for each in alike if each.finding.key == finding.key] or alike


def _said(finding: Finding) -> tuple[str, str, str]:
    return finding.code, finding.location.path, finding.message


def _named(finding: Finding, name: str | None) -> Fix | None:
    return next((fix for fix in finding.fixes if fix.name == name), None)


def check_codes(chosen: Mapping[str, str], codes: list[str]) -> None:
    """Raise `BadConfig` for a fix that is chosen for a code which no rule has."""
    for code in chosen:
        if code not in codes:
            raise BadConfig(f"--choose: unknown code `{code}`{suggestion(code, codes)}")


def check_names(chosen: Mapping[str, str], findings: Iterable[Finding]) -> None:
    """Raise `BadConfig` for a fix that none of the findings of its code has."""
    named: dict[str, dict[str, None]] = {}
    for finding in findings:
        named.setdefault(finding.code, {}).update(dict.fromkeys(fix.name for fix in finding.fixes))
    for code, name in chosen.items():
        if code in named and name not in named[code]:
            there = ", ".join(f"`{each}`" for each in named[code]) or "none"
            raise BadConfig(f"--choose: {code} has no fix `{name}` here; its fixes: {there}")


def choose(findings: Iterable[Finding], policy: Policy) -> list[Chosen]:
    """Return the fixes to apply in the order of their findings."""
    picked = [(finding, policy.pick(finding)) for finding in sorted(findings, key=lambda item: item.key)]
    return [Chosen(finding, fix) for finding, fix in picked if fix is not None]
