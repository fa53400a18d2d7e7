"""What gclint/frameworks/metric_learning.py states, held against the installed release."""

from __future__ import annotations

import inspect

import pytest

from gclint.frameworks.metric_learning import WEIGHTS

torch = pytest.importorskip("torch")
losses = pytest.importorskip("pytorch_metric_learning.losses")
SIZES = {"num_classes": 4, "embedding_size": 8, "descriptors_dim": 8, "l": 8}


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_loss_that_learns_has_its_weights_under_this_name(name: str) -> None:
    owner = getattr(losses, name)
    wanted = {each for held in owner.__mro__ for each in inspect.signature(held.__init__).parameters}
    made = owner(**{each: size for each, size in SIZES.items() if each in wanted})
    assert [each for each, _ in made.named_parameters()] == [WEIGHTS[name]]


def test_the_others_have_none() -> None:
    bare = [losses.TripletMarginLoss(), losses.ContrastiveLoss(), losses.CircleLoss(), losses.NTXentLoss()]
    assert [list(each.parameters()) for each in bare] == [[]] * 4
