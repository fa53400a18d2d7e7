"""What is saved and what is loaded."""

from __future__ import annotations

import os
import sys
from typing import Any

import torch

from gclint.rehearse.observe.kept import Kept, path_of
from gclint.rehearse.observe.watch import Watch

MOST_KEYS = 3000
DEEPEST = 4


class States:
    """Watches torch.save, torch.load, the files of safetensors, and every state dict that is loaded."""

    def __init__(self, watch: Watch, root: str | None):
        self.watch = watch
        self._kept = Kept(watch, root) if root is not None else None

    def install(self) -> None:
        """Start watching."""
        if self._kept is not None:
            self._kept.install()
        around = self.watch.patches.around
        safe = sys.modules.get("safetensors.torch")
        around(safe, "serialize_file", self._saving_weights)
        around(safe, "load_file", self._reading_weights)
        around(torch, "save", self._saving)
        around(torch, "load", self._reading)
        around(torch.nn.Module, "load_state_dict", self._loading)
        around(torch.optim.Optimizer, "load_state_dict", self._restoring("optimizer"))
        around(torch.optim.lr_scheduler.LRScheduler, "load_state_dict", self._restoring("scheduler"))
        around(torch.amp.GradScaler, "load_state_dict", self._restoring("scaler"))
        around(torch, "set_rng_state", self._restoring("random state"))

    def _saving(self, original: Any, item: Any, file: Any = None, *args: Any, **kwargs: Any) -> Any:
        parts: list[dict[str, Any]] = []
        self._parts(item, "", parts, 0)
        empty = isinstance(item, dict) and not item
        result = original(item, file, *args, **kwargs)
        path = self._kept.saved(file) if self._kept is not None and parts else ""
        self.watch.write("save", self.watch.places.here(), file=_name(file), parts=parts, empty=empty, path=path)
        return result

    def _saving_weights(self, original: Any, tensors: Any, file: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(tensors, file, *args, **kwargs)
        path = self._kept.saved(file) if self._kept is not None else ""
        place, parts = self.watch.places.here(), [{"name": "", "of": "model", "root": -1}]
        self.watch.write("weights", place, file=_name(file), parts=parts, path=path)
        return result

    def _reading_weights(self, original: Any, file: Any, *args: Any, **kwargs: Any) -> Any:
        self.watch.write("weights read", self.watch.places.here(), file=_name(file))
        return original(file, *args, **kwargs)

    def finish(self) -> None:
        """Keep what was saved at the end of the run."""
        if self._kept is not None:
            self._kept.keep()
            self._kept.remove()

    def _parts(self, item: Any, name: str, parts: list[dict[str, Any]], depth: int) -> None:
        """The state dicts inside what is saved, each with what it is a state of."""
        generator = _generator_of(item)
        if generator:
            parts.append({"name": name, "of": "random state", "generator": generator})
        if isinstance(item, torch.nn.Module):
            item = item.state_dict()
        if not isinstance(item, dict) or depth > DEEPEST:
            return
        if "param_groups" in item and "state" in item:
            entries = item["state"]
            parts.append(
                {"name": name, "of": "optimizer", "entries": len(entries) if hasattr(entries, "__len__") else 0}
            )
        elif "last_epoch" in item and "_step_count" in item:
            parts.append({"name": name, "of": "scheduler"})
        elif "growth_tracker" in item or "_growth_tracker" in item:
            parts.append({"name": name, "of": "scaler"})
        elif item and sum(map(torch.is_tensor, item.values())) * 2 > len(item):
            keys = [str(key) for key in item][:MOST_KEYS]
            parts.append({"name": name, "of": "model", "keys": keys, **self._missing(item)})
        else:
            for key, value in item.items():
                self._parts(value, str(key), parts, depth + 1)

    def _missing(self, item: dict[Any, Any]) -> dict[str, Any]:
        """Of a saved model: whose state it is, and which moving parameters are not in it."""
        places = {value.data_ptr() for value in item.values() if torch.is_tensor(value) and value.device.type != "meta"}
        for index, root in enumerate(self.watch.roots):
            own = [p for p in root.parameters() if p.device.type != "meta"]
            here = sum(p.data_ptr() in places for p in own)
            if own and here * 2 >= len(own):
                return {"root": index, "held": here, "parameters": len(own)}
        return {"root": -1}

    def _reading(self, original: Any, file: Any, *args: Any, **kwargs: Any) -> Any:
        self.watch.write("read", self.watch.places.here(), file=_name(file))
        return original(file, *args, **kwargs)

    def _loading(self, original: Any, module: Any, state: Any, *args: Any, **kwargs: Any) -> Any:
        own = torch.nn.Module.state_dict(module)
        given = {key: value for key, value in dict(state).items() if torch.is_tensor(value)}
        matched = [key for key in given if key in own]
        same = [key for key in matched if _shares(given[key], own[key])]
        result = original(module, state, *args, **kwargs)
        for name, parameter in module.named_parameters():
            known = self.watch.know(parameter) if name in matched else None
            if known is not None:
                known.loaded = True
        strict = kwargs.get("strict", args[0] if args else True)
        self.watch.write(
            "load",
            self.watch.places.here(),
            module=type(module).__name__,
            given=len(given),
            own=len(own),
            matched=len(matched),
            same=len(same),
            strict=bool(strict),
            examples=[next((k for k in given if k not in own), ""), next(iter(own), "")],
        )
        return result

    def _restoring(self, what: str) -> Any:
        def restoring(original: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            self.watch.write("restored", self.watch.places.here(), what=what)
            return result

        return restoring


def _generator_of(item: Any) -> str:
    """Whose state it is, as torch (bytes), Python or numpy give it (docs of random.getstate and
    numpy.random.get_state); "" for anything else.
    """
    if torch.is_tensor(item):
        return "torch" if item.dtype == torch.uint8 and item.shape == torch.get_rng_state().shape else ""
    if not isinstance(item, tuple) or len(item) < 3:
        return ""
    if item[0] == "MT19937":
        return "numpy"
    return "random" if item[0] == 3 and isinstance(item[1], tuple) and len(item[1]) == 625 else ""


def _name(file: Any) -> str:
    return os.path.basename(path_of(file) or "")


def _shares(one: Any, other: Any) -> bool:
    if not torch.is_tensor(other) or "meta" in (one.device.type, other.device.type) or not one.numel():
        return False
    return bool(one.data_ptr() == other.data_ptr())
