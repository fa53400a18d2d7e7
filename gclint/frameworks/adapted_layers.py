"""Which layers of a model get adapters: by the names that the configuration targets.

A name is targeted that equals one of the list or ends with "." and it; a text is a regular expression for whole names
(peft/tuners/tuners_utils.py, check_target_module_exists, 0.21). What `modules_to_save` names trains too.
"""

from __future__ import annotations

import re

from ..run.values import NOTHING, Const, Object


def is_adapted(layer: Object) -> bool | None:
    """Whether an adapter trains in a layer below a model with adapters; None where the code does not show it."""
    model: Object | None = layer
    while model is not None and "adapter" not in model.state:
        model = model.parent
    if model is None:
        return None
    path, adapters = _path(layer, model), model.known("adapter").objects()
    configs = [config for adapter in adapters for config in adapter.attributes.get("config", NOTHING).objects()]
    if path is None or not configs:
        return None
    answers = {_targets(config, path) for config in configs}
    return answers.pop() if len(answers) == 1 else None


def _path(layer: Object, model: Object) -> str | None:
    """The dotted name of a layer in a model; None where a part of it is not known."""
    names: list[str] = []
    while layer is not model:
        whole = layer.parent
        if whole is None:
            return None
        held = [*whole.attributes.items(), *((str(place), value) for place, value in enumerate(whole.items or []))]
        name = next((name for name, value in held if layer in value.objects()), None)
        if name is None or whole.each:
            return None
        names.insert(0, name)
        layer = whole
    return ".".join(names)


def _targets(config: Object, path: str) -> bool | None:
    if config.open or "target_modules" not in config.attributes:
        return None
    saved, biases = _names(config, "modules_to_save"), config.attributes.get("bias", NOTHING)
    item = config.attributes["target_modules"].only()
    if saved is None or item == Const("all-linear") or (biases and biases.constant() != "none"):
        return None
    if isinstance(item, Const) and isinstance(item.value, str):
        try:
            return re.fullmatch(item.value, path) is not None or _ends(path, saved)
        except re.error:
            return None
    named = _names(config, "target_modules")
    return None if named is None else _ends(path, [*named, *saved])


def _ends(path: str, names: list[str]) -> bool:
    return any(path == name or path.endswith(f".{name}") or f".{name}." in f".{path}." for name in names)


def _names(config: Object, option: str) -> list[str] | None:
    """The names that an option lists; none where it is not given, None where they are not known."""
    if option not in config.attributes:
        return []
    item = config.attributes[option].only()
    if item == Const(None):
        return []
    if not isinstance(item, Object) or item.items is None or item.each or item.open:
        return None
    names = [value.constant() for value in item.items]
    return [name for name in names if isinstance(name, str)] if all(isinstance(name, str) for name in names) else None
