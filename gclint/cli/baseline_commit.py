"""`--baseline-commit`: what is new against a commit of git, whose files are judged as they were."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from gclint.check.engine import check
from gclint.check.request import Request, directory_of
from gclint.cli.baseline import Entry, entries_of, without_known
from gclint.cli.commit import OPTION, Commit, commit_of, write
from gclint.cli.parser import UsageError
from gclint.cli.putting_away import put_away_first
from gclint.config import BadConfig, Settings
from gclint.config_files import nearest
from gclint.finding import Finding
from gclint.report.content import UNREADABLE, Report
from gclint.report.walks import walks_shown


def new_since(name: str, request: Request) -> Report:
    """Return the report on a request without what is found in the commit `name`, by its own configuration and versions.

    Findings are compared as with `--baseline`: by rule, file and text of the line; one of a file that is gone counts
    for any other. Nothing of the commit's files is kept. Raises `UsageError`, and `BadConfig` as the check does.
    """
    commit = _commit_of(request, name)
    with walks_shown():
        report = check(request)
    if all(finding.code == UNREADABLE for finding in report.findings):
        return report
    with put_away_first(), tempfile.TemporaryDirectory(prefix="gclint-commit-", ignore_cleanup_errors=True) as place:
        then = _found_then(request, commit, os.path.realpath(place))
    return without_known(report, then, commit.name, lambda finding: _name(finding, commit.top), commit.top)


def _commit_of(request: Request, name: str) -> Commit:
    """The commit `name` of the repository that all paths of a request lie in."""
    paths = _paths(request)
    directory = directory_of(paths[0])
    while not os.path.isdir(directory):
        directory = os.path.dirname(directory)
    commit = commit_of(directory, name)
    for path in paths:
        if _below(path, commit.top).split(os.sep)[0] == os.pardir:
            raise UsageError(f"{OPTION}: {path} is not in the repository {commit.top}; check it by itself")
    return commit


def _found_then(request: Request, commit: Commit, place: str) -> list[Entry]:
    """What is found in the commit, written below `place` by its whole path, so that all is where it was."""
    top = _moved(commit.top, place)
    written = write(commit, top)
    wanted = {_below(path, commit.top) for path in _paths(request)}
    paths = [path for each in sorted(wanted) if os.path.exists(path := os.path.normpath(os.path.join(top, each)))]
    if len(paths) < len(wanted):  # a new name may be that of a file that was moved
        gone = [each for each in written if not os.path.exists(os.path.join(commit.top, each))]
        paths += [os.path.join(top, each) for each in gone if each.endswith((".py", ".ipynb"))]
    if not paths:
        return []
    config = request.config and os.path.abspath(request.config)
    around = {os.path.dirname(top): _settings_above(commit.top, place)}
    asked = replace(request, paths=paths, config=config, around=around, cache=False, stdin=None)
    try:
        with _working_in(_moved(os.getcwd(), place)), walks_shown():
            return entries_of(check(asked), lambda finding: _name(finding, top))
    except BadConfig as error:
        told = str(error).replace(place, "")
        raise UsageError(f"{OPTION}: in commit `{commit.name}` {told}; --config FILE judges both by one file") from None


def _paths(request: Request) -> list[str]:
    return list(request.paths) if request.stdin is None else [request.stdin_name]


def _below(path: str, top: str) -> str:
    """The path from the root of a working tree, links on the way to a file followed."""
    directory, name = (path, "") if os.path.isdir(path) else os.path.split(os.path.abspath(path))
    return os.path.relpath(os.path.join(os.path.realpath(directory), name), top)


def _name(finding: Finding, top: str) -> str:
    return _below(finding.location.path, top)


def _moved(path: str, place: str) -> str:
    """An absolute path, as it is called below another directory."""
    return os.path.normpath(place + os.sep + os.path.splitdrive(path)[1])


def _settings_above(top: str, place: str) -> Settings | None:
    """The settings above a working tree, which are in no commit."""
    above = nearest(os.path.dirname(top), {})
    return above and replace(above, root=_moved(above.root, place))


@contextmanager
def _working_in(directory: str) -> Iterator[None]:
    before = os.getcwd()
    os.makedirs(directory, exist_ok=True)
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)
