"""# option-read-nowhere (GCL719)

## What it does
Finds options of a training program's command line (argparse) that the program takes and nothing reads, or in whose
place it puts something else before anything reads them (`args.start_epoch = 0`).

## Why it breaks
Whoever gives `--seed 7` or `--clip 1.0` gets the run that they would have got without it, and compares it with others
as if it were not. Nothing is raised, and the namespace that is printed or saved with the run holds the value.

## Example
```python
parser.add_argument("--clip", type=float, default=0.0)
args = parser.parse_args()
train(lr=args.lr)
```

## Use instead
```python
train(lr=args.lr, clip=args.clip)
```
Or leave the option out: a command that gives it ends with "unrecognized arguments" then.

## When it is fine
Options that some code of the program, or a file beside it, names, also as a text or an argument that a dict of them may
fill; a namespace that is handed to a library; the number that a launcher gives each process; hidden options
(`help=argparse.SUPPRESS`). Of options that several programs share, and of a program that saves them, all files
beside it are looked at, other than for what their own parsers give.

## Evidence
Python 3.11: argparse keeps every option that it knows in the namespace, and says nothing of those that are not read
(docs: library/argparse.html). Two runs of a training program with and without such an option have the same losses.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import takewhile
from typing import NamedTuple

from gclint.finding import Aspect, Finding, Location
from gclint.frameworks.argparse_parsers import every_option
from gclint.frameworks.arguments import destination, flags_of, given_argument, words_of
from gclint.ir.syntax import FUNCTIONS, Module, Site, nodes
from gclint.rule import Reproduction, Rule
from gclint.run.calls import Call
from gclint.run.closures import read_names
from gclint.run.events import Backward, LibraryCall, RunEnded, TrainerStarted
from gclint.run.run import Run
from gclint.run.values import Class, External, Function, Object
from gclint.source.source import shown

from ..option_names import (
    BY_TEXT,
    OF_ALL,
    TELLS,
    is_read,
    names_option,
    names_put_together,
    reads_by_text,
    reads_of_own_option,
    takes_the_command_line,
)
from ..words import TRAINS

CHANGES: tuple[Aspect, ...] = ("loss", "gradients", "updates")
PARSES = tuple(f"{kind}.{name}" for kind in ("parser", "file_parser") for name in ("parse_args", "parse_known_args"))
BY_LAUNCHERS = ("local_rank",)
OF_THE_PARSER = ("is_config_file", "is_config_file_arg", "is_write_out_config_file_arg")
"""What marks an option that configargparse reads itself."""
SAME_AGAIN = ("vars", "dict", "copy", "deepcopy", "Namespace", "_get_kwargs")
"""Functions that give the options again, in another container."""

TAKEN = {
    "deepspeed.initialize": ("deepspeed_config", "deepscale_config", "deepspeed_mpi", "device_rank", "local_rank"),
    "deepspeed.add_config_arguments": (),
}
"""The options that functions of libraries take of all that they are given (deepspeed/__init__.py and runtime/engine.py,
0.1 to 0.19).
"""
SAVES = ("save", "dump", "dumps", "safe_dump")
PARTIAL = "functools.partial"

rule = Rule(
    code="GCL719",
    name="option-read-nowhere",
    docs=__doc__ or "",
    words=(("add_argument",), ("parse_args", "parse_known_args"), TRAINS),
    certainty=("fragile",),
    oracles=(),
    reproduction=Reproduction(
        "bad_clip.py", "good_clip.py", raises="AssertionError: --clip changes nothing", intent=CHANGES
    ),
)


@rule.on(RunEnded)
def unread(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is there an option of a training program that nothing reads?"""
    if not event.whole or run.entry is None or not run.of_type(Backward, TrainerStarted):
        return
    parses = [each for each in run.of_type(LibraryCall) if each.name in PARSES]
    taken = {name for each in run.of_type(LibraryCall) for name in TAKEN.get(each.name, ())}
    options = {item for each in parses for item in _namespaces(each.result.objects())}
    told = set[Site]()
    handed_on, texts = _is_handed_on(options, run), _Texts.of(run)
    kept = any(each.name.rpartition(".")[2] in SAVES and _is_given(options, each) for each in run.of_type(LibraryCall))
    for parsed in parses if options and not handed_on else ():
        parser = parsed.call.receiver if parsed.call is not None else None
        for option in every_option(run, parser) if parser is not None else ():
            name = _name_of(option)
            read = option.site in told or name in taken or is_read(name, run)
            set_over = [item.sites[name] for item in options if (item, name) in run.options_replaced]
            lost = name and not read and all(_is_done_always(each, name, option, run) for each in set_over)
            asked = lost and _is_asked_for(option, parsed) and _is_let_through(option, parsed, parses, run)
            if asked and not _is_named(name, option, kept, texts, run):
                told.add(option.site)
                flag = flags_of(option)[-1]
                why = f"the program replaces `{flag}` before it reads it" if set_over else f"nothing reads `{flag}`"
                yield rule.finding(
                    run,
                    option.site,
                    f"{why}: whatever is given for it changes nothing",
                    guard=parsed.guard,
                    certainty="fragile",
                    symptom="silent: the run is the one without it",
                    related=[*(each.location("replaced here") for each in set_over), *_commands(option, run)][:3],
                    versions=(),
                )


