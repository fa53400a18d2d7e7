"""# removed-torch-function (GCL906)

## What it does
Finds functions that the target version of torch no longer has, and those that warn that they will go, also by how their
arguments are given (`x.add_(0.1, y)`, `nn.MSELoss(size_average=False)`, `reduction="elementwise_mean"`,
`torch.cross(a, b)` without `dim`); and `iterator.next()` of a DataLoader.

## Why it breaks
The call raises: `RuntimeError: This function was deprecated since version 1.9 and is now removed`, or that torch has no
such attribute. What is deprecated warns at each use until it is gone. `torch.cross` without `dim` takes the first
dimension of size 3: for three vectors in a batch that is the batch, and what comes out is wrong without an error.

## Example
```python
from torch._six import inf
values, vectors = torch.symeig(a, eigenvectors=True)
torch.nn.init.xavier_uniform(layer.weight)
average.mul_(beta).add_(1 - beta, gradient)
```

## Use instead
```python
from torch import inf
values, vectors = torch.linalg.eigh(a, UPLO="U")
torch.nn.init.xavier_uniform_(layer.weight)
average.mul_(beta).add_(gradient, alpha=1 - beta)
```

## When it is fine
Older targets; a `try` that falls back on the other name; a condition on the release, or on whether torch has the name.

## Evidence
torch 2.13.0: each name was called; what it raised or warned of is the table that gclint goes by. What warned in 0.4
and 0.4.1 stands in the source of these releases (torch/nn/init.py, functional.py, _reduction.py). The method `next` of
a DataLoader's iterator is gone since 1.13 (https://github.com/pytorch/pytorch/issues/80181, a build of that release).
`torch.cross` without `dim` warns since 2.2 (https://github.com/pytorch/pytorch/pull/108760); of two 3 x 3 tensors it
gives something else than with `dim=-1` (2.13.0).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Finding, Fix
from gclint.ir.gate import where
from gclint.ir.layout import is_spread
from gclint.ir.syntax import Module, Site, dotted
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import Imported, LibraryCall, NameTaken
from gclint.run.parts_of_guards import compares_release
from gclint.run.run import Run

from . import legacy_reductions
from .attempts import attempted, one_of_two
from .legacy_reductions import by_reduction, meant_by
from .overloads import METHODS as SCALED
from .overloads import SINCE, by_name, numbers_by_place
from .torch_names import ALL, GONE_ERRORS, MODULES, NAMES, Name

PLAIN = ("solve", "eig", "qr", "cholesky", "range", "lu", "fft", "ifft", "grad", "vjp", "jvp", "hessian", "vmap")
TENSORS_TOO = ("solve", "eig", "qr", "cholesky", "range", "lu", "fft", "ifft")
INITS = ("uniform", "normal", "constant", "eye", "dirac", "orthogonal", "sparse")
DISTINCT = {name.rpartition(".")[2] for name in NAMES if not name.startswith("functorch.")} - {*PLAIN, *INITS}

BESIDES = ("add_", "sub_", "addcmul_", "addcdiv_")

rule = Rule(
    code="GCL906",
    name="removed-torch-function",
    docs=__doc__ or "",
    words=(
        (
            *sorted(where(f"{name}(", rf".*(?<!\w)(?<!self\.)(?<!fft\.)(?<!def ){name}\(") for name in DISTINCT),
            *(where(f".{name}(", rf".*(?<!linalg)(?<!fft)\.{name}\(") for name in TENSORS_TOO),
            *(f"init.{name}(" for name in INITS),
            *(where(f".{name}(", rf".*\.{name}\((?:.*,|\s*$)") for name in SCALED),
            *(where(f"torch.{name[:-1]}(", rf".*\btorch\.{name[:-1]}\((?:.*,.*,|\s*$)") for name in BESIDES),
            where(".cross(", r".*(?<!linalg)\.cross\("),
            *("import cross", "torch._six", "functorch", "custom_fwd", "custom_bwd", ".next("),
            *(
                "size_average",
                "elementwise_mean",
                where("reduce=", r".*(?:[lL]oss|entropy\w*|kl_div)\(.*\breduce="),
                '"reduce":',
            ),
        ),
        ("torch",),
    ),
    certainty=("fails", "fragile"),
    fixable="safe",
    reproduction=Reproduction(
        "bad_symeig.py", "bad_symeig.fixed.py", raises="RuntimeError: This function was deprecated"
    ),
)


@rule.on(LibraryCall)
def called(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is a function called that the release lacks, or is about to lack?"""
    call = event.call
    name = _of_torch(call.name) if call is not None else ""
    row = NAMES.get(name)
    version = run.targets.version("torch") if row is not None else None
    if call is None or row is None or version is None or version < Version(row.since or row.gone):
        return
    if _asked(event) or one_of_two(event.site, row.now):
        return
    gone = bool(row.gone) and version >= Version(row.gone)
    fix = _renamed(event.site, name, row) if call.name == name else None
    yield rule.finding(
        run,
        event.site,
        f"`{name}` is {'gone' if gone else 'deprecated'}: it is {_now(row)}",
        guard=event.guard,
        certainty="fails" if gone else "fragile",
        symptom=GONE_ERRORS[name.rpartition(".")[2]] if gone else "a warning; an error once the name is gone",
        fixes=(fix,),
        help="" if fix else "write what took its place; no edit is made where its arguments or its results are others",
    )


