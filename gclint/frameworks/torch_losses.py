"""torch: losses, and what the numbers are that they are given: raw, probabilities, logarithms of them.

The names are those of torch.nn.functional (torch/nn/functional.py); what each loss takes stands in its documentation.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..run.arithmetic import of_a_model
from ..run.calls import Call
from ..run.events import LossComputed
from ..run.scalars import ALL, DIMENSIONS
from ..run.values import NOTHING, TRUE, Const, Object, Value, const, of
from .registry import Framework
from .signature import Signature

framework = Framework("torch.losses", kinds={"criterion": "module"})

ACTIVATIONS = {
    "softmax": "probabilities",
    "softmin": "probabilities",
    "log_softmax": "log-probabilities",
    "sigmoid": "sigmoid",
    "logsigmoid": "log-sigmoid",
}
"""Functions by what the numbers are that they give."""
LOGARITHMS = {"probabilities": "log-probabilities", "sigmoid": "log-sigmoid"}
RAISED = {log: plain for plain, log in LOGARITHMS.items()}
_ENDS = "size_average=None, reduce=None, reduction='mean'"
_OF_CLASSES = "weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'"
LOSSES = {
    "CrossEntropyLoss": ("cross_entropy", f"{_OF_CLASSES}, label_smoothing=0.0"),
    "NLLLoss": ("nll_loss", _OF_CLASSES),
    "BCELoss": ("binary_cross_entropy", f"weight=None, {_ENDS}"),
    "BCEWithLogitsLoss": ("binary_cross_entropy_with_logits", f"weight=None, {_ENDS}, pos_weight=None"),
    "KLDivLoss": ("kl_div", f"{_ENDS}, log_target=False"),
    "MSELoss": ("mse_loss", _ENDS),
    "L1Loss": ("l1_loss", _ENDS),
    "SmoothL1Loss": ("smooth_l1_loss", f"{_ENDS}, beta=1.0"),
    "HuberLoss": ("huber_loss", "reduction='mean', delta=1.0"),
}
"""Classes of losses with the function of each and the parameters that both have behind input and target."""
_OF_CLASS = {name: Signature(settings) for name, (_, settings) in LOSSES.items()}
_OF_FUNCTION = {name: Signature(f"input, target, {settings}") for name, settings in LOSSES.values()}


@framework.function(*(f"torch.nn.{name}" for name in LOSSES), *(f"torch.nn.modules.loss.{name}" for name in LOSSES))
def make_criterion(call: Call) -> Value:
    """A module that computes a loss, and has no parameters."""
    made = call.make("criterion", call.name)
    made.attributes.update(_OF_CLASS[call.last].bound(call))
    made.sites.update(call.places)
    return of(made)


@framework.calling("criterion")
def call_criterion(call: Call) -> Value | None:
    """`criterion(input, target)`."""
    criterion = call.receiver
    if criterion is None or criterion.class_name not in LOSSES:
        return None
    return _computed(call, LOSSES[criterion.class_name][0], criterion.attributes, criterion)


@framework.function(*(f"torch:{name}" for name in _OF_FUNCTION))
def call_loss(call: Call) -> Value:
    """`F.cross_entropy(input, target)`."""
    return _computed(call, call.last, _OF_FUNCTION[call.last].bound(call), None)


def _computed(call: Call, name: str, settings: dict[str, Value], criterion: Object | None) -> Value:
    given, target = call.get("input", 0), call.get("target", 1)
    made = call.it.derived(call.site, [given, target])
    made.state["loss"] = const(name)
    if settings.get("reduction"):
        made.state["reduction"] = settings["reduction"]
    if _is_one_number(settings):
        made.state[DIMENSIONS] = const(0)
    moment = call.it.moment(site=call.site)
    if moment.unrecorded() is None and any(map(_may_train, given.objects())):
        made.state["graph"] = TRUE
    call.it.emit(LossComputed(moment, name, given, target, settings, made, criterion, call))
    return of(made)


def _is_one_number(settings: Mapping[str, Value]) -> bool:
    """Whether a loss is put together over all, by `reduction` or by what was given in its place before
    (torch/nn/_reduction.py).
    """
    old = {name: settings[name].only() for name in ("size_average", "reduce") if settings.get(name)}
    if all(each == Const(None) for each in old.values()):
        return settings.get("reduction", NOTHING).constant() in ALL
    known = all(isinstance(each, Const) for each in old.values())
    return known and old.get("reduce", Const(None)) != Const(False)


def _may_train(item: Object) -> bool:
    """Whether a loss of something carries a graph: it came out of a model, and nothing says that it has no gradient."""
    return of_a_model(item) and item.known("grad").constant() is not False


# What the numbers are


@framework.function(*(f"torch:{name}" for name in ACTIVATIONS))
def activate(call: Call) -> Value:
    """`F.softmax(x, dim=-1)`."""
    return marked(call, ACTIVATIONS[call.last])


@framework.method("unknown", *ACTIVATIONS)
def activate_itself(call: Call) -> Value:
    """`x.softmax(-1)`."""
    return marked(call, ACTIVATIONS[call.last])


def marked(call: Call, numbers: str) -> Value:
    """What a call computes, of which it is known what the numbers are."""
    made = call.it.derived(call.site, call.inputs())
    made.state["numbers"] = const(numbers)
    made.sites["numbers"] = call.site
    return of(made)


@framework.function("torch.log")
@framework.method("unknown", "log")
def logarithm(call: Call) -> Value | None:
    """The logarithm of probabilities."""
    return _mapped(call, LOGARITHMS)


@framework.function("torch.exp")
@framework.method("unknown", "exp")
def exponential(call: Call) -> Value | None:
    """Probabilities from their logarithms."""
    return _mapped(call, RAISED)


def _mapped(call: Call, names: dict[str, str]) -> Value | None:
    value = of(call.receiver) if call.receiver is not None else call.get("input", 0)
    known = [item.known("numbers").constant() for item in value.objects()]
    numbers = known[0] if len(set(known)) == 1 else None
    return marked(call, names[numbers]) if numbers in names else None
