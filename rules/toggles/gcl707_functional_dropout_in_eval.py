"""# functional-dropout-in-eval (GCL707)

## What it does
Finds `F.dropout` without `training=`, and attention with a `dropout_p` that nothing turns off, in a model that is
evaluated.

## Why it breaks
A function knows no mode: `F.dropout(x)` drops in evaluation as well, and `scaled_dot_product_attention` with whatever
`dropout_p` it is given. Metrics are noisy and too low, and differ from run to run.

## Example
```python
x = F.dropout(self.body(x), p=0.3)
```

## Use instead
```python
x = F.dropout(self.body(x), p=0.3, training=self.training)
```

## When it is fine
`training=` says something, also `training=True` on purpose; a share of `self.p if self.training else 0.0`, here or from
a caller; a program that never calls `eval()`.

## Evidence
torch 2.13.0: after `eval()` two forwards of the same input differ by up to 1.7.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.frameworks.torch_modules import mode
from gclint.frameworks.torch_states import mode_set
from gclint.ir.layout import value_of
from gclint.ir.syntax import FUNCTIONS, arguments, nodes
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.calls import Call
from gclint.run.closures import enclosing_function
from gclint.run.events import LibraryCall, RunEnded
from gclint.run.meaning import definition
from gclint.run.run import Run, ways
from gclint.run.values import Class, Const, Object, Value, const, root

DROPOUTS = tuple(f"torch.nn.functional.dropout{kind}" for kind in ("", "1d", "2d", "3d"))
ATTENTION = "torch.nn.functional.scaled_dot_product_attention"

rule = Rule(
    code="GCL707",
    name="functional-dropout-in-eval",
    docs=__doc__ or "",
    words=((".dropout", "import dropout", "dropout_p"), (".eval(",)),
    certainty=("fails", "fragile"),
    fixable="safe",
    reproduction=Reproduction(
        "bad_function.py", "bad_function.fixed.py", raises="AssertionError: an evaluation gives other numbers each time"
    ),
)


@rule.on(RunEnded)
def drops_in_evaluation(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a model that is evaluated drop by a function that is not told the mode?"""
    calls = run.of_type(LibraryCall)
    modes = [each for each in calls if each.name.endswith((".eval", ".train"))]
    told: set[int] = set()
    for dropping in calls:
        call, forwards = dropping.call, dropping.moment.forwards
        if dropping.name not in DROPOUTS or call is None or not forwards or dropping.site.node_id in told:
            continue
        if (
            call.open
            or call.gives("training", 2)
            or not _is_evaluated(forwards[0], modes)
            or _asks_mode(dropping)
            or _told_by_mode(dropping)
        ):
            continue
        told.add(dropping.site.node_id)
        yield from _told(dropping, call.get("p", 1, const(0.5)), run, (_with_mode(call, forwards[-1]),))


@rule.on(LibraryCall)
def attends_in_evaluation(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is attention told to drop in the forward of a model that is in evaluation mode?"""
    forwards = event.moment.forwards
    if event.name == ATTENTION and event.call is not None and forwards and mode(forwards[-1]).constant() is False:
        given = event.call.get("dropout_p", 4, const(0.0))
        known = Value(pair for pair in given if isinstance(pair[1], Const))
        yield from _told(event, known, run, ())


def _told(event: LibraryCall, p: Value, run: Run, fixes: tuple[Fix | None, ...]) -> Iterator[Finding]:
    """The finding, where something is dropped."""
    for guard, (share,) in ways(event.guard, p):
        known = isinstance(share, Const)
        if isinstance(share, Const) and not share.value:
            continue
        what = "dropout_p" if event.name == ATTENTION else "this dropout"
        yield rule.finding(
            run,
            event.site,
            f"{what} drops in evaluation as well: nothing tells the function the model's mode",
            guard=guard,
            certainty="fails" if known else "fragile",
            symptom="silent: an evaluation gives other numbers each time",
            fixes=fixes,
        )
        return


def _is_evaluated(model: Object, modes: list[LibraryCall]) -> bool:
    """Whether the program puts a model, or what holds it, into evaluation mode."""
    return any(mode_set(each, model) is False or mode_set(each, root(model)) is False for each in modes)


def _asks_mode(event: LibraryCall) -> bool:
    """Whether a branch on the way to a call asks a module for its mode."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == "training"
        for site in (*event.moment.stack, event.site)
        for outer in site.module.ancestors(site.node)
        if isinstance(outer, (ast.If, ast.IfExp))
        for node in ast.walk(outer.test)
    )


def _told_by_mode(event: LibraryCall) -> bool:
    """Whether something that is given on the way to a call is computed from a module's mode, such as the share."""
    return any(
        isinstance(part, ast.Attribute) and part.attr == "training"
        for site in (*event.moment.stack, event.site)
        if isinstance(site.node, ast.Call)
        for given in (site.node.func, *map(value_of, arguments(site.node)))
        for part in nodes(definition(site.module, given))
    )


def _with_mode(call: Call, inner: Object) -> Fix | None:
    """Tell the function the mode, in a method of a module."""
    module, function = call.site.module, enclosing_function(call.site.module, call.site.node)
    outer = module.parents.get(function)
    if not isinstance(function, FUNCTIONS) or not isinstance(outer, ast.ClassDef) or not function.args.args:
        return None
    if isinstance(inner.type, Class) and inner.type.node is not outer:
        return None
    edit = rewrite.set_argument(call.site, "training", f"{function.args.args[0].arg}.training", open_=call.open)
    return Fix("training", "Tell it the mode", (edit,), "safe") if edit is not None else None
