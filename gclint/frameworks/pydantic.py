"""pydantic: the fields of settings classes. Their values come from outside, whatever default they have."""

from __future__ import annotations

import ast

from ..ir.syntax import dotted
from ..run.calls import Call
from ..run.values import Value, of
from .registry import Framework

framework = Framework("pydantic")


@framework.function("pydantic.Field", "pydantic.fields.Field")
def field(call: Call) -> Value:
    """What nobody knows, under the name of the field: `Settings.width`."""
    around = list(call.site.module.ancestors(call.site.node))
    assigned = next((node for node in around if isinstance(node, ast.AnnAssign)), None)
    owner = next((node for node in around if isinstance(node, ast.ClassDef)), None)
    if assigned is None or owner is None:
        return call.unknown()
    return of(call.it.unknown(f"{owner.name}.{dotted(assigned.target)}", call.site))
