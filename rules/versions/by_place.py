"""Arguments that torch took by place and takes no longer: most are handed to a base class by a class of one's own."""

from __future__ import annotations

import ast
from typing import NamedTuple

from gclint.finding import Edit, Fix
from gclint.frameworks.torch_schedules import TOTALS, WITHOUT_END
from gclint.ir.syntax import Site
from gclint.run import rewrite
from gclint.run.calls import Call
from gclint.run.values import Class

SCHEDULE = "torch.optim.lr_scheduler."
COUNTS = {
    **{name: len(WITHOUT_END[name].split(", ")) for name in ("ExponentialLR", "LambdaLR", "MultiStepLR", "StepLR")},
    "CosineAnnealingLR": len(TOTALS["CosineAnnealingLR"][1].split(", ")),
    "LRScheduler": 2,
    "_LRScheduler": 2,
}
"""How many arguments a schedule takes by place since `verbose`, which came next, is gone."""
SAMPLERS = ("torch.utils.data.Sampler", "torch.utils.data.sampler.Sampler")


class Gone(NamedTuple):
    """The argument that came after the first `kept` ones, and the first release that was seen without it."""

    name: str
    kept: int
    since: str
    symptom: str


NO_ARGUMENT = "TypeError: object.__init__() takes exactly one argument (the instance to initialize)"
BY_PLACE = {
    **{f"{SCHEDULE}{name}": Gone("verbose", count, "2.7.0", "") for name, count in COUNTS.items()},
    **dict.fromkeys(SAMPLERS, Gone("data_source", 0, "2.13.0", NO_ARGUMENT)),
}
"""Removed by pytorch/pytorch#147301 (2.7) and pytorch/pytorch#163134 (after 2.9.1, which still took it)."""
SUBCLASSED = ("(Sampler", "data.Sampler", "sampler.Sampler")
"""How the class is written where another one is made of it."""


def one_too_many(call: Call) -> Gone | None:
    """The argument by place that is not taken any more; None where there is none, or a second base may take it."""
    row = BY_PLACE.get(call.name)
    if row is None or call.open or len(call.positional) <= row.kept:
        return None
    return row if row.name == "verbose" or _has_one_base(call.instance.type if call.instance else "") else None


def _has_one_base(owner: str | Class) -> bool:
    while isinstance(owner, Class) and len(owner.bases) == 1:
        base = owner.bases[0]
        owner = base if isinstance(base, Class) else ""
    return not isinstance(owner, Class)


def left_out(site: Site, kept: int) -> Fix | None:
    """Leave out what stands behind the arguments that are kept, where that is one and nothing follows."""
    node = rewrite.call_node(site)
    if node is None or node.keywords:
        return None
    first = kept + _names_itself(node.func)
    if len(node.args) != first + 1:
        return None
    span = site.module.span
    start = span(node.args[first - 1])[2:] if first else span(node.args[0])[:2]
    edit = Edit(site.module.path, *start, *span(node.args[first])[2:], "")
    return Fix("drop", "Leave it out", (edit,))


def _names_itself(func: ast.expr) -> bool:
    """Whether a constructor is called by its class, `Base.__init__(self, ...)`."""
    return isinstance(func, ast.Attribute) and func.attr == "__init__" and not isinstance(func.value, ast.Call)
