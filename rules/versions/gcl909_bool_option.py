"""# bool-option (GCL909)

## What it does
Finds options of argparse that cannot be switched off. With `type=bool`: a command of the project (in a script, a
README, a notebook) gives a word such as `False` for one, its default is such a word, or it is on by default. And
switches whose default is what they store: `action="store_true", default=True`.

## Why it breaks
argparse calls `bool` with the text of the word. `bool("False")` is True, as is that of every text but the empty one:
`--pretrained False` switches on what it is meant to switch off, and the run is another than the command says. A switch
that stores its default changes nothing, given or not. Nothing is raised.

## Example
```python
parser.add_argument("--pretrained", type=bool, default=True)
```
```sh
python train.py --pretrained False
```

## Use instead
```python
def true_or_false(word):
    return word.lower() not in ("", "0", "false", "no", "off")

parser.add_argument("--pretrained", type=true_or_false, default=True)
```
`action=argparse.BooleanOptionalAction` (Python 3.9) is shorter, and takes `--pretrained` and `--no-pretrained` in place
of `--pretrained True` and `--pretrained False`: commands have to be written anew. For a switch it is what is meant, and
commands that give it go on to work.

## When it is fine
A function of its own (`str2bool`), `ast.literal_eval`, `action="store_true"`; an option that is off by default and that
no command gives a word for off; a switch whose default another function sets by `set_defaults`, or that another
option switches off (`dest=`, or `if args.no_shuffle: args.shuffle = False`); one that nothing reads. HfArgumentParser,
click, absl, fire and tyro read such words themselves.

## Evidence
Python 3.12, argparse: `parse_args(["--pretrained", "False"]).pretrained` is True; so is the default `"False"`, a text,
with which argparse does the same. https://docs.python.org/3/library/argparse.html#type says not to use bool() here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gclint.finding import Aspect, Certainty, Edit, Finding, Fix, Location
from gclint.frameworks.argparse_parsers import every_option
from gclint.frameworks.arguments import destination, flags_of, given_argument, is_command_line
from gclint.ir.gate import where
from gclint.ir.syntax import Module, Site
from gclint.launch import Launch
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.calls import Call
from gclint.run.closures import enclosing_function
from gclint.run.events import AttributeSet, LibraryCall, RunEnded
from gclint.run.guards import Guard, conj
from gclint.run.names import const_text
from gclint.run.parts_of_guards import everything
from gclint.run.run import Run
from gclint.run.values import NONE, NOTHING, Class, Const, External, Object, Value
from gclint.source.source import shown

from ..evaluations import uses_a_model
from ..option_names import names_option, takes_the_command_line
from ..option_reads import is_read
from ..words import USES_A_MODEL

CHANGES: tuple[Aspect, ...] = ("steps", "backwards", "loss", "gradients", "trained", "updates", "modes", "loaded")
OFF = ("false", "0", "no", "off", "f", "n", "none")
PARSERS = "argparse.ArgumentParser"
STORES = {"store_true": True, "store_false": False}
CONVERTER = "true_or_false"
WRITTEN = f'def {CONVERTER}(word):\n    return word.lower() not in ("", "0", "false", "no", "off")\n'

rule = Rule(
    code="GCL909",
    name="bool-option",
    docs=__doc__ or "",
    words=(
        (
            where("bool", r".*(?:\btype\W+bool\b|[\s(,]bool\s*[,)])"),
            where("store_true", r".*\bdefault\W+True\b"),
            where("store_false", r".*\bdefault\W+False\b"),
            "set_defaults",
        ),
        ("add_argument",),
        USES_A_MODEL,
    ),
    certainty=("fails", "fragile"),
    fixable="unsafe",
    oracles=(),
    reproduction=Reproduction(
        "bad_given_false.py",
        "bad_given_false.fixed.py",
        raises="AssertionError: --freeze False froze it",
        intent=(*CHANGES, "lost"),
    ),
)


@rule.on(RunEnded)
def not_switched_off(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is an option that a program with a model reads on, whatever word is given for it?"""
    if not uses_a_model(run):
        return
    for parsed in run.of_type(LibraryCall):
        call = parsed.call
        if "parser.parse_" not in parsed.name or call is None or not _is_of_argparse(call.receiver):
            continue
        options = [option for option in every_option(run, call.receiver) if flags_of(option)]
        for option in options:
            if _is_bool(option) and _is_read(option, run):
                yield from _told(option, call, parsed, run)
            elif _stores_its_default(option, options, call) and _is_in_force(option, parsed, run):
                yield _without_effect(option, parsed, run)


