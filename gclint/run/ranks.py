"""Which process this one is: the numbers that tell it, and the conditions that only one process meets."""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .arithmetic import REMAINDERS
from .defaults import IS_DEFAULT
from .events import LibraryCall
from .guards import ALWAYS, DISTRIBUTED, NEVER, Atom, Guard, complement, conj, satisfiable, without
from .parts_of_guards import everything
from .run import Run
from .values import NOTHING, Const, Object, of, root, sources

if TYPE_CHECKING:
    from .calls import Call

NUMBERS = "numbers of processes"
"""The fact that holds the objects that are a process's number, different on each."""
VARIABLES = ("RANK", "LOCAL_RANK", "SLURM_PROCID")
KEEPERS = ("accelerator", "partial_state", "fabric")
GIVEN = {"torch.distributed.init_process_group": ("rank", 4), "torch.cuda.set_device": ("device", 0)}
"""What takes the process's number, and by which argument."""
FLAGS = ("is_main_process", "is_local_main_process", "is_last_process", "is_global_zero")
LAST = "is_last_process"
ARGUMENTS = "training_args"
OF_A_PROCESS = ("local_rank", "process_index", "local_process_index", "should_save", "should_log", "distributed_state")
"""What arguments of transformers' Trainer say of the process; the others are those of the run
(transformers/training_args.py).
"""
OF_A_KEEPER = (*FLAGS, "process_index", "local_process_index", "global_rank", "local_rank", "node_rank")
"""What accelerate, or Fabric, says of the process, and not of the run (accelerate/state.py, Fabric's documentation)."""
LOOKS = (
    *("len", "isinstance", "hasattr", "issubclass", "startswith", "endswith"),
    *("exists", "isfile", "isdir", "is_file", "is_dir", "listdir", "iterdir", "glob", "iglob", "rglob"),
)
"""What looks at something without giving anything of it: no process's number comes of that."""
READS = ("yaml.", "json.", "toml.", "tomli.", "tomllib.", "omegaconf.")
"""Libraries by which settings are read that are the same for all processes."""
TESTS = {
    IS_DEFAULT: operator.eq,
    "Eq": operator.eq,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Lt": operator.lt,
    "LtE": operator.le,
}


def number_of_process(call: Call) -> Object:
    """This process's number."""
    made = call.it.unknown("rank", call.site)
    call.run.facts.setdefault(NUMBERS, []).append(made)
    return made


def of_one_process(guard: Guard, run: Run) -> tuple[Guard, list[Object]]:
    """The conditions of a guard that only one of the processes meets, and what they are about; none where all may."""
    own = {f"#{each.id}": each for each in numbers(run)}
    flags = {f"#{each.id}": each for _, each in _flags(run)}
    found = {
        (atom, truth): (own.get(atom.subject) or flags.get(atom.key)) if truth else own.get(atom.key)
        for atom, truth in guard
    }
    met = {pair: item for pair, item in found.items() if item is not None}
    return frozenset(met), list(dict.fromkeys(met.values()))


def numbers(run: Run) -> set[Object]:
    """All that is this process's number: what tells it, what it joins the others by, and the device that it takes."""
    return {
        *run.facts.get(NUMBERS, ()),
        *(run.facts[f"env:{name}"] for name in VARIABLES if f"env:{name}" in run.facts),
        *_told(run)[0],
    }


def _flags(run: Run) -> Iterator[tuple[str, Object]]:
    """What says that this process is the first, or the last, each with its name."""
    for keeper in _told(run)[1]:
        for name in FLAGS:
            yield from ((name, item) for item in keeper.attributes.get(name, NOTHING).objects())


def _told(run: Run) -> tuple[dict[Object, None], dict[Object, None]]:
    """What calls gave as this process's number, and what they made that keeps flags."""
    given, keepers = run.facts.setdefault("told of processes", ({}, {}))
    for each in run.new_to("ranks", LibraryCall):
        if each.name in GIVEN and each.call is not None:
            given.update(dict.fromkeys(each.call.given(*GIVEN[each.name], NOTHING).objects()))
        keepers.update((item, None) for item in each.result.objects() if item.kind in KEEPERS)
    return given, keepers


def meets_both(guard: Guard, run: Run) -> bool:
    """Whether process 0 and process 1 both may meet a guard, whatever may tell them apart in it."""
    parts = [atom for atom, _ in everything(guard) if atom.of]
    flags = {f"#{item.id}" for _, item in _flags(run)}
    told = {atom.of[0] for atom in parts if atom.of[0] in flags or _may_tell(atom, run)}
    for process in (0, 1):
        answers = {atom: _answer(process, atom, run) for atom in parts if atom.of[0] in told}
        met = conj(guard, frozenset((atom, truth) for atom, truth in answers.items() if truth is not None))
        if met is None or not satisfiable(met):
            return False
    return True


def asks_for_the_first(run: Run) -> bool:
    """Whether a program asks what keeps its processes together whether this is the first one."""
    return any(item.parent is not None and item.parent.kind in KEEPERS for _, item in _flags(run))


