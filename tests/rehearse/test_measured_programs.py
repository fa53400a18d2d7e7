"""A part of the measure (`python -m tests.rehearse.measure` has all of it), in every run of the tests."""

from __future__ import annotations

import pytest

from gclint.verify import Verifier

from . import measure

pytestmark = pytest.mark.slow
PLANTED = (
    "unused_layer", "adapter_after_optimizer", "layers_in_a_list", "parameter_moved", "loss_requires_grad",
    "best_state_alias", "zero_grad_in_accumulation", "zero_grad_missing", "exhausted_generator",
    "softmax_before_cross_entropy",
    "mse_of_stretched_shapes", "schedule_in_epochs_stepped_per_batch",
    "running_loss_with_graph",
    "functional_dropout",
    "eval_not_left", "loss_not_averaged", "same_order_each_epoch", "resume_without_optimizer",
    "random_inside_checkpoint",
    "ddp_without_sampler", "unwrapped_module_trained", "skipped_on_one_rank",
    "resume_without_random_state", "resume_begins_the_epoch_anew", "metric_never_reset", "averaged_weights_left_in",
    "state_kept_outside_buffers", "workers_share_a_generator", "stream_of_every_worker", "padded_rounds_weigh_the_same",
    "branch_left_out_when_compiled",
)[::5]  # fmt: skip
HEALTHY = (
    "plain_loop", "schedule_per_batch", "accumulation", "gan", "frozen_backbone", "momentum_contrast", "resume",
    "experts",
    "sharpness_aware", "lbfgs", "adversarial", "actor_critic", "autoencoder", "ddp", "averaged_by_hand",
    "resume_within_an_epoch", "metric_reset_for_each_evaluation", "averaged_weights_for_evaluation",
    "state_kept_in_buffers", "workers_with_noise_of_their_own", "stream_divided_among_workers",
    "padded_rounds_by_their_labels", "branch_the_same_when_compiled", "learning_to_learn", "cross_validation",
    "sparse_and_dense_optimizers", "options_and_functions", "language_model_by_random_windows",
)[::5]  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_is_named(name: str, verifier: Verifier) -> None:
    program = next(each for each in measure.programs("planted") if each.path.stem == name)
    made = measure.rehearsed(program, verifier)
    assert set(made.codes) & set(program.due), (made.outcome.reason, made.seen, made.found)
    lines = program.path.read_text().splitlines()
    for each in made.seen:
        assert each.effect and each.help and each.place is not None
        assert each.place[0] == program.path.name and lines[each.place[1] - 1].strip(), each


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_program_is_not_complained_of(name: str, verifier: Verifier) -> None:
    program = next(each for each in measure.programs("healthy") if each.path.stem == name)
    made = measure.rehearsed(program, verifier)
    assert made.trained and not made.codes, (made.outcome.reason, made.seen, made.found)
