"""Where reports go: standard output or a file, in the format asked for."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from dataclasses import replace

from gclint.check.request import Request, settings_of
from gclint.cli.parser import UsageError
from gclint.report.content import Report
from gclint.report.formats import FORMATS, render
from gclint.report.style import Style, style_for
from gclint.source.discover import SUFFIXES


def format_of(options: Namespace, request: Request) -> str:
    """Return the format asked for: on the command line, else in the configuration of the working
    directory.
    """
    if options.output_format:
        return str(options.output_format)
    name = settings_of(request, os.getcwd()).output_format
    if name not in FORMATS:
        from gclint.config import suggestion

        raise UsageError(f"the configuration's output-format `{name}` is unknown{suggestion(name, list(FORMATS))}")
    return name


def emit(report: Report, name: str, options: Namespace) -> None:
    """Print the report, or write it to the file asked for; raises `UsageError` when that cannot be done."""
    if options.statistics:
        from gclint.report.tally import statistics

        text = statistics(report)
    else:
        style = replace(Style() if options.output_file else style_for(sys.stdout), quiet=options.quiet)
        text = render(report, name, style)
    write_text(text, options.output_file)


def write_text(text: str, path: str | None) -> None:
    """Write `text` to the file `path`, or print it when that is None; raises `UsageError`."""
    if path is None:
        sys.stdout.write(text)
        return
    if path.endswith(SUFFIXES) and os.path.exists(path):
        raise UsageError(f"{path}: a report is not written over a program; name another file")
    try:
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from None
