"""# env-after-import (GCL402)

## What it does
Finds environment variables that the code sets after the library that reads them was imported.

## Why it breaks
`OMP_NUM_THREADS`, `TORCH_LOGS` and `TORCH_DISTRIBUTED_DEBUG` are read while torch is imported, `HIP_*` when the HIP
runtime comes up with it. Set later they have no effect, and nothing says so.

## Example
```python
import os

import torch

os.environ["OMP_NUM_THREADS"] = "4"
```

## Use instead
```python
import os

os.environ["OMP_NUM_THREADS"] = "4"

import torch
```

## When it is fine
Variables read later: `CUDA_VISIBLE_DEVICES` until CUDA is initialised, `NCCL_*` until the communicator is made,
`TORCHDYNAMO_DISABLE` until the first compile; a value that the launcher, or the program in time, has set already;
processes that are started afterwards, as a loader's workers, which inherit the variable and import torch anew;
`torch.set_num_threads` beside it; a variable that the program itself reads afterwards, other than to print it; what it
was before, put back; `OMP_NUM_THREADS` before the first import of another library with threads of its own (onnxruntime,
faiss, sklearn, ...); the `__init__.py` of a package, for the package's own modules that import torch: it runs before
them, where they are started with `-m` too.

## Evidence
torch 2.13.0 in fresh processes (OMP_NUM_THREADS, TORCH_LOGS, TORCH_DISTRIBUTED_DEBUG: `import torch` imports
torch.distributed); issues for the rest:
ROCm/pytorch#2241, pytorch/pytorch#104801, pytorch/pytorch#165298.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TypeGuard

from gclint.finding import Finding, Fix
from gclint.ir.layout import value_of
from gclint.ir.syntax import COMPOUND, Module, Site, arguments, dotted, nodes
from gclint.launch.interpreters import may_run_python
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.closures import calls_in, enclosing_function
from gclint.run.environment import OR_DEFAULT, spelled
from gclint.run.events import EnvRead, EnvSet, LibraryCall, RunEnded
from gclint.run.meaning import definition
from gclint.run.run import Run
from gclint.run.values import NOTHING, Alternative, Const, Object

READ_AT_IMPORT = {"OMP_NUM_THREADS": "torch", "TORCH_LOGS": "torch", "TORCH_DISTRIBUTED_DEBUG": "torch"}
WORKERS = "num_workers"
THREADED_TOO = ("faiss", "lightgbm", "numexpr", "onnxruntime", "sklearn", "xgboost")
READ_WITH_RUNTIME = (
    "HIP_LAUNCH_BLOCKING",
    "HIP_VISIBLE_DEVICES",
    "AMD_SERIALIZE_KERNEL",
    "AMD_SERIALIZE_COPY",
    "HSA_OVERRIDE_GFX_VERSION",
)
STARTERS = (
    "subprocess.run",
    "subprocess.call",
    "torchrun.main",
    "run.main",
    "os.system",
    *("Popen", "check_call", "check_output", "execv", "execve", "execvp", "execvpe"),
    *("spawn", "start_processes", "elastic_launch", "notebook_launcher"),
)

rule = Rule(
    code="GCL402",
    name="env-after-import",
    docs=__doc__ or "",
    words=((*READ_AT_IMPORT, *READ_WITH_RUNTIME), ("environ", "putenv", "%env", "%set_env")),
    certainty=("fails", "fragile"),
    fixable="safe",
    oracles=("environment",),
    reproduction=Reproduction("bad_threads.py", "bad_threads.fixed.py", cold=True),
)


@rule.on(EnvSet)
def set_too_late(event: EnvSet, run: Run) -> Iterable[Finding]:
    """Was the library that reads the variable imported before? It is told once the run has shown for whom it is set."""
    reader = READ_AT_IMPORT.get(event.name, "torch" if event.name in READ_WITH_RUNTIME else "")
    imported = run.imported.get(reader)
    in_vain = reader and imported is not None and not event.late and not _said_before(event, run)
    if in_vain and imported is not None and not _around(event, run, imported):
        if imported.module is not event.site.module:
            imported = run.first_import(reader) or imported
        others = [name for name in THREADED_TOO if name not in run.imported and event.name == "OMP_NUM_THREADS"]
        run.facts.setdefault("set_after_import", []).append((event, reader, imported, others))
    return ()


@rule.on(RunEnded)
def set_for_itself(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is a variable set too late, and not for processes that are started, or libraries imported, afterwards?"""
    late: list[tuple[EnvSet, str, Site, list[str]]] = run.facts.get("set_after_import", [])
    for setting, reader, imported, others in late:
        known = any(name in run.imported for name in others) or _for_the_program(setting, run)
        if not known and not _for_others(setting, run):
            yield _finding(setting, reader, imported, run)


