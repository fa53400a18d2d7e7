from __future__ import annotations

import pytest

from gclint.rule import load_rules
from gclint.verify import Options
from gclint.verify.prove import prove_rules

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("code", ["GCL221", "GCL222"])
def test_what_is_said_of_deepspeed_holds_on_two_ranks(code: str) -> None:
    pytest.importorskip("deepspeed")
    rules = [rule for rule in load_rules() if rule.code == code]
    (claim,) = prove_rules(rules, Options(device="cpu", timeout=60))
    if claim.state == "cannot be run":
        pytest.skip(claim.reason)
    assert claim.state == "holds", claim
