"""`gclint check`."""

from __future__ import annotations

import sys
from argparse import Namespace

from gclint.check.engine import check as check_request
from gclint.check.request import Request
from gclint.cli import EXIT_CLEAN, EXIT_ERROR, EXIT_FINDINGS, complain
from gclint.cli.output import emit, format_of
from gclint.cli.parser import UsageError
from gclint.cli.request import request_of
from gclint.report.content import UNREADABLE, Report, place_text
from gclint.report.tally import counted
from gclint.report.walks import walks_shown
from gclint.source.kinds import kind_of
from gclint.timing import begin, stage, table

_LAUNCHERS = ("shell", "make", "docker")
_NO_PROGRAM = "what a launcher starts was not judged; name its folder, or run `gclint preflight -- COMMAND`"


def check(options: Namespace) -> int:
    """Run the command and return its exit status."""
    _check_together(options)
    if options.fix or options.diff:
        from gclint.cli.fixing import fix_for_check

        return fix_for_check(options)
    request = request_of(options)
    if options.show_files or options.show_settings:
        from gclint.cli.configuration import show

        return show(request, options)
    if options.watch:
        from gclint.cli.watch import watch

        return watch(request, lambda: _once(request, options))
    if options.add_noqa:
        return _add_noqa(request)
    return _once(request, options)


def tell_unread(report: Report) -> None:
    """Say which files could not be read or parsed, where the report itself is not shown."""
    for finding in report.findings:
        if finding.code == UNREADABLE:
            complain(f"{place_text(report.shown(finding.location))}: {finding.message}")


def finish(report: Report, options: Namespace) -> int:
    """Say the problems, and return the exit status of `report`."""
    for problem in report.problems:
        complain(str(problem))
    if not report.files_checked and not report.findings:
        print("gclint: warning: no Python files or notebooks found", file=sys.stderr)
    if options.paths and not report.findings and all(kind_of(path) in _LAUNCHERS for path in options.paths):
        print(f"gclint: warning: {_NO_PROGRAM}", file=sys.stderr)
    if options.timing:
        sys.stderr.write(table())
    if report.failed:
        return EXIT_ERROR
    return EXIT_FINDINGS if report.defective and not options.exit_zero else EXIT_CLEAN


def _once(request: Request, options: Namespace) -> int:
    if options.timing:
        begin()
    if options.baseline_commit is not None:
        from gclint.cli.baseline_commit import new_since

        report = new_since(options.baseline_commit, request)
    else:
        with walks_shown():
            report = check_request(request)
    if options.baseline:
        from gclint.cli.baseline import against_baseline

        report = against_baseline(report, options.baseline, options.update_baseline)
    with stage("report"):
        emit(report, format_of(options, request), options)
    return finish(report, options)


def _add_noqa(request: Request) -> int:
    from gclint.fix.add_noqa import NOT_SILENCED, silenced
    from gclint.fix.write import write_all

    with walks_shown():
        report = check_request(request)
    changes = silenced(report)
    write_all([(before, after.data) for before, after in changes])
    changed = {before.path for before, _ in changes}
    meant = [finding for finding in report.findings if finding.code not in NOT_SILENCED]
    count = len([finding for finding in meant if finding.location.path in changed])
    tell_unread(report)
    for problem in report.problems:
        complain(str(problem))
    print(f"Silenced {counted(count, 'finding')} in {counted(len(changes), 'file')}.")
    for path in sorted({finding.location.path for finding in meant} - changed):
        print(f"{path}: has no comments to silence a finding by; use per-file-ignores", file=sys.stderr)
    return EXIT_ERROR if report.failed else EXIT_CLEAN


def _check_together(options: Namespace) -> None:
    """Raise `UsageError` for options that exclude each other or need another."""
    fixing = "--fix" if options.fix else "--diff" if options.diff else ""
    for name in ("baseline", "baseline_commit", "add_noqa", "watch"):
        if fixing and getattr(options, name):
            raise UsageError(f"{fixing} and --{name.replace('_', '-')} exclude each other")
    if options.watch and ("-" in options.paths or options.stdin_filename):
        raise UsageError("--watch watches files, not standard input")
    if options.update_baseline and not options.baseline:
        raise UsageError("--update-baseline needs --baseline FILE")
    if options.show_files and options.show_settings:
        raise UsageError("--show-files and --show-settings exclude each other")
    known = "--baseline" if options.baseline else "--baseline-commit" if options.baseline_commit else ""
    if known and options.add_noqa:
        raise UsageError(f"{known} and --add-noqa exclude each other")
    if options.baseline and options.baseline_commit:
        raise UsageError("--baseline and --baseline-commit exclude each other")
