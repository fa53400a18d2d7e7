"""# weights-only-load (GCL307)

## What it does
Finds `torch.load` without `weights_only` of a file in which the same program, in this run or an earlier one, or another
program of the project saves more than tensors, of which what it gives is used as a module, or that is a checkpoint
of Lightning's with such objects among its hyperparameters.

## Why it breaks
From torch 2.6 on `weights_only` is True: a module, a namespace of options, a numpy array, a path or an
object of the project's own raises `UnpicklingError: Weights only load failed`, mostly when a run is
resumed. So does an optimizer's state whose learning rate is a number of NumPy, such as what
`0.1 ** sum(epoch >= np.array(drops))` gives.

## Example
```python
torch.save({"model": model.state_dict(), "args": parser.parse_args()}, path)
saved = torch.load(path)
```

## Use instead
```python
torch.save({"model": model.state_dict(), "args": vars(args)}, path)
saved = torch.load(path)
```
Or `torch.load(path, weights_only=False)`, for files that you trust: it runs whatever code they hold.

## When it is fine
State dicts of modules, optimizers, schedulers and scalers; classes named by `safe_globals` or `add_safe_globals`; torch
before 2.6; a file that may as well be one with nothing but tensors. That a file of an option, or of another program, is
the one that is saved here is told by what is read of it: fragile, as is what the first run keeps for the others, and a
module that is told by its use (`torch.load(path).eval()`), which a condition or a `try` makes a question. So is what
Lightning keeps beside the states of a module that calls `save_hyperparameters()`: the arguments of its constructor.

## Evidence
torch 2.13.0: Namespace, numpy scalars and arrays, Path, defaultdict and modules raise; OrderedDict does
not. So do numpy 2.4's numbers in an optimizer's groups; `float()` of them does not. nerfstudio-project/nerfstudio#3702.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from packaging.version import Version

from gclint.finding import Finding, Fix
from gclint.ir.syntax import Site, dotted
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import calls_in, enclosing_function
from gclint.run.events import LibraryCall, RunEnded, TrainerStarted
from gclint.run.guards import ALWAYS, Guard
from gclint.run.run import Run, together
from gclint.run.saved import Saved, ending_of, file_key, saves
from gclint.run.values import NOTHING, Object

from .hyperparameters import refused_beside_states
from .loads import is_made_by, loads_beside
from .refused import OF_MODULES, unsafe, used_as_module
from .resumed import ANY_KEY, entries_of, fills, fills_such, is_resumed, may_be

SYMPTOM = "UnpicklingError: Weights only load failed"
LOADS = ("load(", "load,", "load)", "import load", "load as")
SAVES = ("save(", "save,", "save)", "import save", "save as")
OPTIONS_OF_TRAINER = "training_args.bin"
"""The file in which transformers' Trainer keeps its arguments beside each checkpoint (trainer.py, `_save`)."""

rule = Rule(
    code="GCL307",
    name="weights-only-load",
    docs=__doc__ or "",
    words=(
        (*LOADS, *SAVES),  # of a program that only saves: another one loads
        (*SAVES, "save_hyperparameters", *(f".{name}(" for name in OF_MODULES)),
        ("torch",),
    ),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    holds="torch >= 2.6",
    reproduction=Reproduction(
        "bad_namespace.py", "bad_namespace.fixed.py", raises="UnpicklingError: Weights only load failed"
    ),
)

TURNED_OFF, TRUE_VALUES = "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", ("1", "y", "yes", "true")


