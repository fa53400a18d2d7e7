"""torch.nn: which parameters of a module train, and what the code says of it."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.syntax import Site
from ..run import elements
from ..run.calls import Call
from ..run.events import TrainableChanged
from ..run.guards import ALWAYS, either
from ..run.interpreter import Interpreter
from ..run.parallel import inside
from ..run.parts_of_guards import without_elements
from ..run.values import NOTHING, TRUE, Const, Object, Value, const, of, root
from . import module_trees
from .module_trees import Named, children_of, modules_of, own_parameters, parameters_of, seen_below, set_trains
from .registry import Framework
from .torch_modules import loosen, promote, set_state, trainable

framework = Framework("torch.parameters")


# Parameters


@framework.method(
    "module",
    "parameters",
    "named_parameters",
    "modules",
    "named_modules",
    "children",
    "named_children",
    "buffers",
    "named_buffers",
)
def parts_of_module(call: Call) -> Value:
    """An iterable of a module's parameters or submodules."""
    assert call.receiver is not None
    promote(call.receiver)
    kind = "parameters" if "parameters" in call.last else "buffers" if "buffers" in call.last else "submodules"
    made = elements.once(call.it.new(kind, call.last, f"{call.receiver.label}.{call.last}()", call.site))
    made.parent = call.receiver
    if call.last == "named_parameters":
        made.state["names_of"] = of(root(call.receiver))
    known = _known_parts(call)
    if known is not None:
        made.items = [elements.present(each.guard, _as_asked(call, each)) for each in known]
    return of(made)


def _known_parts(call: Call) -> list[Named] | None:
    """What a module's method lists, one by one; None where that is not known."""
    assert call.receiver is not None
    what = call.last.removeprefix("named_")
    if what == "children":
        return children_of(call.it, call.receiver)
    if what == "modules":
        return modules_of(call.it, call.receiver)
    if what != "parameters":
        return None
    if call.get("recurse", 0 if call.last == "parameters" else 1, TRUE).constant() is not False:
        found = parameters_of(call.it, call.receiver)
        return found if found or call.receiver.kind == "layer" else None
    return None if children_of(call.it, call.receiver) is None else list(own_parameters(call.it, call.receiver))


def _as_asked(call: Call, each: Named) -> Value:
    """A part, with its name where the method gives names."""
    if not call.last.startswith("named_"):
        return of(each.item)
    pair = call.it.new("tuple", "", call.receiver.label if call.receiver else "", call.site)
    pair.items = [const(each.name), of(each.item)]
    return of(pair)


@framework.attribute("layer", "weight", "bias")
def own_parameter(it: Interpreter, item: Object, name: str, node: object) -> Value | None:
    """A layer's parameter by its name."""
    return module_trees.own_parameter(it, item, name)


@framework.method("module", "apply")
def apply_to_each(call: Call) -> Value:
    """`module.apply(f)`: f is called with each module, the inner ones first (torch/nn/modules/module.py); where there
    may be others, with what stands for those, and with those that are seen.
    """
    assert call.receiver is not None
    known = modules_of(call.it, call.receiver)
    if known is None:
        seen = [(each.guard, of(each.item)) for each in seen_below(call.receiver)]
        parts = [(ALWAYS, _one_part(call)), *seen, (ALWAYS, of(call.receiver))]
    else:
        parts = [(each.guard, of(each.item)) for each in reversed(known)]
    for guard, part in parts:
        with call.it.under(guard) as possible:
            if possible:
                call.it.call(call.get("fn", 0), Call(call.it, call.site, "fn", [part]))
    return of(call.receiver)


def _one_part(call: Call) -> Value:
    assert call.receiver is not None
    made = call.it.new("part", "", f"{call.receiver.label}[...]", call.site)
    made.parent, made.each = call.receiver, True
    return of(made)


@framework.method("unknown", "parameters", "named_parameters", "modules", "named_modules")
def parts_of_unknown(call: Call) -> Value:
    """Only modules have these: the object is one."""
    return parts_of_module(call)


@framework.element("parameters")
def one_parameter(it: Interpreter, item: Object, site: Site) -> Value | None:
    """One parameter that stands for all."""
    return _one(it, item, "parameter", site)


@framework.element("buffers")
def one_buffer(it: Interpreter, item: Object, site: Site) -> Value | None:
    """One buffer that stands for all."""
    return _one(it, item, "tensor", site)


@framework.element("submodules")
def one_submodule(it: Interpreter, item: Object, site: Site) -> Value | None:
    """One submodule that stands for all."""
    return _one(it, item, "part", site)


def _one(it: Interpreter, item: Object, kind: str, site: Site) -> Value:
    made = it.new(kind, "", f"{item.label}[...]", site)
    made.parent, made.each = item.parent, True
    if "sliced" in item.state:
        made.state["sliced"] = TRUE
    if not str(item.type).startswith("named_"):
        return of(made)
    name = it.unknown("name", site)
    name.each = True
    if "names_of" in item.state:
        name.state["names_of"] = item.state["names_of"]
    pair = it.new("tuple", "", item.label, site)
    pair.items = [of(name), of(made)]
    return of(pair)


@framework.setter("parameter", "requires_grad")
def set_requires_grad(it: Interpreter, item: Object, value: Value, node: object) -> None:
    """`p.requires_grad = x` in a loop over a module's parameters."""
    _freeze(it, item, value, it.site(node))  # type: ignore[arg-type]


@framework.attribute("parameter", "requires_grad")
def get_requires_grad(it: Interpreter, item: Object, name: str, node: object) -> Value | None:
    """`p.requires_grad` of a parameter that is known by itself: whether it trains."""
    return item.state.get("trains")