def _answer(process: int, atom: Atom, run: Run) -> bool | None:
    """What a condition comes to where that which it asks about is the number of a process, or says that it is the first
    or the last.
    """
    asked, *literal = atom.of
    if literal:
        return _compared(process, atom.test, literal[0])
    counted = any(asked == f"#{item.id}" for item in numbers(run))
    last = any(asked == f"#{item.id}" and name == LAST for name, item in _flags(run))
    return process != 0 if counted or last else process == 0


def _may_tell(atom: Atom, run: Run) -> bool:
    """Whether a condition may be about the process, for all that is known: about what is computed from its number, or
    about something unknown that is true or false, or that is compared with one of the first numbers.
    """
    asked, *literal = atom.of
    subject = run.subject(asked)
    parts = sources(of(subject)) if subject is not None else set()
    if subject is None or not parts.isdisjoint(numbers(run)):
        return subject is not None
    if subject.parent is not None and subject.parent.kind == ARGUMENTS:
        return any(subject in subject.parent.attributes.get(name, NOTHING).objects() for name in OF_A_PROCESS)
    if subject.parent is not None and subject.parent.kind in KEEPERS:
        return any(subject in subject.parent.attributes.get(name, NOTHING).objects() for name in OF_A_KEEPER)
    if subject.origins or any(map(_is_a_size, parts)) or _looks(subject, run) or asked in run.facts.get(REMAINDERS, {}):
        return False
    if literal:
        return _answer(0, atom, run) is not _answer(1, atom, run)
    return subject.kind != "option" and not _is_explained(subject, parts, run)


def _looks(item: Object, run: Run) -> bool:
    """Whether something says how something else looks."""
    made = run.makers.get(item)
    return (made.name if made is not None else _method(item)).rpartition(".")[2] in LOOKS


def _is_a_size(item: Object) -> bool:
    """Whether something is the shape of something."""
    node = item.site.node if item.site is not None else None
    return isinstance(node, ast.Attribute) and node.attr == "shape"


def _method(item: Object) -> str:
    """The name of the method, of what nobody knows, that gave something."""
    call = item.site.node if item.site is not None else None
    return call.func.attr if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else ""


def _is_explained(subject: Object, parts: set[Object], run: Run) -> bool:
    """Whether it is known from what something is computed: by functions of libraries, or read from a file."""
    made = run.makers.get(subject) or run.makers.get(root(subject))
    whole = made is not None and (made.result.objects() == [subject] or made.name.startswith(READS))
    own = {subject} if made is not None and made.name.startswith("builtins.") else set()
    return whole and not any("foreign" in part.state and not _looks(part, run) for part in parts - own)


class Pair:
    """The two processes of a run of two, number 0 and number 1, and what each of them meets of a condition.

    `torchrun`, accelerate and Lightning count the processes from 0. What holds of any further process is not asked.
    """

    def __init__(self, run: Run):
        self._numbers = {f"#{item.id}" for item in numbers(run)}
        self._flags = {f"#{item.id}": name for name, item in _flags(run)}
        self._left: dict[tuple[int, Guard], Guard | None] = {}

    def only(self, process: int, guard: Guard) -> Guard | None:
        """What else has to hold for this process to meet a guard that the other does not; None where that cannot be."""
        mine, other = self._met(process, guard), self._met(1 - process, guard)
        if mine is None or other is None:
            return mine
        left = without(mine, other)
        return left if satisfiable(left) else None

    def _met(self, process: int, guard: Guard) -> Guard | None:
        """What is left of a guard for one process; None where it cannot meet it. An exception ends all of them."""
        if (process, guard) not in self._left:
            self._left[process, guard] = self._meets(process, guard)
        return self._left[process, guard]

    def _meets(self, process: int, guard: Guard) -> Guard | None:
        left: Guard | None = ALWAYS
        for atom, truth in guard:
            if left is None:
                return None
            told = self._tells(process, atom)
            if told is not None:
                left = left if told == truth else None
            elif atom.parts is not None and not atom.tacit:
                inner = self._met(process, atom.parts)
                met = NEVER if inner is None else inner
                left = conj(left, met if truth else complement(met))
            elif not atom.tacit:
                left = conj(left, frozenset({(atom, truth)}))
        return left

    def _tells(self, process: int, atom: Atom) -> bool | None:
        """Whether a condition holds for one process; None where it is about something else."""
        if atom is DISTRIBUTED:
            return True
        asked, *literal = atom.of or (None,)
        if asked in self._flags and not literal:
            return process == (self._flags[asked] == LAST)
        if asked not in self._numbers:
            return None
        if not literal:
            return process != 0
        return _compared(process, atom.test, literal[0])


def _compared(process: int, test: str, literal: object) -> bool | None:
    """Whether a comparison of a process's number holds, also where it is compared as text; None where nobody knows."""
    if test == "In" and isinstance(literal, tuple):
        return any(_compared(process, "Eq", Const(each)) for each in literal)
    if not isinstance(literal, Const) or test not in TESTS:
        return None
    value = literal.value
    if isinstance(value, str) and value.lstrip("-").isdigit():
        value = int(value)
    if isinstance(value, (int, float)):
        return bool(TESTS[test](process, value))
    return False if test in ("Eq", IS_DEFAULT) else None
