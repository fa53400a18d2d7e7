"""# all-ranks-write-one-file (GCL230)

## What it does
Finds files of a run of several processes that every process writes to the same path: weights, arrays, pictures, what is
opened to be written anew, and copies of what was saved.

## Why it breaks
The processes write one file at once, each from its beginning. Who reads it meanwhile, as a run that goes on from the
last checkpoint does, finds a torn file. Where what they write differs in length, as by a log of each process's own,
the file stays torn. Nothing is raised until it is loaded. Where each writes what it computed from its own rows, as
features of a divided data set, those of all processes but one are lost.

## Example
```python
dist.init_process_group("nccl")
train(model)
torch.save(model.module.state_dict(), "model.pt")
```

## Use instead
```python
if dist.get_rank() == 0:
    torch.save(model.module.state_dict(), "model.pt")
```
What each process computed from its own rows gets its number into the name: `f"features-{dist.get_rank()}-{step}.npy"`.

## When it is fine
A test of the process's number around it, also of one on each machine; a lock on a file; a path with the number in it;
one process; settings that a block, or `Config.dump`, writes as a text, alike in all processes; what writes on one
process by itself, as `accelerator.save`, `Trainer.save_model` and Lightning do; what all processes have to call, as
`torch.distributed.checkpoint.save`. Where a state is put together from shards, all processes have to take it, and one
to write it.

## Evidence
torch 2.13.0, two gloo ranks, `torch.save` of 1.6 MB to one path, 100 times: 92 of 200 loads that came at once raise
"PytorchStreamReader failed reading". After a barrier no file of equal contents is torn, and 79 of 100 are where one
process's has a text of 5 kB more. transformers 5.23: `save_pretrained` writes unless `is_main_process=False` is given,
and so does `Trainer._save`; `Trainer.save_model` asks `args.should_save` before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gclint.finding import Finding, Fix
from gclint.frameworks.collectives import BARRIERS
from gclint.frameworks.process_starters import EACH_ITS_OWN
from gclint.ir.layout import on_its_own
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import LibraryCall, RunEnded, Wrapped
from gclint.run.guards import DISTRIBUTED, Guard
from gclint.run.parallel import alone, is_group_of_one
from gclint.run.parts_of_guards import everything
from gclint.run.ranks import Pair, asks_for_the_first, meets_both, numbers
from gclint.run.run import PROCESSES, SEVERAL, Run, together
from gclint.run.values import NOTHING, Object, Value, sources

from ..writes import FOLDER, PRETRAINED, TENSORS
from .own_files import is_of_all

PATHS = {
    **TENSORS,
    "trainer._save": ("output_dir", 0),
    **dict.fromkeys(("numpy.save", "numpy.savez", "numpy.savez_compressed"), ("file", 0)),
    **dict.fromkeys(("numpy.savetxt", "matplotlib.pyplot.savefig"), ("fname", 0)),
    "torchvision.utils.save_image": ("fp", 1),
}
"""What writes a file on each process that calls it, and by which argument it is told where."""
CONTENTS = {
    "torch.save": ("obj", 0),
    "numpy.save": ("arr", 1),
    "numpy.savetxt": ("X", 1),
    "torchvision.utils.save_image": ("tensor", 0),
}
"""By which argument such a call is told what to write, where that is one thing."""
OPENS = ("builtins.open", "io.open")
ANEW = ("w", "x")
"""How the mode begins in which a file is written from its beginning."""
COPIES = ("shutil.copy", "shutil.copy2", "shutil.copyfile")
"""What writes to its second argument what stands in the file of its first."""
THERE = ("os.path.exists", "os.path.isfile", "os.path.isdir", "os.path.lexists")
FIRST = "main_process_first"
"""The end of the names of what lets the first process through before all others (transformers' TrainingArguments,
accelerate).
"""
REMOVES = ("os.remove", "os.unlink")
LOCKS = ("filelock.", "fasteners.", "portalocker.")
"""Libraries whose `with` blocks one process is in at a time, whoever opens them with the same file."""
ASKED = "is_main_process"
GROUP = "torch.distributed.init_process_group"
AT_ONCE = "they write it at once, and who reads it may find it torn"
TORN = "silent: the file is torn when it is loaded"
ON_SEVERAL: Guard = frozenset({(DISTRIBUTED, True)})
ASKS = "torch.distributed.get_rank() == 0"

rule = Rule(
    code="GCL230",
    name="all-ranks-write-one-file",
    docs=__doc__ or "",
    words=(
        (
            *("save(", "save,", "save)", "import save", "save as", "save_pretrained", "save_file", "save_model"),
            *("._save", "open(", "savetxt", "savez", "savefig", "save_image"),
        ),
        ("distributed", "multiprocessing", "accelerate", "transformers", "lightning", "deepspeed"),
    ),
    bears=("processes",),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_last_checkpoint.py",
        "bad_last_checkpoint.fixed.py",
        processes=2,
        raises="AssertionError: the file is torn",
        intent=("saved",),
    ),
)


@rule.on(RunEnded)
def written_by_all(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Do all processes of a run write the same file?"""
    if alone(run) or is_group_of_one(run):
        return
    several = _several(run)
    if several is None:
        return
    for each in run.of_type(LibraryCall):
        path = _written(each, run) or _copied(each, run)
        guard = together(each.guard, several, ON_SEVERAL) if path and several & ON_SEVERAL <= each.guard else None
        if guard is None or not is_of_all(path, run) or not meets_both(guard, run):
            continue
        if not run.facts.get(EACH_ITS_OWN, set()).isdisjoint(each.moment.stack):
            continue  # its arguments are those of this process, and what they say of the path nobody knows
        if _is_first_of_one(each, run) or _is_locked(each, run) or _is_removed(each, path, run):
            continue
        if each.name in OPENS and _is_written_alike(each, run):
            continue
        own = _is_of_its_data(each, run)
        yield rule.finding(
            run,
            each.site,
            "every process writes this file: "
            + ("each has other data, and that of the last is left" if own else AT_ONCE),
            guard=guard,
            certainty="fragile",
            symptom="silent: what the other processes wrote is lost" if own else TORN,
            related=run.launch_locations("started on more than one process here"),
            fixes=(_on_one(each, run),) if not own else (),
        )


