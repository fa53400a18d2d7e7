"""Which fix of a finding is applied: what the user allows, and which of the alternatives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gclint.finding import Finding, Fix
from gclint.fix.edits import Chosen


@dataclass(frozen=True)
class Policy:
    """What may be fixed: `unsafe` fixes too, which codes (prefixes), and `chosen` names of fixes by code."""

    unsafe: bool = False
    fixable: tuple[str, ...] = ()
    unfixable: tuple[str, ...] = ()
    chosen: Mapping[str, str] = field(default_factory=dict)

    def pick(self, finding: Finding) -> Fix | None:
        """Return the fix of `finding` to apply, None when there is none that is allowed.

        A fix chosen by name is applied even when it is unsafe: naming it is the consent.
        """
        if self.fixable and not finding.code.startswith(self.fixable):
            return None
        if self.unfixable and finding.code.startswith(self.unfixable):
            return None
        name = self.chosen.get(finding.code)
        if name is not None:
            return next((fix for fix in finding.fixes if fix.name == name), None)
        first = finding.fixes[:1]
        allowed = (fix for fix in first if fix.automatic and (self.unsafe or fix.applicability == "safe"))
        return next((fix for fix in allowed if fix.edits), None)


def choose(findings: Iterable[Finding], policy: Policy) -> list[Chosen]:
    """Return the fixes to apply in the order of their findings."""
    picked = [(finding, policy.pick(finding)) for finding in sorted(findings, key=lambda item: item.key)]
    return [Chosen(finding, fix) for finding, fix in picked if fix is not None]