def _is_of_argparse(parser: Object | None) -> bool:
    """Whether it is argparse's own parser, a class of the project that is one, or configargparse's."""
    if parser is None or not isinstance(parser.type, Class):
        return parser is not None and (parser.type == PARSERS or parser.kind == "file_parser")
    bases = [base.name for base in parser.type.ancestry() if isinstance(base, External)]
    return bases == [PARSERS] or bases == [PARSERS, "builtins.object"]


def _is_bool(option: Call) -> bool:
    kind = option.get("type").only()
    return isinstance(kind, External) and kind.name == "builtins.bool" and not option.open


def _stores_its_default(option: Call, options: Sequence[Call], parse: Call) -> bool:
    """Whether a switch, the only one of its name, is the same given or not. What another function says of it by
    `set_defaults` is meant: one program of several may decide it so.
    """
    action, default = const_text(option.get("action")), _default(option, parse)
    kept = destination(option, flags_of(option))
    later = parse.receiver.sites.get(kept) if parse.receiver is not None else None
    if later is not None and not _stand_together(later, option.site):
        return False
    alone = sum(destination(each, flags_of(each)) == kept for each in options) == 1
    stored = STORES.get(action or "")
    return alone and not option.open and stored is not None and default.constant() is stored


def _is_in_force(switch: Call, parsed: LibraryCall, run: Run) -> bool:
    """Whether a switch is read as it is parsed, whatever the other options are."""
    return _is_read(switch, run) and not _is_undone(switch, parsed, run)


def _is_undone(switch: Call, parsed: LibraryCall, run: Run) -> bool:
    """Whether the program sets a switch to the other value where another option says so: `if args.no_shuffle:`."""
    kept, other = destination(switch, flags_of(switch)), not STORES[const_text(switch.get("action")) or ""]
    for change in run.of_type(AttributeSet, start=run.place(parsed)):
        if change.name == kept and change.target in parsed.result.objects():
            held = [pair for name, value in change.target.attributes.items() if name != kept for pair in value]
            atoms = {atom for guard, _ in held for atom, _ in everything(guard)}
            asked = {f"#{item.id}" for _, item in held if isinstance(item, Object)}
            for way in change.value.is_const(other):
                if any(atom in atoms or asked & set(atom.of) for atom, _ in everything(change.guard | way)):
                    return True
    return False


def _stand_together(first: Site, second: Site) -> bool:
    functions = [enclosing_function(each.module, each.node) for each in (first, second)]
    return functions[0] is functions[1]


def _without_effect(option: Call, parsed: LibraryCall, run: Run) -> Finding:
    on = const_text(option.get("action")) == "store_true"
    return rule.finding(
        run,
        option.site,
        f"this switch stores {on}, which is its default too: it is {'on' if on else 'off'}, given or not",
        guard=parsed.guard,
        certainty="fragile",
        symptom="silent: the option changes nothing",
        fixes=(_either_way(option),) if on else (),
        versions=(),
    )


def _either_way(option: Call) -> Fix | None:
    """Let the option be given with `--no-` as well; what gives it goes on to work."""
    edit = rewrite.set_argument(option.site, "action", "argparse.BooleanOptionalAction")
    if edit is None:
        return None
    edits = (*rewrite.ensure_import(option.site.module, "import argparse"), edit)
    return Fix("either-way", "Take --no- before the option's name as well", edits, "unsafe", intent=CHANGES)


