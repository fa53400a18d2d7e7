"""The graph that a tensor hangs on."""

from __future__ import annotations

from typing import Any


def node_of(tensor: Any) -> Any:
    """The node of the graph that made a tensor; None for a leaf, and where torch does not tell it: of a view that is
    one of several and was changed in place (handle_view_on_rebase in torch/csrc/autograd/variable.h).
    """
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None
