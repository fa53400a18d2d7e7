"""torch.distributed: process groups, DDP and its flags, FSDP, launchers inside the program."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..ir.syntax import Site, dotted, nodes
from ..run import changes, environment
from ..run.calls import Call
from ..run.closures import enclosing_function
from ..run.events import Wrapped
from ..run.guards import DISTRIBUTED, NEVER, Guard, complement, either
from ..run.interpreter import Interpreter
from ..run.ranks import number_of_process
from ..run.values import FALSE, NONE, NOTHING, TRUE, Const, Object, Value, assigned, const, of, union
from .registry import Framework
from .torch_modules import activated, promote, set_state

framework = Framework(
    "torch.distributed",
    kinds={"ddp": "module", "fsdp": "module", "dp": "module"},
    bases={"torch:DistributedDataParallel": "ddp"},
)


@framework.function("torch:DistributedDataParallel")
def make_ddp(call: Call) -> Value:
    """A model whose gradients are averaged over processes in backward."""
    it = call.it
    made = call.make("ddp", "torch.nn.parallel.DistributedDataParallel")
    inner = call.get("module", 0)
    made.attributes["module"] = inner
    made.attributes.update({name: value for name, value in call.keywords.items() if name != "module"})
    made.sites.update(call.places)
    made.state["find_unused"] = call.get("find_unused_parameters", None, FALSE)
    made.state["static_graph"] = call.get("static_graph", None, FALSE)
    if call.open:
        for fact in ("find_unused_parameters", "static_graph"):
            if fact not in call.keywords:
                made.state[fact.replace("_parameters", "")] = of(it.unknown("**", call.site))
    for model in inner.objects():
        promote(model)
        set_state(it, model, "ddp", of(made), const(None))
    for _, model in each_model(it, inner):
        it.emit(Wrapped(it.moment(site=call.site), model, made))
    return of(made)


@framework.method("ddp", "_set_static_graph")
@framework.method("part", "_set_static_graph")
@framework.method("unknown", "_set_static_graph")
def set_static_graph(call: Call) -> Value:
    """The private spelling of static_graph=True (the same thing, torch 2.13)."""
    assert call.receiver is not None
    set_state(call.it, call.receiver, "static_graph", TRUE, FALSE)
    return NONE


@framework.calling("ddp")
def call_ddp(call: Call) -> Value | None:
    """ddp(x): the inner model's forward, with DDP's hooks."""
    assert call.receiver is not None
    ddp = call.receiver
    inner = ddp.attributes.get("module")
    result = None
    if inner is not None:
        it = call.it
        it.forwards.append(ddp)
        try:
            result = it.call(
                inner, Call(it, call.site, "forward", call.positional, call.keywords, call.open, call.places)
            )
        finally:
            it.forwards.pop()
    result = result if result is not None else of(call.it.derived(call.site, call.inputs()))
    if call.it.forwards:
        return result
    held = inner if inner is not None and inner.objects() else of(ddp)
    return union(
        activated(call, model, result.possible(guard), ddp).under(guard) for guard, model in each_model(call.it, held)
    )


def each_model(it: Interpreter, held: Value) -> Iterator[tuple[Guard, Object]]:
    """What is wrapped, each under the guard in which it is that."""
    for guard, model in held.possible(it.guard):
        with it.under(guard) as possible:
            if possible and isinstance(model, Object):
                yield guard, model


JOINING = ("torch.distributed.init_process_group", "deepspeed.init_distributed")
LEAVES = "destroy_process_group"
JOIN = (*JOINING, "deepspeed.", "accelerate.", "transformers.", "lightning", "pytorch_lightning.")
"""What joins the processes, or may."""


@framework.function(*JOINING)
def init_process_group(call: Call) -> Value:
    """The program itself shows that it runs on several processes, unless it makes a group of one."""
    from .process_starters import shows_processes

    if call.get("world_size", 3).constant() != 1:
        shows_processes(call.it, call.site)
    return NONE


@framework.function("torch.distributed.get_world_size")
def world_size(call: Call) -> Value:
    """The number of processes."""
    return environment.number(call.it, "WORLD_SIZE", call.site)


@framework.function("torch.distributed.get_rank")
def rank(call: Call) -> Value:
    """This process's number; unknown, and different on each."""
    return of(number_of_process(call))


@framework.function(
    *(f"torch.distributed.{name}" for name in ("broadcast_object_list", "all_gather_object", "scatter_object_list")),
    "accelerate.utils.broadcast_object_list",
)
def receive_objects(call: Call) -> Value:
    """Each element of a list is what another process sent, in its place (`broadcast_object_list` and its like in
    torch/distributed/distributed_c10d.py; accelerate/utils/operations.py, which gives the list as well).
    """
    names = ("object_list", "scatter_object_output_list")
    given = next((held for name in names if (held := call.get(name, 0))), NOTHING)
    for item in given.objects():
        guard, sent = changes.since(call.it, item), item.items or []
        for index, own in enumerate(sent):
            received = call.it.unknown(call.last, call.site)
            received.made_of = [own]
            sent[index] = assigned(guard, of(received), own)
    return given if call.name.startswith("accelerate") else NONE


