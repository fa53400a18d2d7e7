"""# layer-made-in-forward (GCL712)

## What it does
Finds layers with parameters, and dropout layers, that a module builds anew in every forward.

## Why it breaks
A layer that is built in forward has fresh random weights in every call, is not among the module's parameters, and is
thrown away: it never learns. A dropout built there is in training mode whatever `eval()` said of the model.

## Example
```python
def forward(self, x):
    return nn.Linear(8, 1)(self.body(x))
```

## Use instead
```python
def __init__(self):
    super().__init__()
    self.head = nn.Linear(8, 1)

def forward(self, x):
    return self.head(self.body(x))
```

## When it is fine
A layer without parameters, such as ReLU; a layer made once and kept as an attribute; one whose weights are set by hand,
as a fixed filter; under `torch.no_grad()`.

## Evidence
torch 2.13.0: `named_parameters()` of such a module lists only what its constructor made, and two evaluations of the
same input differ.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Aspect, Edit, Finding, Fix
from gclint.frameworks.torch_modules import PARAMETRIC, settings_of, trainable
from gclint.ir.layout import own_name
from gclint.ir.syntax import FUNCTIONS, Module, nodes
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import enclosing_function
from gclint.run.events import AttributeSet, LibraryCall, RunEnded, StateDictLoaded
from gclint.run.run import Run
from gclint.run.values import Object, root

from ..words import BACKWARD

DROPOUTS = ("Dropout", "Dropout2d")
CHANGES: tuple[Aspect, ...] = ("updates", "trained", "loss", "gradients", "random", "saved", "loaded")

rule = Rule(
    code="GCL712",
    name="layer-made-in-forward",
    docs=__doc__ or "",
    words=(BACKWARD, ("def forward",), ("nn.", "import nn", "torch.nn")),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=("changed", "unregistered"),
    reproduction=Reproduction(
        "bad_head.py",
        "bad_head.fixed.py",
        raises="AssertionError: an evaluation gives other numbers each time",
        intent=CHANGES,
    ),
)


@rule.on(RunEnded)
def made_anew(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does a forward build a layer that no module keeps?"""
    filled = {item for loaded in run.of_type(StateDictLoaded) for item in loaded.target.objects()}
    filled |= {changed.target for changed in run.of_type(AttributeSet) if changed.target is not None}
    told: set[int] = set()
    for made in run.of_type(LibraryCall):
        if not made.moment.forwards or made.moment.unrecorded() is not None or made.call is None:
            continue
        for layer in made.result.objects():
            dropout = layer.class_name in DROPOUTS
            if layer.site is not made.site or layer.kind != "layer" or layer.site.node_id in told:
                continue
            if not (dropout or _learns(layer)) or _is_kept(layer, made) or layer in filled:
                continue
            told.add(layer.site.node_id)
            name = layer.class_name
            words = (
                "in training mode whatever the model's mode is" if dropout else "with fresh weights that never learn"
            )
            yield rule.finding(
                run,
                made.site,
                f"each forward builds this {name} anew, {words}",
                guard=made.guard,
                certainty="fragile" if dropout else "fails",
                symptom="silent: an evaluation gives other numbers each time",
                fixes=(_in_init(made),),
            )


def _learns(layer: Object) -> bool:
    affine = settings_of(layer).get("affine")
    plain = affine is None or affine.constant() is not False
    return (
        layer.class_name in PARAMETRIC and plain and trainable(layer) == "all" and "parameter weight" not in layer.state
    )


def _is_kept(layer: Object, made: LibraryCall) -> bool:
    """Whether the layer was put into what forwards use that was there before."""
    whole = root(layer)
    return whole is not layer or layer.escaped or not _in_a_forward(made)


def _in_a_forward(made: LibraryCall) -> bool:
    """Whether the layer is built by a forward itself or what it calls, and not by a constructor."""
    function = enclosing_function(made.site.module, made.site.node)
    return isinstance(function, FUNCTIONS) and function.name != "__init__"


def _in_init(made: LibraryCall) -> Fix | None:
    """Build it in the constructor of the class, of numbers and attributes alone."""
    module, node = made.site.module, made.site.node
    owner = next((each for each in module.ancestors(node) if isinstance(each, ast.ClassDef)), None)
    if owner is None or not isinstance(node, ast.Call) or not _is_same_anywhere(module, node):
        return None
    init = next((each for each in owner.body if isinstance(each, FUNCTIONS) and each.name == "__init__"), None)
    own = own_name(module, enclosing_function(module, node))
    if init is None or not own or own_name(module, init) != own:
        return None
    name = _free_name(module, node)
    lead = " " * (init.body[0].col_offset)
    line = module.span(init.body[-1]).end_line
    column = len(module.lines[line - 1].rstrip("\r\n")) + 1
    added = Edit(module.path, line, column, line, column, f"\n{lead}{own}.{name} = {module.code(node)}")
    edits = (added, rewrite.replace(made.site, f"{own}.{name}"))
    return Fix("in-init", "Build it in the constructor", edits, "unsafe", intent=CHANGES)


def _is_same_anywhere(module: Module, node: ast.Call) -> bool:
    """Whether what the layer is given is made of literals, attributes of the module and names of the whole module."""
    given = [*node.args, *(item.value for item in node.keywords)]
    function = enclosing_function(module, node)
    own = {each.id for each in nodes(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    own |= {each.arg for each in nodes(function) if isinstance(each, ast.arg)} - {own_name(module, function)}
    inside = [each for item in given for each in nodes(item)]
    return all(isinstance(each, PLAIN) for each in inside) and not own & {
        each.id for each in inside if isinstance(each, ast.Name)
    }


PLAIN = (ast.Constant, ast.Name, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context)


def _free_name(module: Module, node: ast.Call) -> str:
    """A name for the layer that no attribute in the file has."""
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "layer")
    taken = {each.attr for each in nodes(module.tree) if isinstance(each, ast.Attribute)}
    name = called.lower()
    while name in taken:
        name += "_"
    return name
