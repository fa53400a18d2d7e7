"""What `gclint prove` says where a reproduction cannot be run here."""

from __future__ import annotations

from dataclasses import replace

from gclint.rule import load_rules
from gclint.verify import Options
from gclint.verify.prove import prove_rules

RULE = next(rule for rule in load_rules() if rule.reproduction.before and rule.reproduction.needs == "cuda")


def test_a_rule_that_does_not_hold_for_the_installed_release_is_not_run() -> None:
    other = replace(RULE, holds="torch >= 99", reproduction=replace(RULE.reproduction, needs=""))
    (found,) = prove_rules([other])
    assert found.state == "cannot be run" and found.reason.startswith("needs torch >= 99, ")


def test_a_rule_that_needs_a_device_is_not_run_on_another() -> None:
    (found,) = prove_rules([RULE], Options(device="cpu"))
    assert (found.state, found.reason) == ("cannot be run", "needs cuda")
