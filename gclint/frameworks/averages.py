"""What holds a running average of a module's weights: of torch, and timm's three.

Each holds a copy as `module` and its names have that in front (torch/optim/swa_utils.py 2.13, timm/utils/model_ema.py
1.0); timm's first is no module and holds the copy as `ema`, of which timm's `get_state_dict` gives the state
(timm/utils/model.py).
"""

from __future__ import annotations

import ast

from ..run.calls import Call
from ..run.interpreter import Interpreter
from ..run.parallel import inside
from ..run.values import NONE, Object, Value, of
from .registry import Framework
from .torch_states import state_dict

framework = Framework("averages", kinds={"average": "module"})

COPIES = {"average": "module", "first_average": "ema"}
"""The attribute that holds the copy."""


@framework.function("torch.optim.swa_utils.AveragedModel")
@framework.function("timm:ModelEmaV2", "timm:ModelEmaV3")
def make_average(call: Call) -> Value:
    """A module with a copy of a model inside."""
    return of(call.make("average", call.name))


@framework.function("timm:ModelEma")
def make_first_average(call: Call) -> Value:
    """No module, with a copy of a model inside."""
    return of(call.make("first_average", call.name))


@framework.method("first_average", "_load_checkpoint")
def load_average(call: Call) -> Value:
    """The copy gets what the file has under the key `state_dict_ema`; where there is none a log says so."""
    return NONE


@framework.attribute("first_average", "ema")
@framework.attribute("average", "module")
def copied(it: Interpreter, item: Object, name: str, node: ast.AST) -> Value:
    """The copy, whose names are the model's."""
    if name not in item.attributes:
        made = it.new("module", "", f"{item.label}.{name}", it.site(node))
        made.parent = item
        item.attributes[name] = of(made)
    return item.attributes[name]


@framework.function("timm:get_state_dict")
def state_of(call: Call) -> Value | None:
    """The state of the copy in an average, or of a model without what is around it."""
    models = call.get("model", 0).objects()
    if len(models) != 1 or call.gives("unwrap_fn", 1):
        return None
    held = models[0]
    if held.kind in COPIES:
        held = copied(call.it, held, COPIES[held.kind], call.site.node).objects()[0]
    inner = Call(call.it, call.site, "state_dict")
    inner.receiver = inside(held)
    return state_dict(inner)
