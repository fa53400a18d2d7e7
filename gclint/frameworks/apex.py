"""apex: mixed precision that is put around a model and its optimizer, and the loss that it scales.

`amp.initialize` hands back the models and optimizers that it was given, changed in place, in lists where they came so;
`amp.scale_loss` is a block whose name is the loss times a scale, of which the gradients are freed again at its end
(apex/amp/frontend.py, _initialize.py, handle.py).
"""

from __future__ import annotations

from ..run.arithmetic import scale_of
from ..run.calls import Call
from ..run.values import NONE, Value, of
from .registry import Framework
from .sharding import is_none

framework = Framework("apex", in_part=("apex",))


@framework.function("apex.amp.initialize", "apex.amp.frontend.initialize")
def initialize(call: Call) -> Value:
    """The models, of whose dtypes nobody knows afterwards, and the optimizers where there are any."""
    models, optimizers = call.get("models", 0), call.get("optimizers", 1, NONE)
    for item in models.objects():
        call.it.library.escaped(item)
    if is_none(optimizers):
        return models
    made = call.it.new("tuple", "", "", call.site)
    made.items = [models, optimizers]
    made.open = call.open
    return of(made)


@framework.function("apex.amp.scale_loss", "apex.amp.handle.scale_loss")
def scale_loss(call: Call) -> Value:
    """The block, and what `as` names: the loss, multiplied."""
    loss = call.get("loss", 0)
    made = call.it.derived(call.site, [loss])
    made.kind = "tensor"
    scale_of(made, loss)
    return of(made)
