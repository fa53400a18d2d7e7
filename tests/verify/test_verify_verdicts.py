from __future__ import annotations

from dataclasses import replace

import pytest

from gclint.finding import Aspect
from gclint.verify import Claim, Outcome, RankReport, Runs, Verdict, judge
from gclint.verify.merge import merge
from gclint.verify.oracles import sketch_error
from gclint.verify.outcome import Group, KeysLoaded, Raised, Saved, Step
from gclint.verify.signature import differences
from gclint.verify.symptom import is_symptom
from gclint.verify.verdict import References

BOOM = Claim(("RuntimeError: boom",))


def step(scale: float = 1.0, **more: object) -> Step:
    gradients = {"w": [scale, scale], "b": [1.0, 1.0]}
    made = Step((scale,), gradients, 0.1, moves={"w": [0.1, 0.1], "b": [0.1, 0.1]}, backwards=1, forwards=(1, 0, 0))
    return replace(made, **more)  # type: ignore[arg-type]


def rank(*steps: Step, **more: object) -> RankReport:
    taken = steps or (step(), step())
    report = RankReport(steps=taken, step_count=len(taken), trainable=2, changed=2, evidence="program", device="cpu")
    return replace(report, **more)  # type: ignore[arg-type]


def run(*steps: Step, **more: object) -> Outcome:
    return merge([rank(*steps, **more)])


def raising(text: str, *steps: Step) -> Outcome:
    return merge([replace(rank(*steps), status="raised", raised=Raised("RuntimeError", text), steps=steps)])


GOOD, CRASH = run(), raising("boom")
STUCK = [Outcome(status=status, reason="why") for status in ("hung", "timeout", "killed", "not-run")]  # type: ignore[arg-type]


def verdict(
    before: Outcome,
    after: Outcome,
    claim: Claim = BOOM,
    reference: Outcome | None = None,
    own: Outcome | None = None,
    again: Outcome | None = None,
) -> Verdict:
    return judge(Runs(before, after, References(reference, own), None if again is None else lambda: again), claim)


def test_a_clean_pair_passes() -> None:
    assert verdict(GOOD, GOOD).name == "passes"


def test_a_crash_that_goes_away_is_confirmed() -> None:
    found = verdict(CRASH, GOOD, reference=GOOD)
    assert (found.name, found.before_failure) == ("confirmed", "RuntimeError: boom"), found


def test_another_crash_than_the_findings_is_not() -> None:
    found = verdict(raising("no such key"), GOOD, reference=GOOD)
    assert (found.name, "otherwise than the finding says" in found.reason) == ("unverified", True)
    assert verdict(CRASH, GOOD, Claim(), GOOD).name == "unverified", "a fix that foretells nothing confirms nothing"


def test_gradients_that_the_first_step_lacks_are_shown_whatever_ends_the_second() -> None:
    claim = Claim(oracles=("missing",))
    frozen = step(gradients={"a": [1.0, 1.0, -1.0], "b": None})
    full = step(gradients={"a": [1.0, 1.0, -1.0], "b": [1.0, 1.0, -1.0]})
    ended = raising("RuntimeError: Expected to have finished reduction", frozen)
    reference = run(full, full)
    found = judge(Runs(ended, run(full, full), References(reference, reference)), claim)
    assert found.name == "confirmed" and "1 of 2 trainable tensors get no gradient (b)" in found.reason
    same = judge(Runs(raising("RuntimeError: other", full), run(full, full), References(reference, reference)), claim)
    assert same.name == "unverified"


def test_where_nothing_gets_a_gradient_no_gradients_match() -> None:
    empty = run(step(gradients={}, moves={}, losses=()))
    assert verdict(CRASH, empty, reference=empty).name == "unverified"
    assert verdict(CRASH, GOOD).name == "unverified", "no run says what the gradients should be"


def test_a_run_without_a_step_is_no_evidence() -> None:
    nothing = merge([RankReport(evidence="program")])
    assert verdict(nothing, nothing).name == "unverified"


@pytest.mark.parametrize("bad", STUCK, ids=lambda bad: bad.status)
def test_what_the_edit_brought_is_rejected_and_what_was_there_is_undecided(bad: Outcome) -> None:
    assert verdict(GOOD, bad).name == "rejected"
    assert verdict(CRASH, bad, reference=GOOD).name == "rejected"
    assert verdict(bad, bad).name == verdict(bad, GOOD).name == "unverified"
    assert "why" in verdict(bad, bad).reason


