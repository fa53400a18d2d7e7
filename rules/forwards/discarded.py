"""Results that are thrown away: which calls give their result and change nothing, and what is read again as it was."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from gclint.frameworks.hf_datasets import ANEW
from gclint.ir.syntax import FUNCTIONS, LOOPS, Module, Site, dotted, nodes, parameters
from gclint.run.closures import enclosing_function, free_names, names_bound
from gclint.run.events import LibraryCall
from gclint.run.meaning import handed_over
from gclint.run.values import Const, Function, Object, Value, root

COMPUTED = (
    *("add", "sub", "mul", "div", "neg", "abs", "exp", "log", "sqrt", "pow", "relu", "sigmoid", "tanh", "round"),
    *("clamp", "clamp_min", "clamp_max", "clip", "masked_fill", "masked_scatter", "nan_to_num", "tril", "triu"),
    *("scatter", "scatter_add", "index_add", "index_copy", "index_fill", "softmax", "log_softmax"),
)
"""Methods of a tensor that compute other numbers: most have a namesake with `_`, which changes the tensor itself."""
SHAPED = ("view", "reshape", "permute", "transpose", "unsqueeze", "squeeze", "flatten", "expand", "repeat", "t")
CONVERTED = ("to", "cuda", "type", "float", "half", "bfloat16", "double", "long", "int", "bool", "detach")
FUNCTIONS_OF_TENSORS = (
    *("cat", "stack", "concat", "where", "matmul", "bmm", "mm", "einsum", "tensordot", "outer", "sum", "mean"),
    *("zeros_like", "ones_like", "rand_like", "randn_like", "full_like", "empty_like", "one_hot", "pad", "interpolate"),
    *("randperm", "logspace", "cumsum", "tril", "triu", "normalize", "clamp", "exp", "log", "sqrt", "square", "abs"),
    *("sin", "cos", "sigmoid", "softmax"),
)
EXPECTS = ("raises", "assertRaises", "assertRaisesRegex", "warns", "assertWarns")


def is_said_to_be_a_tensor(event: LibraryCall) -> bool:
    """Whether a method is called on a parameter of which the function says that it is a tensor of torch, as it came."""
    node, module = event.site.node, event.site.module
    named = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    scope = enclosing_function(module, node)
    if not isinstance(named, ast.Name) or not isinstance(scope, FUNCTIONS) or named.id in names_bound(module, scope):
        return False
    said = {arg.arg: dotted(arg.annotation) for arg, _ in parameters(scope.args)}.get(named.id, "")
    return said == "torch.Tensor" or (said == "Tensor" and "from torch import" in module.text)


def is_tensor(item: Object, made: Mapping[Object, LibraryCall], depth: int = 5) -> bool:
    """Whether something is a tensor for certain: torch made it, it was computed from one, or torch's own collation gave
    it, which makes nothing else that has such methods.
    """
    if item.kind in ("tensor", "parameter"):
        return True
    if item.kind == "data":
        return _is_collated(root(item))
    if item.kind != "unknown" or not depth:
        return False
    maker = made.get(item)
    if maker is None:
        inputs = [each for value in item.made_of for each in value.objects()]
        node = item.site.node if item.site is not None else None
        return isinstance(node, ast.BinOp) and any(is_tensor(each, made, depth - 1) for each in inputs)
    name, receiver = maker.name, maker.call.receiver if maker.call is not None else None
    last = name.rpartition(".")[2]
    if receiver is not None:
        return last in (*COMPUTED, *SHAPED, *CONVERTED, "clone") and is_tensor(receiver, made, depth - 1)
    return name.startswith("torch.") and last in FUNCTIONS_OF_TENSORS


def _is_collated(batch: Object) -> bool:
    loaders = batch.known("loader").objects()
    return bool(loaders) and all(
        not each.open
        and "collate_fn" not in each.attributes
        and each.attributes.get("batch_size", Value(())).only() != Const(None)
        for each in loaders
    )


def does_nothing_else(event: LibraryCall) -> bool:
    """Whether a method of a set of data has no effect of its own: the functions that it is given only compute rows."""
    name = event.name.rpartition(".")[2]
    if name not in ("map", "filter"):
        return name in ANEW
    given = event.call.get("function", 0) if event.call is not None else Value(())
    functions = [item for _, item in given]
    return bool(functions) and all(isinstance(item, Function) and _computes(item) for item in functions)


def _computes(function: Function) -> bool:
    """Whether a function gives a value and touches nothing outside."""
    node, free = function.node, set(free_names(function.node))
    if isinstance(node, ast.Lambda):
        return not any(_touches(each, free) for each in (node.body, *nodes(node.body)))
    returns = any(isinstance(each, ast.Return) and each.value is not None for each in nodes(node))
    return returns and not any(_acts(each, free) for each in nodes(node))


def _acts(node: ast.AST, free: set[str]) -> bool:
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call) and _of(node.value.func) in free
    stored = isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load)
    return stored and _of(node) in free


def _touches(node: ast.AST, free: set[str]) -> bool:
    """Whether an expression calls a method of something from outside, which may change it."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _of(node.func) in free