@rule.on(LibraryCall)
def number_by_place(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Does a number stand in front of the tensors, where it is taken by name?"""
    names = numbers_by_place(event.call) if event.call is not None else ()
    version = run.targets.version("torch") if names else None
    if event.call is None or version is None or version < Version(SINCE) or _asked(event):
        return
    now = " and ".join(f"`{name}=`" for name in names)
    fix = by_name(event.site, names)
    yield rule.finding(
        run,
        event.site,
        f"`{event.call.last}` with a number in front of tensors is deprecated: it is given as {now} behind them now",
        guard=event.guard,
        certainty="fragile",
        symptom="a warning; an error once the old signature is gone",
        fixes=(fix,),
        help="" if fix else f"give the number as {now}, behind the tensors",
    )


@rule.on(LibraryCall)
def reduced_by_old_arguments(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is a loss told to sum or to average by the arguments, or the word, that it had for that once?"""
    call = event.call
    old, reduction = meant_by(call) if call is not None else ("", "")
    version = run.targets.version("torch") if old else None
    since = legacy_reductions.MEAN_SINCE if old == "reduction" else legacy_reductions.SINCE
    if call is None or version is None or version < Version(since) or _asked(event):
        return
    fix = by_reduction(event.site, reduction)
    said = f'reduction="{legacy_reductions.OLD_MEAN}"' if old == "reduction" else old
    yield rule.finding(
        run,
        call.place(old),
        f'`{said}` of a loss is deprecated: it is `reduction="{reduction}"` now',
        guard=event.guard,
        certainty="fragile",
        symptom="a warning; an error once the argument is gone",
        fixes=(fix,),
        help="" if fix else f'write `reduction="{reduction}"` in place of {_written(old)}',
    )


def _written(old: str) -> str:
    """What stands in the call, in words."""
    return "what gives the old word" if old == "reduction" else "`size_average` and `reduce`"


@rule.on(LibraryCall)
def without_dim(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is a cross product taken over whichever dimension is the first of size 3?"""
    call = event.call if event.name == "torch.cross" else None
    version = run.targets.version("torch") if call is not None and not call.gives("dim", 2) and not call.open else None
    if version is None or version < Version("2.2") or _asked(event):
        return
    yield rule.finding(
        run,
        event.site,
        "`torch.cross` without `dim` takes the first dimension of size 3, and is deprecated: it is "
        "`torch.linalg.cross` now, which takes the last",
        guard=event.guard,
        certainty="fragile",
        symptom="a warning; silent: another product where more than one dimension has the size 3",
        fixes=(_of_the_last(event.site),),
    )


@rule.on(LibraryCall)
def taken_by_method(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is the next batch asked of a loader's iterator by the name that Python 2 had for it?"""
    version = run.targets.version("torch") if event.name == "loader.next" else None
    if version is None or version < Version("1.13") or _asked(event):
        return
    yield rule.finding(
        run,
        event.site,
        "the iterator of a DataLoader has no method `next` any more: it is `next(iterator)` now",
        guard=event.guard,
        symptom="AttributeError: '_MultiProcessingDataLoaderIter' object has no attribute 'next'",
        fixes=(_by_function(event.site),),
    )


@rule.on(Imported, NameTaken)
def imported(event: Imported | NameTaken, run: Run) -> Iterator[Finding]:
    """Is a module imported that the release lacks?"""
    version, name = run.targets.version("torch"), _module(event)
    if name not in MODULES or version is None or version < Version("2.0"):
        return
    if not compares_release(event.guard, "torch") and not event.moment.handlers:
        yield rule.finding(
            run,
            event.site,
            f"`{name}` is gone",
            guard=event.guard,
            symptom=MODULES[name],
            fixes=(_import_of_inf(event.site),),
        )


def _module(event: Imported | NameTaken) -> str:
    """The module that an import statement itself names; "" where the import is one that it leads to."""
    node = event.site.node
    if isinstance(event, NameTaken):
        return event.library_name.rpartition(".")[0]
    return event.name if isinstance(node, ast.Import) and event.name in {each.name for each in node.names} else ""


def _of_torch(name: str) -> str:
    """The function that a method of a tensor is too."""
    kind, _, method = name.partition(".")
    return f"torch.{method}" if kind == "tensor" else name


def _asked(event: LibraryCall) -> bool:
    """Whether the code around cares for what the release has."""
    return compares_release(event.guard, "torch") or attempted(event.site)


def _now(row: Name) -> str:
    name, comma, rest = row.new.partition(", ")
    shown = name.replace(" and ", "` and `")
    return row.new if name.startswith("in ") else f"`{shown}` now{comma}{rest}"


def _import_of_inf(site: Site) -> Fix | None:
    """torch itself has the number that most took from there."""
    node = site.node
    if not isinstance(node, ast.ImportFrom) or any(alias.name not in ("inf", "nan") for alias in node.names):
        return None
    names = ", ".join(alias.name + (f" as {alias.asname}" if alias.asname else "") for alias in node.names)
    return Fix("new-name", "Import it from torch", (rewrite.replace(site, f"from torch import {names}"),))


def _by_function(site: Site) -> Fix | None:
    """Python's function in place of the method."""
    node = rewrite.call_node(site)
    if node is None or not isinstance(node.func, ast.Attribute) or node.args or node.keywords:
        return None
    text = f"next({site.module.code(node.func.value)})"
    return Fix("new-name", "Call Python's next", (rewrite.replace(site, text),))


def _of_the_last(site: Site) -> Fix | None:
    """The function that takes the last dimension, where the call names the module."""
    node = rewrite.call_node(site)
    if node is None or dotted(node.func) != "torch.cross":
        return None
    edit = rewrite.replace(Site.at(site.module, node.func), "torch.linalg.cross")
    return Fix("new-name", "Call torch.linalg.cross", (edit,), "unsafe", intent=("loss", "gradients", "updates"))


def _renamed(site: Site, name: str, row: Name) -> Fix | None:
    """The new name in place of the old one, where the arguments mean the same."""
    node, module = rewrite.call_node(site), site.module
    if node is None or any(map(is_spread, node.args)) or any(map(is_spread, node.keywords)):
        return None
    text = _respelled(name, node, module)
    if text:
        return Fix("new-name", "Call what took its place", (rewrite.replace(site, text),))
    few = row.same == ALL or (len(node.args) <= row.same and not node.keywords)
    if not row.same or not few or not isinstance(node.func, ast.Attribute):
        return None
    old, new = name.rpartition("."), row.new.rpartition(".")
    title = f"Call it {row.new}"
    if old[0] == new[0]:
        return Fix("new-name", title, (rewrite.replace_name(Site.at(module, node.func), new[2]),))
    if new[0].startswith(f"{old[0]}.") and old[0] == "torch":
        edit = rewrite.replace_name(Site.at(module, node.func), row.new.removeprefix("torch."))
        return Fix("new-name", title, (edit,))
    known = dotted(node.func) == name and any(line.strip() == "import torch" for line in module.lines)
    return Fix("new-name", title, (rewrite.replace(Site.at(module, node.func), row.new),)) if known else None


def _respelled(name: str, node: ast.Call, module: Module) -> str:
    """The whole call as it is now, for those that take other arguments; "" for those that nobody can tell."""
    if not isinstance(node.func, ast.Attribute):
        return ""
    torch, given = module.code(node.func.value), [module.code(each) for each in node.args]
    if name == "torch.chain_matmul" and not node.keywords:
        return f"{torch}.linalg.multi_dot([{', '.join(given)}])"
    held = {each.arg: each.value for each in node.keywords}
    vectors = held.pop("eigenvectors", None)
    always = isinstance(vectors, ast.Constant) and vectors.value is True
    if name == "torch.symeig" and len(given) == 1 and always and not held:
        return f'{torch}.linalg.eigh({given[0]}, UPLO="U")'
    return ""
