"""What schedules and samplers of the installed torch take by place."""

from __future__ import annotations

import inspect

import pytest
from gclint.rules.versions.by_place import BY_PLACE, COUNTS

torch = pytest.importorskip("torch", reason="torch is not installed")


@pytest.mark.parametrize("name", COUNTS)
def test_a_schedule_takes_as_many_as_the_table_says(name):
    taken = list(inspect.signature(getattr(torch.optim.lr_scheduler, name).__init__).parameters)[1:]
    assert "verbose" not in taken and taken[-1] == "last_epoch"
    assert len(taken) == COUNTS[name] == BY_PLACE[f"torch.optim.lr_scheduler.{name}"].kept


def test_a_sampler_takes_nothing():
    class Own(torch.utils.data.Sampler):
        def __init__(self, rows):
            super().__init__(rows)

    with pytest.raises(TypeError) as error:
        Own([1])
    assert f"TypeError: {error.value}" == BY_PLACE["torch.utils.data.Sampler"].symptom
