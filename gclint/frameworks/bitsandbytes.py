"""bitsandbytes: its optimizers, and layers with quantised weights, which do not train.

Linear4bit makes its weight with requires_grad=False, Linear8bitLt with requires_grad=has_fp16_weights
(nn/modules.py, 0.50).
"""

from __future__ import annotations

from ..run.calls import Call
from ..run.values import TRUE, Value, const, of
from .registry import Framework
from .torch_training import make_optimizer

framework = Framework("bitsandbytes")

framework.family(
    r"bitsandbytes:(Paged)?(Adam|AdamW|AdEMAMix|Lion|SGD|RMSprop|Adagrad|LAMB|LARS|PytorchLARS)(8bit|32bit)?"
)(make_optimizer)


@framework.function("bitsandbytes:Linear4bit", "bitsandbytes:LinearNF4", "bitsandbytes:LinearFP4")
def four_bits(call: Call) -> Value:
    """A layer whose weight is frozen."""
    made = call.make("layer", call.name)
    made.state["trainable"] = const("none")
    return of(made)


@framework.function("bitsandbytes:Linear8bitLt")
def eight_bits(call: Call) -> Value:
    """A layer whose weight is frozen unless it keeps a copy in 16 bits."""
    made = call.make("layer", call.name)
    if call.get("has_fp16_weights", 3, TRUE).constant() is False:
        made.state["trainable"] = const("none")
    return of(made)
