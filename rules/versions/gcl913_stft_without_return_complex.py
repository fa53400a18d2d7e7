"""# stft-without-return-complex (GCL913)

## What it does
Finds `torch.stft` of a real signal that does not say whether it gives complex numbers.

## Why it breaks
Torch 1 gave pairs of numbers. Since torch 2.0 the call raises RuntimeError: "stft requires the return_complex parameter
be given for real inputs".

## Example
```python
pairs = torch.stft(signal, 1024, hop_length=256, window=window)
```

## Use instead
```python
pairs = torch.view_as_real(torch.stft(signal, 1024, hop_length=256, window=window, return_complex=True))
```

## When it is fine
Torch below 2.0; a signal or a window of complex numbers; a `try`, or a condition on the release.

## Evidence
torch 2.13 and 2.15: the call raises, and the one above gives what torch 1 gave (torch/functional.py, `stft`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.calls import Call
from gclint.run.events import LibraryCall
from gclint.run.parts_of_guards import compares_release
from gclint.run.run import Run

from .attempts import attempted

PLACE = 9  # of return_complex
COMPLEX = ("torch.complex", "torch.polar", "torch.view_as_complex", "torch.fft.fft", "torch.fft.ifft", "torch.fft.rfft")
"""Functions that give complex numbers."""

rule = Rule(
    code="GCL913",
    name="stft-without-return-complex",
    docs=__doc__ or "",
    words=(("stft(",), ("torch",)),
    certainty=("fails",),
    fixable="safe",
    reproduction=Reproduction(
        "bad_spectrum.py", "bad_spectrum.fixed.py", raises="RuntimeError: stft requires the return_complex parameter"
    ),
)


@rule.on(LibraryCall)
def pairs(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is it left open what the transform gives?"""
    call, version = event.call, run.targets.version("torch")
    if call is None or call.name != "torch.stft" or version is None or version < Version("2.0"):
        return
    if call.open or call.get("return_complex", PLACE) or _is_complex(call, run):
        return
    if not compares_release(event.guard, "torch") and not attempted(event.site, "RuntimeError"):
        yield rule.finding(
            run,
            event.site,
            "this leaves open whether it gives complex numbers, which torch 2 wants to know",
            guard=event.guard,
            symptom="RuntimeError: stft requires the return_complex parameter be given for real inputs",
            fixes=(_as_pairs(event.site),),
        )


def _is_complex(call: Call, run: Run) -> bool:
    """Whether the signal or the window comes of a function that gives complex numbers."""
    given = (item for value in (call.get("input", 0), call.get("window", 4)) for item in value.objects())
    made = (run.makers.get(item) for item in given)
    return any(each is not None and each.name in COMPLEX for each in made)


def _as_pairs(site: Site) -> Fix | None:
    """Ask for complex numbers, and take them as the pairs that they were."""
    node = rewrite.call_node(site)
    added = rewrite.add_argument(site, "return_complex=True")
    if node is None or added is None or not isinstance(node.func, ast.Attribute):
        return None
    library = site.module.code(node.func.value)
    around = rewrite.put_before(site, f"{library}.view_as_real("), added, rewrite.put_behind(site, ")")
    return Fix("pairs", "Take complex numbers as pairs", around)