def _of(node: ast.AST) -> str:
    """The name that an expression begins with; "" for none."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def read_from(event: LibraryCall) -> ast.Attribute | None:
    """The method that a call calls, as it is read off its object; None where that is not to be seen."""
    node, method = event.site.node, event.call.method if event.call is not None else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func
    read = method.node if method is not None and method.module is event.site.module else None
    return read if isinstance(read, ast.Attribute) else None


def called_on(event: LibraryCall) -> Object | None:
    """What a call computes from: the object of a method, or the tensor that a function of torch is given first, which
    leaves it as it was.
    """
    call, name = event.call, event.name.rpartition(".")
    if call is None or call.receiver is not None:
        return call.receiver if call is not None else None
    of_torch = name[0] in ("torch", "torch.nn.functional") and name[2] in COMPUTED
    given = call.get("input", 0).only() if of_torch and not call.gives("out") and not call.gives("inplace") else None
    return given if isinstance(given, Object) else None


def kept(event: LibraryCall) -> ast.expr | None:
    """How that is written which a call leaves as it was; None where that is not to be seen."""
    node, method = event.site.node, read_from(event)
    if event.call is not None and event.call.receiver is None:
        return node.args[0] if isinstance(node, ast.Call) and node.args else None
    return method.value if method is not None else None


def read_again(event: LibraryCall, what: ast.expr) -> Site | None:
    """Where something is read as if a call had changed it: later, in a next round, by what holds it, or by the caller
    that handed it over. None where nothing does, or where the call only tries whether it can be done.
    """
    site, chain, name = event.site, list(event.moment.stack), event.name.rpartition(".")[2]
    while not _is_tried(site):
        found = next(_reads(site, what, name), None)
        if found is not None:
            return Site.at(site.module, found)
        function = enclosing_function(site.module, site.node)
        handed = handed_over(site.module, function, what, chain[-1]) if chain else None
        if not isinstance(handed, (ast.Name, ast.Attribute, ast.Subscript)):
            return None
        site, what = chain.pop(), handed
    return None


def _is_tried(site: Site) -> bool:
    """Whether the call is what a block tries, the last of it."""
    module, statement = site.module, site.module.statement(site.node)
    around = module.parents.get(statement) if statement is not None else None
    if isinstance(around, ast.With):
        called = [item.context_expr for item in around.items if isinstance(item.context_expr, ast.Call)]
        return any(dotted(each.func).rpartition(".")[2] in EXPECTS for each in called)
    return isinstance(around, ast.Try) and bool(around.handlers) and around.body[-1] is statement


def _reads(site: Site, what: ast.expr, name: str) -> Iterator[ast.expr]:
    """The places that read the same thing afterwards, but for equal calls."""
    module, call = site.module, site.node
    function = enclosing_function(module, call)
    shared = isinstance(what, ast.Attribute)
    text, own = module.code(what), list(nodes(call))
    start, loop = module.span(call).end_line, _loop_around(module, call, function)
    for node in nodes(module.tree if shared or isinstance(function, ast.Module) else function):
        if not isinstance(node, type(what)) or node in own or not isinstance(getattr(node, "ctx", None), ast.Load):
            continue
        if module.code(node) != text or _is_alike(module, node, name):
            continue
        later = module.span(node).line > start or shared
        if later or (loop is not None and any(outer is loop for outer in module.ancestors(node))):
            yield node


def _loop_around(module: Module, node: ast.AST, function: ast.AST) -> ast.AST | None:
    """The outermost loop of the function around a node."""
    found = None
    for outer in module.ancestors(node):
        if outer is function:
            break
        found = outer if isinstance(outer, LOOPS) else found
    return found


def _is_alike(module: Module, node: ast.AST, name: str) -> bool:
    """Whether what is read gets the same method called, or the same function: then it counts as unchanged."""
    around = module.parents.get(node)
    if isinstance(around, ast.Call) and around.args[:1] == [node]:
        return dotted(around.func).rpartition(".")[2] == name
    return isinstance(around, ast.Attribute) and around.attr == name
