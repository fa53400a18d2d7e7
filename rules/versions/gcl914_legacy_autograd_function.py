"""# legacy-autograd-function (GCL914)

## What it does
Finds calls of objects of an autograd function's class, whose forward is not static.

## Why it breaks
Torch calls such functions by `apply` alone. Since torch 1.5 the call raises RuntimeError: "Legacy autograd function
with non-static forward method is deprecated".

## Example
```python
class Reverse(torch.autograd.Function):
    def forward(self, x):
        return x.view_as(x)

    def backward(self, gradient):
        return -gradient

y = Reverse()(x)
```

## Use instead
```python
class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return -gradient

y = Reverse.apply(x)
```

## When it is fine
Torch below 1.5; a class that defines `__call__` itself; a `try`, or a condition on the release.

## Evidence
torch 2.13 and 2.15 (torch/autograd/function.py, `Function.__call__`).
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Finding
from gclint.rule import Reproduction, Rule
from gclint.run.events import LibraryCall
from gclint.run.parts_of_guards import compares_release
from gclint.run.run import Run

from .attempts import attempted

CALLED = tuple(f"torch.autograd.{name}.__call__" for name in ("Function", "function.Function"))

rule = Rule(
    code="GCL914",
    name="legacy-autograd-function",
    docs=__doc__ or "",
    words=(("(Function)", "autograd.Function)", "function.Function)"), ("torch",)),
    certainty=("fails",),
    reproduction=Reproduction(
        "bad_reversal.py", "good_applied.py", raises="RuntimeError: Legacy autograd function with non-static forward"
    ),
)


@rule.on(LibraryCall)
def called(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is an object of an autograd function's class called?"""
    version = run.targets.version("torch")
    if event.name not in CALLED or version is None or version < Version("1.5"):
        return
    if not compares_release(event.guard, "torch") and not attempted(event.site, "RuntimeError"):
        yield rule.finding(
            run,
            event.site,
            "an object of an autograd function is called: torch takes such functions by `apply` alone",
            guard=event.guard,
            symptom="RuntimeError: Legacy autograd function with non-static forward method is deprecated",
        )