def _is_of_its_data(event: LibraryCall, run: Run) -> bool:
    """Whether what a call writes was computed from the rows that this process was given, and is no model's state."""
    content = event.call.get(*CONTENTS[event.name]) if event.call is not None and event.name in CONTENTS else NOTHING
    kinds = {item.kind for item in sources(content)}
    return "data" in kinds and all(item.kind in ("data", "tensor", "unknown") for item in content.objects())


def _is_written_alike(event: LibraryCall, run: Run) -> bool:
    """Whether a block opens a text, and each process writes the same into it, for all that is known: settings, which
    are whole as soon as they are written.
    """
    mode = event.call.get("mode", 1).constant() if event.call is not None else None
    around = event.site.module.parents.get(event.site.node)
    if not isinstance(around, ast.withitem) or not isinstance(mode, str) or "b" in mode:
        return False
    files = set(event.result.objects())
    for each in run.of_type(LibraryCall, start=run.place(event)):
        given = each.call.inputs() if each.call is not None else []
        if any(item in files for value in given for item in value.objects()):
            parts = set().union(*(sources(value) for value in given))
            if not parts.isdisjoint(numbers(run)) or any(part.kind == "data" for part in parts):
                return False
    return True


def _is_locked(event: LibraryCall, run: Run) -> bool:
    """Whether a file is written by one process at a time, which lets nobody read it meanwhile either."""
    made = (run.makers.get(each) for each in event.moment.contexts)
    return any(each is not None and each.name.startswith(LOCKS) for each in made)


def _is_removed(event: LibraryCall, path: Value, run: Run) -> bool:
    """Whether the run removes the file after it has written it: that says whether the folder can be written to."""
    later = (each for each in run.of_type(LibraryCall, start=run.place(event)) if each.name in REMOVES)
    gone = {item for each in later if each.call is not None for _, item in each.call.get("path", 0)}
    return any(item in gone for _, item in path)


