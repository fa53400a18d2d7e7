"""`gclint preflight -- COMMAND`: exactly the runs that are about to start are checked; then the command takes over."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from gclint.check.engine import check, without
from gclint.check.findings import Judge, builtin_judge
from gclint.check.request import Request
from gclint.cli import EXIT_ERROR, EXIT_FINDINGS, complain
from gclint.cli.parser import UsageError
from gclint.cli.request import selection_of
from gclint.finding import Finding
from gclint.launch.command_line import SHOWN, Planned, planned
from gclint.launch.launched import Launch
from gclint.report.content import Report, severity
from gclint.report.formats import render
from gclint.report.style import style_for
from gclint.report.tally import counted
from gclint.source.source import parse

KNOWN = "python, torchrun, accelerate launch, deepspeed, srun, mpirun, and shell scripts and Makefiles that run them"
# an ignored signal stays ignored in the program that takes over
_IGNORED_BY_PYTHON = frozenset({"SIGPIPE", "SIGXFZ", "SIGXFSZ"})


def preflight(options: Namespace) -> int:
    """Check the run that `options.run` starts, and start it; return the exit status where it is not started."""
    words: list[str] = options.run
    if not words:
        raise UsageError("put the command after `--`: gclint preflight -- torchrun --nproc_per_node=8 train.py")
    runs = planned(words, os.environ, os.getcwd())
    if not runs:
        command = shlex.join(words)
        complain(f"`{command}` starts no Python file that can be read here; preflight knows {KNOWN}; --force starts it")
        return _start(words) if options.force else EXIT_ERROR
    programs = {run.launch.program for run in runs}
    report = _with_command(_together([_checked(run, options) for run in runs], len(programs)), words)
    _tell(report, options)
    stopping = [item for item in report.findings if item.certainty == "fails" and severity(item) != "note"]
    if options.force or not (stopping or report.failed):
        return _start(words)
    if report.failed:
        complain("not started: something could not be judged; --force starts it anyway")
        return EXIT_ERROR
    number = counted(len(stopping), "finding")
    print(f"gclint: not started: {number} of certainty `fails`; --force starts it anyway", file=sys.stderr)
    return EXIT_FINDINGS


def _checked(run: Planned, options: Namespace) -> Report:
    """Return what is found in one run, less what was tried here and did not fail."""
    request, judge = _request(run, options), _judge(run.launch)
    report = check(request, judge)
    return without(report, _harmless(request, judge, run.launch, options)) if options.verify else report


def _together(reports: list[Report], files: int) -> Report:
    """Return one report for several: each finding and each problem once."""
    findings = sorted({item for report in reports for item in report.findings}, key=lambda item: item.key)
    return Report(
        tuple(findings),
        tuple(dict.fromkeys(problem for report in reports for problem in report.problems)),
        files,
        {path: source for report in reports for path, source in report.sources.items()},
        {code: rule for report in reports for code, rule in report.rules.items()},
        reports[0].asked,
    )


def _request(run: Planned, options: Namespace) -> Request:
    given = selection_of(options)
    given["target"] = {**run.versions, **given.get("target", {})}
    paths = [run.launch.program, *(path for path in run.launch.configs if path.suffix != ".toml")]
    return Request([os.path.relpath(path) for path in paths], given, cache=False)


def _judge(launch: Launch) -> Judge:
    from gclint.check.program import analyse

    return replace(builtin_judge(), analyse=partial(analyse, launch=launch))


def _with_command(report: Report, words: list[str]) -> Report:
    """Return the report with the command line as a text that findings can show."""
    text = shlex.join(words).encode("utf-8", "surrogateescape")
    command = parse(SHOWN, Path(os.path.abspath(SHOWN)), text.replace(b"\0", b""), "shell")
    return replace(report, sources={**report.sources, SHOWN: command})


def _harmless(request: Request, judge: Judge, launch: Launch, options: Namespace) -> Iterable[Finding]:
    """Yield the findings whose failure was tried on this machine and did not show."""
    from gclint.fix.job import fix
    from gclint.fix.proof import ProofOptions
    from gclint.report.proofs import show, watching

    with watching():
        proof = ProofOptions(device=options.device or "", timeout=options.timeout, launch=launch)
        outcome = fix(request, unsafe=True, write=False, proof=proof, judge=judge)
    if outcome.proofs:
        from rich.console import Console

        show(outcome.proofs, Console(stderr=True))
    return [item.finding for item in outcome.proofs if item.verdict == "passes"]


def _tell(report: Report, options: Namespace) -> None:
    """Say on standard error what was found: standard output is the command's."""
    for problem in report.problems:
        complain(str(problem))
    if report.findings:
        sys.stderr.write(render(report, options.output_format, style_for(sys.stderr)))


def _start(words: list[str]) -> int:
    """Become the command, with the signals as a shell leaves them; return a status only where that cannot be done."""
    sys.stdout.flush()
    sys.stderr.flush()
    for name in _IGNORED_BY_PYTHON & {item.name for item in signal.Signals}:
        signal.signal(signal.Signals[name], signal.SIG_DFL)
    try:
        os.execvp(words[0], words)
    except OSError as error:
        complain(f"{words[0]}: cannot be started ({error.strerror})")
        return EXIT_ERROR