def test_a_failure_that_stays_is_rejected_and_one_of_any_run_is_undecided() -> None:
    assert verdict(CRASH, CRASH, reference=GOOD).name == "rejected"
    other = raising("no such key")
    assert verdict(other, other, reference=other).name == "unverified"
    assert verdict(GOOD, other).name == "rejected"


def test_a_program_that_dies_alike_after_its_steps_is_evidence_of_them() -> None:
    late = raising("cannot upload", step(), step())
    found = verdict(CRASH, late, reference=late)
    assert (found.name, "both end with RuntimeError: cannot upload" in found.reason) == ("confirmed", True), found
    assert verdict(CRASH, raising("cannot upload", step()), reference=late).name == "rejected"


@pytest.mark.parametrize(
    ("changed", "aspect", "told"),
    [
        ({"steps": (step(),), "step_count": 1}, "steps", "1 optimizer step, where it was 2"),
        ({"steps": (step(backwards=2), step())}, "backwards", "step 1: 2 backwards, where it was 1"),
        ({"steps": (step(forwards=(0, 1, 0)), step())}, "forwards", "step 1: 0 training forwards, where it was 1"),
        ({"steps": (step(), step(losses=(2.0,)))}, "loss", "step 2: the loss is 2, and was 1"),
        (
            {"steps": (step(2.0, losses=(1.0,)), step())},
            "gradients",
            "step 1: the gradients of 1 of 2 parameters: w are",
        ),
        (
            {"steps": (step(gradients={"w": [1.0, 1.0], "b": None}), step())},
            "lost",
            "1 of 2 parameters: b no longer get",
        ),
        ({"steps": (step(moves={"w": [0.1, 0.1]}), step())}, "updates", "1 of 2 parameters: b no longer move"),
        ({"steps": (step(moves={"w": [0.2, 0.2], "b": [0.1, 0.1]}), step())}, "updates", "w move otherwise"),
        (
            {"steps": (step(groups=(Group("SGD", 2, {"lr": 0.2}),)), step())},
            "updates",
            "1 parameter group, where it was 0",
        ),
        ({"steps": (step(evaluating=("head",)), step())}, "modes", "head trains in evaluation mode"),
        ({"steps": (step(dtypes={"bfloat16": 2}), step())}, "dtypes", "dtypes are bfloat16, and were none"),
        ({"steps": (step(uncleared=2), step())}, "accumulation", "2 gradients left from the step before"),
        (
            {"steps": (step(collectives={"barrier": 1}), step())},
            "collectives",
            "barrier is called once, where it was never",
        ),
        ({"keys": (KeysLoaded(4, 16, 16),)}, "loaded", "1 state dict loaded, where it was 0"),
        ({"saves": (Saved("m.pt", ("w",)),)}, "saved", "1 file of tensors saved, where it was 0"),
        ({"optimizers_loaded": 1}, "loaded", "1 optimizer state loaded"),
        ({"buffers": {}}, "buffers", "buffers are others (mean)"),
    ],
)
def test_every_part_of_the_signature_counts_unless_it_is_intended(
    changed: dict[str, object], aspect: Aspect, told: str
) -> None:
    before = run(buffers={"mean": [1.0, 1.0]})
    after = merge([replace(before.first, **changed)])  # type: ignore[arg-type]
    assert not differences(before, before)
    found = verdict(before, after)
    assert found.name == "rejected", found
    assert told in found.reason
    assert aspect in {each.aspect for each in differences(after, before)}
    assert aspect not in {each.aspect for each in differences(after, before, (aspect,))}


def test_a_file_with_another_content_is_a_difference() -> None:
    one, other = (replace(GOOD, files={"a.npy": digest}) for digest in ("1", "2"))
    assert verdict(one, one).name == "passes"
    assert "a.npy has another content" in verdict(one, other).reason
    assert "a.npy is no longer written" in verdict(one, GOOD).reason


def test_after_one_intent_the_numbers_of_later_steps_are_free_and_those_of_the_first_are_not() -> None:
    later = run(step(), step(5.0))
    assert verdict(GOOD, later, Claim(intent=("updates",))).name == "passes"
    assert verdict(GOOD, run(step(5.0), step()), Claim(intent=("updates",))).name == "rejected"


