"""# option-read-nowhere (GCL719)

## What it does
Finds options of a training program's command line (argparse) that the program takes and nothing reads.

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
(`help=argparse.SUPPRESS`). Of options that several programs share, and of a program that saves something, all files
beside it are looked at.

## Evidence
Python 3.11: argparse keeps every option that it knows in the namespace, and says nothing of those that are not read
(docs: library/argparse.html). Two runs of a training program with and without such an option have the same losses.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from gclint.finding import Aspect, Finding, Location
from gclint.frameworks.arguments import destination, flags_of, given_argument, options_of
from gclint.ir.syntax import Module, Site
from gclint.rule import Reproduction, Rule
from gclint.run.calls import Call
from gclint.run.events import Backward, LibraryCall, RunEnded, TrainerStarted
from gclint.run.run import Run
from gclint.run.values import External, Object
from gclint.source.source import shown

from ..words import TRAINS

CHANGES: tuple[Aspect, ...] = ("loss", "gradients", "updates")
PARSES = ("parser.parse_args", "parser.parse_known_args")
BY_LAUNCHERS = ("local_rank",)
SAME_AGAIN = ("vars", "dict", "copy", "deepcopy", "Namespace")
"""Functions that give the options again, in another container."""
TELLS = (
    *("print", "str", "repr", "format", "len", "type", "id", "isinstance", "hasattr", "getattr", "setattr", "sorted"),
    *("items", "keys", "values", "pprint", "pformat", "dump", "dumps", "safe_dump", "save", "info", "debug", "warning"),
    *("error", "critical", "log", "write", "log_params", "log_hyperparams", "add_text", "add_hparams", "add_config"),
    *("init", "init_trackers", "update", "join", "map", "zip", "enumerate", "list", "iter"),
)
"""What is called to tell, keep or go through what it is given, and does nothing by it."""

TAKEN = {
    "deepspeed.initialize": ("deepspeed_config", "deepscale_config", "deepspeed_mpi", "device_rank", "local_rank"),
    "deepspeed.add_config_arguments": (),
}
"""The options that functions of libraries take of all that they are given (deepspeed/__init__.py and runtime/engine.py,
0.1 to 0.19).
"""
FILLED_IN = re.compile(r"%[sdi]|\{\w*\}")
SAVES = ("save", "dump", "dumps", "safe_dump")

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
    for parsed in parses if options and not _is_handed_on(options, run) else ():
        parser = parsed.call.receiver if parsed.call is not None else None
        for option in options_of(run, parser) if parser is not None else ():
            name = _name_of(option)
            read = option.site in told or name in taken or name in run.options_read
            if name and not read and not _is_named(name, option, run):
                told.add(option.site)
                yield rule.finding(
                    run,
                    option.site,
                    "nothing reads this option: whatever is given for it changes nothing",
                    guard=parsed.guard,
                    certainty="fragile",
                    symptom="silent: the run is the one without it",
                    related=list(_commands(option, run))[:3],
                    versions=(),
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
        elif call.last not in TELLS and each.name not in TAKEN:
            return True
    return False


def _is_named(name: str, option: Call, run: Run) -> bool:
    """Whether any code of the program has the name other than to make the option, or any file beside it, where it
    shares the option or may read what the program has saved.
    """
    modules = [*run.modules_with(name)]
    saves = any(each.name.rpartition(".")[2] in SAVES for each in run.of_type(LibraryCall))
    if saves or option.site.module is not run.entry:
        modules += run.beside_with(name)
    return any(_names(module, name, option.site.node) for module in modules)


def _names(module: Module, name: str, made: ast.AST) -> bool:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute):
            named = node.attr
        elif isinstance(node, (ast.arg, ast.keyword)):
            named = node.arg or ""
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = node.value
        elif isinstance(node, ast.JoinedStr):
            named = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        else:
            continue
        if (named == name or _fits(named, name)) and made not in module.ancestors(node):
            return True
    return False


def _fits(text: str, name: str) -> bool:
    """Whether a text with places to fill in, as `stage%s_lr` and `stage{}_lr`, may become the name."""
    parts = FILLED_IN.split(text)
    return len(parts) > 1 and "".join(parts).isidentifier() and bool(re.fullmatch(r"\w*".join(parts), name))


def _commands(option: Call, run: Run) -> Iterator[Location]:
    """Where commands of the project give the option."""
    for launch in run.commands:
        if given_argument(launch.arguments, flags_of(option)) is not None:
            yield Location(shown(str(launch.path)), launch.line, 1, launch.line, 1, "given here")
