from __future__ import annotations

import ast

import pytest

from gclint.verify.unseen import pieces_of

TEXT = """import torch
from torch.utils.checkpoint import checkpoint
model = Net()
for step in range(10):
    loss = model(checkpoint(layer, x, use_reentrant=True))
    loss.backward()
"""


def pieces(old: str, new: str, text: str = TEXT) -> list[tuple[int, bool]]:
    """Line of every piece of an edit, and whether it can be taken back alone."""
    return [(piece.line, piece.without is not None) for piece in pieces_of(text, text.replace(old, new))]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import torch\n", "import torch  # the library\n"),
        ("import torch\n", "import math\nimport torch\n"),
        ("import torch\n", "import torch.distributed\nimport torch\n"),
        ("range(10)", "range( 10 )"),
    ],
)
def test_what_is_no_piece(old: str, new: str) -> None:
    assert pieces(old, new) == []


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("use_reentrant=True", "use_reentrant=False", [(5, True)]),
        (", use_reentrant=True", "", [(5, True)]),
        ("range(10)", "range(5)", [(4, True)]),
        ("    loss.backward()\n", "    loss = loss * 2\n    loss.backward()\n", [(6, True)]),
        ("    loss.backward()\n", "    pass\n", [(6, True)]),
        ("model = Net()\n", "model = Net()\nmodel.eval()\nmodel.half()\n", [(4, True), (5, True)]),
        ("model(checkpoint(layer, x, use_reentrant=True))", "model(checkpoint(layer, x)) * 0", [(5, False)]),
        ("    loss.backward()\n", "    if step:\n        loss.backward()\n", [(6, False)]),
        ("model = Net()\n", "model = Net()\nfor part in model:\n    part.half()\n", [(4, True), (5, True)]),
        ("import torch\n", "import torch, nobody_has_it\n", [(1, False)]),
        ("from torch.utils.checkpoint import checkpoint\n", "", [(2, False)]),
    ],
)
def test_pieces(old: str, new: str, found: list[tuple[int, bool]]) -> None:
    assert pieces(old, new) == found


def test_a_piece_is_taken_back_alone() -> None:
    new = TEXT.replace("use_reentrant=True", "use_reentrant=False").replace("range(10)", "range(5)")
    without = [piece.without for piece in pieces_of(TEXT, new)]
    assert [each is not None for each in without] == [True, True]
    texts = [ast.unparse(each) for each in without if each is not None]
    assert "range(10)" in texts[0] and "use_reentrant=False" in texts[0]
    assert "range(5)" in texts[1] and "use_reentrant=True" in texts[1]