def test_what_the_program_does_without_checkpointing_excuses_a_difference() -> None:
    wrong = run(step(2.0, losses=(1.0,)), step())
    claim = Claim(oracles=("gradients",))
    found = verdict(wrong, GOOD, claim, reference=GOOD)
    assert (found.name, "differ from the reference" in found.before_failure) == ("confirmed", True), found
    assert verdict(wrong, run(step(3.0, losses=(1.0,)), step()), claim, reference=GOOD).name == "rejected"
    assert verdict(wrong, wrong, claim, reference=GOOD).reason.startswith("the failure is still there")


def test_a_reference_that_is_like_the_run_before_excuses_nothing() -> None:
    half, more = (
        run(*(step(1.0 + add, losses=(1.0 + add,)) for _ in range(2)), precision="bfloat16") for add in (0, 0.02)
    )
    assert not differences(more, half, (), True), "the reference of a run in few digits is compared in few digits"
    assert verdict(half, more, reference=replace(half)).name == "rejected"


def test_what_is_not_finite_in_both_is_the_same() -> None:
    nan, some = (run(step(gradients={"w": [value, value]}, losses=(value,))) for value in (float("nan"), 1.0))
    assert not differences(nan, nan)
    assert {"gradients", "loss"} <= {each.aspect for each in differences(nan, some)}
    assert "gradients" in {each.aspect for each in differences(some, nan)}


def test_an_exception_among_the_oracles_is_a_symptom() -> None:
    text = "element 0 of tensors does not require grad and does not have a grad_fn"
    claim = Claim(("silent: .grad stays None", "missing", f"RuntimeError: {text}"), ("missing",))
    assert verdict(raising(text), GOOD, claim, GOOD).name == "confirmed"
    assert verdict(raising("no such key"), GOOD, claim, GOOD).name == "unverified"


def test_the_second_rank_counts() -> None:
    two = merge([rank(), rank()])
    assert verdict(two, two).name == "passes"
    found = verdict(two, merge([rank(), rank(step(), step(4.0))]))
    assert (found.name, "rank 1, step 2" in found.reason) == ("rejected", True), found


def test_a_program_that_is_never_the_same_is_undecided() -> None:
    other, third = run(step(3.0), step()), run(step(2.0), step())
    assert verdict(GOOD, other, again=third).name == "unverified"
    assert verdict(GOOD, other, again=GOOD).name == "rejected"
    fewer = run(step(3.0))
    assert verdict(GOOD, fewer, again=third).name == "rejected", "how many steps there are is no matter of chance"


def test_a_program_that_replaces_its_measures_is_rejected() -> None:
    forged = run(forged="the program replaced what it is measured by")
    assert verdict(GOOD, forged).name == "rejected"
    assert verdict(forged, forged).name == "unverified"


def test_a_package_that_only_the_edit_needs_is_missing() -> None:
    needs = run(absent=("nobody_has_it",))
    assert verdict(needs, needs).name == "passes"
    assert "the edit needs nobody_has_it" in verdict(GOOD, needs).reason
    assert verdict(CRASH, needs, reference=GOOD).name == "rejected"


def test_limits_are_named() -> None:
    limited = run(limits=("the weights are not quantised to 4bit here",))
    assert verdict(limited, limited).name == "unverified"
    found = verdict(CRASH, limited, reference=limited)
    assert (found.name, "not quantised" in found.reason) == ("confirmed", True)


def test_fewer_keys_than_the_other_run_is_a_failure() -> None:
    partial, full = (run(keys=(KeysLoaded(count, 16, 16, False),)) for count in (4, 16))
    claim = Claim(oracles=("keys",), intent=("loaded",))
    assert verdict(partial, full, claim, full, full).name == "confirmed"
    assert verdict(full, partial, Claim()).name == "rejected"
    assert verdict(partial, partial, claim).name == "passes"


def test_steps_that_cease_to_recompute_where_the_other_run_goes_on_are_a_failure() -> None:
    def counted(*counts: int) -> Outcome:
        return run(*(step(recomputed=count) for count in counts))

    always, once, never = counted(2, 2), counted(2, 0), counted(0, 0)
    assert [verdict(one, one).name for one in (always, once, never)] == ["passes"] * 3
    found = verdict(once, always, Claim(oracles=("rounds",)), always, always)
    assert (found.name, "nothing is recomputed in step 2 of 2" in found.before_failure) == ("confirmed", True)
    assert verdict(always, once).name == verdict(always, never).name == "rejected"
    assert verdict(always, never, Claim(intent=("checkpointing",))).name == "passes"


