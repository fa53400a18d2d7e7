"""Which modules are called, in which mode, and what is random in them."""

from __future__ import annotations

import threading
from typing import Any

import torch

from gclint.rehearse.observe.graph import node_of
from gclint.rehearse.observe.parameters import unwrapped
from gclint.rehearse.observe.watch import Watch

RANDOM = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")


class Calls:
    """Watches forwards from the outside in."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self._thread = threading.local()
        self._registered: set[int] = set()
        self._entered: list[Any] = []
        self._strangers: dict[tuple[str, Any], dict[str, Any]] = {}

    def install(self) -> None:
        """Start watching."""
        self.watch.patches.around(torch.nn.Module, "__call__", self._call)
        for name in RANDOM:
            self.watch.patches.around(torch.nn.functional, name, self._dropping)
        self.watch.patches.around(torch.nn.functional, "scaled_dot_product_attention", self._attending)

    def strangers(self) -> list[dict[str, Any]]:
        """Modules with trainable parameters that were called inside a model that does not have them."""
        return [
            {
                **{name: value for name, value in each.items() if name not in ("ids", "parameters")},
                "count": len(each["ids"]),
                "parameters": [self._told(p) for p in each["parameters"][:8]],
            }
            for each in self._strangers.values()
        ]

    def _told(self, parameter: Any) -> int:
        known = self.watch.know(parameter)
        return -1 if known is None else known.number

    def _call(self, original: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
        depth = getattr(self._thread, "depth", 0)
        self.watch.called.add(id(module))
        root = None
        if not self.watch.in_backward and torch._C._current_graph_task_id() == -1:
            if depth == 0:
                root = unwrapped(module)
                self.watch.sharded |= type(module).__name__ == "FullyShardedDataParallel"
                self._enter(root)
            elif id(module) not in self._registered and not self.watch.stepping:
                self._meet(module)
        self._thread.depth = depth + 1
        try:
            result = original(module, *args, **kwargs)
        finally:
            self._thread.depth = depth
        if root is not None:
            self._leave(module, root, args, kwargs, result)
        return result

    def _enter(self, root: Any) -> None:
        if not any(root is each for each in self._entered):
            self._entered.append(root)
            self._computed(root)
        self._thread.root = root
        self._registered = {id(each) for each in root.modules()}

    def _computed(self, root: Any) -> None:
        """Before a model's first forward: attributes that are computed from a parameter and are none themselves."""
        for module in root.modules():
            for name, value in vars(module).items():
                if type(value) is torch.Tensor and node_of(value) is not None:
                    self.watch.write(
                        "computed",
                        self.watch.made.get(module),
                        name=name,
                        module=type(module).__name__,
                        by=type(node_of(value)).__name__,
                    )

    def _meet(self, module: Any) -> None:
        root = getattr(self._thread, "root", None)
        if root is None or not torch.is_grad_enabled() or type(module).__name__ in ("DistributedDataParallel",):
            return
        if id(unwrapped(module)) in self._registered:
            return
        if not any(True for _ in root.parameters()):
            return
        own = [each for each in module.parameters() if each.requires_grad]
        if not own or any(id(module) in each["ids"] for each in self._strangers.values()):
            return
        place = self.watch.made.get(module)
        key = (type(module).__name__, place)
        found = self._strangers.setdefault(
            key,
            {
                "class": key[0],
                "made": place,
                "root": type(root).__name__,
                "at": self.watch.places.here(),
                "ids": set(),
                "parameters": [],
            },
        )
        if len(found["ids"]) < 100:
            found["ids"].add(id(module))
            found["parameters"] += own

    def _leave(self, module: Any, root: Any, args: Any, kwargs: Any, result: Any) -> None:
        if not any(True for _ in root.parameters()):
            return
        number = self.watch.number_of(self.watch.roots, root)
        for parameter in root.parameters():
            self.watch.know(parameter)
        if self.watch.closely and not root.training and not torch.is_grad_enabled() and self._learns(root):
            self.watch.evaluations.evaluated()
        needs = _first_tensor(result)
        self.watch.write(
            "forward",
            self.watch.places.here(),
            root=number,
            training=bool(root.training),
            gradient=torch.is_grad_enabled(),
            graph=needs is not None and node_of(needs) is not None,
            evaluating=_evaluating(root),
            batch=self.watch.batch,
            wrapped=type(module).__name__,
            autocast=_autocast(),
            **self._shifted(root, kwargs),
        )

    def _learns(self, root: Any) -> bool:
        """Whether an optimizer has a parameter of a model."""
        known = (self.watch.known.get(id(each)) for each in root.parameters())
        return any(each is not None and each.optimizers for each in known)

    def _shifted(self, root: Any, kwargs: Any) -> dict[str, Any]:
        """Whether labels given to a causal language model of transformers, which shifts them, are shifted already."""
        ids, labels = kwargs.get("input_ids"), kwargs.get("labels")
        causal = (
            "ForCausalLM"
            in type(root).__name__
            + type(getattr(root, "base_model", None)).__name__
            + type(getattr(getattr(root, "base_model", None), "model", None)).__name__
        )
        if not causal or not torch.is_tensor(ids) or not torch.is_tensor(labels) or ids.shape != labels.shape:
            return {}
        if ids.dim() != 2 or ids.shape[1] < 3:
            return {}
        counted = labels[:, :-1] != -100
        same = (labels == ids)[:, :-1][counted].float().mean() if counted.any() else None
        moved = (labels[:, :-1] == ids[:, 1:])[counted].float().mean() if counted.any() else None
        return {} if same is None or moved is None else {"aligned": float(same), "shifted": float(moved)}

    def _dropping(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        on = kwargs.get("training", args[2] if len(args) > 2 else original.__defaults__[1])
        share = kwargs.get("p", args[1] if len(args) > 1 else original.__defaults__[0])
        if on and share:
            self._random_in_evaluation(float(share))
        return original(*args, **kwargs)

    def _attending(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        share = kwargs.get("dropout_p", args[4] if len(args) > 4 else 0.0)
        if share:
            self._random_in_evaluation(float(share))
        return original(*args, **kwargs)

    def _random_in_evaluation(self, share: float) -> None:
        root = getattr(self._thread, "root", None)
        inside = getattr(self._thread, "depth", 0) > 0
        place = self.watch.places.directly()
        if root is not None and inside and not root.training and not torch.is_grad_enabled() and place is not None:
            self.watch.write("dropout", place, share=share, root=type(root).__name__)


def _first_tensor(result: Any) -> Any:
    if torch.is_tensor(result):
        return result
    values = result.values() if isinstance(result, dict) else result if isinstance(result, (list, tuple)) else ()
    return next((each for each in values if torch.is_tensor(each) and each.is_floating_point()), None)


def _evaluating(root: Any) -> int:
    return sum(not each.training for each in root.modules())


def _autocast() -> str:
    for kind in ("cpu", "cuda"):
        if torch.is_autocast_enabled(kind):
            return str(torch.get_autocast_dtype(kind)).removeprefix("torch.")
    return ""
