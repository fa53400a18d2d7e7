"""Numbers by place in front of tensors, as `add_(0.1, x)`: torch takes them by name now, and warns since 1.5.

Each method and function takes so many tensors by place, and nothing else: one argument more is the old spelling
(tools/autograd/deprecated.yaml of torch; 2.13.0 warns of the first that is called in a process).
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from gclint.finding import Fix
from gclint.ir.layout import is_spread
from gclint.ir.syntax import Site
from gclint.run import rewrite
from gclint.run.calls import Call


class Overload(NamedTuple):
    """How many tensors are taken by place, and the names of the numbers that stood in front of the last of them."""

    tensors: int
    numbers: tuple[str, ...]


SCALED, PRODUCT = ("alpha",), ("beta", "alpha")
METHODS = {
    "add_": Overload(1, SCALED),
    "sub_": Overload(1, SCALED),
    "addcmul_": Overload(2, ("value",)),
    "addcdiv_": Overload(2, ("value",)),
    **dict.fromkeys(("addmm_", "addmv_", "addr_", "addbmm_", "baddbmm_"), Overload(2, PRODUCT)),
}
FUNCTIONS = {
    "torch.add": Overload(2, SCALED),
    "torch.sub": Overload(2, SCALED),
    "torch.addcmul": Overload(3, ("value",)),
    "torch.addcdiv": Overload(3, ("value",)),
}
SINCE = "1.5"


def numbers_by_place(call: Call) -> tuple[str, ...]:
    """The names of the numbers that a call of torch gives by place; none where it is spelled as it is now."""
    row = METHODS.get(call.last) if call.receiver is not None else FUNCTIONS.get(call.name)
    more = len(call.positional) - row.tensors if row is not None else 0
    return row.numbers[:more] if row is not None and not call.open and 0 < more <= len(row.numbers) else ()


def by_name(site: Site, names: tuple[str, ...]) -> Fix | None:
    """The same call with its numbers behind the tensors, by name."""
    node = rewrite.call_node(site)
    if node is None or node.keywords or any(map(is_spread, node.args)) or not isinstance(node.func, ast.Attribute):
        return None
    code = site.module.code
    first = 1 if node.func.attr in {name.rpartition(".")[2] for name in FUNCTIONS} else 0
    numbers, tensors = node.args[first : first + len(names)], node.args[first + len(names) :]
    named = [f"{name}={code(number)}" for name, number in zip(names, numbers, strict=True)]
    text = ", ".join([*map(code, node.args[:first]), *map(code, tensors), *named])
    return Fix("by-name", "Give the number by name", (rewrite.replace(site, f"{code(node.func)}({text})"),))
