from __future__ import annotations

import importlib.util

import pytest
import runs

from gclint.verify import Claim, ModelSpec, ProgramRecipe, Recipe, Variable, Verifier
from gclint.verify.moments import (
    Adapter,
    Checkpointing,
    Freeze,
    InputGrads,
    Kbit,
    Load,
    Optimizer,
    OverrideCheckpoint,
    SetAttribute,
    Train,
    Wrap,
)

pytestmark = pytest.mark.slow

READY = Claim(("RuntimeError: Expected to mark a variable ready only once",))
LLAMA = ModelSpec("transformers", model_type="llama", dtype="float32")


def test_adapters_under_ddp_are_confirmed(verifier: Verifier) -> None:
    found = verifier.verify(runs.adapters_under_ddp(True), runs.adapters_under_ddp(False), READY)
    assert found.verdict.name == "confirmed", found.verdict
    assert "mark a variable ready only once" in found.verdict.before_failure
    assert "marked as ready twice" in (found.before.raised.text if found.before.raised else "")
    assert found.verdict.evidence == "architecture"
    assert found.after.world_size == 2
    assert found.after.first.recomputed > 0
    assert found.verdict.gradient_error == pytest.approx(0, abs=1e-2)


def test_a_fix_that_cures_nothing_is_rejected(verifier: Verifier) -> None:
    found = verifier.verify(runs.adapters_under_ddp(True), runs.adapters_under_ddp(True), READY)
    assert found.verdict.name == "rejected"
    assert found.verdict.reason.startswith("the failure is still there")


def test_a_fix_that_breaks_a_good_run_is_rejected(verifier: Verifier) -> None:
    found = verifier.verify(runs.adapters_under_ddp(False), runs.adapters_under_ddp(True))
    assert found.verdict.name == "rejected"


def test_a_harmless_change_passes(verifier: Verifier) -> None:
    one = runs.adapters_under_ddp(True, world_size=1)
    found = verifier.verify(one, runs.adapters_under_ddp(False, world_size=1))
    assert found.verdict.name == "unverified"
    assert "one process" in found.verdict.reason
    plain = Recipe(model=LLAMA, moments=(Load(), Checkpointing(reentrant=True), InputGrads()))
    other = Recipe(model=LLAMA, moments=(Load(), Checkpointing(reentrant=False), InputGrads()))
    found = verifier.verify(plain, other)
    assert found.verdict.name == "passes", found.verdict
    assert found.after.saved_bytes


def test_offloaded_adapters_are_confirmed(verifier: Verifier) -> None:
    claim = Claim(("RuntimeError: expected device meta",), intent=("random",))
    found = verifier.verify(runs.adapters_offloaded(True), runs.adapters_offloaded(False), claim)
    assert found.verdict.name == "confirmed", found.verdict
    assert "expected device meta" in found.verdict.before_failure
    assert found.after.seconds_per_step is not None


@pytest.mark.parametrize("dispatch_first", [False])
def test_offloaded_layers_that_train_get_no_gradient(verifier: Verifier, dispatch_first: bool) -> None:
    before = Recipe(model=LLAMA, moments=(Load(offload="some"),))
    found = verifier.verify(before, Recipe(model=LLAMA), Claim(oracles=("missing",)))
    assert found.verdict.name == "confirmed"
    assert "get no gradient" in found.verdict.before_failure


def test_offloaded_layers_that_are_frozen_pass(verifier: Verifier) -> None:
    frozen = Freeze(("layers.1",))
    before = Recipe(model=LLAMA, moments=(Load(offload="some"), frozen))
    found = verifier.verify(before, Recipe(model=LLAMA, moments=(Load(), frozen)))
    assert found.verdict.name == "passes", found.verdict


def test_resume_through_replaced_layers_is_confirmed(verifier: Verifier) -> None:
    found = verifier.verify(runs.resumed(False), runs.resumed(True), Claim(oracles=("keys",), intent=("loaded",)))
    assert found.verdict.name == "confirmed", found.verdict
    assert "load_state_dict filled" in found.verdict.before_failure
    assert found.verdict.evidence == "stand-in"
    loaded = found.after.first.keys[0]
    assert loaded.loaded == loaded.present


