"""# torchvision-names (GCL907)

## What it does
Finds torchvision models that are asked for `pretrained=` or `pretrained_backbone=`, `v2.ToTensor()`, and imports of
`model_urls`.

## Why it breaks
Each use warns; the arguments "may be removed in the future", the transform "will be removed in a future release". Then
the call raises a TypeError, or the name is gone, as `model_urls` is since 0.15: the import raises ImportError.

## Example
```python
model = torchvision.models.resnet50(pretrained=True)
```

## Use instead
```python
model = torchvision.models.resnet50(weights="IMAGENET1K_V1")
```

## When it is fine
torchvision before 0.13 (0.15 for the transform and the addresses); a `try` that falls back on the other spelling; a
condition on the release; functions of the project that take an argument of this name.

## Evidence
torchvision/models/_utils.py and torchvision/transforms/v2/_deprecated.py of 0.15.2, 0.20.1 and 0.28.0, read, not run:
`pretrained=True` stands for IMAGENET1K_V1 in each of 78 classification models. The wheels of 0.12.0 to 0.14.1 have
`model_urls` in 23 modules of torchvision/models, those of 0.15.1 and 0.15.2 in video/resnet.py alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Edit, Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.calls import Call
from gclint.run.events import LibraryCall, NameTaken
from gclint.run.guards import Guard
from gclint.run.parts_of_guards import compares_release
from gclint.run.run import Run

from .attempts import attempted

MODELS, TO_TENSOR = "torchvision.models.", "torchvision.transforms.v2.ToTensor"
RENAMED = {"pretrained": "weights", "pretrained_backbone": "weights_backbone"}
ADDRESSES = re.compile(r"torchvision\.models\.(?!video\.)[\w.]+\.model_urls")
BESIDE = {"0.13": "1.12", "0.15": "2.0"}
NEWER = "999"  # what no upper bound keeps out
# the classification models of torchvision.models whose `pretrained=True` is IMAGENET1K_V1
FIRST = re.compile(
    r"alexnet|convnext_\w+|densenet\d+|efficientnet_\w+|googlenet|inception_v3|maxvit_t|mnasnet\d_\d+|mobilenet_v\w+"
    r"|regnet_(?!y_128gf)\w+|(?:wide_)?resnet\w+|resnext\w+|shufflenet_\w+|squeezenet1_\d|swin_\w+|vgg\w+|vit_[bl]_\d+"
)

rule = Rule(
    code="GCL907",
    name="torchvision-names",
    docs=__doc__ or "",
    words=(
        ("pretrained=", "pretrained_backbone=", "ToTensor", "model_urls", "(True)", "(True,", "(False)", "(False,"),
        ("torchvision",),
        ("models", "v2"),
    ),
    certainty=("fragile",),
    fixable="safe",
    holds="torchvision >= 0.13",
    reproduction=Reproduction(needs="a torchvision that has removed the names"),
)


@rule.on(LibraryCall)
def old_name(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is a model or transform made by a name that is about to go?"""
    call = event.call
    if call is None or not call.name.startswith("torchvision.") or attempted(event.site):
        return
    if call.name == TO_TENSOR and not compares_release(event.guard, "torchvision"):
        yield from _deprecated(
            run,
            event,
            event.guard,
            "`v2.ToTensor()`",
            "`v2.ToImage()` and `v2.ToDtype(torch.float32, scale=True)`",
            "0.15",
        )
    for name, new in RENAMED.items() if call.name.startswith(MODELS) and call.last.islower() else ():
        guard = call.given_under(name, event.guard)
        if guard is not None and not compares_release(guard, "torchvision"):
            yield from _deprecated(run, event, guard, f"`{name}`", f"`{new}`", "0.13", _weights(event, call, name, new))
    first = (
        call.positional[0].constant() if call.positional and FIRST.fullmatch(call.name.removeprefix(MODELS)) else None
    )
    if isinstance(first, bool) and not compares_release(event.guard, "torchvision"):
        yield from _deprecated(run, event, event.guard, "`pretrained`", "`weights`", "0.13", _by_place(event, first))


@rule.on(NameTaken)
def addresses(event: NameTaken, run: Run) -> Iterator[Finding]:
    """Are the addresses of a model's weights imported, which are gone?"""
    package = _reaching(run, "0.15") if ADDRESSES.fullmatch(event.library_name) else ""
    if package and not attempted(event.site) and not compares_release(event.guard, "torchvision"):
        yield rule.finding(
            run,
            rewrite.imported_name(event.site, event.name),
            f"`{event.library_name}` is gone: each of the weights has its own `url` now",
            guard=event.guard,
            certainty="fragile",
            symptom="ImportError: cannot import name 'model_urls'",
            versions=(package,),
            help="take ResNet18_Weights.IMAGENET1K_V1.url and its like",
        )


def _deprecated(
    run: Run, event: LibraryCall, guard: Guard, name: str, new: str, since: str, fix: Fix | None = None
) -> Iterator[Finding]:
    package = _reaching(run, since)
    if package and event.call is not None:
        yield rule.finding(
            run,
            event.call.place(name.strip("`")),
            f"{name} is deprecated: it is {new} now",
            guard=guard,
            certainty="fragile",
            symptom="a warning; an error once the name is gone",
            fixes=(fix,),
            versions=(package,),
            help="" if fix else f"write {new}",
        )


def _reaching(run: Run, since: str) -> str:
    """The package whose release tells that torchvision has reached one: its own, else that of torch beside it."""
    target, torch = run.targets["torchvision"], run.targets.version("torch")
    if target.version is not None:
        return "torchvision" if target.version >= Version(since) else ""
    allowed = target.range is None or any(map(target.range.contains, (since, NEWER)))
    return "torch" if allowed and torch is not None and torch >= Version(BESIDE[since]) else ""


def _by_place(event: LibraryCall, given: bool) -> Fix | None:
    """The same weights by their own name, where the call gives nothing but True or False by place."""
    held, call = rewrite.positional(event.site, 0), rewrite.call_node(event.site)
    if not isinstance(held, ast.Constant) or call is None or len(call.args) > 1:
        return None
    text = 'weights="IMAGENET1K_V1"' if given else "weights=None"
    return Fix("weights", f"Write {text}", (rewrite.replace(Site.at(event.site.module, held), text),))


def _weights(event: LibraryCall, call: Call, name: str, new: str) -> Fix | None:
    """The same weights by their own name, where the call says True or False."""
    held, module = rewrite.argument(event.site, name), event.site.module
    given = held.value.value if held is not None and isinstance(held.value, ast.Constant) else None
    first = name == "pretrained" and FIRST.fullmatch(call.name.removeprefix(MODELS))
    if held is None or new in call.keywords or not (given is False or (given is True and first)):
        return None
    text = f'{new}="IMAGENET1K_V1"' if given else f"{new}=None"
    edit = Edit(module.path, *module.span(held)[:2], *module.span(held.value)[2:], text)
    return Fix("weights", f"Write {text}", (edit,))
