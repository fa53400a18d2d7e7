"""copy: what shares its contents with what it was copied from, and what has its own."""

from __future__ import annotations

from ..run.calls import Call
from ..run.values import Object, Value, of, union
from .registry import Framework

framework = Framework("copy")

WRAPPED, WRAPPER = "module", "ddp"
COPY_OF = "copy of"
PARAMETER = "torch.nn.Parameter"


@framework.function("copy.copy", "copy.deepcopy")
def copied(call: Call) -> Value:
    """A copy: its own object with the same contents, or, of deepcopy, with copies of them."""
    copies: dict[Object, Object] = {}
    parts = []
    for guard, item in call.get("", 0):
        if isinstance(item, Object):
            made = deep_copy(call, item, copies) if call.last == "deepcopy" else shallow_copy(call, item)
            made.state[COPY_OF] = of(item)
            parts.append(of(made).under(guard))
        else:
            parts.append(Value([(guard, item)]))
    return union(parts) if parts else call.unknown()


def shallow_copy(call: Call, item: Object) -> Object:
    """Another object with the same contents."""
    made = call.it.new(item.kind, item.type, item.label, item.site)
    made.attributes, made.state = dict(item.attributes), dict(item.state)
    made.items = list(item.items) if item.items is not None else None
    made.entries = dict(item.entries) if item.entries is not None else None
    made.keyed = item.keyed
    made.open, made.each, made.origins, made.sites = item.open, item.each, item.origins, dict(item.sites)
    return made


def deep_copy(call: Call, item: Object, copies: dict[Object, Object]) -> Object:
    """Another object whose parts, elements and wrapped module are copies too, each made once.

    A copy is wrapped only where its wrapper was copied with it: the hooks by which DDP averages gradients are on the
    parameters that it was given, and a copied parameter has none.
    """
    if item in copies:
        return copies[item]
    made = copies[item] = shallow_copy(call, item)
    made.parent = copies.get(item.parent) if item.parent is not None else None

    def again(value: Value, whole: bool = False) -> Value:
        return Value(
            (guard, deep_copy(call, part, copies))
            if isinstance(part, Object) and (whole or part in copies or part.parent is item or part.type == PARAMETER)
            else (guard, part)
            for guard, part in value
        )

    for name, value in made.attributes.items():
        made.attributes[name] = again(value, whole=name == WRAPPED)
    if made.items is not None:
        made.items = [again(value, whole=True) for value in made.items]
    if made.entries is not None:
        made.entries = {key: again(value, whole=True) for key, value in made.entries.items()}
    if not copies.keys() >= {*item.known(WRAPPER).objects()}:
        del made.state[WRAPPER]
    made.state = {fact: again(value) for fact, value in made.state.items()}
    return made
