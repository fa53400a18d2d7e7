"""What is known of the layers that have a mode, held against the installed torch."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import torch
from gclint.rules.toggles import modes
from torch import nn

import fixtures

RECURRENT = ("RNN", "LSTM", "GRU")


def parameters(name: str) -> list[inspect.Parameter]:
    """Those of a layer's constructor; RNN takes its nonlinearity out of the fourth place (torch/nn/modules/rnn.py)."""
    if name not in RECURRENT:
        return list(inspect.signature(getattr(nn, name).__init__).parameters.values())[1:]
    known = list(inspect.signature(nn.RNNBase.__init__).parameters.values())[2:]
    extra = [inspect.Parameter("nonlinearity", inspect.Parameter.POSITIONAL_OR_KEYWORD)] if name == "RNN" else []
    return [*known[:3], *extra, *known[3:]]


@pytest.mark.parametrize("name", modes.SAYS_HOW_MUCH)
def test_the_argument_stands_where_torch_has_it_and_defaults_to_what_torch_says(name: str) -> None:
    for argument, place, default in (modes.SAYS_HOW_MUCH[name], *filter(None, [modes.OF_LAYERS.get(name)])):
        assert (parameters(name)[place].name, parameters(name)[place].default) == (argument, default)


@pytest.mark.parametrize("name", modes.REPEATED)
def test_what_repeats_a_layer_is_given_it_first(name: str) -> None:
    assert parameters(name)[0].name == modes.REPEATED[name]


@pytest.mark.parametrize("name", [each for each in dir(nn) if isinstance(getattr(nn, each), type)])
def test_every_layer_that_asks_for_the_mode_is_known(name: str) -> None:
    if "self.training" in inspect.getsource(getattr(nn, name)) and name not in ("Module", "RNNBase"):
        assert name in modes.SAYS_HOW_MUCH


def test_an_rnn_drops_between_its_layers_only() -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 5, 4)
    with pytest.warns(UserWarning, match="dropout option adds dropout after all but last"):
        one = nn.RNN(4, 4, 1, "tanh", True, False, 0.5)
    two = nn.RNN(4, 4, 2, "tanh", True, False, 0.5)
    assert torch.equal(one(x)[0], one(x)[0])
    assert not torch.equal(two(x)[0], two(x)[0])


def test_the_option_that_drops_something_is_the_condition(tmp_path: Path) -> None:
    text = (fixtures.ROOT / "GCL708" / "bad_dropout_of_an_option.py").read_text()
    (found,) = fixtures.findings(text, tmp_path)
    assert str(found.condition) == "if `args.dropout` is not 0.0"
