"""What loss functions are given: probabilities where logits are due, shapes that are stretched to each other."""

from __future__ import annotations

from typing import Any

import torch

from gclint.rehearse.observe.graph import node_of
from gclint.rehearse.observe.watch import Watch

STRETCHING = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits")
MOST = 64


class Losses:
    """Looks at the arguments of torch's loss functions while training, a few times each."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self._counts: dict[str, int] = {}

    def install(self) -> None:
        """Start watching."""
        for name, look in (
            ("cross_entropy", _cross_entropy),
            ("nll_loss", _nll),
            ("kl_div", _kl),
            ("binary_cross_entropy_with_logits", _with_logits),
            *((name, None) for name in STRETCHING[:-1]),
        ):
            self.watch.patches.around(torch.nn.functional, name, self._watching(name, look))

    def _watching(self, name: str, look: Any) -> Any:
        def watched(original: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            self._counts[name] = self._counts.get(name, 0) + 1
            given: Any = args[0] if args else kwargs.get("input")
            target = args[1] if len(args) > 1 else kwargs.get("target")
            if (
                self._counts[name] <= MOST
                and torch.is_tensor(given)
                and torch.is_tensor(target)
                and given.requires_grad
            ):
                self._tell(name, look, given, target, kwargs, result)
            return result

        return watched

    def _tell(self, name: str, look: Any, given: Any, target: Any, kwargs: Any, result: Any) -> None:
        with torch.no_grad():
            said = look(given, target, kwargs) if look is not None and given.numel() else {}
        if name in STRETCHING and given.shape != target.shape:
            said["shapes"] = [list(given.shape), list(target.shape)]
        value = result.detach() if torch.is_tensor(result) and result.numel() == 1 else None
        self.watch.write(
            "loss",
            self.watch.places.here(),
            name=name,
            value=None if value is None else float(value),
            batch=self.watch.batch,
            rows=len(given) if given.dim() else 1,
            mean=kwargs.get("reduction", "mean") == "mean",
            **said,
        )


def _made_by(tensor: Any, names: tuple[str, ...]) -> bool:
    """Whether a tensor is the outcome of one of these functions, perhaps looked at in another shape."""
    node = node_of(tensor)
    for _ in range(4):
        if node is None:
            return False
        name = type(node).__name__
        if name.startswith(names):
            return True
        if not name.startswith(("View", "UnsafeView", "Squeeze", "Reshape", "Slice", "Select", "Transpose", "ToCopy")):
            return False
        node = node.next_functions[0][0] if node.next_functions else None
    return False


def _cross_entropy(given: Any, target: Any, kwargs: Any) -> dict[str, Any]:
    said: dict[str, Any] = {"softmax": _made_by(given, ("Softmax",)), "sigmoid": _made_by(given, ("Sigmoid",))}
    if not target.is_floating_point():
        ignored = int((target == kwargs.get("ignore_index", -100)).sum())
        said |= {"ignored": ignored, "targets": target.numel()}
    return said


def _nll(given: Any, target: Any, kwargs: Any) -> dict[str, Any]:
    off = float(given.double().logsumexp(1 if given.dim() > 1 else 0).abs().mean())
    return {"off": off}


def _kl(given: Any, target: Any, kwargs: Any) -> dict[str, Any]:
    return {"softmax": _made_by(given, ("Softmax",)), "least": float(given.min())}


def _with_logits(given: Any, target: Any, kwargs: Any) -> dict[str, Any]:
    return {"sigmoid": _made_by(given, ("Sigmoid",)), "softmax": _made_by(given, ("Softmax",))}