@rule.on(RunEnded)
def more_than_tensors(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Does the program load, as weights only, a file in which it saves other objects?"""
    version = run.targets.version("torch")
    if version is not None and version < Version("2.6"):
        return
    files = saves(run)
    for load in run.of_type(LibraryCall):
        if not _loads_weights_only(load) or _allowed(load, run):
            continue
        yield from _held_in(load, files, run)
    for beside in loads_beside(run) if files else ():
        held = [each for each in _holding(beside.read, files) if is_made_by(beside.makers, each, beside.read)]
        found = _all(held, ALWAYS, run) if beside.fills or _reads_more(beside.read, held, run) else None
        if found is not None:
            saved, guard, what = found
            yield _finding(run, beside.site, (saved.site, "saved here"), guard, what, known=False)


def _loads_weights_only(event: LibraryCall) -> bool:
    """Whether something is loaded as torch.load does by default, with its own pickle."""
    call = event.call
    given = call is None or call.open or any(call.gives(each) for each in ("weights_only", "pickle_module"))
    return event.name == "torch.load" and not given


def _held_in(load: LibraryCall, files: list[Saved], run: Run) -> Iterator[Finding]:
    """The finding at a load, by what is saved in its file or else by what is done with what it gives."""
    assert load.call is not None
    file = file_key(load.call.get("f", 0), load.site, 0)
    known = _first([each for each in files if file and each.file == file], load.guard, run)
    found = (
        known
        or _kept_by_the_first(load, file, files, run)
        or _saved_earlier(load, file, files, run)
        or _of_that_name(load, files, run)
    )
    beside = refused_beside_states(load, run) if found is None else None
    used = used_as_module(load, run)
    if found is not None:
        saved, guard, what = found
        yield _finding(run, load.site, (saved.site, "saved here"), guard, what, known=known is not None)
    elif beside is not None:
        kept, guard, what = beside
        yield _finding(run, load.site, (kept.site, "kept in each checkpoint here"), guard, what, known=False)
    elif used is not None:
        yield _finding(run, load.site, (used.site, "used as one here"), load.guard, "a module", known=False)


def _reads_more(read: Set[str], saved: list[Saved], run: Run) -> bool:
    """Whether what is read of a file is more than tensors there."""
    entries = [each for one in saved for each in entries_of(one.content)]
    return any(unsafe(each[key], run) for each in entries for key in read & set(each))


Found = tuple[Saved, Guard, str]


def _first(files: list[Saved], base: Guard, run: Run) -> Found | None:
    """The first save of more than tensors, with the condition and what it is."""
    for saved in files:
        found = unsafe(saved.content, run)
        guard = together(base, saved.guard, found[0]) if found is not None else None
        if found is not None and guard is not None:
            return saved, guard, found[1]
    return None


def _all(files: list[Saved], base: Guard, run: Run) -> Found | None:
    """The same where every one of the saves is of more than tensors, at some time: what one place saves in the first
    round may have become more in the next.
    """
    places = {_written(each) for each in files}
    return (
        _first(files, base, run) if places == {_written(each) for each in files if unsafe(each.content, run)} else None
    )


def _written(saved: Saved) -> tuple[ast.AST, ...]:
    """Where what is saved is written down: the helper that saves it may be given other things too."""
    return tuple(item.site.node for item in saved.content.objects() if item.site is not None)


def _kept_by_the_first(load: LibraryCall, file: str, files: list[Saved], run: Run) -> Found | None:
    """The save by the first run of what the others load in its stead: in the other branch of one function."""
    around = enclosing_function(load.site.module, load.site.node)
    same = [each for each in files if file and each.file == file]
    beside = [each for each in same if enclosing_function(each.site.module, each.site.node) is around]
    found = _all(same, ALWAYS, run) if beside and _never_together(load, same) else None
    return (found[0], load.guard, found[2]) if found is not None else None


def _saved_earlier(load: LibraryCall, file: str, files: list[Saved], run: Run) -> Found | None:
    """The save by an earlier run of what this one goes on from: it reads what is saved there, and more than a model."""
    path = load.call.get("f", 0) if load.call is not None else NOTHING
    for item in load.result.objects():
        read = {name for name in item.attributes if name.startswith("[")} - ANY_KEY
        holding = [each for each in _holding(read, files) if may_be(each, path, file)] if read else []
        named = [
            each for each in holding if _name_of(each.ending) and _name_of(each.ending) == _name_of(ending_of(path))
        ]
        more = len(read) > 1 or named or is_resumed(item, run) or _reads_more(read, holding, run)
        apart = bool(holding) and _never_together(load, holding)
        if holding and (more or (apart and fills_such(item, holding, run))):
            found = _all(holding, load.guard, run)
            earlier = found is None and (apart or any(_is_kept(item, each) for each in holding))
            first = _all(holding, ALWAYS, run) if earlier else None
            return found or (None if first is None else (first[0], load.guard, first[2]))
    return None


def _of_that_name(load: LibraryCall, files: list[Saved], run: Run) -> Found | None:
    """The save of an object in a file of the same name, in some folder, of which no entry is read; of a dict where all
    that it has is gone through, and fills no model.
    """
    name = _name_of(ending_of(load.call.get("f", 0))) if load.call is not None else ""
    entries = {key for item in load.result.objects() for key in item.attributes if key.startswith("[")}
    whole = entries == ANY_KEY and not any(fills(each, run) for each in load.result.objects())
    held = [each for each in files if name and _name_of(each.ending) == name]
    held = [each for each in held if whole or not any(entries_of(each.content))]
    found = _all(held, ALWAYS, run) if whole or not entries else None
    trainer = next(iter(run.of_type(TrainerStarted)), None) if name == OPTIONS_OF_TRAINER and not held else None
    if trainer is not None:
        return Saved(trainer.site, trainer.guard, NOTHING, ""), load.guard, "an object of class TrainingArguments"
    return (found[0], load.guard, found[2]) if found is not None else None


def _name_of(ending: str) -> str:
    """A file's whole name, where that is known; else ""."""
    return ending.rpartition("/")[2] if "/" in ending else ""


def _never_together(load: LibraryCall, files: list[Saved]) -> bool:
    """Whether no run that loads a file saves any of these: one way to start the program saves what another loads."""
    return all(together(load.guard, each.guard) is None for each in files)


def _is_kept(file: Object, saved: Saved) -> bool:
    """Whether something that was read of a file is saved again under its key: the first run, which had no file, saved
    what it is made of there.
    """
    return any(
        set(value.objects()) & set(file.attributes.get(key, NOTHING).objects())
        for entries in entries_of(saved.content)
        for key, value in entries.items()
    )


def _holding(read: Set[str], files: list[Saved]) -> list[Saved]:
    """The saves of a dict in which all of this stands, or more than one of it where others may be added."""
    return [each for each in files if any(_has(item, read) for item in each.content.objects())]


def _has(item: Object, read: Set[str]) -> bool:
    """Whether what is read may be in a dict."""
    keys = {f"[{key!r}]" for key in item.entries or () if item.type != "state_dict"}
    return bool(keys) and (read <= keys or (item.open and len(read & keys) > 1))


def _allowed(load: LibraryCall, run: Run) -> bool:
    """Whether the program names classes that torch.load may make, for good or around this load, or turns the refusal
    off by a variable of the environment (torch/serialization.py, since 2.6).
    """
    turned_off = run.environment.get(TURNED_OFF)
    if turned_off is not None and turned_off.constant() in (*TRUE_VALUES, None):
        return True
    module = load.site.module
    around = [node for node in module.ancestors(load.site.node) if isinstance(node, ast.With)]
    entered = [dotted(call.func) for node in around for item in node.items for call in calls_in(item.context_expr)]
    named = any(event.name == "torch.serialization.add_safe_globals" for event in run.of_type(LibraryCall))
    return named or any(name.endswith("safe_globals") for name in entered)


def _finding(run: Run, load: Site, told_by: tuple[Site, str], guard: Guard, what: str, *, known: bool) -> Finding:
    edit = rewrite.set_argument(load, "weights_only", "False")
    fix = (
        Fix(
            "not-weights-only",
            "Pass weights_only=False, for files that you trust",
            (edit,),
            "unsafe",
            "loading runs whatever code the file holds",
            intent=("loaded",),
        )
        if edit is not None
        else None
    )
    return rule.finding(
        run,
        load,
        f"the file holds {what}, which torch.load refuses since 2.6 unless weights_only is False",
        guard=guard,
        certainty="fails" if known and not run.open_guard(guard) else "fragile",
        symptom=SYMPTOM,
        related=[told_by],
        fixes=(fix,),
    )