def _finding(event: EnvSet, reader: str, imported: Site, run: Run) -> Finding:
    certain = event.name in READ_AT_IMPORT
    kept = any(_is_variable(item, event.name) and OR_DEFAULT in item.state for item in event.value.objects())
    when = "while it is imported" if certain else "when its runtime comes up"
    return rule.finding(
        run,
        statement_site(event.site),
        f"{event.name} is set after {reader} was imported, which reads it {when}",
        guard=event.guard,
        certainty="fails" if certain else "fragile",
        symptom=f"silent: {event.name} has no effect",
        condition=f"unless `{event.name}` is set before" if kept else "",
        related=[(imported, f"{reader} is imported here")],
        fixes=(moved(event, imported),),
    )


def _said_before(event: EnvSet, run: Run) -> bool:
    """Whether the program has set the variable to the same text in time."""
    late = [id(setting) for setting, *_ in run.facts.get("set_after_import", ())]
    value = event.value.constant()
    before = (each for each in run.of_type(EnvSet) if each.name == event.name and run.place(each) < run.place(event))
    return value is not None and any(each.value.constant() == value and id(each) not in late for each in before)


def _around(event: EnvSet, run: Run, imported: Site) -> bool:
    """Whether a package sets it around the program that imports the library: the program may start as its module."""
    path = Path(event.site.module.path)
    inside = path.name == "__init__.py" and Path(run.path).is_relative_to(os.path.realpath(path.parent))
    return inside and event.site.module is not run.entry and imported.module is run.entry


def _for_the_program(event: EnvSet, run: Run) -> bool:
    """Whether the program itself reads the variable afterwards, or puts back what it was before."""
    held = [item for _, item in event.value]
    put_back = bool(held) and all(_is_variable(item, event.name) and OR_DEFAULT not in item.state for item in held)
    later = run.of_type(EnvRead, start=run.place(event) + 1)
    return put_back or any(read.name == event.name and not _is_printed(read.site) for read in later)


def _is_printed(site: Site) -> bool:
    """Whether something is only printed."""
    calls = (outer for outer in site.module.ancestors(site.node) if isinstance(outer, ast.Call))
    return any(dotted(call.func) == "print" for call in calls)


def _is_variable(item: Alternative, name: str) -> TypeGuard[Object]:
    """Whether something is what a variable held."""
    return isinstance(item, Object) and item.label == spelled(name)


def _for_others(event: EnvSet, run: Run) -> bool:
    """Whether the code around it, in a method its whole class, starts processes, which read the variable, or tells
    torch itself what it says.
    """
    module, function = event.site.module, enclosing_function(event.site.module, event.site.node)
    told = event.name == "OMP_NUM_THREADS" and any(
        dotted(definition(module, call.func)).endswith("set_num_threads") for call in calls_in(function)
    )
    around = next((node for node in module.ancestors(function) if isinstance(node, ast.ClassDef)), function)
    return (
        told
        or _for_workers(event.site, function)
        or any(_starts_python(module, call) for call in calls_in(around))
        or any(
            _is_starter(started.name) and _may_be_python(started) and _stands_in(around, module, started)
            for started in run.of_type(LibraryCall, start=run.place(event) + 1)
        )
    )


