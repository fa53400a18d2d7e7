"""The model is loaded: on one device, or with some of its layers offloaded by accelerate's real dispatch."""

from __future__ import annotations

import tempfile
from typing import Any

from gclint.verify.moments import Load
from gclint.verify.worker.build import build
from gclint.verify.worker.layers import layer_lists
from gclint.verify.worker.stage import Stage


def load(stage: Stage, moment: Load) -> None:
    """Build the model and place it."""
    recipe, run = stage.recipe, stage.run
    built = build(recipe.model, recipe.target, recipe.seed, run.scratch)
    run.evidence, run.model = built.evidence, built.name
    run.limits.extend(built.limits)
    stage.model, stage.calling = built.model, built.calling
    if moment.offload == "none":
        if not getattr(stage.model, "is_quantized", False):  # it is where it was quantised
            stage.model.to(run.hardware.device)
    else:
        stage.model = _offload(stage, moment)
    stage.wrapped = stage.model
    if stage.recipe.model.origin == "project":
        stage.model.train()
    stage.untouched = _state(built.model)


def _state(model: Any) -> dict[str, Any]:
    return {
        name: tensor.detach().clone() for name, tensor in model.state_dict().items() if tensor.device.type != "meta"
    }


def _offload(stage: Stage, moment: Load) -> Any:
    from accelerate import dispatch_model

    hardware = stage.run.hardware
    main = hardware.device if hardware.family != "cpu" else "cpu"
    where = moment.offload_to if hardware.family != "cpu" else "disk"
    table = scaled_device_map(stage.model, moment.offload, main, where)
    folder = tempfile.mkdtemp(prefix="offload-", dir=stage.run.scratch)
    return dispatch_model(stage.model, device_map=table, main_device=main, offload_dir=folder)


def scaled_device_map(model: Any, offload: str, main: Any, where: str) -> dict[str, Any]:
    """Map every part to `main`, and the last half of each list of layers (or, with "all", all) to `where`."""
    lists = layer_lists(model)
    table: dict[str, Any] = {}
    for name, holder in lists:
        count = len(holder)
        start = 0 if offload == "all" else count - max(1, count // 2)
        for index in range(count):
            table[f"{name}.{index}"] = where if index >= start else main
    _map_rest(model, "", {name for name, _ in lists}, table, where if offload == "all" else main)
    return table


def _map_rest(module: Any, prefix: str, lists: set[str], table: dict[str, Any], place: Any) -> None:
    for name, child in module.named_children():
        path = f"{prefix}{name}"
        if path in lists:
            continue
        if any(each.startswith(path + ".") for each in lists):
            _map_rest(child, path + ".", lists, table, place)
        else:
            table[path] = place