def _is_done_always(site: Site, name: str, option: Call, run: Run) -> bool:
    """Whether every start that may be given an option comes to a statement that sets it, or one like it: no condition
    around it, which each may decide otherwise, leaves it out, and where the option is made for several programs it
    stands there too.
    """
    if option.site.module not in (run.entry, site.module):
        return False
    around = takewhile(lambda outer: not isinstance(outer, FUNCTIONS), site.module.ancestors(site.node))
    asked = (outer for outer in around if isinstance(outer, ast.If) and "__name__" not in read_names(outer.test))
    return all(_sets(each.body, name) and _sets(each.orelse, name) for each in asked)


def _sets(block: list[ast.stmt], name: str) -> bool:
    """Whether a block sets an attribute of a name."""
    parts = (part for line in block for part in nodes(line) if isinstance(part, ast.Attribute))
    return any(part.attr == name and isinstance(part.ctx, ast.Store) for part in parts)


def _is_asked_for(option: Call, parsed: LibraryCall) -> bool:
    """Whether somebody may give an option: whoever starts the program, or the words that it parses instead."""
    given = words_of(parsed.call, 0) if parsed.call is not None else None
    return takes_the_command_line(parsed.call) or given_argument(given or (), flags_of(option)) is not None


def _is_let_through(option: Call, parsed: LibraryCall, parses: list[LibraryCall], run: Run) -> bool:
    """Whether no other parser of the command line, which the program asks as well, refuses what it does not know."""
    others = (each.call for each in parses if each.call is not None and each.name.endswith(".parse_args"))
    refusing = (each for each in others if each is not parsed.call and takes_the_command_line(each))
    flags = set(flags_of(option))
    return all(
        each.receiver is None
        or (parsed.call is not None and each.receiver is parsed.call.receiver)
        or each.receiver.open
        or any(flags & set(flags_of(known)) for known in every_option(run, each.receiver))
        for each in refusing
    )


def _namespaces(made: Iterable[Object]) -> Iterator[Object]:
    for item in made:
        if item.kind == "namespace":
            yield item
        yield from (part for value in (item.items or ())[:1] for part in value.objects())


def _name_of(option: Call) -> str:
    """The name under which an option is kept; "" for one that is none of those that somebody gives."""
    flags = flags_of(option)
    if option.last != "add_argument" or not flags or option.open or not all(flag.startswith("-") for flag in flags):
        return ""
    if any(option.get(name).constant() is True for name in OF_THE_PARSER):
        return ""
    action, told = option.get("action").constant(), option.get("help").only()
    if action in ("help", "version") or (isinstance(told, External) and told.name == "argparse.SUPPRESS"):
        return ""
    name = destination(option, flags)
    return "" if name in BY_LAUNCHERS else name


def _is_handed_on(options: set[Object], run: Run) -> bool:
    """Whether the options go, all together, to code of a library that may read them."""
    for each in run.of_type(LibraryCall):
        call = each.call
        if call is None or not any(item in options for value in call.inputs() for item in value.objects()):
            continue
        if call.last in SAME_AGAIN:
            options |= set(each.result.objects())
        elif call.last not in TELLS and each.name not in TAKEN and not _is_own(each, call):
            return True
    return False


def _is_own(event: LibraryCall, call: Call) -> bool:
    """Whether it is a dict's own method, or gives a function of the project some of its arguments."""
    return event.name.startswith("dict.") or (
        event.name == PARTIAL and all(isinstance(item, Function) for _, item in call.get("func", 0))
    )


def _is_given(options: set[Object], call: LibraryCall) -> bool:
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


class _Texts(NamedTuple):
    """What modules do with texts: whether they take attributes by them, and the names that they put together; `others`
    are the places that read what is known to be no options.
    """

    read: Callable[[Module], bool]
    made: Callable[[Module], list[re.Pattern[str]]]
    others: set[ast.AST]

    @classmethod
    def of(cls, run: Run) -> _Texts:
        """What they do in a run, where something is known of what it takes."""
        others = {node for node, other in run.read_of_others.items() if other}
        return cls(cache(partial(reads_by_text, others=others)), cache(names_put_together), others)


def _is_named(name: str, option: Call, kept: bool, texts: _Texts, run: Run) -> bool:
    """Whether any code of the program has the name other than to make the option, or any file beside it, where it
    shares the option or may read the options that the program has kept in a file.
    """
    beside = [*(run.beside_with(name) if kept else run.beside_with(name, option.site.module))]
    modules = [*run.modules_with(name), *beside]
    more = (module for word in (*BY_TEXT, *OF_ALL) for module in run.modules_with(word))
    taking = [module for module in dict.fromkeys([*modules, *more]) if texts.read(module)]
    if any(pattern.fullmatch(name) for module in taking for pattern in texts.made(module)):
        return True
    others = set[ast.AST]() if taking else texts.others
    own = {node for module in beside for node in reads_of_own_option(module, name)}
    return any(names_option(module, name, option.site.node, bool(taking), others | own) for module in modules)


def _commands(option: Call, run: Run) -> Iterator[Location]:
    """Where commands of the project give the option."""
    for launch in run.commands:
        if given_argument(launch.arguments, flags_of(option)) is not None:
            yield Location(shown(str(launch.path)), launch.line, 1, launch.line, 1, "given here")