def _for_workers(site: Site, function: ast.AST) -> bool:
    """Whether it is set where a loader gets workers, which import torch anew where they are not forked: a condition
    around it asks for the number of workers that a loader is given.
    """
    module = site.module
    around = takewhile(lambda outer: outer is not function, module.ancestors(site.node))
    tests = [part for outer in around if isinstance(outer, ast.If) for part in nodes(outer.test)]
    calls = [call for call in calls_in(function) if dotted(definition(module, call.func)).endswith("DataLoader")]
    given = {module.code(each.value) for call in calls for each in call.keywords if each.arg == WORKERS}
    spread = {module.code(each.value) for call in calls for each in call.keywords if each.arg is None}
    return any(
        (isinstance(part, (ast.Name, ast.Attribute)) and module.code(part) in given)
        or (isinstance(part, ast.Subscript) and module.code(part.value) in spread and _is_key(part.slice))
        for part in tests
    )


def _is_key(entry: ast.expr) -> bool:
    return isinstance(entry, ast.Constant) and entry.value == WORKERS


def _stands_in(around: ast.AST, module: Module, event: LibraryCall) -> bool:
    """Whether one of the calls that led to an event stands in a function or class."""
    sites = (site for site in (*event.moment.stack, event.site) if site.module is module)
    return any(around in module.ancestors(site.node) for site in sites)


def _may_be_python(event: LibraryCall) -> bool:
    """Whether what a call starts may be Python: not where its values spell out another program."""
    given = event.call.positional[0] if event.call is not None and event.call.positional else NOTHING
    listed = [item.items for item in given.objects() if item.items]
    if not listed:
        return _runs_python([given.constant()])
    return _runs_python([word.constant() for word in listed[0]], listed=True)


def _is_starter(name: str) -> bool:
    return any(f".{name}".endswith(f".{starter}") for starter in STARTERS)


def _runs_python(words: Sequence[object], listed: bool = False) -> bool:
    """Whether a text for a shell, or a list of words of which nobody may know some, may run Python."""
    if not isinstance(words[0], str):
        return True
    known = [word if isinstance(word, str) else "?" for word in words]
    return may_run_python(known if listed else words[0])


def _starts_python(module: Module, call: ast.Call) -> bool:
    """Whether a call starts a process that may be Python: not where it spells out another program."""
    first = next(iter(arguments(call)), None)
    given = definition(module, value_of(first)) if first is not None else None
    listed = isinstance(given, (ast.List, ast.Tuple)) and bool(given.elts)
    parts = given.elts if isinstance(given, (ast.List, ast.Tuple)) and given.elts else [given]
    words = [part and definition(module, value_of(part)) for part in parts]
    texts = [word.value if isinstance(word, ast.Constant) else None for word in words]
    return _is_starter(dotted(definition(module, call.func))) and _runs_python(texts, listed)


def statement_site(site: Site) -> Site:
    """The statement around a node; the node itself where that is one with a block."""
    found = site.module.statement(site.node)
    return site if found is None or isinstance(found, COMPOUND) else Site.at(site.module, found)


def moved(event: EnvSet, imported: Site) -> Fix | None:
    """Move a top-level assignment of a literal above the import; None for any other."""
    site, module = statement_site(event.site), event.site.module
    if site.node not in module.tree.body or not isinstance(event.value.only(), Const):
        return None
    if imported.module is not module or not isinstance(site.node, (ast.Assign, ast.Expr, ast.Pass)):
        return None
    magic = isinstance(site.node, ast.Pass)  # `%env` in a notebook, with what it says behind it
    text = module.lines[module.span(site.node).line - 1].strip() if magic else site.text
    removed, added = rewrite.remove_statement(site, comments=False), rewrite.before_import(imported, text, not magic)
    if removed is None or added is None:
        return None
    return Fix("set-before-import", f"Set {event.name} before the import", (added, removed), "safe")
