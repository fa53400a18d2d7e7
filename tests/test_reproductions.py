"""Every claim run for real: the bad program fails on this machine, the fixed one does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fixtures
from gclint.rule import Rule, load_rules

pytestmark = pytest.mark.slow
RUNNABLE = [rule for rule in load_rules() if rule.reproduction.before and not rule.reproduction.needs]


@pytest.fixture(scope="module")
def verifier() -> Iterator[object]:
    pytest.importorskip("torch")
    from gclint.verify.api import Verifier

    with Verifier() as made:
        yield made


@pytest.mark.parametrize("rule", RUNNABLE, ids=lambda rule: rule.code)
def test_the_failure_shows_before_the_fix_and_not_after(rule: Rule, verifier) -> None:  # type: ignore[no-untyped-def]
    from gclint.verify.api import reproduce
    from gclint.verify.prove import claim_of

    home, claim = fixtures.ROOT / rule.code, rule.reproduction
    made = reproduce(
        home / claim.before,
        home / claim.after,
        world_size=claim.processes,
        claim=claim_of(rule),
        cold=claim.cold,
        verifier=verifier,
    )
    assert made.verdict.name == "confirmed", made.verdict
