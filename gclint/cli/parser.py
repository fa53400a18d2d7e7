"""The commands and their options."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import NoReturn

from gclint.cli.amounts import count, positive, seconds, size
from gclint.cli.examples import examples
from gclint.config import CERTAINTIES
from gclint.report.formats import FORMATS

DEVICES = ("auto", "cpu", "cuda", "rocm", "xpu", "mps")
EVIDENCE = ("architecture", "program")
_PROGRAM = 'with --verify=program: such as "train.py --config x" (default: as a launcher of the project starts it)'


class UsageError(Exception):
    """A command line that cannot be understood; one line."""


class Parser(argparse.ArgumentParser):
    """A parser that raises its complaints, so that they end like every other error."""

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError` with `message`."""
        raise UsageError(f"{message}; see `{self.prog} --help`")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        from gclint.config import suggestion

        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            text = f"`{value}` is none of {', '.join(known)}{suggestion(str(value), known)}"
            raise argparse.ArgumentError(action, text)


def build(wanted: str = "") -> tuple[Parser, dict[str, Parser]]:
    """Return the parser, and the parser of each command by name; with the options of the `wanted` command alone where
    there is such a command.
    """
    top = Parser(
        prog="gclint",
        description="Finds PyTorch training runs that crash or silently mis-train,\n"
        "edits the cause away, and proves each edit.\n\n" + examples(""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        epilog="exit status: 0 nothing found, 1 findings left, 2 something could not be done",
    )
    top.add_argument("-V", "--version", action="store_true", help="print the version")
    top.add_argument("--traceback", action="store_true", help="show where an internal error came from")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    made: dict[str, Parser] = {}

    for name, (text, with_options) in _COMMANDS.items():
        made[name] = commands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.\n\n{examples(name)}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if wanted not in _COMMANDS or name == wanted:
            with_options(made[name])
    return top, made


def unknown_flag(parser: Parser, unknown: Sequence[str]) -> UsageError:
    """Return the complaint about arguments that `parser` does not know, with the nearest option there is."""
    from gclint.config import suggestion

    flag = unknown[0].split("=", 1)[0]
    if not flag.startswith("-"):
        return UsageError(f"`{flag}` is not expected here; {' '.join(parser.format_usage().split())}")
    known = [name for action in parser._actions for name in action.option_strings]
    return UsageError(f"unknown option `{flag}`{suggestion(flag, known, cutoff=0.75)}; see `{parser.prog} --help`")


def _selection(parser: Parser) -> None:
    group = parser.add_argument_group("which rules")
    group.add_argument(
        "--select", metavar="CODES", action="append", help="check these codes, prefixes or names of rules only"
    )
    group.add_argument("--ignore", metavar="CODES", action="append", help="do not check these")
    group.add_argument("--extend-select", metavar="CODES", action="append", help="check these as well")
    group.add_argument("--fixable", metavar="CODES", action="append", help="fix only these")
    group.add_argument("--unfixable", metavar="CODES", action="append", help="never fix these")
    told = "`fails`: only what is shown to fail; `costs`: also what only costs"
    group.add_argument("--min-certainty", choices=CERTAINTIES, help=told)
    group.add_argument("--preview", action="store_true", help="check by the rules in preview too")
    group.add_argument(
        "--target",
        metavar="VERSIONS",
        action="append",
        help="judge for these versions, as torch=2.5,transformers=4.44",
    )


def _files(parser: Parser) -> None:
    told = "files and directories (default: here); - is stdin, @FILE holds arguments, one a line"
    parser.add_argument("paths", nargs="*", metavar="PATH", help=told)
    group = parser.add_argument_group("which files")
    group.add_argument("--exclude", metavar="PATTERN", action="append", help="leave out, instead of the default list")
    group.add_argument("--extend-exclude", metavar="PATTERN", action="append", help="leave out as well")
    group.add_argument("--force-exclude", action="store_true", help="exclude also files named here")
    group.add_argument("--no-respect-gitignore", action="store_true", help="do not leave out what git ignores")
    group.add_argument("--stdin-filename", metavar="NAME", help="the name of the file that stdin stands for")
    group = parser.add_argument_group("configuration")
    told = "a file, for all that is checked; or KEY = VALUE, which goes before files"
    group.add_argument("--config", metavar="FILE", action="append", help=told)
    group.add_argument("--isolated", action="store_true", help="use no configuration file, not the user's either")
    group.add_argument("-j", "--jobs", metavar="N", type=count, help="processes for a long check (default: all cores)")
    group.add_argument("--no-cache", action="store_true", help="neither read nor write the cache")


def _output(parser: Parser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument("--output-format", choices=FORMATS, metavar="FORMAT", help=", ".join(FORMATS))
    group.add_argument("--output-file", metavar="FILE", help="write the report here")
    group.add_argument("-q", "--quiet", action="store_true", help="print findings only")
    group.add_argument("--statistics", action="store_true", help="count the findings of each rule")
    group.add_argument("--timing", action="store_true", help="say where the time went, by stage and by rule")
    group.add_argument("--exit-zero", action="store_true", help="exit 0 also with findings")
    group.add_argument("--exit-non-zero-on-fix", action="store_true", help="exit 1 when a file was fixed")
    group.add_argument(
        "--fix-only", action="store_true", help="after fixing, neither tell what is left nor exit 1 for it"
    )


def _check(parser: Parser) -> None:
    parser.usage = "gclint check [options] [PATH ...]"
    _files(parser)
    _selection(parser)
    _output(parser)
    group = parser.add_argument_group("what to do")
    group.add_argument("--fix", action="store_true", help="apply safe fixes, report what is left")
    group.add_argument("--diff", action="store_true", help="show the fixes as a diff, write nothing")
    group.add_argument("--unsafe-fixes", action="store_true", help="with --fix: also those that need judgement")
    group.add_argument("--add-noqa", action="store_true", help="silence every finding by a comment")
    group.add_argument("--baseline", metavar="FILE", help="report only what FILE lacks; made when missing")
    group.add_argument("--baseline-commit", metavar="REV", help="report only what is new against this commit of git")
    group.add_argument("--update-baseline", action="store_true", help="write the baseline anew")
    group.add_argument("--watch", action="store_true", help="check again whenever a file changes")
    group.add_argument("--show-files", action="store_true", help="list the files that would be checked")
    group.add_argument("--show-settings", action="store_true", help="print the settings that hold here")


def _fix(parser: Parser) -> None:
    parser.usage = "gclint fix [options] [PATH ...]"
    _files(parser)
    _selection(parser)
    _output(parser)
    group = parser.add_argument_group("fixing")
    group.add_argument("--diff", action="store_true", help="show the edits, write nothing")
    group.add_argument("--unsafe", "--unsafe-fixes", action="store_true", help="also fixes that need judgement")
    group.add_argument("--choose", metavar="CODE=NAME", action="append", help="of a rule's fixes take this one")
    group.add_argument(
        "--interactive", action="store_true", help="show each finding's fixes side by side, choose by one key"
    )
    group = parser.add_argument_group("proving")
    group.add_argument("--alternatives", action="store_true", help="run every fix of a finding, and rank them")
    group.add_argument(
        "--verify",
        nargs="?",
        const="architecture",
        choices=EVIDENCE,
        metavar="EVIDENCE",
        help="run before and after; EVIDENCE is architecture (default) or program",
    )
    group.add_argument("--allow-import", action="store_true", help="also import the project's own model classes")
    group.add_argument("--program", metavar="COMMAND", help=_PROGRAM)
    group.add_argument(
        "--device", choices=DEVICES, metavar="NAME", help="cuda, rocm, xpu, mps or cpu (default: the best there is)"
    )
    group.add_argument("--timeout", type=seconds, metavar="SECONDS", default=120.0, help="for each run (120)")
    group.add_argument("--nproc", type=positive, metavar="N", help="processes of a distributed run")
    group.add_argument("--launcher", metavar="COMMAND", help='run distributed runs under this: such as "srun -n 8"')
    group.add_argument("--steps", type=positive, metavar="N", help="training steps (as many as fit into seconds)")
    group.add_argument("--python", metavar="PATH", help="run in the environment of this interpreter")
    group.add_argument("--stack", action="store_true", help="run with the versions that the project pins (made by uv)")
    group.add_argument(
        "--gpu-memory", type=size, metavar="SIZE", help="does the full-size run fit, such as 24GiB (default: here)"
    )
    group.add_argument("--report", metavar="FILE", help="write the proof here")
    group.add_argument("--write-unverified", action="store_true", help="also write fixes that are not decided here")


def _rule(parser: Parser) -> None:
    parser.add_argument("code", nargs="?", metavar="CODE", help="the rule, by code or name; GCL2 lists a family")
    parser.add_argument("--all", action="store_true", help="every rule")
    parser.add_argument("--output-format", choices=("text", "json", "markdown"), default="text")


def _prove(parser: Parser) -> None:
    parser.add_argument("codes", nargs="*", metavar="CODE", help="the rules to prove (default: all)")
    parser.add_argument("--device", choices=DEVICES, metavar="NAME", help="cuda, rocm, xpu, mps or cpu")
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", default=120.0, help="for each run (120)")
    parser.add_argument("--python", metavar="PATH", help="run in the environment of this interpreter")
    parser.add_argument("--output-format", choices=("text", "json"), default="text")


def _new_rule(parser: Parser) -> None:
    parser.add_argument("code", metavar="CODE", help="up to three letters, then three digits")
    parser.add_argument("name", metavar="NAME", help="small words joined by hyphens")
    parser.add_argument("--directory", metavar="PATH", default=".", help="where to write (here)")


def _preflight(parser: Parser) -> None:
    parser.usage = "gclint preflight [options] -- COMMAND [ARGUMENT ...]"
    parser.epilog = (
        "COMMAND is python, torchrun, accelerate launch, deepspeed, srun or mpirun, as it\n"
        "is started, or a shell script: then each run that its commands start is checked."
    )
    _selection(parser)
    group = parser.add_argument_group("what to do")
    group.add_argument("--force", action="store_true", help="start the command whatever is found")
    group.add_argument(
        "--verify", action="store_true", help="try each failure here; what does not fail here does not stop"
    )
    group.add_argument("--device", choices=DEVICES, metavar="NAME", help="with --verify: cuda, rocm, xpu, mps or cpu")
    group.add_argument("--timeout", type=seconds, metavar="SECONDS", default=120.0, help="for each run (120)")
    group.add_argument("--output-format", choices=FORMATS, metavar="FORMAT", default="full", help=", ".join(FORMATS))


def _rehearse(parser: Parser) -> None:
    parser.usage = "gclint rehearse [options] [--] COMMAND [ARGUMENT ...]"
    parser.epilog = (
        "COMMAND is a Python file, or what starts it, such as torchrun; it is executed,\n"
        "small, in a copy of the project (docs/rehearse.md)."
    )
    parser.add_argument("--only", metavar="NAMES", action="append", help="ask these questions only, as steps,ranks")
    parser.add_argument("--device", choices=DEVICES, metavar="NAME", help="cuda, rocm, xpu, mps or cpu")
    parser.add_argument("--nproc", type=positive, metavar="N", help="processes of a distributed run (2)")
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", default=60.0, help="for each run (60)")
    parser.add_argument("--python", metavar="PATH", help="run in the environment of this interpreter")
    parser.add_argument("--html", metavar="FILE", help="also write a page: curves by rank, and a map of the modules")
    parser.add_argument("--output-format", choices=FORMATS, metavar="FORMAT", default="full", help=", ".join(FORMATS))
    parser.add_argument("--output-file", metavar="FILE", help="write the report here")


def _fit(parser: Parser) -> None:
    parser.usage = "gclint fit [options] [--] COMMAND [ARGUMENT ...]"
    parser.epilog = (
        "COMMAND is a Python file, or what starts it, such as torchrun; it is executed\n"
        "in a copy of the project, on tensors without numbers (docs/fit.md)."
    )
    parser.add_argument("--gpu-memory", type=size, metavar="SIZE", help="of one GPU, such as 24GiB")
    parser.add_argument("--batch-size", type=positive, metavar="N", help="rows of a batch (the program's own)")
    parser.add_argument("--sequence-length", type=positive, metavar="N", help="tokens of a row (the program's own)")
    parser.add_argument("--config", metavar="DIR", help="config.json of a model whose sizes are not known")
    parser.add_argument("--nproc", type=positive, metavar="N", help="processes of a distributed run")
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", default=120.0, help="for the run (120)")
    parser.add_argument("--python", metavar="PATH", help="run in the environment of this interpreter")
    parser.add_argument(
        "--output-format", choices=("full", "json"), metavar="FORMAT", default="full", help="full, json"
    )
    parser.add_argument("--output-file", metavar="FILE", help="write the report here")


def _report(parser: Parser) -> None:
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="the JSON lines of one check each, oldest first; or their directory"
    )
    parser.add_argument("--html", metavar="FILE", required=True, help="write the page here")


def _completion(parser: Parser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def _config(parser: Parser) -> None:
    parser.add_argument("key", nargs="?", metavar="KEY", help="explain this key")
    parser.add_argument("--schema", action="store_true", help="print the JSON schema")


def _clean(parser: Parser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="projects (default: here)")


_COMMANDS: dict[str, tuple[str, Callable[[Parser], None]]] = {
    "check": ("report what is found", _check),
    "fix": ("remove the causes of what is found", _fix),
    "rule": ("explain a rule, or all of them", _rule),
    "prove": ("run the rules' reproductions on this machine", _prove),
    "new-rule": ("write the files of a new rule, to be filled in", _new_rule),
    "config": ("list the configuration's keys, or print its JSON schema", _config),
    "clean": ("delete the cache", _clean),
    "preflight": ("check a run, then start it", _preflight),
    "rehearse": ("run a training program small, and say what goes wrong in silence", _rehearse),
    "fit": ("say whether the full-size run fits a GPU, and what would make it fit", _fit),
    "report": ("write a page of what checks found, commit by commit", _report),
    "server": ("run the language server", lambda parser: None),
    "mcp": ("run the server of tools for agents", lambda parser: None),
    "completion": ("print the completion script of a shell", _completion),
}
