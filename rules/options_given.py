"""Options of the command line: whether they go all together to somebody, and whether any code names one."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import NamedTuple

from gclint.ir.syntax import Module, Site
from gclint.run.calls import Call
from gclint.run.events import LibraryCall
from gclint.run.imports import ANYTHING
from gclint.run.run import Run
from gclint.run.values import Class, Function, Object, Value

from .option_names import (
    AS_A_DICT,
    BY_TEXT,
    OF_ALL,
    SAVES,
    TELLS,
    last_name,
    names_option,
    names_put_together,
    reads_by_text,
    reads_of_own_option,
)
from .option_reads import is_only_kept
from .option_sharing import sharing
from .training_fields import OF_LIGHTNING

SAME_AGAIN = ("vars", "dict", "replace", "copy", "deepcopy", "Namespace", "_get_kwargs")
"""Functions that give the options again, in another container."""

TAKEN = {
    "deepspeed.initialize": ("deepspeed_config", "deepscale_config", "deepspeed_mpi", "device_rank", "local_rank"),
    "deepspeed.add_config_arguments": (),
    "datasets.fingerprint.Hasher.hash": (),
    "torch.autograd.Function.apply": (),
    "transformers.utils.send_example_telemetry": ("model_name_or_path", "dataset_name", "task_name"),
}
"""The options that functions of libraries take of all that they are given (deepspeed/__init__.py and runtime/engine.py,
0.1 to 0.19), or send as telemetry (transformers/utils/hub.py, 4.40); a hash names a cached file, and changes nothing of
what is in it (datasets/fingerprint.py), and `apply` hands on what it is given to the project's own `forward`
(torch/autograd/function.py).
"""
WRITTEN = (ast.Dict, ast.List, ast.Tuple)
LIGHTNING = ("lightning.", "pytorch_lightning.")
PARTIAL = "functools.partial"
TRAIN = ("module.train", "ddp.train", "dp.train")
"""A module's own method, which only asks whether what it is given is true."""


def taken_by(name: str) -> tuple[str, ...] | None:
    """The options that a function of a library takes of all that it is given; None where nobody knows."""
    if name.startswith(LIGHTNING) and name.endswith(".Trainer.from_argparse_args"):
        return OF_LIGHTNING
    return () if name.endswith(TRAIN) else TAKEN.get(name)


def is_handed_on(options: set[Object], run: Run, known: tuple[str, ...] = (), *, written: bool = False) -> bool:
    """Whether the options go, all together, to code of a library that may read them; none whose name begins with what
    is `known`. With `written` also within a container that is written there.
    """
    for each in run.of_type(LibraryCall):
        call = each.call
        if call is None or not any(_is_within(options, value, written) for value in call.inputs()):
            continue
        if call.last in SAME_AGAIN or _is_spelt(each, AS_A_DICT):
            options |= set(each.result.objects())
        elif call.last not in TELLS and taken_by(each.name) is None and not _is_own(each, call, known):
            return True
    return False


def _is_spelt(event: LibraryCall, names: tuple[str, ...]) -> bool:
    """Whether a call is written with one of these names, by which those that take all options are looked for."""
    node = event.site.node
    return isinstance(node, ast.Call) and last_name(node.func) in names and event.name.endswith(last_name(node.func))


def _is_within(options: set[Object], given: Value, written: bool) -> bool:
    """Whether something is one of the options, or a container that is written with them."""
    items = given.objects()
    if any(item in options for item in items):
        return True
    containers = [item for item in items if item.site is not None and isinstance(item.site.node, WRITTEN)]
    held = (value for item in containers if written for value in (*(item.items or ()), *(item.entries or {}).values()))
    return any(part in options for value in held for part in value.objects())


def _is_own(event: LibraryCall, call: Call, known: tuple[str, ...]) -> bool:
    """Whether it is a dict's own method or a known one, or gives a function of the project some of its arguments."""
    return event.name.startswith(("dict.", *known)) or (
        event.name == PARTIAL and all(isinstance(item, Function) for _, item in call.get("func", 0))
    )


def is_saved(options: set[Object], run: Run) -> bool:
    """Whether the program keeps the options in a file, where another one may read them."""
    return any(each.name.rpartition(".")[2] in SAVES and is_given(options, each) for each in run.of_type(LibraryCall))


def is_given(options: set[Object], call: LibraryCall) -> bool:
    """Whether a call is given the options, by themselves or within something else."""
    given = call.call.inputs() if call.call is not None else ()
    todo, seen = [item for value in given for item in value.objects()], set[Object]()
    while todo:
        item = todo.pop()
        if item in options:
            return True
        if item not in seen:
            seen.add(item)
            own = item.attributes.values() if isinstance(item.type, Class) else ()
            held = [*(item.items or ()), *(item.entries or {}).values(), *own]
            todo += [part for value in held for part in value.objects()]
    return False


def _reads(module: Module, name: str) -> Iterator[ast.Attribute]:
    for node in module.parents:
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load):
            yield node


class Texts(NamedTuple):
    """What modules do with texts: whether they take attributes by them, and the names that they put together; `others`
    are the places that read what is known to be no options.
    """

    read: Callable[[Module], bool]
    made: Callable[[Module], list[re.Pattern[str]]]
    others: set[ast.AST]

    @classmethod
    def of_all(cls) -> Texts:
        """What they do, whatever they take it of."""
        return cls(cache(partial(reads_by_text, others=set())), cache(names_put_together), set())

    @classmethod
    def of(cls, run: Run) -> Texts:
        """What they do in a run, where something is known of what it takes."""
        others = {node for node, other in run.read_of_others.items() if other}
        return cls(cache(partial(reads_by_text, others=others)), cache(names_put_together), others)


def is_named(name: str, made: Site, kept: bool, texts: Texts, run: Run) -> bool:
    """Whether any code of the program has the name other than where the option is `made`, or any file beside it, where
    it shares the option or may read the options that the program has kept in a file; any of the project's, where one is
    imported whose name nobody knows.
    """
    kept_or_called = (
        run.beside_with(name, anywhere=True) if ANYTHING in run.facts else run.beside_with(name) if kept else ()
    )
    beside = [*kept_or_called, *sharing(name, made, run)]
    modules = [*run.modules_with(name), *beside]
    more = (module for word in (*BY_TEXT, *OF_ALL) for module in run.modules_with(word))
    taking = [module for module in dict.fromkeys([*modules, *more]) if texts.read(module)]
    if any(pattern.fullmatch(name) for module in taking for pattern in texts.made(module)):
        return True
    others = set[ast.AST]() if taking else texts.others
    own = {node for module in beside for node in reads_of_own_option(module, name)}
    own |= {node for module in modules for node in _reads(module, name) if is_only_kept(node, module, run)}
    given = {node for node, other in run.read_of_others.items() if not other}
    return any(names_option(module, name, made.node, bool(taking), others | own, given) for module in modules)
