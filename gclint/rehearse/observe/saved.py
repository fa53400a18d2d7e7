"""What is saved of a model, loaded into the model as the program made it: does it give the same?

Plain settings of the modules (numbers, switches) are copied as well: a program sets them again. Tensors are not.
"""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from gclint.rehearse.observe.numbers import DEEPEST, alike, numbers, random_states, restore
from gclint.rehearse.observe.parameters import plain, unwrapped
from gclint.rehearse.observe.watch import Watch

LARGEST = 64 << 20
SEED = 1234
SETTINGS = (bool, int, float, str, type(None))


class Saved:
    """Keeps each model as it is before the first step, and looks at the first file that holds all of its parameters."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self._fresh: dict[int, Any] = {}
        self._given: dict[int, tuple[Any, Any]] = {}
        self._depth = 0
        self._copied = False

    def install(self) -> None:
        """Start looking."""
        patches = self.watch.patches
        patches.around(torch.nn.Module, "__call__", self._calling)
        patches.around(torch, "save", self._saving)
        register_optimizer_step_pre_hook(patches.hook(self._before_step))

    def _calling(self, original: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
        self._depth += 1
        try:
            result = original(module, *args, **kwargs)
        finally:
            self._depth -= 1
        if self._depth == 0:
            self._given[id(unwrapped(module))] = _detached((args, kwargs))
        return result

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        roots, self._copied = [] if self._copied else self.watch.roots, True
        for root in roots:
            if sum(each.numel() for each in root.parameters()) < LARGEST:
                with suppress(Exception):  # a model that cannot be copied
                    self._fresh[id(root)] = copy.deepcopy(root)

    def _saving(self, original: Any, item: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(item, *args, **kwargs)
        for root in self.watch.roots:
            fresh, given = self._fresh.get(id(root)), self._given.get(id(root))
            state = _state_of(root, item, 0)
            if fresh is not None and given is not None and state is not None:
                self._fresh.pop(id(root))
                with suppress(Exception):  # a model that cannot be copied or called again
                    self._loaded(root, fresh, state, given)
        return result

    def _loaded(self, root: Any, fresh: Any, state: dict[str, Any], given: Any) -> None:
        fresh.load_state_dict({plain(name): value for name, value in state.items()})
        live = copy.deepcopy(root)
        for own, other in zip(live.modules(), fresh.modules(), strict=True):
            vars(other).update({name: each for name, each in vars(own).items() if isinstance(each, SETTINGS)})
        states = random_states()
        outputs = []
        for model in (live, live, fresh):
            args, kwargs = copy.deepcopy(given)
            torch.manual_seed(SEED)
            with torch.no_grad():
                outputs.append(numbers(model.eval()(*args, **kwargs)))
        restore(states)
        if outputs[0] == outputs[1] and not alike(outputs[0], outputs[2]):
            self.watch.write(
                "incomplete", self.watch.places.here(), root=type(root).__name__, missing=_unlike(live, fresh)
            )


def _state_of(root: Any, item: Any, depth: int) -> dict[str, Any] | None:
    """The state dict in what is saved that holds all parameters of a model."""
    if isinstance(item, torch.nn.Module):
        item = item.state_dict()
    if not isinstance(item, dict) or depth > DEEPEST:
        return None
    held = {each.data_ptr() for each in item.values() if torch.is_tensor(each)}
    own = [each.data_ptr() for each in root.parameters()]
    if own and held.issuperset(own):
        return item
    return next((found for each in item.values() if (found := _state_of(root, each, depth + 1)) is not None), None)


def _unlike(live: Any, fresh: Any) -> list[str]:
    """The tensors of a model that another has otherwise and that no state dict holds."""
    saved = set(live.state_dict())
    found = []
    for (name, own), other in zip(live.named_modules(), fresh.modules(), strict=True):
        held = {**vars(own), **own._buffers}
        for key, value in held.items():
            full = f"{name}.{key}".lstrip(".")
            theirs = {**vars(other), **other._buffers}.get(key)
            kept = full in saved or key in own._parameters
            if torch.is_tensor(value) and not kept and (theirs is None or numbers(value) != numbers(theirs)):
                found.append(full)
    return found


def _detached(item: Any) -> Any:
    if torch.is_tensor(item):
        return item.detach()
    if isinstance(item, (list, tuple)):
        return type(item)(_detached(each) for each in item)
    return {name: _detached(each) for name, each in item.items()} if isinstance(item, dict) else item
