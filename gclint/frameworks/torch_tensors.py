"""torch: tensors and data, and which of them ask for a gradient."""

from __future__ import annotations

import ast

from ..ir.syntax import Site
from ..run import inference
from ..run.arithmetic import computed_from_leaf, is_tensor, of_a_model, scale_of
from ..run.calls import Call
from ..run.devices import is_cpu
from ..run.interpreter import Interpreter
from ..run.precision import mark_product
from ..run.scalars import DIMENSIONS
from ..run.values import FALSE, NOTHING, TRUE, Object, Value, const, of
from .randomness import DRAWN_IN_PLACE
from .registry import Framework
from .signature import Signature, declare
from .torch_modules import loosen
from .torch_parameters import holders
from .torch_workers import collate_rows, start_workers

framework = Framework("torch.tensors", kinds={"tensor": "unknown", "data": "tensor"})


# Tensors


@framework.function(
    "torch.randn",
    "torch.rand",
    "torch.zeros",
    "torch.ones",
    "torch.randint",
    "torch.arange",
    "torch.full",
    "torch.empty",
    "torch.as_tensor",
    "torch.from_numpy",
    "torch.eye",
    "torch.linspace",
    "torch.randperm",
    "torch.Tensor",
    *(f"torch.{kind}Tensor" for kind in ("Float", "Double", "Half", "Byte", "Char", "Short", "Int", "Long", "Bool")),
)
def make_tensor(call: Call) -> Value:
    """A new tensor: no gradient flows to it unless it asks for one."""
    made = call.it.new("tensor", "torch.Tensor", "", call.site)
    made.made_of = call.inputs()
    wanted = call.get("requires_grad", None, FALSE)
    made.state["grad"] = made.state["leaf"] = wanted
    if call.last != "as_tensor":
        inference.mark(call.it, made)
    return of(made)


@framework.function("torch.sort")
def sort_tensor(call: Call) -> Value:
    """The entries in order, and where they stood."""
    pair = call.make("tuple", "")
    numbers = call.it.derived(call.site, call.inputs())
    numbers.kind = "tensor"
    places = call.it.new("tensor", "torch.Tensor", "", call.site)
    places.made_of = call.inputs()
    places.state["grad"] = places.state["leaf"] = FALSE
    pair.items = [of(numbers), of(places)]
    return of(pair)


@framework.function("torch.tensor")
def copy_to_tensor(call: Call) -> Value:
    """A new tensor with a copy of the numbers it is given: the graph of these is not its own."""
    made = make_tensor(call)
    _ask(call, made.objects()[0], call.get("data", 0))
    return made


@framework.function("torch.autograd.Variable", "torch.autograd.variable.Variable")
def make_variable(call: Call) -> Value | None:
    """`Variable(x)` is x; asked for a gradient it is a tensor of its own, without the graph of x."""
    given = call.get("data", 0)
    if not any(map(of_a_model, given.objects())) or call.get("requires_grad", 1, FALSE).constant() is not True:
        return None
    made = make_tensor(call)
    _ask(call, made.objects()[0], given)
    return made


def _ask(call: Call, made: Object, given: Value) -> None:
    """Keep of a tensor that it asks for a gradient in place of what it was made of."""
    if made.state["grad"].constant() is True and any(map(of_a_model, given.objects())):
        made.sites["asked"] = call.site


SHAPES = (
    *("view", "reshape", "flatten", "squeeze", "unsqueeze", "transpose", "permute", "expand", "contiguous", "clone"),
    *("to", "cuda", "cpu", "type", "type_as", "float", "double", "half", "bfloat16", "long", "detach"),
)
"""Methods of a tensor that give the same data in another shape, place or dtype."""
CONVERSIONS = ("to", "type", "type_as", "float", "double", "half", "bfloat16", "long")


