"""# option-read-nowhere (GCL719)

## What it does
Finds options of the command line (argparse) of a program that trains or runs a model, which the program takes and
nothing reads, or gives to a parameter that the function never reads, or in whose place it puts something else before
anything reads them (`args.start_epoch = 0`). So are the fields of the classes that HfArgumentParser, TrlParser, tyro,
simple_parsing, pyrallis and draccus fill, the parameters that click, typer, fire and their like fill, of which the
function itself reads none, the keys of the files that hydra puts together for a program, and those of a YAML, JSON or
TOML file that it loads itself, where it reads others beside them.

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
Options that some code may take of what holds them: what the parser gave is followed through variables, arguments,
keywords (`train(**vars(args))`), attributes, entries, tuples and processes that are started, also where it is saved
and read again. Where it goes to code that nobody follows, options whose name any code of the program or a file beside
it has, also as a text; a namespace that is handed to a library; a class that inherits from a library's, but for what
a project adds to the TrainingArguments of transformers, which reads its own names only; the number that a launcher
gives each process; `-f`, which a notebook's kernel is given; hidden options (`help=argparse.SUPPRESS`); a command
that is given its context, or that something unknown wraps; keys of hydra beside a `_target_`, or whose name any code
or interpolation of the project has, or that go into the record of a run under a name of their own; of a file that the
program loads a part of which it reads nothing, and texts of several words, which are for people. Of options that
several programs share, all files beside it are looked at, other than for what their own parsers give.

## Evidence
Python 3.11: argparse keeps every option that it knows in the namespace, and says nothing of those that are not read
(docs: library/argparse.html). Two runs of a training program with and without such an option have the same losses.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import takewhile

from gclint.finding import Aspect, Finding, Location
from gclint.frameworks.argparse_parsers import every_option
from gclint.frameworks.arguments import destination, flags_of, given_argument, words_of
from gclint.ir.syntax import FUNCTIONS, Site, nodes
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.calls import Call
from gclint.run.closures import read_names
from gclint.run.events import AttributeSet, LibraryCall, RunEnded
from gclint.run.guards import ALWAYS
from gclint.run.run import Run
from gclint.run.values import Class, External, Object
from gclint.source.source import shown

from ..command_parameters import unread_parameters
from ..command_words import looks_for
from ..config_keys import unread_in_documents, unread_keys
from ..evaluations import uses_a_model
from ..option_fields import unread_fields
from ..option_flow import Flow
from ..option_names import BY_LAUNCHERS, takes_the_command_line
from ..option_reads import is_read
from ..options_given import Texts, is_handed_on, is_named, is_saved, taken_by
from ..replaced_at_once import replaced_at_once
from ..words import USES_A_MODEL

CHANGES: tuple[Aspect, ...] = ("loss", "gradients", "updates")
PARSES = tuple(f"{kind}.{name}" for kind in ("parser", "file_parser") for name in ("parse_args", "parse_known_args"))
FILL = (
    *("tyro", "simple_parsing", "pyrallis", "draccus", "typer", "jsonargparse", "defopt", "Fire("),
    *("click.option", ".command(", "from click", "from rich_click", "hydra.main", "from hydra"),
)
"""Libraries that fill classes and functions from the command line."""
LOAD = ("safe_load", "full_load", "yaml.load", "json.load", "tomllib.load", "tomli.load", "OmegaConf.load", "YAML(")
"""What programs load settings with."""
OF_A_KERNEL = ["-f"]
"""What notebooks' kernels are given: the file of their connection (ipykernel, `python -m ipykernel_launcher -f`)."""
OF_THE_PARSER = ("is_config_file", "is_config_file_arg", "is_write_out_config_file_arg")
"""What marks an option that configargparse reads itself."""
REFUSED = 'leave the option out: a command that gives it ends with "unrecognized arguments" then'
UNREAD = f"read it where it is meant, or {REFUSED}"
REPLACED = f"let what is given for it stand, or {REFUSED}"
KEY_UNREAD = "read it where it is meant, or leave it out"
rule = Rule(
    code="GCL719",
    name="option-read-nowhere",
    docs=__doc__ or "",
    words=(
        ("add_argument", "HfArgumentParser", "TrlParser", *FILL, *LOAD),
        ("parse_args", "parse_known_args", *FILL, *LOAD),
        USES_A_MODEL,
    ),
    certainty=("fragile",),
    oracles=(),
    reproduction=Reproduction(
        "bad_clip.py", "good_clip.py", raises="AssertionError: --clip changes nothing", intent=CHANGES
    ),
)


