"""Command lines: sys.argv, the words that the launcher gives, and what options are called.

An option that the known launcher leaves out has its default; with no launcher known, it has its default under the
condition that nobody overrides it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..launch.launched import Launch
from ..pins.versions import Targets
from ..run import defaults, names
from ..run.calls import Call
from ..run.interpreter import Interpreter
from ..run.path_text import CLASSES, PathText
from ..run.run import LEFT_OUT, OPTIONS, Run
from ..run.values import MISSING, NONE, TRUE, Alternative, Const, External, Function, Object, Value, const, of
from .registry import Framework

framework = Framework("arguments", kinds={"option": "unknown"})

_NEGATIVE = re.compile(r"-(\d|\.\d|$)")
VALUELESS = ("store_true", "store_false", "store_const", "count", "help", "version")
WHOLE = re.compile(r"[+-]?\d+")
RANK = "$LOCAL_RANK"
COMMAND_LINE = "command_line"
"""The state of `sys.argv` and of what is sliced from it."""
_PASSED_ON = re.compile(r"\$(?:[@*]|\{[@*](?::\d+)?\})")  # what a script is given itself, whatever that is
FRACTION = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=e))(?:e[+-]?\d+)?", re.IGNORECASE)


def launched(it: Interpreter) -> tuple[str, ...] | None:
    """The words that the launcher gives the program; None when no launcher is known."""
    given = it.run.facts.get("arguments")
    return None if given is None else tuple(given)


def rank_option(launch: Launch, targets: Targets) -> tuple[str, ...]:
    """The option by which a launcher gives each process its number on the machine: `torch.distributed.launch` spells it
    otherwise since 2.0 (torch/distributed/run.py, `config_from_args`), DeepSpeed's does not (launcher/launch.py).
    """
    if not launch.passes_rank:
        return ()
    release = targets.version("torch")
    underscored = launch.launcher == "deepspeed" or (release is not None and release.major < 2)
    return (f"{'--local_rank' if underscored else '--local-rank'}={RANK}",)


def said(it: Interpreter, word: str) -> Value:
    """A word of the launcher as text; unknown where only the shell knows it."""
    return of(it.new("option", "", word)) if "$" in word or "`" in word else const(word)


def literal(text: str) -> object:
    """A word as the boolean, number or None that it spells, else as text."""
    spelled = {"true": True, "": True, "false": False, "none": None, "null": None}
    if text.lower() in spelled:
        return spelled[text.lower()]
    if WHOLE.fullmatch(text):
        return int(text)
    return float(text) if FRACTION.fullmatch(text) else text


def unknown_option(it: Interpreter, name: str, call: Call) -> Object:
    """A setting that only the launch decides; the run knows which conditions ask for it."""
    made = it.new("option", "", f"args.{name}", call.site)
    it.run.facts.setdefault(OPTIONS, {})[f"#{made.id}"] = name
    return made


def overridable(it: Interpreter, name: str, default: Value, call: Call) -> Value:
    """A default, and something unknown where the launch overrides it."""
    return defaults.overridable(f"args.{name}", default, unknown_option(it, name, call))


def left_out(call: Call, name: str, default: Value) -> Value:
    """The value of an option that the known launcher does not give: its default. Where the launcher passes on what it
    is given itself, which may be any option, it is that as long as nobody overrides it.
    """
    if any(_PASSED_ON.fullmatch(word) for word in launched(call.it) or ()):
        return overridable(call.it, name, default, call)
    call.run.facts[LEFT_OUT] = True
    return default


def given_argument(words: Sequence[str], flags: Sequence[str]) -> str | None:
    """What the words give for an option; "" for a bare flag, None when they do not name it."""
    wanted = {flag.replace("_", "-") for flag in flags}
    for index, word in enumerate(words):
        head, equals, tail = word.partition("=")
        if head.replace("_", "-") in wanted:
            if equals:
                return tail
            following = words[index + 1] if index + 1 < len(words) else ""
            return "" if following.startswith("-") and not _NEGATIVE.match(following) else following
    return None


@framework.constant("sys.argv")
def command_line(it: Interpreter) -> Value:
    """The program and its arguments, as far as the launcher is known."""
    made = it.new("list", "builtins.list", "sys.argv")
    given = launched(it)
    made.open, made.state[COMMAND_LINE] = given is None, TRUE
    made.items = None if given is None else [of(it.unknown("sys.argv[0]")), *(said(it, word) for word in given)]
    return of(made)


def is_command_line(item: Alternative | None) -> bool:
    """Whether something is `sys.argv`, or a part of it."""
    return isinstance(item, Object) and COMMAND_LINE in item.state


# argparse


def options_of(run: Run, parser: Object) -> list[Call]:
    """The add_argument calls of a parser, in order."""
    held: list[Call] = run.facts.setdefault(f"options:{parser.id}", [])
    return held


def words_of(call: Call, index: int | None = None) -> tuple[str, ...] | None:
    """The words that are parsed: a literal list in the call, else the launcher's; None when nobody knows."""
    given = call.get("args", index, NONE).only()
    if given == Const(None):
        return launched(call.it)
    if not isinstance(given, Object) or given.items is None or given.open or given.each:
        return launched(call.it) if is_command_line(given) else None
    words = [value.constant() for value in given.items]
    return tuple(words) if all(isinstance(word, str) for word in words) else None


def flags_of(option: Call) -> list[str]:
    """What an option may be called, as far as the text says: a name that a caller may give has its default."""
    texts = [[item.value for _, item in value if isinstance(item, Const)] for value in option.positional]
    return [each[0] for each in texts if len(each) == 1 and isinstance(each[0], str) and each[0]]


def destination(option: Call, flags: list[str]) -> str:
    """The attribute under which an option is kept."""
    chosen = next((flag for flag in flags if flag.startswith("--")), flags[0])
    return names.const_text(option.get("dest")) or chosen.lstrip("-").replace("-", "_")


def typed(it: Interpreter, kind: Value, text: str, call: Call) -> Value:
    """A word of the launcher as the type that the option asks for."""
    value = said(it, text)
    item = kind.only()
    if value.objects() or item is None or item is MISSING:
        return value
    if isinstance(item, Function):
        return it.call(kind, Call(it, call.site, "type", [value]))
    name = item.name.rsplit(".", 1)[-1] if isinstance(item, External) else ""
    kinds = {"int": int, "float": float, "bool": bool, **dict.fromkeys(CLASSES, PathText)}
    try:
        return const(kinds.get(name, str)(text))
    except ValueError:
        return value
