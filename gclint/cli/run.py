"""From the command line to the command: parsed, handed on, and its errors said in one line."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module

from gclint.cli import EXIT_CLEAN, EXIT_ERROR, complain
from gclint.cli.argument_files import expanded
from gclint.cli.parser import EVIDENCE, UsageError, build, unknown_flag
from gclint.config import BadConfig, suggestion

_COMMANDS = {
    "check": "gclint.cli.check",
    "fix": "gclint.cli.fixing",
    "rule": "gclint.cli.explain",
    "prove": "gclint.cli.proving",
    "new-rule": "gclint.cli.scaffold",
    "config": "gclint.cli.configuration",
    "clean": "gclint.cli.configuration",
    "preflight": "gclint.cli.preflight",
    "rehearse": "gclint.cli.rehearsing",
    "fit": "gclint.cli.fitting",
    "report": "gclint.cli.reporting",
    "server": "gclint.cli.serving",
    "mcp": "gclint.cli.serving",
    "completion": "gclint.cli.completion",
}


def run(arguments: Sequence[str]) -> int:
    """Run the command that `arguments` name and return its exit status (see `gclint.cli.main`)."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        options = _parsed(arguments)
        if options is None:
            return EXIT_CLEAN
        module = import_module(_COMMANDS[options.command])
        return int(getattr(module, options.command.replace("-", "_"))(options))
    except Exception as error:
        if not is_refusal(error):
            raise
        complain(str(error))
    return EXIT_ERROR


def is_refusal(error: Exception) -> bool:
    """Whether an error is one that a command says in one line, without a way to where it comes from."""
    if isinstance(error, (UsageError, BadConfig)):
        return True
    from gclint.fix.proof import ProofUnavailable
    from gclint.fix.write import NotWritten
    from gclint.rule import RuleConflict
    from gclint.verify.errors import VerifyUnavailable

    return isinstance(error, (NotWritten, ProofUnavailable, RuleConflict, VerifyUnavailable))


def _parsed(arguments: Sequence[str]) -> Namespace | None:
    """Return the options, None when help was printed; raises `UsageError`."""
    own, command = _split(arguments)
    own, ended = _split(list(expanded(own)))
    top, commands = build(own[0] if own else "")
    if not own:
        top.print_help()
        return None
    _check_command(own[0], list(commands))
    own = [_with_evidence(own, index) for index in range(len(own))]
    try:
        options, unknown = top.parse_known_args(own)
    except SystemExit:
        return None
    if options.version:
        from gclint import __version__

        print(f"gclint {__version__}")
        return None
    if unknown:
        raise unknown_flag(commands.get(options.command, top), unknown)
    if options.command is None:
        raise UsageError("name a command; see `gclint --help`")
    options.run = [*ended, *command]
    return options


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the arguments of the commands that start a program, and the program's command after `--`; of other
    commands, all and none.

    A Python file begins the command that `rehearse` and `fit` are given, also without the `--`.
    """
    own = list(arguments)
    starts = own[0] if own else ""
    if starts in ("preflight", "rehearse", "fit") and "--" in own:
        at = own.index("--")
        return own[:at], own[at + 1 :]
    at = (
        next((at for at, word in enumerate(own) if word.endswith(".py")), len(own))
        if starts in ("rehearse", "fit")
        else len(own)
    )
    return own[:at], own[at:]


def _with_evidence(words: Sequence[str], index: int) -> str:
    """The word at `index`; a `--verify` before a path gets its default, which the path is not."""
    following = words[index + 1] if index + 1 < len(words) else "-"
    bare = words[0] == "fix" and words[index] == "--verify"
    return f"--verify={EVIDENCE[0]}" if bare and following not in EVIDENCE else words[index]


def _check_command(word: str, known: list[str]) -> None:
    if word.startswith("-") or word in known:
        return
    if os.path.exists(word):
        raise UsageError(f"`{word}` is no command; to check it, run `gclint check {word}`")
    raise UsageError(f"unknown command `{word}`{suggestion(word, known)}; see `gclint --help`")
