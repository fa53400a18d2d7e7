"""`gclint fix`, and `gclint check --fix`."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

from gclint.check.request import Request
from gclint.cli import EXIT_CLEAN, EXIT_FINDINGS, complain
from gclint.cli.check import finish, tell_unread
from gclint.cli.interactive import ask, require_terminal
from gclint.cli.output import emit, format_of, write_text
from gclint.cli.parser import UsageError
from gclint.cli.request import pairs, request_of
from gclint.fix.choose import Decision
from gclint.fix.job import Ask, Outcome, Prove
from gclint.fix.job import fix as fix_request
from gclint.fix.proof import ProofOptions, verify_fixes
from gclint.fix.proof import proving as proving_fixes
from gclint.fix.trials import Offer
from gclint.report.content import UNREADABLE
from gclint.report.formats import render
from gclint.report.style import style_for
from gclint.report.tally import counted, of_fixes
from gclint.report.walks import walks_shown
from gclint.source.source import Source
from gclint.timing import begin


def fix(options: Namespace) -> int:
    """Run the command and return its exit status."""
    if options.interactive:
        require_terminal()
    if options.timing:
        begin()
    request = request_of(options)
    _check_report(options)
    outcome = outcome_of(options, request)
    if options.report:
        _write_report(outcome, options.report)
    return _tell(outcome, request, options)


def outcome_of(options: Namespace, request: Request) -> Outcome:
    """Fix what is found in `request`, as the options say; raises `UsageError` and what `gclint.fix.job.fix` does."""
    if options.program and options.verify != "program":
        raise UsageError("--program needs --verify=program")
    if options.launcher and options.nproc:
        raise UsageError("--launcher says how many processes there are; leave out --nproc")
    proof = _proof_options(options) if _proves(options) else None
    with _watched(proof is not None) as (prove, asking):
        return fix_request(
            request,
            unsafe=options.unsafe,
            chosen=pairs(options.choose, "--choose"),
            write=not options.diff and request.stdin is None,
            proof=proof,
            prove=prove,
            alternatives=options.alternatives,
            ask=asking if options.interactive else None,
        )


def _check_report(options: Namespace) -> None:
    """Raise `UsageError` before anything runs where the report could not be made or written."""
    path = options.report
    if not path:
        return
    if not (options.verify or options.alternatives):
        raise UsageError("--report needs --verify")
    if not path.endswith((".html", ".htm", ".json")):
        raise UsageError(f"--report takes a file that ends in .html or .json, not {path}")
    if not os.access(os.path.dirname(path) or ".", os.W_OK):
        raise UsageError(f"{path}: cannot be written (no such directory, or it is not writable)")


def _write_report(outcome: Outcome, path: str) -> None:
    """Write the proof as a page or as JSON, whole or not at all; the name says which."""
    if path.endswith((".html", ".htm")):
        from gclint.report.html import page

        write_text(page(outcome), path)
    else:
        write_text(_with_proofs(outcome), path)


def _proves(options: Namespace) -> bool:
    """Whether fixes are to be run: asked for, or for the figures of a choice where torch is there."""
    if options.verify or options.alternatives:
        return True
    if not options.interactive:
        return False
    from importlib.util import find_spec

    if options.python or find_spec("torch") is not None:
        return True
    print("gclint: no figures: pip install 'gclint[verify]'", file=sys.stderr)
    return False


@contextmanager
def _watched(proving: bool) -> Iterator[tuple[Prove, Ask]]:
    """What proves the fixes and says on a terminal what is running, and what asks the user in between."""
    if not proving:
        yield verify_fixes, ask
        return
    from gclint.report.proofs import say_verdict, watching

    with watching() as tell, proving_fixes(tell, say_verdict if tell is None else tell.say) as prove:

        def asking(offers: Sequence[Offer]) -> Sequence[Decision]:
            with tell.has_the_terminal() if tell is not None else nullcontext():
                return ask(offers)

        yield prove, asking


def fix_for_check(options: Namespace) -> int:
    """Run `check --fix` or `check --diff` and return the exit status."""
    if options.timing:
        begin()
    request = request_of(options)
    write = not options.diff and request.stdin is None
    with walks_shown():
        outcome = fix_request(request, unsafe=options.unsafe_fixes, write=write)
    return _tell(outcome, request, options)


def _tell(outcome: Outcome, request: Request, options: Namespace) -> int:
    for refused in outcome.refused:
        finding = refused.chosen.finding
        place = f"{finding.location.path}:{finding.location.line}"
        complain(f"{place}: fix of {finding.code} not applied: {refused.why}")
    if options.diff:
        status = _show_diff(outcome, options)
        _show_proofs(outcome, options)
        _say_undecided(outcome, options)
        return status
    if request.stdin is not None:
        _pass_through(outcome, request, options)
        return finish(outcome.report, options)
    name = format_of(options, request)
    if name != "json":
        _show_proofs(outcome, options)
    if outcome.changes and not options.quiet:
        _say(outcome)
    _say_undecided(outcome, options)
    if (outcome.proofs or outcome.trials) and name == "json":
        write_text(_with_proofs(outcome), options.output_file)
    elif not options.fix_only:
        emit(outcome.report, name, options)
    status = finish(outcome.report, options)
    if status == EXIT_FINDINGS and options.fix_only:
        status = EXIT_CLEAN
    if status == EXIT_CLEAN and outcome.changes and options.exit_non_zero_on_fix:
        return EXIT_FINDINGS
    return status


def _show_proofs(outcome: Outcome, options: Namespace) -> None:
    if not outcome.proofs and not outcome.trials:
        return
    from rich.console import Console

    from gclint.report.choices import show_ranking
    from gclint.report.proofs import show

    console = Console()
    if outcome.proofs:
        show(outcome.proofs, console)
    for trials in outcome.trials if options.alternatives else ():
        show_ranking(trials, console)


def _with_proofs(outcome: Outcome) -> str:
    import json

    from gclint.report.verification import document

    return json.dumps(document(outcome), indent=2) + "\n"


def _show_diff(outcome: Outcome, options: Namespace) -> int:
    from gclint.fix.diff import painted, unified_all

    sys.stdout.write(painted(unified_all(outcome.changes), style_for(sys.stdout)))
    if outcome.changes and not options.quiet:
        print(f"Would apply {_fixes(outcome)}.", file=sys.stderr)
    tell_unread(outcome.report)
    status = finish(outcome.report, options)
    return EXIT_FINDINGS if status == EXIT_CLEAN and outcome.changes and not options.exit_zero else status


def _pass_through(outcome: Outcome, request: Request, options: Namespace) -> None:
    """Print the text of standard input as the fixes make it, bytes outside the edits unchanged; on standard error
    what is left to find in it, as Ruff does.
    """
    after: list[Source] = [new for _, new in outcome.changes]
    sys.stdout.buffer.write(after[0].data if after else request.stdin or b"")
    sys.stdout.flush()
    if outcome.report.findings:
        sys.stderr.write(render(outcome.report, format_of(options, request), style_for(sys.stderr)))


def _say(outcome: Outcome) -> None:
    print(f"Applied {_fixes(outcome)}:", file=sys.stderr)
    counts = Counter((chosen.finding.code, chosen.fix.title) for chosen in outcome.applied)
    for (code, title), count in sorted(counts.items()):
        print(f"  {count} x {code}: {title}", file=sys.stderr)


def _say_undecided(outcome: Outcome, options: Namespace) -> None:
    """Say which fixes stay out because their runs decided nothing, and where nothing was run why."""
    findings = [each for each in outcome.report.findings if each.code != UNREADABLE]
    if getattr(options, "verify", None) and findings and not (outcome.proofs or outcome.trials or outcome.refused):
        unsafe = sum(bool(each.fixes) and each.fixes[0].applicability == "unsafe" for each in findings)
        why = f"{of_fixes(unsafe)} only with --unsafe" if unsafe else "no finding has a fix"
        print(f"Nothing was verified: {why}", file=sys.stderr)
    count = sum(proof.verdict == "unverified" for proof in outcome.proofs)
    if count and not options.write_unverified:
        what = "1 fix is" if count == 1 else f"{count} fixes are"
        print(f"{what} not decided here and left out; --write-unverified applies what is unverified", file=sys.stderr)


def _fixes(outcome: Outcome) -> str:
    number = len(outcome.applied)
    return f"{of_fixes(number)} in {counted(len(outcome.changes), 'file')}"


def _proof_options(options: Namespace) -> ProofOptions:
    return ProofOptions(
        evidence=options.verify or "architecture",
        program=options.program or "",
        device=options.device or "",
        timeout=options.timeout,
        processes=options.nproc or 0,
        steps=options.steps or 0,
        python=options.python or "",
        allow_import=options.allow_import,
        launcher=options.launcher or "",
        gpu_memory=options.gpu_memory or 0,
        write_unverified=options.write_unverified,
        stack=options.stack,
    )
