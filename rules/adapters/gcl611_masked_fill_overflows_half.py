"""# masked-fill-overflows-half (GCL611)

## What it does
Finds `masked_fill` of a float16 tensor with a number that float16 cannot hold.

## Why it breaks
The largest number of float16 is 65504. `masked_fill(mask, -1e9)` of attention scores raises as soon as they are
computed under float16 autocast, or by a model in float16; in float32 and bfloat16 it works.

## Example
```python
with torch.autocast("cuda", dtype=torch.float16):
    scores = (q @ k.transpose(-2, -1)).masked_fill(mask, -1e9)
```

## Use instead
```python
scores = q @ k.transpose(-2, -1)
scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
```

## When it is fine
float32, bfloat16; `-1e4` and `float("-inf")`; scores that are converted to float32 before.

## Evidence
torch 2.13.0: RuntimeError "value cannot be converted to type c10::Half without overflow".
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.ir.gate import where
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import LibraryCall
from gclint.run.run import Run, ways
from gclint.run.values import Const

LARGEST = 65504

SMALL = r"-?\d(?:\.\d*)?|float\(\s*['\"][+-]?inf['\"]\s*\)|-?(?:torch|np|math)\.inf|True|False"
FILLED = where(".masked_fill", rf"(?!.*\.masked_fill_?\(.*,\s*(?:value=)?(?:{SMALL})\s*\))")
"""A tensor is filled, and not with what float16 surely holds."""
rule = Rule(
    code="GCL611",
    name="masked-fill-overflows-half",
    docs=__doc__ or "",
    words=((FILLED,), ("autocast", ".half", "float16")),
    certainty=("fails",),
    fixable="unsafe",
    reproduction=Reproduction(
        "bad_scores.py",
        "bad_scores.fixed.py",
        raises="RuntimeError: value cannot be converted to type c10::Half without overflow",
    ),
)


@rule.on(LibraryCall)
def overflows(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is a float16 tensor filled with a number beyond its range?"""
    call = event.call
    if call is None or call.receiver is None or call.last not in ("masked_fill", "masked_fill_"):
        return
    for guard, (_, number) in ways(event.guard, call.receiver.known("half"), call.get("value", 1)):
        value = number.value if isinstance(number, Const) else None
        if not isinstance(value, (int, float)) or math.isinf(value) or abs(value) <= LARGEST:
            continue
        yield rule.finding(
            run,
            event.site,
            f"this tensor is float16, which cannot hold {value:g}",
            guard=guard,
            symptom="RuntimeError: value cannot be converted to type c10::Half without overflow",
            fixes=(_finite(event, value),),
        )
        return


def _finite(event: LibraryCall, value: float) -> Fix | None:
    """The least or largest number of the tensor's own dtype."""
    node, place = event.site.node, rewrite.positional(event.site, 1)
    if not isinstance(node, ast.Call) or place is None or not isinstance(node.func, ast.Attribute):
        return None
    if not isinstance(node.func.value, ast.Name):
        return None
    text = f"torch.finfo({node.func.value.id}.dtype).{'min' if value < 0 else 'max'}"
    edit = rewrite.replace(Site.at(event.site.module, place), text)
    return Fix("finite", "Fill with what its dtype holds", (edit,), "unsafe")