@rule.on(RunEnded)
def unread(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is there an option of a program with a model that nothing reads?"""
    if not event.whole or run.entry is None or not uses_a_model(run):
        return
    parses = [each for each in run.of_type(LibraryCall) if each.name in PARSES]
    taken = {name for each in run.of_type(LibraryCall) for name in taken_by(each.name) or ()}
    options = {item for each in parses for item in _namespaces(each.result.objects())}
    told = set[tuple[Site, str]]()
    handed_on = is_handed_on(options, run)
    taking = _Taking(options, [each.site for each in parses], run)
    for parsed in parses if options and not handed_on else ():
        parser = parsed.call.receiver if parsed.call is not None else None
        for option in every_option(run, parser) if parser is not None else ():
            name = _name_of(option)
            read = not name or (option.site, name) in told or name in taken or is_read(name, run, options)
            asked = not read and _is_asked_for(option, parsed) and _is_let_through(option, parsed, parses, run)
            set_over = [item.sites[name] for item in options if (item, name) in run.options_replaced] if asked else []
            lost = all(_is_done_always(each, name, option, run) for each in set_over)
            asked = asked and (lost or not taking.may_read_instead(name))
            at_once = asked and lost and bool(set_over) and replaced_at_once(name, option, parsed, run)
            asked = asked and not looks_for(flags_of(option), run)
            if at_once or (asked and not taking.may_take(name, option.site)):
                told.add((option.site, name))
                flag, over = flags_of(option)[-1], set_over if lost else []
                why = f"the program replaces `{flag}` before it reads it" if over else f"nothing reads `{flag}`"
                yield _told(_stands_at(option, name, run), why, flags_of(option), parsed, run, over=over)


def _stands_at(option: Call, name: str, run: Run) -> Site:
    """Where an option stands: its call, or the attribute of which a method of its class makes it, as of all others."""
    call, module = rewrite.call_node(option.site), option.site.module
    if call is None or not call.args or isinstance(call.args[0], ast.Constant):
        return option.site
    owner = next((each for each in module.ancestors(call) if isinstance(each, ast.ClassDef)), None)
    found = [
        each.site
        for each in run.of_type(AttributeSet)
        if each.name in (name, f"_{name}") and each.target is not None and isinstance(each.target.type, Class)
        if any(isinstance(base, Class) and base.node is owner for base in each.target.type.ancestry())
    ]
    return found[-1] if found else option.site


class _Taking:
    """What takes options that calls parse, where they go; where that is not known, what has their names."""

    def __init__(self, options: set[Object], parses: list[Site], run: Run):
        self.options, self.run = options, run
        self._flow = cache(lambda: Flow(parses, run))
        self._everywhere = cache(lambda: (is_saved(options, run), Texts.of(run)))

    @property
    def is_followed(self) -> bool:
        """Whether all is known that happens to the options."""
        return not self._flow().escaped

    def may_read_instead(self, name: str) -> bool:
        """Whether the program may read what it puts in the place of an option: another start reads the option there."""
        instead = (node for node, other in self.run.read_of_others.items() if other and isinstance(node, ast.Attribute))
        return not self.is_followed or any(node.attr == name for node in instead)

    def may_take(self, name: str, made: Site) -> bool:
        """Whether any code may take an option by its name, of those of all places that may hold the options."""
        if self.is_followed:
            return self._flow().takes(name, made)
        return is_named(name, made, *self._everywhere(), self.run)


@rule.on(RunEnded)
def unread_in_a_class(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is there a field of a class, filled from the command line, that nothing reads?"""
    if not event.whole or run.entry is None or not uses_a_model(run):
        return
    for option, site, parsed in unread_fields(run):
        flags = [f"--{option}", f"--{option.replace('_', '-')}"]
        yield _told(site, f"nothing reads `{flags[0]}`", flags, parsed, run)


@rule.on(RunEnded)
def unread_in_a_function(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is there a parameter of a command, filled from the command line, that its function never reads?"""
    for flags, site, given in unread_parameters(run) if event.whole and run.entry is not None else ():
        if uses_a_model(run):
            yield _told(site, f"the function never reads `{flags[-1]}`", flags, given, run)


@rule.on(RunEnded)
def unread_in_a_configuration(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is there a key of the configuration that hydra gives a program, or that it loads, which nothing reads?"""
    asked = event.whole and run.entry is not None and uses_a_model(run)
    for name, site in (*unread_keys(run), *unread_in_documents(run)) if asked else ():
        yield _told(site, f"nothing reads `{name}`", [name], None, run, help=KEY_UNREAD)


def _told(
    site: Site,
    why: str,
    flags: list[str],
    parsed: LibraryCall | None,
    run: Run,
    *,
    over: Sequence[Site] = (),
    help: str = UNREAD,
) -> Finding:
    """What is said of an option that changes nothing."""
    return rule.finding(
        run,
        site,
        f"{why}: whatever is given for it changes nothing",
        guard=parsed.guard if parsed is not None else ALWAYS,
        certainty="fragile",
        symptom="silent: the run is the one without it",
        related=[*(each.location("replaced here") for each in over), *_given(flags, run)][:3],
        versions=(),
        help=REPLACED if over else help,
    )


def _is_done_always(site: Site, name: str, option: Call, run: Run) -> bool:
    """Whether every start that may be given an option comes to a statement that sets it, or one like it: no condition
    around it, which each may decide otherwise, leaves it out, but where it raises, and where the option is made for
    several programs it stands there too.
    """
    if option.site.module not in (run.entry, site.module):
        return False
    around = takewhile(lambda outer: not isinstance(outer, FUNCTIONS), site.module.ancestors(site.node))
    asked = (outer for outer in around if isinstance(outer, ast.If) and "__name__" not in read_names(outer.test))
    return all(_sets(block, name) or _raises(block) for each in asked for block in (each.body, each.orelse))


def _raises(block: list[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], ast.Raise)


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
    if flags == OF_A_KERNEL or any(option.get(name).constant() is True for name in OF_THE_PARSER):
        return ""
    action, told = option.get("action").constant(), option.get("help").only()
    if action in ("help", "version") or (isinstance(told, External) and told.name == "argparse.SUPPRESS"):
        return ""
    name = destination(option, flags)
    return "" if name in BY_LAUNCHERS else name


def _given(flags: list[str], run: Run) -> Iterator[Location]:
    """Where commands of the project give the option."""
    for launch in run.commands:
        if given_argument(launch.arguments, flags) is not None:
            yield Location(shown(str(launch.path)), launch.line, 1, launch.line, 1, "given here")