def test_ranks_that_differ() -> None:
    drifted = merge([rank(), rank(step(3.0), step())])
    found = verdict(drifted, GOOD, Claim(oracles=("ranks",)), GOOD, GOOD)
    assert "between rank 0 and rank 1" in found.before_failure


def test_a_rank_that_lost_the_other_is_a_hang() -> None:
    lost = Raised("RuntimeError", "Connection closed by peer", secondary=True)
    assert merge([rank(status="raised", raised=lost), rank()]).status == "hung"


def test_a_rank_that_raised_explains_the_others() -> None:
    lost = Raised("RuntimeError", "Connection closed by peer", secondary=True)
    boom = Raised("ValueError", "boom")
    found = merge([rank(status="raised", raised=lost), rank(status="raised", raised=boom)])
    assert (found.status, found.raised) == ("raised", boom)


def test_a_sparse_gradient_has_the_sketch_of_its_values() -> None:
    torch = pytest.importorskip("torch")
    from gclint.verify.worker.sketch import sketch

    rows = torch.zeros(6, 3)
    rows[2] = torch.tensor([1.0, -2.0, 3.0])
    assert sketch(rows.to_sparse(1)) == sketch(rows) and sketch(rows)[0] > 0


def test_sketches() -> None:
    assert sketch_error([1.0, 1.0], [1.0, 1.0], 0.0) == 0
    assert sketch_error([float("nan"), 1.0], [1.0, 1.0], 0.0) == float("inf")


def test_names_inside_a_wrapper_are_paired() -> None:
    inner = step(
        gradients={"layer.w": [1.0, 1.0], "layer.b": [1.0, 1.0]}, moves={"layer.w": [0.1, 0.1], "layer.b": [0.1, 0.1]}
    )
    assert not differences(run(inner, inner), GOOD)


def test_a_failure_is_the_symptom_by_class_and_words() -> None:
    symptom = "RuntimeError: Expected to mark a variable ready only once."
    assert is_symptom("RuntimeError: Expected to mark a variable ready only once. This error", symptom)
    assert not is_symptom("RuntimeError: Boom", symptom)
    assert not is_symptom("TypeError: Expected to mark a variable ready only once", symptom)
    assert not is_symptom("RuntimeError: Boom", "silent: gradients are wrong")
    assert not is_symptom("KeyError: 'mark'", symptom)


def test_the_symptom_of_one_argument_is_not_that_of_another() -> None:
    symptom = "TypeError: Trainer.__init__() got an unexpected keyword argument 'tokenizer'"
    assert is_symptom("TypeError: MyTrainer.__init__() got an unexpected keyword argument 'tokenizer'", symptom)
    assert not is_symptom("TypeError: Bloom.__init__() got an unexpected keyword argument 'load_in_8bit'", symptom)


def test_runs_whose_gradients_are_all_zero_show_nothing() -> None:
    still = run(step(gradients={"w": [0.0, 0.0]}), step(gradients={"w": [0.0, 0.0]}))
    lost = run(step(gradients={"w": [0.0, 0.0]}, losses=(float("nan"),)))
    for each in (still, lost):
        assert verdict(each, each).name == "unverified", each
        assert verdict(CRASH, each, reference=each).name == "unverified", "nor does equality with the reference"
    assert verdict(GOOD, GOOD).name == "passes"


def test_what_comes_after_a_crash_and_cannot_be_run_here_is_undecided() -> None:
    nothing = Outcome(status="not-run", reason="evaluate is not installed")
    assert verdict(CRASH, nothing, reference=CRASH).name == "unverified", "the run before never came so far"
    assert verdict(CRASH, nothing, reference=GOOD).name == "rejected"


def test_a_file_that_torch_saved_is_not_compared_by_its_bytes() -> None:
    one, other = (
        replace(run(saves=(Saved("training_args.bin", ("",)),)), files={"out/training_args.bin": digest, "a.npy": "1"})
        for digest in ("1", "2")
    )
    assert verdict(one, other).name == "passes"
    assert verdict(one, replace(other, files={"a.npy": "1"})).name == "rejected", "but it has to be there"