def test_resume_through_patched_attributes_passes(verifier: Verifier) -> None:
    assert verifier.verify(runs.resumed(False, "partial"), runs.resumed(True, "partial")).verdict.name == "passes"


def test_late_binding_patch_is_confirmed(verifier: Verifier) -> None:
    late, bound = runs.resumed(False, "late-binding-lambda"), runs.resumed(False, "partial")
    claim = Claim(oracles=("changed", "gradients"), intent=("loss", "trained", "updates"))
    found = verifier.verify(late, bound, claim)
    assert found.verdict.name == "confirmed", found.verdict


def test_adapters_without_input_grads(verifier: Verifier) -> None:
    adapter, reentrant = Adapter(targets=("q_proj", "v_proj")), Checkpointing(reentrant=True)
    before = Recipe(model=LLAMA, moments=(Load(), adapter, reentrant))
    after = Recipe(model=LLAMA, moments=(Load(), adapter, InputGrads(), reentrant))
    found = verifier.verify(before, after, Claim(("RuntimeError: element 0 of tensors does not require grad",)))
    assert found.verdict.name == "confirmed"
    assert "does not require grad" in found.verdict.before_failure


def test_optimizer_before_adapter(verifier: Verifier) -> None:
    adapter = Adapter(targets=("q_proj",))
    before = Recipe(model=LLAMA, moments=(Load(), Optimizer("all"), adapter))
    after = Recipe(model=LLAMA, moments=(Load(), adapter, Optimizer("all")))
    found = verifier.verify(before, after, Claim(oracles=("changed",), intent=("updates",)))
    assert found.verdict.name == "confirmed", found.verdict
    assert "ever changes" in found.verdict.before_failure


def test_kbit_preparation_under_ddp(verifier: Verifier) -> None:
    def recipe(reentrant: bool | None) -> Recipe:
        moments = (
            Load(),
            Kbit(reentrant=reentrant),
            Adapter(targets=("q_proj",)),
            Wrap(find_unused_parameters=True),
        )
        return Recipe(model=LLAMA, world_size=2, moments=moments)

    found = verifier.verify(recipe(None), recipe(False), READY)
    assert found.verdict.name == "confirmed", found.verdict


def test_static_graph_with_no_sync(verifier: Verifier) -> None:
    train = Train(accumulate=2, no_sync=True)
    checkpointing = Checkpointing(reentrant=False)
    static = Recipe(world_size=2, moments=(Load(), checkpointing, Wrap(static_graph=True), train))
    plain = Recipe(world_size=2, moments=(Load(), checkpointing, Wrap(), train))
    found = verifier.verify(static, plain, Claim(("RuntimeError: INTERNAL ASSERT FAILED",)))
    assert found.verdict.name == "confirmed", found.verdict
    assert "INTERNAL ASSERT" in found.verdict.before_failure


def test_bypassed_wrapper(verifier: Verifier) -> None:
    before = Recipe(world_size=2, moments=(Load(), Wrap(), Train(bypass_wrapper=True)))
    found = verifier.verify(
        before, Recipe(world_size=2, moments=(Load(), Wrap(), Train())), Claim(oracles=("gradients", "ranks"))
    )
    assert found.verdict.name == "confirmed", found.verdict
    assert "between rank 0 and rank 1" in found.verdict.before_failure


def test_settings_without_effect(verifier: Verifier) -> None:
    on = (Load(), Checkpointing(reentrant=False))
    before = Recipe(model=LLAMA, moments=(*on, SetAttribute(), OverrideCheckpoint()))
    after = Recipe(model=LLAMA, moments=(*on, Checkpointing(on=False)))
    found = verifier.verify(before, after, Claim(oracles=("recompute-off",), intent=("checkpointing",)))
    assert found.verdict.name == "confirmed", found.verdict


def test_rocm_is_unverified_elsewhere_and_the_order_is_checked(verifier: Verifier) -> None:
    late = Variable("HIP_LAUNCH_BLOCKING", "1", "after-import")
    early = Variable("HIP_LAUNCH_BLOCKING", "1")
    before = Recipe(backend="rocm", environment=(late,), moments=(Load(), Checkpointing(reentrant=True)))
    after = Recipe(backend="rocm", environment=(early,), moments=(Load(), Checkpointing(reentrant=True)))
    found = verifier.verify(before, after)
    assert found.verdict.name == "unverified"
    assert "no ROCm device here" in found.verdict.reason
    assert "before the edit HIP_LAUNCH_BLOCKING is set too late" in found.verdict.reason
    assert "after the edit HIP_LAUNCH_BLOCKING is set in time" in found.verdict.reason