def _told(option: Call, parse: Call, parsed: LibraryCall, run: Run) -> Iterator[Finding]:
    """What is wrong with an option: the surest first."""
    default = _default(option, parse)
    text = default.constant()
    given = _given_off(flags_of(option), parse, run)
    if given is not None:
        word, places = given
        message = f'a command gives `{word}` for this, and `bool("{word}")` is True'
        yield _finding(option, run, message, parsed.guard, "fails", places)
    elif isinstance(text, str) and text.lower() in OFF:
        message = f'argparse makes `bool("{text}")` of this default, which is True'
        yield _finding(option, run, message, parsed.guard, "fails")
    elif takes_the_command_line(parse):
        message = "this is on by default, and no word switches it off: `bool` is True of every text but the empty one"
        for held in default.where(lambda item: isinstance(item, Const) and bool(item.value)):
            guard = conj(parsed.guard, held)
            if guard is not None:
                yield _finding(option, run, message, guard, "fragile")


def _given_off(flags: list[str], parse: Call, run: Run) -> tuple[str, list[Location]] | None:
    """The word for off that is given for an option, and where: in the call that parses, or in the commands that start
    the program.
    """
    given = parse.get("args", 0, NONE).only()
    if isinstance(given, Object) and given.items is not None and not is_command_line(given):
        words = [str(value.constant()) for value in given.items]
        word = given_argument(words, flags)
        return (word, [parse.site.location("given here")]) if word and word.lower() in OFF else None
    found: dict[str, list[Location]] = {}
    commands: tuple[Launch, ...] = run.commands
    for launch in commands:
        word = given_argument(launch.arguments, flags)
        if word and word.lower() in OFF:
            place = Location(shown(str(launch.path)), launch.line, 1, launch.line, 1, "given here")
            found.setdefault(word, []).append(place)
    return next(iter(found.items()), None)


def _default(option: Call, parse: Call) -> Value:
    """The default of an option: its own, or what the parser sets; nothing where nobody knows."""
    parser = parse.receiver
    assert parser is not None
    own = option.get("default", None, NONE)
    return NOTHING if parser.open else (parser.entries or {}).get(destination(option, flags_of(option)), own)


def _is_read(option: Call, run: Run) -> bool:
    """Whether any code takes the option from the settings, also in a branch that this run does not come to: as an
    attribute, or through a dict of them.
    """
    name = destination(option, flags_of(option))
    if is_read(name, run):
        return True
    as_dict = any(True for word in ("vars", "__dict__") for _ in run.modules_with(word))
    others = {node for node, other in run.read_of_others.items() if other}
    return any(
        names_option(module, name, option.site.node, False, others) or (as_dict and _takes(module, name))
        for module in run.modules_with(name)
    )


def _takes(module: Module, name: str) -> bool:
    """Whether code has an argument of a name, which a dict may fill, or looks that name up."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.arg) and node.arg == name:
            return True
        if isinstance(node, ast.Constant) and node.value == name:
            holder = module.parents.get(node)
            asked = holder.func if isinstance(holder, ast.Call) and holder.args[:1] == [node] else None
            if isinstance(holder, ast.Subscript) or (isinstance(asked, ast.Attribute) and asked.attr in ("get", "pop")):
                return True
    return False


def _finding(
    option: Call, run: Run, message: str, guard: Guard, certainty: Certainty, places: Sequence[Location] = ()
) -> Finding:
    return rule.finding(
        run,
        option.site,
        message,
        guard=guard,
        certainty=certainty,
        symptom="silent: what is meant to be off is on",
        related=places[:3],
        fixes=(_read_the_word(option),),
        versions=(),
    )


def _read_the_word(option: Call) -> Fix | None:
    """Give the option a function that reads the word: every command goes on to work."""
    given = rewrite.argument(option.site, "type") if rewrite.call_node(option.site) is not None else None
    if given is None or not isinstance(given.value, ast.Name) or given.value.id != "bool":
        return None
    module = option.site.module
    text = "".join(module.lines)
    if CONVERTER in text and WRITTEN not in text:
        return None
    edit = rewrite.replace(Site.at(module, given.value), CONVERTER)
    edits: list[Edit] = [] if WRITTEN in text else rewrite.ensure_import(module, f"\n\n{WRITTEN.rstrip()}")
    return Fix("read-the-word", "Read the word that is given", (*edits, edit), "unsafe", intent=CHANGES)