@framework.function("torch.distributed.is_initialized", "torch.distributed.is_torchelastic_launched")
def is_initialized(call: Call) -> Value:
    """True where the program has joined the others, of one that is seen to do so, or to come past where it would; else
    when started on more than one process, but not yet where the function around is about to join them.
    """
    begun = call.run.calls_of(lambda name: name.startswith(JOIN) or name.endswith(LEAVES))
    joined = [each.guard - call.run.assumed for each in begun if each.name == JOINING[0]]
    if call.last == "is_initialized" and not any(each.name.endswith(LEAVES) for each in begun):
        yes = either(joined) if joined else NEVER
        if joined or any(map(_is_past_a_join, (*call.it.moment().stack, call.site))):
            return Value([(yes, Const(True)), (complement(yes), Const(False))]) if yes else TRUE
    if call.last == "is_initialized" and _joins(call.site) and not any(each.name.startswith(JOIN) for each in begun):
        return FALSE
    return Value([(frozenset({(DISTRIBUTED, True)}), Const(True)), (frozenset({(DISTRIBUTED, False)}), Const(False))])


def _joins(site: Site) -> bool:
    """Whether the function around a place joins the processes."""
    return any(_joins_of(site))


def _joins_of(site: Site) -> Iterator[ast.expr]:
    """Where the function around a place has what joins the processes, be it called under another name."""
    name = JOINING[0].rpartition(".")[2]
    for each in nodes(enclosing_function(site.module, site.node)):
        if isinstance(each, (ast.Attribute, ast.Name)) and dotted(each).rpartition(".")[2] == name:
            yield each


def _is_past_a_join(site: Site) -> bool:
    """Whether the function around a place joins the processes above it, under a condition or not."""
    return any(each.lineno < getattr(site.node, "lineno", 0) for each in _joins_of(site))


@framework.function("torch.distributed.is_available")
def is_available(call: Call) -> Value:
    """True on every common build."""
    return TRUE


@framework.method("ddp", "no_sync")
def no_sync(call: Call) -> Value:
    """Backwards in this block do not average gradients."""
    made = call.it.new("context", "no_sync", "", call.site)
    made.attributes["of"] = of(call.receiver) if call.receiver is not None else NONE
    return of(made)


@framework.attribute("ddp", "module")
def inner_module(it: Interpreter, item: Object, name: str, node: object) -> Value | None:
    """What a wrapper wraps."""
    return item.attributes.get("module")


@framework.function("torch.compile")
def compile_model(call: Call) -> Value:
    """The same model, compiled; without a model, a decorator."""
    if not call.positional:
        return call.unknown()
    line = call.site.module.statement(call.site.node)
    named = call.site.module.code(line.targets[0]) if isinstance(line, ast.Assign) else None
    for model in call.positional[0].objects():
        if model.kind in ("module", "model", "ddp", "part", "instance", "layer", "modules"):
            set_state(call.it, model, "compiled", TRUE)
            sure = (
                not call.it.guard - call.run.assumed and isinstance(line, ast.Assign) and line.value is call.site.node
            )
            model.state["compiled_as"] = const(named if sure else None)
    return call.positional[0]


@framework.function("torch.nn.SyncBatchNorm.convert_sync_batchnorm")
def convert_norms(call: Call) -> Value:
    """The same model: only its batch norms are others, with the weights that they had."""
    return call.get("module", 0)


@framework.function("torch:DataParallel")
def make_data_parallel(call: Call) -> Value:
    """A model that runs on several devices of one process."""
    made = call.make("dp", "torch.nn.DataParallel")
    made.attributes["module"] = call.get("module", 0)
    for model in call.get("module", 0).objects():
        promote(model)
    return of(made)


framework.attribute("dp", "module")(inner_module)


@framework.calling("dp")
def call_data_parallel(call: Call) -> Value | None:
    """dp(x): the inner model's forward."""
    assert call.receiver is not None
    inner = call.receiver.attributes["module"]
    return call.it.call(inner, Call(call.it, call.site, "forward", call.positional, call.keywords, call.open))


def unwrapped(value: Value) -> Value:
    """The models inside DDP wrappers; other things as they are."""
    parts = []
    for guard, item in value:
        inner = item.attributes.get("module") if isinstance(item, Object) and item.kind == "ddp" else None
        parts.append(inner.under(guard) if inner is not None else Value([(guard, item)]))
    return union(parts)
