"""# trainer-override-signature (GCL904)

## What it does
Finds methods of a subclass of transformers' Trainer that are written for another release's signature: Trainer calls
them with what they do not take, or they give `super()` what it does not take.

## Why it breaks
The first step (or the first log, the first checkpoint) raises `TypeError: training_step() takes 3 positional arguments
but 4 were given`.

## Example
```python
class OwnTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False): ...
    def training_step(self, model, inputs): ...
```

## Use instead
```python
class OwnTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None): ...
    def training_step(self, model, inputs, num_items_in_batch=None): ...
```

## When it is fine
A release that calls them so; `*args, **kwargs`; a class whose own loop calls the method; a condition on a release.

## Evidence
transformers/trainer.py of 27 releases from 4.28.1 to 5.23.0: since 4.46 `compute_loss` and `training_step` are given
num_items_in_batch, since 4.47 `log` start_time and `_save_checkpoint` no metrics, since 4.50 `get_batch_samples` a
device, since 4.52.1 `_get_train_sampler` the data set.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Edit, Finding, Fix
from gclint.ir.layout import is_spread
from gclint.ir.syntax import Site, dotted, nodes
from gclint.rule import Reproduction, Rule
from gclint.run import names, rewrite
from gclint.run.events import LibraryCall, TrainerStarted
from gclint.run.guards import Guard
from gclint.run.parts_of_guards import compares_release
from gclint.run.run import Run, ways
from gclint.run.values import Class, External, Function, Object, Value

from ..words import LIBRARIES
from .attempts import attempted
from .overridden import METHODS, Method, method

TRAINERS = ("Trainer", "Seq2SeqTrainer")

rule = Rule(
    code="GCL904",
    name="trainer-override-signature",
    docs=__doc__ or "",
    words=(tuple(f"def {name}(" for name in METHODS), LIBRARIES, TRAINERS),
    certainty=("fails", "fragile"),
    fixable="safe",
    reproduction=Reproduction(
        "bad_steps.py",
        "bad_steps.fixed.py",
        raises="TypeError: OwnTrainer.training_step() takes 3 positional arguments",
    ),
)


@rule.on(TrainerStarted)
def not_called_so(event: TrainerStarted, run: Run) -> Iterator[Finding]:
    """Does the trainer call a method of its subclass with what that does not take?"""
    owner, release = event.trainer.type, run.targets.version("transformers")
    if not isinstance(owner, Class) or not _plain(owner):
        return
    for name in METHODS:
        row, held = method(name, release), names.class_attribute(owner, name)
        if row is None or held is None or name in event.trainer.attributes or _own_loop(event.trainer, row, run):
            continue
        for guard, (item,) in ways(event.guard, held):
            if isinstance(item, Function) and not compares_release(guard, "transformers"):
                yield from _misfit(run, item, row, guard, str(release))


@rule.on(LibraryCall)
def not_taken_above(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Does a method of a subclass give the library's own more than it takes?"""
    call, release = event.call, run.targets.version("transformers")
    owner = call.receiver.type if call is not None and call.receiver is not None else None
    row = method(call.last, release) if call is not None and isinstance(owner, Class) and _plain(owner) else None
    if row is None or call is None or call.open or compares_release(event.guard, "transformers"):
        return
    extra = len(call.positional) - len(row.parameters)
    unknown = [name for name in call.keywords if name not in row.parameters]
    node = rewrite.call_node(event.site)
    if (extra > 0 or unknown) and node is not None and not _spreads(node) and not attempted(event.site):
        yield rule.finding(
            run,
            event.site,
            f"transformers {release} takes `{call.last}({row.takes})`",
            guard=event.guard,
            symptom="TypeError: ",
            fixes=(_fewer(event.site, node, extra, unknown),),
            versions=("transformers",),
        )


