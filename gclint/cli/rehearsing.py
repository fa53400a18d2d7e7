"""`gclint rehearse`."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from argparse import Namespace
from pathlib import Path

from gclint.cli import EXIT_CLEAN, EXIT_ERROR, EXIT_FINDINGS, complain
from gclint.cli.output import write_text
from gclint.cli.parser import UsageError
from gclint.config import suggestion
from gclint.rehearse.findings import report_of
from gclint.rehearse.live import live
from gclint.rehearse.program import program_named
from gclint.rehearse.rehearsal import NAMES, Rehearsal
from gclint.rehearse.rehearsal import rehearse as rehearsed
from gclint.rehearse.told import as_data, costs, heading, times
from gclint.report.as_json import record
from gclint.report.content import Report
from gclint.report.formats import render
from gclint.report.style import Style, style_for
from gclint.verify import Options, Verifier


def rehearse(options: Namespace) -> int:
    """Run the program small, say what is wrong with the run; 0 for a healthy one, 1 with findings, 2 for none."""
    made, report = rehearsal_of(options)
    if options.html:
        from gclint.rehearse.page import page

        write_text(page(made, report), options.html)
    if report.findings or made.trained or options.output_format == "json":
        _tell(made, report, options)
    if not made.trained:
        complain(why_not(made))
    if report.findings:
        return EXIT_FINDINGS
    return EXIT_CLEAN if made.trained else EXIT_ERROR


def rehearsal_of(options: Namespace) -> tuple[Rehearsal, Report]:
    """Return the rehearsal that the options ask for, and what it found; raises `UsageError`, `VerifyUnavailable`."""
    if not options.run:
        raise UsageError("name the program: gclint rehearse train.py, gclint rehearse -- torchrun ... train.py")
    only = _only(options.only)
    given = {name: value for name in ("device", "timeout", "python") if (value := getattr(options, name, None))}
    if options.nproc:
        given["processes"] = options.nproc
    with tempfile.TemporaryDirectory(prefix="gclint-rehearse-") as place:
        recipe = program_named(options.run, os.getcwd())
        with live(Path(place)) as tell, Verifier(Options(**given)) as verifier:
            made = rehearsed(recipe, verifier, Path(place), only, tell)
    return made, report_of(made)


def _only(texts: list[str] | None) -> list[str]:
    """The names of questions, checked."""
    names = [name.strip() for text in texts or () for name in text.split(",") if name.strip()]
    for name in names:
        if name not in NAMES:
            raise UsageError(
                f"--only: no question `{name}`{suggestion(name, list(NAMES))}; there are {', '.join(NAMES)}"
            )
    return names


def why_not(made: Rehearsal) -> str:
    """Return why a rehearsal came to no step of training."""
    outcome = made.outcome
    if outcome.status == "finished":
        return f"{made.recipe.name} ran to its end and took no optimizer step"
    where = f" at {outcome.raised.where[-1]}" if outcome.raised is not None and outcome.raised.where else ""
    return f"{made.recipe.name} could not be rehearsed ({outcome.status}): {outcome.reason}{where}"


def _tell(made: Rehearsal, report: Report, options: Namespace) -> None:
    if options.output_format == "json":
        data = {**as_data(made), "findings": [record(report, finding) for finding in report.findings]}
        write_text(json.dumps(data, indent=2) + "\n", options.output_file)
    elif options.output_format == "full":
        head = "\n".join([*heading(made), times(made)]) + "\n"
        body = render(report, "full", Style() if options.output_file else style_for(sys.stdout))
        write_text("\n".join([head, body, *(f"{line}\n" for line in costs(made))]), options.output_file)
    else:
        write_text(render(report, options.output_format, Style()), options.output_file)