@framework.method("parameter", "requires_grad_")
def call_requires_grad(call: Call) -> Value:
    """`p.requires_grad_(x)` in a loop over a module's parameters."""
    assert call.receiver is not None
    _freeze(call.it, call.receiver, call.get("requires_grad", 0, TRUE), call.site)
    return of(call.receiver)


def _freeze(it: Interpreter, item: Object, value: Value, site: Site) -> None:
    for flag in _each_way(it, value) if item.parent is not None else ():
        _freeze_one(it, item, flag, site)


def _each_way(it: Interpreter, value: Value) -> Iterator[Value]:
    """What a flag may be, under the guard of each: a comparison is true in some cases and not in the others."""
    known = [(guard, bool(item.value)) for guard, item in value if isinstance(item, Const)]
    if len(known) < len(list(value)):
        yield value
        return
    for truth in dict.fromkeys(truth for _, truth in known):
        with it.under(either(guard for guard, held in known if held is truth)) as possible:
            if possible:
                yield const(truth)


def _freeze_one(it: Interpreter, item: Object, value: Value, site: Site) -> None:
    assert item.parent is not None
    wanted = value.constant()
    if "trains" in item.state:
        before = item.state["trains"].possible(it.guard).constant()
        set_trains(it, [Named("", item, ALWAYS)], value)
        after = "some" if wanted is None else "all" if wanted else "none"
        if before != wanted:
            told = "some" if before is None else "all" if before else "none"
            it.emit(TrainableChanged(it.moment(site=site), item.parent, told, after))
        return
    asked = {f"#{flag.id}" for flag in item.attributes.get("requires_grad", NOTHING).objects()}
    chosen = (atom for atom, truth in it.guard - item.born if atom.each and (atom.key not in asked or truth is wanted))
    partly = "sliced" in item.state or next(chosen, None) is not None  # what does not train need not be frozen
    mark_trainable(it, item.parent, "some" if partly or wanted is None else "all" if wanted else "none", site)


def mark_trainable(it: Interpreter, item: Object, literal: str, site: Site) -> None:
    """Record which parameters of a module train; what holds the module then trains in part."""
    before, inner = trainable(item, it.guard), inside(item)  # the parameters of a wrapper are those of what it wraps
    parameters = parameters_of(it, inner)
    if parameters and literal in ("all", "none"):
        set_trains(it, parameters, const(literal == "all"))
        it.emit(TrainableChanged(it.moment(site=site), item, before, literal))
        return
    held, it.guard = it.guard, without_elements(it.guard)
    set_state(it, item, "trainable", const(literal), const(before))
    if inner is not item:
        set_state(it, inner, "trainable", const(literal), const(trainable(inner)))
    for part in _told_apart(item) if literal in ("all", "none") else ():
        set_state(it, part, "trainable", const(literal), part.state["trainable"])
    for outer in holders(item):
        if trainable(outer) != literal:
            set_state(it, outer, "trainable", const("some"), const(trainable(outer)))
    it.guard = held
    it.emit(TrainableChanged(it.moment(site=site), item, before, literal))


def _told_apart(item: Object) -> list[Object]:
    """The parts of a module, at any depth, of which it is known by themselves how much trains."""
    found: dict[Object, None] = {}
    waiting = [item]
    while waiting:
        whole = waiting.pop()
        for value in (*whole.attributes.values(), *(whole.items or [])):
            inner = [part for part in value.objects() if part.parent is whole and part not in found]
            found.update(dict.fromkeys(inner))
            waiting += inner
    return [part for part in found if "trainable" in part.state]


def holders(item: Object) -> Iterator[Object]:
    """The modules that a module is a part of: what a method of a module gave (`get_output_embeddings()`) is one."""
    outer = item.parent or _giver(item)
    if outer is not None:
        yield outer
        yield from holders(outer)


def _giver(item: Object) -> Object | None:
    """The method, as a part of its module, that was called without arguments and gave this; None for no such."""
    for origin in item.origins:
        called = origin.attributes.get("called", NOTHING).objects()
        if called and called[0].kind == "part" and not origin.attributes.get("inputs", NOTHING).objects():
            return called[0]
    return None


@framework.function("torch:Parameter")
def make_parameter(call: Call) -> Value:
    """A tensor that trains, unless the code says otherwise."""
    made = call.it.new("tensor", "torch.nn.Parameter", "", call.site)
    made.state["grad"] = made.state["leaf"] = call.get("requires_grad", 1, TRUE)
    return of(made)


@framework.method("module", "requires_grad_")
def module_requires_grad(call: Call) -> Value:
    """`module.requires_grad_(x)`."""
    assert call.receiver is not None
    for flag in _each_way(call.it, call.get("requires_grad", 0, TRUE)):
        wanted = flag.constant()
        literal = "some" if wanted is None else "all" if wanted else "none"
        mark_trainable(call.it, call.receiver, literal, call.site)
    return of(call.receiver)


@framework.setter("module", "*")
def part_replaced(it: Interpreter, item: Object, value: Value, node: object) -> None:
    """A new layer put into a frozen module trains."""
    if "trainable" in item.state and parameters_of(it, item) is not None:
        item.state["trainable"] = const("some")
    if any(part.kind in ("layer", "modules", "module") for part in value.objects()):
        for outer in (item, *holders(item)):
            loosen(outer)


@framework.setter("layer", "weight")
@framework.setter("layer", "bias")
def parameter_replaced(it: Interpreter, item: Object, value: Value, node: object) -> None:
    """`layer.weight = nn.Parameter(kernel, requires_grad=False)`: the layer trains in part at most."""
    made = (part for part in value.objects() if part.type == "torch.nn.Parameter")
    if any(part.state.get("grad", TRUE).constant() is False for part in made):
        item.state["trainable"] = const("some")
