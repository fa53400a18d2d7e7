from __future__ import annotations

from dataclasses import replace

import pytest

from gclint.verify import Outcome, RankReport, judge
from gclint.verify.merge import merge
from gclint.verify.oracles import sketch_error
from gclint.verify.outcome import KeysLoaded, Raised, Step
from gclint.verify.verdict import References


def rank(scale: float = 1.0, **more: object) -> RankReport:
    step = Step((1.0,), {"w": [scale, scale], "b": [1.0, 1.0]}, 0.1)
    report = RankReport(steps=(step,), step_count=1, trainable=2, changed=2, evidence="program", device="cpu")
    return replace(report, **more)  # type: ignore[arg-type]


GOOD = merge([rank()])
CRASH = merge([rank(status="raised", raised=Raised("RuntimeError", "boom"), steps=())])
BOTH = References(GOOD, GOOD)


def test_a_crash_that_goes_away_is_confirmed() -> None:
    verdict = judge(CRASH, GOOD, BOTH)
    assert (verdict.name, verdict.before_failure) == ("confirmed", "RuntimeError: boom")


def test_without_a_reference_nothing_is_confirmed() -> None:
    assert judge(CRASH, GOOD).name == "unverified"
    assert judge(CRASH, GOOD, References(None, CRASH)).name == "unverified"


def test_a_clean_pair_passes() -> None:
    assert judge(GOOD, GOOD).name == "passes"


def test_a_fix_that_changes_gradients_is_rejected() -> None:
    verdict = judge(CRASH, merge([rank(2.0)]), BOTH)
    assert verdict.name == "rejected"
    assert "differ from the reference by up to 100%" in verdict.after_failure


def test_wrong_gradients_before_are_a_failure() -> None:
    verdict = judge(merge([rank(2.0)]), GOOD, BOTH)
    assert verdict.name == "confirmed"


@pytest.mark.parametrize("status", ["hung", "timeout", "killed", "not-run"])
def test_what_did_not_run_is_unverified(status: str) -> None:
    bad = Outcome(status=status, reason="why")  # type: ignore[arg-type]
    assert judge(bad, GOOD, BOTH).name == "unverified"
    assert judge(GOOD, bad, BOTH).name == "unverified"
    assert "why" in judge(CRASH, bad, BOTH).reason


def test_limits_are_named() -> None:
    limited = merge([rank(limits=("the weights are not quantised to 4bit here",))])
    assert judge(limited, limited, BOTH).name == "unverified"
    verdict = judge(CRASH, limited, BOTH)
    assert verdict.name == "confirmed"
    assert "not quantised" in verdict.reason


def test_fewer_keys_than_the_other_run_is_a_failure() -> None:
    partial = merge([rank(keys=(KeysLoaded(4, 16, 16, False),))])
    full = merge([rank(keys=(KeysLoaded(16, 16, 16),))])
    assert judge(partial, full, BOTH).name == "confirmed"
    assert judge(full, partial, BOTH).name == "rejected"
    assert judge(partial, partial, BOTH).name == "passes"


def test_steps_that_cease_to_recompute_where_the_other_run_goes_on_are_a_failure() -> None:
    def counted(*counts: int) -> Outcome:
        return merge([rank(steps=tuple(replace(rank().steps[0], recomputed=count) for count in counts))])

    always, once, never = counted(2, 2), counted(2, 0), counted(0, 0)
    assert [judge(one, one).name for one in (always, once, never)] == ["passes"] * 3
    assert judge(never, always).name == judge(always, never).name == "passes"
    found = judge(once, always, BOTH)
    assert (found.name, "nothing is recomputed in step 2 of 2" in found.before_failure) == ("confirmed", True)
    assert judge(always, once, BOTH).name == "rejected"


def test_ranks_that_differ() -> None:
    outcome = merge([rank(), rank(3.0)])
    assert "between rank 0 and rank 1" in judge(outcome, GOOD, BOTH).before_failure


def test_a_rank_that_lost_the_other_is_a_hang() -> None:
    lost = Raised("RuntimeError", "Connection closed by peer", secondary=True)
    assert merge([rank(status="raised", raised=lost), rank()]).status == "hung"


def test_a_rank_that_raised_explains_the_others() -> None:
    lost = Raised("RuntimeError", "Connection closed by peer", secondary=True)
    boom = Raised("ValueError", "boom")
    found = merge([rank(status="raised", raised=lost), rank(status="raised", raised=boom)])
    assert (found.status, found.raised) == ("raised", boom)


def test_sketches() -> None:
    assert sketch_error([1.0, 1.0], [1.0, 1.0], 0.0) == 0
    assert sketch_error([float("nan"), 1.0], [1.0, 1.0], 0.0) == float("inf")


def test_names_inside_a_wrapper_are_paired() -> None:
    step = Step((1.0,), {"layer.w": [2.0, 2.0], "layer.b": [1.0, 1.0]}, 0.1)
    verdict = judge(merge([rank(steps=(step,))]), GOOD, BOTH)
    assert verdict.before_failure == "gradients of 1 tensors differ from the reference by up to 100% (w)"