def _plain(owner: Class) -> bool:
    """Whether all that a class inherits from is known, and of libraries only transformers' own trainer."""
    bases = list(owner.ancestry())
    whole = all(len(base.node.bases) == len(base.bases) for base in bases if isinstance(base, Class))
    above = [base.name for base in bases if isinstance(base, External) and not base.name.startswith("builtins.")]
    return whole and bool(above) and all(_is_trainer(name) for name in above)


def _is_trainer(name: str) -> bool:
    return name.startswith("transformers.") and name.rpartition(".")[2] in TRAINERS


def _own_loop(trainer: Object, row: Method, run: Run) -> bool:
    """Whether the project has what calls the method, and that is not seen to go on to the library's own."""
    assert isinstance(trainer.type, Class)
    for caller in row.callers:
        held = names.class_attribute(trainer.type, caller)
        if (held is not None and not _goes_on(held, caller)) or caller in trainer.attributes:
            calls = (event.call for event in run.of_type(LibraryCall) if event.call is not None)
            if not any(call.last == caller and call.receiver is trainer for call in calls):
                return True
    return False


def _goes_on(held: Value, name: str) -> bool:
    """Whether a method that is written anew calls that of the class above, whatever it does besides."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == name and _is_super(node.value)
        for _, item in held
        if isinstance(item, Function)
        for node in nodes(item.node)
    )


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func) == "super"


def _misfit(run: Run, item: Function, row: Method, guard: Guard, release: str) -> Iterator[Finding]:
    """The finding about a method that cannot take what it is given."""
    node = item.node
    if isinstance(node, ast.Lambda) or node.decorator_list:
        return
    takes = node.args
    ordered = [*takes.posonlyargs, *takes.args][1:]
    known = {each.arg for each in (*ordered, *takes.kwonlyargs)}
    extra = [] if takes.vararg else row.parameters[len(ordered) : row.positional]
    unknown = [] if takes.kwarg else sorted(row.keywords - known)
    given = {each.arg for each in ordered[: row.positional]} | row.keywords
    required = ordered[: len(ordered) - len(takes.defaults)]
    required += [each for each, default in zip(takes.kwonlyargs, takes.kw_defaults, strict=True) if default is None]
    missing = [each for each in required if each.arg not in given]
    if extra or unknown or missing:
        site = Site.at(item.module, node)
        edits = _accepting(site, takes, [*extra, *unknown], missing) if not set(extra) & known else ()
        yield rule.finding(
            run,
            site,
            f"transformers {release} calls `{node.name}({row.given})`",
            guard=guard,
            symptom=f"TypeError: {item.owner.name if item.owner else ''}.{node.name}()",
            condition=row.condition,
            fixes=(Fix("accept", "Take what it is given", edits) if edits else None,),
            versions=("transformers",),
        )


def _accepting(site: Site, takes: ast.arguments, new: list[str], missing: list[ast.arg]) -> tuple[Edit, ...]:
    """Parameters more, and a default for those that are not given."""
    edits = [rewrite.put_behind(Site.at(site.module, each.annotation or each), "=None") for each in missing]
    last = takes.vararg or [*takes.posonlyargs, *takes.args][-1]
    behind = takes.defaults[-1] if takes.defaults and not takes.vararg else last.annotation or last
    if new:
        text = "".join(f", {name}=None" for name in new)
        edits.append(rewrite.put_behind(Site.at(site.module, behind), text))
    return tuple(edits) if not (new and missing) else ()


def _spreads(node: ast.Call) -> bool:
    return any(map(is_spread, node.args)) or any(map(is_spread, node.keywords))


def _fewer(site: Site, node: ast.Call, extra: int, unknown: list[str]) -> Fix | None:
    """Leave out what is not taken."""
    module = site.module
    edits = rewrite.remove_arguments(site, *unknown) if unknown else []
    if extra > 0 and not unknown and extra < len(node.args):
        start = module.span(node.args[-extra - 1])[2:]
        edits = [Edit(module.path, *start, *module.span(node.args[-1])[2:], "")]
    return Fix("leave-out", "Leave out what it does not take", tuple(edits)) if edits else None
