"""What torch.load refuses where it loads weights only: found in what is saved, or told by what is done with it."""

from __future__ import annotations

from gclint.run.events import LibraryCall
from gclint.run.guards import Guard
from gclint.run.run import Run, together
from gclint.run.values import Class, Object, Value

from .numpy_numbers import made_by, numpy_function, set_in_groups
from .resumed import FILE

OBJECTS = ("instance", "dict", "list", "tuple")
MODULES = ("module", "modules", "model", "layer", "ddp")
OF_MODULES = ("eval", "train", "parameters", "named_parameters", "modules", "named_modules", "children", "state_dict")
"""Methods that modules have, and neither tensors nor plain data."""
ITSELF = ("to", "cuda", "cpu", "float", "double", "half", "bfloat16", "eval", "train")
"""Methods of a module that give it back (torch/nn/modules/module.py)."""


def unsafe(value: Value, run: Run, depth: int = 0) -> tuple[Guard, str] | None:
    """The first thing in what is saved that is neither tensor nor plain data, and its guard."""
    for guard, item in value:
        if not isinstance(item, Object):
            continue
        if item.kind in MODULES:
            return guard, f"the module `{item.text or item.class_name}` itself"
        if item.kind == "tokenizer":
            return guard, f"the tokenizer `{item.text}`"
        if item.kind == "namespace" or (item.kind in OBJECTS and isinstance(item.type, Class)):
            return guard, f"an object of class {item.class_name}"
        name = made_by(run).get(item, "")
        name = name if name.startswith("pathlib.") or name == "collections.defaultdict" else numpy_function(item, run)
        if name:
            return guard, f"what {name} gives"
        if item.type == "state_dict":
            found = _in_groups(item, run)
            held = together(guard, found[0]) if found is not None else None
            if found is not None and held is not None:
                return held, f"a setting of the optimizer that {found[1]} gives"
        parts = [*(item.items or []), *(item.entries or {}).values()] if depth < 3 else []
        for part in parts if item.type != "state_dict" else ():
            found = unsafe(part, run, depth + 1)
            held = together(guard, found[0]) if found is not None else None
            if found is not None and held is not None:
                return held, found[1]
    return None


def _in_groups(state: Object, run: Run) -> tuple[Guard, str] | None:
    """What NumPy gave to the groups of the optimizer whose state this is."""
    optimizers = [item for item in state.attributes["of"].objects() if item.kind == "optimizer"]
    return next(filter(None, (set_in_groups(each, run) for each in optimizers)), None)


def used_as_module(load: LibraryCall, run: Run) -> LibraryCall | None:
    """The first use, on every way on from a load, of what was loaded, or of a part of it, as the module that it is."""
    loaded = {item for item in load.result.objects() if item.type == FILE}
    uses: list[LibraryCall] = run.of_type(LibraryCall) if loaded and not load.moment.handlers else []
    for use in uses:
        held = use.call.receiver if use.call is not None else None
        named = use.name.rpartition(".")[2] in OF_MODULES
        if held is not None and named and use.guard <= load.guard and _whole(held, run) in loaded:
            return use
    return None


def _whole(item: Object, run: Run) -> Object:
    """What something is a part of, as it is, or where a module's method gave it back."""
    while True:
        made = run.makers.get(item)
        receiver = made.call.receiver if made is not None and made.call is not None else None
        itself = made is not None and receiver is not item and made.name.rpartition(".")[2] in ITSELF
        held = receiver if itself else item.parent
        if held is None:
            return item
        item = held