@framework.method("unknown", *SHAPES)
def same_data(call: Call) -> Value:
    """The same again, in another shape, place or dtype."""
    assert call.receiver is not None
    made = call.it.derived(call.site, call.inputs())
    call.it.library.keep_numbers(call.receiver, made)
    if call.last in ("detach", "long"):
        cut(made)
    else:
        scale_of(made, of(call.receiver))
    _keep_half(call, made)
    return of(made)


def _keep_half(call: Call, made: Object) -> None:
    """A tensor in another shape or place has the dtype that it had; conversions are not followed."""
    held = call.receiver.known("half") if call.receiver is not None else NOTHING
    if held and call.last not in CONVERSIONS:
        made.state["half"] = held


@framework.method("tensor", *SHAPES)
def same_tensor(call: Call) -> Value:
    """The same data in another shape, place or dtype."""
    assert call.receiver is not None
    made = call.it.derived(call.site, [of(call.receiver)])
    made.kind = call.receiver.kind
    call.it.library.keep_numbers(call.receiver, made)
    if call.last in ("detach", "long"):
        cut(made)
    else:
        scale_of(made, of(call.receiver))
        if not any(map(is_cpu, call.positional)):
            computed_from_leaf(call.it, made, [call.receiver], call.site)
    _keep_half(call, made)
    return of(made)


PRODUCTS = ("matmul", "bmm", "mm", "einsum", "baddbmm")


@framework.function(*(f"torch.{name}" for name in PRODUCTS), "torch.nn.functional.linear")
def product(call: Call) -> Value:
    """A product of tensors, which autocast computes in its own precision."""
    made = call.it.derived(call.site, call.inputs())
    mark_product(call.it, made)
    return of(made)


@framework.method("unknown", "matmul", "bmm", "mm")
def product_with(call: Call) -> Value:
    """`x.matmul(y)`."""
    return product(call)


NUMBERS = (
    *("masked_fill", "masked_fill_", "masked_scatter", "index_fill", "index_copy", "index_add", "scatter_add"),
    *("clamp", "clamp_min", "clamp_max", "nan_to_num", "tril", "triu", "mul", "div", "neg", "sqrt"),
)
"""Methods that only tensors have, and that give one with other numbers."""


@framework.method("unknown", *NUMBERS, *DRAWN_IN_PLACE)
def computed(call: Call) -> Value:
    """The tensor with other numbers, or with some of them replaced."""
    return call.unknown()


@framework.attribute("parameter", "data")
def data_of(it: Interpreter, item: Object, name: str, node: ast.AST) -> Value | None:
    """The tensor of a parameter."""
    made = it.child(item, name, it.site(node))
    made.kind = "tensor"
    return of(made)


def cut(made: Object) -> None:
    """No gradient flows to what something was made of."""
    for fact in ("may_grad", "foreign"):
        made.state.pop(fact, None)
    made.state["grad"], made.state["detached"] = FALSE, TRUE


@framework.method("unknown", "argmax", "argmin", "round", "sign", "eq", "ne", "gt", "lt", "ge", "le")
def without_gradient(call: Call) -> Value:
    """Numbers through which no gradient flows: indices, steps, truths."""
    made = call.it.derived(call.site, call.inputs())
    cut(made)
    return of(made)


READ = ("item", "tolist", "numpy")
"""Methods that give the numbers to Python, and wait for the device that computes them."""


@framework.method("unknown", *READ)
def read_out(call: Call) -> Value:
    """The numbers of a tensor, as Python's or NumPy's."""
    return without_gradient(call)


@framework.function("torch.mean", "torch.sum")
@framework.method("unknown", "mean", "sum")
def reduced(call: Call) -> Value:
    """The mean or the sum, over all or within each example: of what carries a graph it carries one."""
    is_method = call.receiver is not None
    given = of(call.receiver) if call.receiver is not None else call.get("input", 0)
    over = call.get("dim", 0 if is_method else 1)
    made = call.it.derived(call.site, call.inputs())
    scale_of(made, given)
    made.state["reduced"] = const(f"{call.last} within" if _leaves_the_batch(over) else call.last)
    whole = len(call.positional) == (not is_method) and not call.open and not set(call.keywords) - {"dtype", "input"}
    if whole and (not is_method or any(_is_of_autograd(item) for item in given.objects())):
        made.state[DIMENSIONS] = const(0)
    return of(made)


