"""Which schedules of the installed transformers drop the warmup that they are given."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from transformers.trainer_utils import SchedulerType  # noqa: E402

from gclint.frameworks.torch_schedules import WITHOUT_WARMUP  # noqa: E402

RATE = 0.5
NEEDS: dict[str, dict[str, Any]] = {
    "cosine_with_min_lr": {"min_lr": 0.0},
    "cosine_warmup_with_min_lr": {"min_lr": 0.0},
    "warmup_stable_decay": {"num_decay_steps": 2},
}


@pytest.mark.parametrize("kind", list(SchedulerType), ids=lambda kind: kind.value)
def test_the_first_step_has_the_whole_rate_where_there_is_no_warmup(kind: SchedulerType) -> None:
    optimizer = torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), lr=RATE)
    transformers.get_scheduler(kind, optimizer, 4, 8, scheduler_specific_kwargs=NEEDS.get(kind.value))
    warms_up = optimizer.param_groups[0]["lr"] < RATE
    assert warms_up == (kind.value not in WITHOUT_WARMUP)