def _is_first_of_one(event: LibraryCall, run: Run) -> bool:
    """Whether the other processes wait, before a call, for the first one, which lets them go on after it, and which of
    them calls is decided by what files are there.
    """
    if not any(item in run.makers and run.makers[item].name in THERE for item in _asked_in(event.guard, run)):
        return False
    if any(item in run.makers and run.makers[item].name.endswith(FIRST) for item in event.moment.contexts):
        return True
    barriers = [each for each in run.of_type(LibraryCall) if each.name.rpartition(".")[2] in BARRIERS]
    place = run.place(event)
    before = next((each for each in reversed(barriers) if run.place(each) < place), None)
    after = next((each for each in barriers if run.place(each) > place), None)
    if before is None or after is None or meets_both(before.guard, run) or meets_both(after.guard, run):
        return False
    pair = Pair(run)
    return pair.only(0, before.guard) is None and pair.only(1, after.guard) is None


def _asked_in(guard: Guard, run: Run) -> list[Object]:
    """What the conditions of a guard are about."""
    asked = (run.subject(one) for atom, _ in everything(guard) for one in (*atom.of, atom.key))
    return [item for item in asked if item is not None]


def _several(run: Run) -> Guard | None:
    """The guard under which it is known that there are several processes: the launcher starts them, or the program."""
    if (DISTRIBUTED, True) in run.assumed:
        return frozenset()
    joined = [each.guard for each in run.of_type(LibraryCall) if each.name == GROUP]
    if SEVERAL not in run.facts:
        return frozenset() if _is_made_for_several(run) else None
    return min(joined, key=len, default=ON_SEVERAL if PROCESSES in run.facts else frozenset())


def _is_made_for_several(run: Run) -> bool:
    """Whether a program in which accelerate prepares a model asks elsewhere which process it is."""
    prepared = any(each.wrapper.kind == "ddp" and each.wrapper.label for each in run.of_type(Wrapped))
    return prepared and asks_for_the_first(run)


def _written(event: LibraryCall, run: Run) -> Value:
    """The path of the file that a call writes on each process that makes it; nothing for any other call."""
    call = event.call
    if call is None or (call.open and not call.positional):
        return Value(())
    if event.name in OPENS:
        mode = call.get("mode", 1).constant()
        return call.get("file", 0) if isinstance(mode, str) and mode.startswith(ANEW) else Value(())
    if event.name in PATHS:
        path = call.get(*PATHS[event.name])
        return path if not any(item.kind == "file" for item in path.objects()) else Value(())  # told where it is opened
    last, model = event.name.rpartition(".")[2], call.receiver
    if last != PRETRAINED or model is None or call.gives(ASKED):
        return Value(())
    return call.get(*FOLDER) if call.it.library.is_kind(model, "module") else Value(())


def _copied(event: LibraryCall, run: Run) -> Value:
    """The path to which a call copies a file that the run itself has saved; nothing for any other call."""
    call = event.call
    if call is None or call.open or event.name not in COPIES:
        return Value(())
    copied = {part for _, part in call.get("src", 0)}
    saves = (each.call.get(*PATHS[each.name]) for each in run.of_type(LibraryCall) if each.call and each.name in PATHS)
    written = {part for path in saves for _, part in path}
    return call.get("dst", 1) if copied & written else Value(())


def _on_one(event: LibraryCall, run: Run) -> Fix | None:
    """Let the first process write, where the statement has nothing in it that all processes have to take part in."""
    module, site = event.site.module, event.site
    line = on_its_own(module, site.node)
    if not isinstance(line, ast.Expr) or line.value is not site.node or any(_is_sharded(run)):
        return None
    joined = any(each.name == GROUP for each in run.of_type(LibraryCall))
    asked = ASKS if joined else f"not torch.distributed.is_initialized() or {ASKS}"
    guarded = rewrite.put_before(site, f"if {asked}:\n{rewrite.indentation(site)}    ")
    edits = (*rewrite.ensure_import(module, "import torch"), guarded)
    return Fix("one", "Let the first process write", edits, "unsafe", intent=("saved",))


def _is_sharded(run: Run) -> Iterator[bool]:
    return (True for each in run.of_type(Wrapped) if each.wrapper.kind == "fsdp")
