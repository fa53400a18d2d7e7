"""`gclint fit`."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from typing import TYPE_CHECKING

from gclint.cli import EXIT_CLEAN, EXIT_ERROR, EXIT_FINDINGS, complain
from gclint.cli.output import write_text
from gclint.cli.parser import UsageError
from gclint.report import fits
from gclint.verify import Options, Verifier, VerifyUnavailable

if TYPE_CHECKING:
    from gclint.verify.fit import Fit


def fit(options: Namespace) -> int:
    """Measure a step of the program at full size; 0 where it fits or no device is named, 1 where it does not."""
    try:
        made = fit_of(options)
    except VerifyUnavailable as error:
        complain(str(error))
        return EXIT_ERROR
    if options.output_format == "json":
        write_text(json.dumps(made.to_data(), indent=2) + "\n", options.output_file)
    else:
        write_text(fits.text([("", made.to_data())]), options.output_file)
    return EXIT_FINDINGS if made.fits is False else EXIT_CLEAN


def fit_of(options: Namespace) -> Fit:
    """Measure a step of the program that the options name; raises VerifyUnavailable where it cannot be measured, with
    the reason.
    """
    from gclint.rehearse.program import program_named
    from gclint.verify.fit import measured
    from gclint.verify.footprint import Wanted

    if not options.run:
        raise UsageError("name the program: gclint fit train.py, gclint fit -- torchrun ... train.py")
    if options.config and not os.path.exists(options.config):
        raise UsageError(f"--config: there is no {options.config}")
    wanted = Wanted(
        batch_size=options.batch_size or 0,
        sequence_length=options.sequence_length or 0,
        config=os.path.abspath(options.config) if options.config else "",
        capacity=options.gpu_memory or 0,
        ranks=options.nproc or 0,
    )
    given = {name: value for name in ("timeout", "python") if (value := getattr(options, name, None))}
    recipe = program_named(options.run, os.getcwd())
    with Verifier(Options(device="cpu", **given)) as verifier:
        made = measured(recipe, wanted, verifier)
    if made.footprint.unknown:
        raise VerifyUnavailable(f"{recipe.name}: unknown, {made.footprint.unknown}")
    return made
