"""pytorch-metric-learning: loss functions that hold weights of their own, which are to be learnt.

`W`, `proxies`, `weight` and `fc` are parameters of the loss (pytorch_metric_learning/losses of 2.9.0), as the project's
page on its losses says: they are given to an optimizer.
"""

from __future__ import annotations

from ..run import names
from ..run.calls import Call
from ..run.values import TRUE, Value, of
from .registry import Framework

framework = Framework(
    "metric_learning", kinds={"learnt_loss": "module"}, imports={"pytorch_metric_learning": ("torch",)}
)

WEIGHTS = {
    **dict.fromkeys(("LargeMarginSoftmaxLoss", "ArcFaceLoss", "CosFaceLoss", "SphereFaceLoss"), "W"),
    **dict.fromkeys(("SubCenterArcFaceLoss", "NormalizedSoftmaxLoss"), "W"),
    **dict.fromkeys(("ProxyAnchorLoss", "ProxyNCALoss", "ManifoldLoss"), "proxies"),
    "P2SGradLoss": "weight",
    "SoftTripleLoss": "fc",
}
"""The loss functions that learn, and the name of their parameter."""


@framework.function(*(f"pytorch_metric_learning:{name}" for name in WEIGHTS))
def make_loss(call: Call) -> Value:
    """A loss function with weights."""
    made = call.make("learnt_loss", call.name)
    weights = call.it.new("tensor", "torch.nn.Parameter", f"{made.label}.{WEIGHTS[call.last]}", call.site)
    weights.state["grad"] = weights.state["leaf"] = TRUE
    names.assign_attribute(call.it, of(made), WEIGHTS[call.last], of(weights), call.site.node)
    return of(made)


@framework.calling("learnt_loss")
def computed(call: Call) -> Value:
    """A loss that is computed from what is given and from the weights."""
    held = call.receiver.attributes.values() if call.receiver is not None else ()
    return of(call.it.derived(call.site, [*call.inputs(), *held]))
