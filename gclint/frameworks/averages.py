"""Modules that hold a running average of another one's weights: of torch, and timm's second and third.

Each holds a copy as `module` and its names have that in front (torch/optim/swa_utils.py 2.13, timm/utils/model_ema.py
1.0); timm's first is no module.
"""

from __future__ import annotations

import ast

from ..run.calls import Call
from ..run.interpreter import Interpreter
from ..run.values import Object, Value, of
from .registry import Framework

framework = Framework("averages", kinds={"average": "module"})


@framework.function("torch.optim.swa_utils.AveragedModel")
@framework.function("timm:ModelEmaV2", "timm:ModelEmaV3")
def make_average(call: Call) -> Value:
    """A module with a copy of a model inside."""
    return of(call.make("average", call.name))


@framework.attribute("average", "module")
def copied(it: Interpreter, item: Object, name: str, node: ast.AST) -> Value | None:
    """The copy, whose names are the model's."""
    if "module" not in item.attributes:
        made = it.new("module", "", f"{item.label}.module", it.site(node))
        made.parent = item
        item.attributes["module"] = of(made)
    return item.attributes["module"]