def _is_of_autograd(item: Object) -> bool:
    """Whether something is known to be a tensor: it carries a graph, or was computed from what is one."""
    return bool(item.known("graph").constant() or item.known("grad").constant()) or is_tensor(item)


def _leaves_the_batch(over: Value) -> bool:
    """Whether the dimensions that are gone over are known, and the first, of the examples, is none of them."""
    held = over.only()
    numbers = held.items if isinstance(held, Object) and held.items is not None else [over] if over else []
    return bool(numbers) and all(number.constant() not in (None, 0) for number in numbers)


@framework.method("unknown", "requires_grad_")
@framework.method("tensor", "requires_grad_")
def tensor_requires_grad(call: Call) -> Value:
    """A tensor asks for its gradient; of what is unknown it is a tensor or a module that does."""
    assert call.receiver is not None
    wanted = call.get("requires_grad", 0, TRUE)
    _asks_now(call.receiver, wanted, call.site)
    if wanted.constant() is not False:
        for outer in holders(call.receiver):
            loosen(outer)
    return of(call.receiver)


@framework.setter("tensor", "requires_grad")
def tensor_set_requires_grad(it: Interpreter, item: Object, value: Value, node: ast.AST) -> None:
    """`x.requires_grad = True`."""
    _asks_now(item, value, it.site(node))


@framework.setter("unknown", "requires_grad")
def unknown_set_requires_grad(it: Interpreter, item: Object, value: Value, node: ast.AST) -> None:
    """The same of what is known to have no gradient, and therefore a tensor."""
    if "grad" in item.state:
        _asks_now(item, value, it.site(node))


def _asks_now(item: Object, wanted: Value, site: Site) -> None:
    """A tensor asks for a gradient, or no longer."""
    if item.known("grad").constant() is False and wanted.constant() is True and of_a_model(item):
        item.sites["asked"] = site
    item.state["grad"] = wanted


LOADER = Signature(
    "dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None, "
    "pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None, "
    "*, prefetch_factor=None, persistent_workers=False, pin_memory_device='', in_order=True"
)
declare(
    framework,
    "torch:DistributedSampler",
    "dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False",
)
declare(framework, "torch:BatchSampler", "sampler, batch_size, drop_last")
declare(framework, "torch:RandomSampler", "data_source, replacement=False, num_samples=None, generator=None")
declare(framework, "torch:SequentialSampler", "data_source")
declare(framework, "torch:SubsetRandomSampler", "indices, generator=None")
declare(framework, "torch:WeightedRandomSampler", "weights, num_samples, replacement=True, generator=None")


@framework.function("torch.utils.data.DataLoader", "torch:DataLoader")
def make_loader(call: Call) -> Value:
    """Batches of data: no gradient flows to them."""
    made = call.make("loader", "torch.utils.data.DataLoader")
    made.attributes.update(LOADER.given(call))
    made.sites.update(call.places)
    made.open = call.open
    return of(made)


@framework.element("loader")
def one_batch(it: Interpreter, item: Object, site: Site) -> Value | None:
    """One batch that stands for all."""
    start_workers(it, item, site)
    collate_rows(it, item, site)
    made = it.new("data", "", "batch", site)
    made.state["grad"], made.state["loader"] = FALSE, of(item)
    return of(made)


@framework.element("data")
def part_of_batch(it: Interpreter, item: Object, site: Site) -> Value | None:
    """A part of a batch is data as well."""
    made = it.new("data", "", f"{item.label}[...]", site)
    made.state["grad"], made.each, made.origins = item.state.get("grad", FALSE), True, item.origins
    made.parent = item
    return of(made)