def test_quantisation_that_was_not_run_is_named(verifier: Verifier) -> None:
    spec = ModelSpec("transformers", model_type="llama", quantization="4bit", dtype="float32")
    found = verifier.verify(Recipe(model=spec), Recipe(model=spec))
    assert found.verdict.name in ("unverified", "passes")
    assert found.verdict.name == "passes" or "quantised" in found.verdict.reason


@pytest.mark.parametrize("kind", ["fsdp1", "fsdp2"])
def test_sharded_gradients_match_the_reference(verifier: Verifier, kind: str) -> None:
    moments = (Load(), Checkpointing(reentrant=False), Wrap(kind))  # type: ignore[arg-type]
    found = verifier.verify(*[Recipe(world_size=2, moments=moments)] * 2, Claim(oracles=("gradients",)))
    assert found.verdict.name == "passes", found.verdict
    assert found.verdict.gradient_error is not None


@pytest.mark.parametrize(("stage", "reentrant"), [(2, False), (3, True)])
def test_deepspeeds_gradients_match_the_reference(verifier: Verifier, stage: int, reentrant: bool) -> None:
    pytest.importorskip("deepspeed")
    moments = (Load(), Checkpointing(reentrant=reentrant), InputGrads(), Wrap("zero", stage), Train(accumulate=2))
    found = verifier.verify(*[Recipe(world_size=2, model=LLAMA, moments=moments)] * 2, Claim(oracles=("gradients",)))
    assert found.verdict.name == "passes", found.verdict
    assert found.verdict.gradient_error == pytest.approx(0, abs=1e-3)
    assert found.after.first.changed == found.after.first.trainable > 0


def test_without_deepspeed_its_runs_are_unverified(verifier: Verifier) -> None:
    if importlib.util.find_spec("deepspeed") is not None:
        pytest.skip("deepspeed is installed")
    found = verifier.verify(*[Recipe(world_size=2, moments=(Load(), Wrap("zero", 3)))] * 2)
    assert found.verdict.name == "unverified"
    assert "DeepSpeed is not installed" in found.verdict.reason


def test_sharding_by_a_trainer_is_no_sharding_without_an_accelerator(verifier: Verifier) -> None:
    found = verifier.verify(*[Recipe(world_size=2, moments=(Load(), Wrap("fsdp1", by_trainer=True)))] * 2)
    assert found.verdict.name == "unverified"
    assert "without an accelerator they fall back to DDP" in found.verdict.reason


@pytest.mark.parametrize("bits", ["4bit", "8bit"])
def test_weights_are_quantised_by_bitsandbytes(verifier: Verifier, bits: str) -> None:
    pytest.importorskip("bitsandbytes")
    spec = ModelSpec("transformers", model_type="llama", dtype="bfloat16", quantization=bits)  # type: ignore[arg-type]
    recipe = Recipe(model=spec, moments=(Load(), Kbit(True, False), Adapter(targets=("q_proj", "v_proj")), Train()))
    found = verifier.verify(recipe, recipe)
    assert found.verdict.name == "passes", found.verdict
    assert found.after.model.endswith(f"{bits} by bitsandbytes") and not found.after.limits
    assert found.after.first.recomputed == 6


def test_what_the_machine_lacks_is_no_failure(verifier: Verifier) -> None:
    missing = ProgramRecipe("missing", "import no_such_library")
    found = verifier.verify(missing, missing)
    assert found.verdict.name == "unverified"
    assert "no_such_library is not installed" in found.verdict.reason


def test_a_model_that_cannot_run_at_all_is_unverified(verifier: Verifier) -> None:
    broken = Recipe(model=ModelSpec("transformers", model_type="llama", config={"hidden_act": "nothing"}))
    found = verifier.verify(broken, broken)
    assert found.verdict.name == "unverified"
    assert "ends so in any case, also without checkpointing and wrappers" in found.verdict.reason
