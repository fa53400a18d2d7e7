"""What is stated of tensors made in inference mode is what the installed torch does with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from gclint.rules.toggles import gcl720_inference_tensor_trains as rule
from torch import nn
from torch.nn import functional as F

from gclint.run import inference

MESSAGE = "Inference tensors cannot be saved for backward"
MADE: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "Linear": (lambda: nn.Linear(4, 2), (2, 4)),
    "PReLU": (nn.PReLU, (2, 4)),
    **{
        f"{kind}{size}d": (lambda kind=kind, size=size: getattr(nn, f"{kind}{size}d")(4, 2, 1), (1, 4, *[3] * size))
        for kind in ("Conv", "ConvTranspose")
        for size in (1, 2, 3)
    },
    **{
        f"BatchNorm{size}d": (lambda size=size: getattr(nn, f"BatchNorm{size}d")(4), (2, 4, *[3] * size))
        for size in (1, 2, 3)
    },
    "LayerNorm": (lambda: nn.LayerNorm(4), (2, 4)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (2, 4)),
    **{name: (lambda name=name: getattr(nn, name)(4, 4), (3, 2, 4)) for name in ("RNN", "LSTM", "GRU")},
    **{name: (lambda name=name: getattr(nn, name)(4, 4), (2, 4)) for name in ("RNNCell", "LSTMCell", "GRUCell")},
}


def raises(compute: Callable[[], Any]) -> bool:
    try:
        compute()
    except RuntimeError as error:
        assert MESSAGE in str(error)
        return True
    return False


def made(*shape: int) -> torch.Tensor:
    with torch.inference_mode():
        return torch.rand(*shape)


def with_a_graph(*shape: int) -> torch.Tensor:
    return torch.rand(*shape).requires_grad_()


@pytest.mark.parametrize("name", MADE)
def test_layers_keep_their_input_for_these_parameters(name: str) -> None:
    make, shape = MADE[name]
    layer, given = make().requires_grad_(False), made(*shape)
    assert not raises(lambda: layer(given))
    for parameter in rule.SAVES[name]:
        getattr(layer, parameter).requires_grad_(True)
        assert raises(lambda: layer(given)), parameter
        assert not raises(lambda: layer(given.clone()))
        getattr(layer, parameter).requires_grad_(False)


@pytest.mark.parametrize("kind", [nn.Embedding, nn.EmbeddingBag])
def test_embeddings_keep_the_places(kind: type[nn.Module]) -> None:
    with torch.inference_mode():
        places = torch.tensor([[1, 2]])
    assert raises(lambda: kind(4, 4)(places))
    assert not raises(lambda: kind(4, 4).requires_grad_(False)(places))


def test_a_bilinear_layer_keeps_both() -> None:
    assert raises(lambda: nn.Bilinear(4, 4, 2)(made(2, 4), torch.rand(2, 4)))


def test_every_layer_that_is_stated_is_tried() -> None:
    assert set(rule.SAVES) == {*MADE, "Embedding", "EmbeddingBag", "Bilinear"}


@pytest.mark.parametrize("name", ["RMSNorm", "Identity", "Dropout"])
def test_others_keep_nothing_of_it(name: str) -> None:
    layer = {"RMSNorm": nn.RMSNorm(4), "Identity": nn.Identity(), "Dropout": nn.Dropout(0.5)}[name]
    assert name not in rule.SAVES
    assert not raises(lambda: layer(made(2, 4)))


@pytest.mark.parametrize("name", sorted(rule.OF_LOSSES))
def test_losses_keep_their_target(name: str) -> None:
    given = with_a_graph(2, 4).sigmoid()
    with torch.inference_mode():
        target = torch.tensor([1, 2]) if name == "nll_loss" else torch.rand(2, 4)
    assert raises(lambda: getattr(F, name)(given, target))
    assert not raises(lambda: getattr(F, name)(given, target.clone()))


def test_a_sum_and_an_absolute_difference_keep_nothing() -> None:
    assert not raises(lambda: F.l1_loss(with_a_graph(2, 4), made(2, 4)))
    assert not raises(lambda: with_a_graph(2, 4) + made(2, 4))
    assert raises(lambda: with_a_graph(2, 4) * made(2, 4))
    assert raises(lambda: made(2, 4) @ with_a_graph(4, 4))
    assert raises(lambda: with_a_graph(2, 4) / made(2, 4))


ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("view", "expand"), (4, 4)),
    "view_as": (torch.rand(4, 4),),
    "expand_as": (torch.rand(4, 4),),
    "reshape_as": (torch.rand(4, 4),),
    "reshape": (2, 8),
    "unsqueeze": (0,),
    "unsqueeze_": (0,),
    "unflatten": (0, (2, 2)),
    "chunk": (2,),
    "split": (2,),
    "tensor_split": (2,),
    **dict.fromkeys(("transpose", "swapaxes", "swapdims", "movedim", "select"), (0, 1)),
    "permute": (1, 0),
    "narrow": (0, 0, 2),
    "unfold": (0, 2, 1),
    "requires_grad_": (False,),
}


@pytest.mark.parametrize("name", (*inference.VIEWS, *inference.STRIDING, *inference.IN_A_ROW))
def test_what_is_still_such_a_tensor(name: str) -> None:
    given = made(4, 4)
    if name.endswith("_") and name not in ("requires_grad_", "detach_"):
        pytest.skip("changes the tensor itself, which raises")
    found = getattr(given, name)(*ARGUMENTS.get(name, ()))
    first = found[0] if isinstance(found, (tuple, list)) else found
    assert first.is_inference()
    copied = name in inference.IN_A_ROW and name not in ("reshape_as", "reshape")
    assert not copied or not getattr(given.t(), name)(*ARGUMENTS.get(name, ())).is_inference()


@pytest.mark.parametrize("name", sorted(inference.COMPUTING))
def test_what_always_gives_a_new_tensor(name: str) -> None:
    function = getattr(F, name, None) or getattr(torch, name)
    x, maps = torch.rand(4, 4), torch.rand(1, 4, 3)
    given: dict[str, tuple[Any, ...]] = {
        **dict.fromkeys(("cat", "concat", "stack", "hstack", "vstack"), ([x],)),
        **dict.fromkeys(("matmul", "mm", "add", "mul", "div", "sub", "linear", "cdist", "cosine_similarity"), (x, x)),
        "bmm": (x[None], x[None]),
        "einsum": ("ij,jk->ik", x, x),
        **dict.fromkeys(("softmax", "log_softmax"), (x, -1)),
        "layer_norm": (x, (4,)),
        "embedding": (torch.tensor([1]), x),
        "one_hot": (torch.tensor([1]),),
        "full_like": (x, 1.0),
        "conv1d": (maps, torch.rand(2, 4, 1)),
        "conv2d": (maps[..., None], torch.rand(2, 4, 1, 1)),
        "conv3d": (maps[..., None, None], torch.rand(2, 4, 1, 1, 1)),
    }
    with torch.inference_mode():
        assert function(*given.get(name, (x,))).is_inference()
