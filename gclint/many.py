"""Many repositories, judged by a process of their own: rows that say what was found, and what could not be judged.

An engine that runs functions on many machines calls `check_repositories` with a share of the list each. With a folder
that all machines see, what is done is kept there, and a job that was ended goes on where it was.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from importlib import import_module
from threading import Timer
from time import monotonic
from typing import Any

from gclint.addresses import page_of
from gclint.cli import said_of
from gclint.config import BadConfig, checked
from gclint.report.content import UNREADABLE, Report, certainty_of
from gclint.report.remedy import remedy
from gclint.source.cache import digest, write_whole

Row = dict[str, Any]
COLUMNS = {
    **dict.fromkeys(("repository", "kind", "code", "name", "certainty", "path"), "string"),
    **dict.fromkeys(("line", "column"), "int64"),
    **dict.fromkeys(("message", "symptom", "condition", "this_run", "help", "versions", "url"), "string"),
    "files": "int64",
    "seconds": "double",
}
# without the working directory, whose files must not take the place of modules
_START = "import sys; sys.path = [each for each in sys.path if each]; from gclint.many import _serve; _serve()"


def check_repositories(
    repositories: Iterable[str | os.PathLike[str]],
    into: str | os.PathLike[str] | None = None,
    limit: float = 600.0,
    **settings: Any,
) -> list[Row]:
    """Return the rows of each repository, a directory; of those that the folder `into` has, the rows that it has.

    A row has the keys of `COLUMNS`. Of kind `finding` and `problem` there is one for each; of kind `repository` there
    is one at the end of those of a repository, with the `files` that were checked and the `seconds` it took, or of kind
    `failed` with the reason in `message`: it is no directory, its configuration is wrong, its process was killed, or
    was not done after `limit` seconds. What failed is tried again by the next call. `settings` are those of
    `gclint.check_paths`, and lie over what the repositories say. Raises `gclint.config.BadConfig` for a mistake in
    them, and OSError where nothing can be written into the folder.
    """
    checked(settings)
    if into is not None:
        os.makedirs(into, exist_ok=True)
    found: list[Row] = []
    with closing(_Judge(settings, limit)) as judge:
        for repository in [os.fspath(each) for each in repositories]:
            place = os.path.join(into, f"{digest([repository])}.jsonl") if into is not None else ""
            rows = _rows_of(place) if place and os.path.exists(place) else []
            if not rows or rows[-1]["kind"] == "failed":
                rows = judge.rows(repository)
                if place:
                    write_whole(place, "".join(json.dumps(row) + "\n" for row in rows))
            found += rows
    return found


def rows_in(into: str | os.PathLike[str]) -> Iterator[Row]:
    """Yield the rows that the folder `into` has, repository by repository."""
    for name in sorted(os.listdir(into)):
        if name.endswith(".jsonl"):
            yield from _rows_of(os.path.join(into, name))


def write_rows(into: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Write the rows that the folder `into` has to one file: Parquet where its name ends so, which takes pyarrow, else
    JSON lines.
    """
    if not os.fspath(path).endswith(".parquet"):
        write_whole(os.fspath(path), "".join(json.dumps(row) + "\n" for row in rows_in(into)))
        return
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    schema = arrow.schema([(name, arrow.type_for_alias(kind)) for name, kind in COLUMNS.items()])
    parquet.write_table(arrow.Table.from_pylist(list(rows_in(into)), schema=schema), os.fspath(path))


def _rows_of(path: str) -> list[Row]:
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class _Judge:
    """A process that judges one repository after another; when it has ended, another one takes its place."""

    def __init__(self, settings: Mapping[str, Any], limit: float) -> None:
        self._settings, self._limit = settings, limit
        self._process: subprocess.Popen[bytes] | None = None

    def rows(self, repository: str) -> list[Row]:
        """Return the rows of a repository, the last of kind `repository` or `failed`."""
        began = monotonic()
        rows = [{**dict.fromkeys(COLUMNS), "repository": repository, **row} for row in self._answer(repository)]
        rows[-1]["seconds"] = monotonic() - began
        return rows

    def close(self) -> None:
        """End the process, which has nothing left to do."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def _answer(self, repository: str) -> list[Row]:
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, "-c", _START]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        timer = Timer(self._limit, process.kill)
        timer.start()
        question = json.dumps([os.path.abspath(repository), self._settings], default=list)
        with suppress(OSError):
            process.stdin.write(question.encode() + b"\n")
            process.stdin.flush()
        line = process.stdout.readline()
        late = timer.finished.is_set()
        timer.cancel()
        if line.endswith(b"\n"):
            answer: list[Row] = json.loads(line)
            return answer
        self._process = None
        return [_failed(f"not done after {self._limit:g} s" if late else _end_of(process))]


def _end_of(process: subprocess.Popen[bytes]) -> str:
    process.communicate()
    return f"killed by signal {-process.returncode}" if process.returncode < 0 else f"exit status {process.returncode}"


def _failed(why: str) -> Row:
    return {"kind": "failed", "message": why}


def _serve() -> None:
    """Answer each line of standard input, a directory and settings, by a line with its rows."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)  # what anything else prints is no part of the answer
        for line in sys.stdin:
            print(json.dumps(_rows_here(*json.loads(line))), file=out, flush=True)


def _rows_here(repository: str, settings: Mapping[str, Any]) -> list[Row]:
    from gclint.check.engine import check
    from gclint.check.request import Request

    try:
        os.chdir(repository)
        report = check(Request((".",), checked(settings), cache=False))
    except BadConfig as error:
        return [_failed(str(error))]
    except Exception as error:
        return [_failed(said_of(error))]
    return [*_told(report), {"kind": "repository", "files": report.files_checked}]


def _told(report: Report) -> Iterator[Row]:
    """The findings of a report, and what could not be judged, as rows."""
    for problem in report.problems:
        yield {"kind": "problem", "path": problem.path, "line": problem.line, "message": problem.what}
    for finding in report.findings:
        place = report.in_file(finding.location)
        yield {
            "kind": "problem" if finding.code == UNREADABLE else "finding",
            "code": finding.code,
            "name": finding.name,
            "certainty": certainty_of(finding),
            "path": place.path,
            "line": place.line,
            "column": place.column,
            "message": finding.message,
            "symptom": finding.symptom,
            "condition": finding.condition,
            "this_run": finding.this_run,
            "help": remedy(report, finding),
            "versions": finding.versions,
            "url": page_of(finding.code),
        }
