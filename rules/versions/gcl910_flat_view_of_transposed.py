"""# flat-view-of-transposed (GCL910)

## What it does
Finds `x[:k].view(-1)` of what was transposed and not made contiguous since, for more than one row: mostly the accuracy
of the `k` best classes, `correct[:k].view(-1)`, of code from before torch 1.7.

## Why it breaks
A transposed tensor keeps its numbers where they were, and since torch 1.7 so does what is computed from it element by
element. The first `k` rows then do not lie behind one another, which a view of one dimension needs: RuntimeError.

## Example
```python
_, best = output.topk(5, 1)
correct = best.t().eq(target.view(1, -1))
top5 = correct[:5].view(-1).float().sum()
```

## Use instead
```python
top5 = correct[:5].reshape(-1).float().sum()
```

## When it is fine
One row (`[:1]`); `reshape`, `flatten`, or `contiguous()` before; torch before 1.7.

## Evidence
torch 2.13.0: raises after `eq`, `==`, `float()`, `to` and `clone()` of `pred.t()`, with 3 and with 5 rows of eight
examples; not with one row, nor after `contiguous()`. pytorch/examples#836 met it with 1.7.0-rc2 and not with 1.6.0.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Finding, Fix
from gclint.ir.gate import where
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.calls import Call
from gclint.run.events import LibraryCall
from gclint.run.guards import Guard
from gclint.run.run import Run, together
from gclint.run.values import Const, Object, made_from

SINCE = Version("1.7")
TURNS = ("t", "transpose", "swapaxes", "permute")
COMPARES = ("eq", "ne", "gt", "lt", "ge", "le")
KEEPS = (
    *(*COMPARES, "float", "double", "half", "long", "int", "bool", "byte", "to", "type", "type_as"),
    *("cuda", "cpu", "clone", "detach", "abs", "neg", "logical_not"),
)
"""What is computed element by element, and lies as what it is computed from does (torch.preserve_format)."""
MOST_STEPS = 8
ROWS_VIEWED = where(".view(-1)", r"(?:.*\[\s*:\s*\w+\s*\]\s*\)*)?\s*\.view\(-1\)")
"""The text of `x[:k].view(-1)`, of which alone the rule speaks; also with the call on a line of its own."""

rule = Rule(
    code="GCL910",
    name="flat-view-of-transposed",
    docs=__doc__ or "",
    words=((ROWS_VIEWED,), (".t()", ".T", "transpose(", "swapaxes(", "permute("), ("torch",)),
    certainty=("fragile",),
    fixable="safe",
    holds="torch >= 1.7",
    oracles=(),
    reproduction=Reproduction(
        "bad_accuracy.py", "bad_accuracy.fixed.py", raises="RuntimeError: view size is not compatible"
    ),
)


@rule.on(LibraryCall)
def viewed(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Are several rows of something transposed viewed as one dimension?"""
    call, version = event.call, run.targets.version("torch")
    if call is None or call.last != "view" or call.receiver is None or (version is not None and version < SINCE):
        return
    whole = [value.constant() for value in call.positional] == [-1] and not call.open
    rows = _several_rows(call) if whole and _is_transposed(call.receiver) else None
    if rows is None:
        return
    yield rule.finding(
        run,
        event.site,
        "these rows of a transposed tensor do not lie behind one another: no view of one dimension can be of them",
        guard=together(event.guard, rows) or event.guard,
        certainty="fragile",
        symptom="RuntimeError: view size is not compatible with input tensor's size and stride",
        fixes=(_reshaped(event.site),),
    )


def _several_rows(call: Call) -> Guard | None:
    """The guard under which what is viewed is known to be more than one row, `x[:k]`; None where it is not."""
    node = call.site.node
    taken = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if not isinstance(taken, ast.Subscript) or not isinstance(taken.slice, ast.Slice):
        return None
    rows = taken.slice
    if rows.lower is not None or rows.step is not None or not isinstance(rows.upper, (ast.Name, ast.Constant)):
        return None
    numbers = [(guard, item.value) for guard, item in call.it.evaluate(rows.upper) if isinstance(item, Const)]
    return next((guard for guard, number in numbers if isinstance(number, int) and number > 1), None)


def _is_transposed(item: Object, steps: int = MOST_STEPS) -> bool:
    """Whether something is transposed, or computed from such element by element; turned twice it lies as before."""
    node = item.site.node if item.site is not None else None
    func = node.func if isinstance(node, ast.Call) else node
    name = func.attr if isinstance(func, ast.Attribute) else ""
    turns = name in TURNS if isinstance(node, ast.Call) else name == "T"
    method = isinstance(node, ast.Attribute)  # what a method that nobody describes is of the object that has it
    if not steps or not (turns or method or name in KEEPS or isinstance(node, (ast.Compare, ast.UnaryOp))):
        return False
    return any(_is_transposed(part, steps - 1) for part in made_from(item)) != turns


def _reshaped(site: Site) -> Fix | None:
    call = rewrite.call_node(site)
    if call is None or not isinstance(call.func, ast.Attribute):
        return None
    return Fix("reshape", "Reshape it", (rewrite.replace_name(Site.at(site.module, call.func), "reshape"),), "safe")
