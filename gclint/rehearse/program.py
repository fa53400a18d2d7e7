"""The program that a command line starts, as a recipe that the workers run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gclint.check.request import project_root
from gclint.launch import Launch
from gclint.launch.command_line import planned
from gclint.verify.errors import VerifyUnavailable
from gclint.verify.programs import program_of
from gclint.verify.recipe import ProgramRecipe


def program_named(words: Sequence[str], here: str) -> ProgramRecipe:
    """The first program that a command starts; raises VerifyUnavailable where it starts none that can be read."""
    given = ["python", *words] if words[0].endswith(".py") else list(words)
    runs = planned(given, os.environ, here)
    if not runs:
        raise VerifyUnavailable(f"`{' '.join(words)}` starts no Python file that can be read here")
    launch: Launch = runs[0].launch
    if launch.program.suffix != ".py":
        raise VerifyUnavailable(f"{launch.program.name} is not a Python file; notebooks are not run")
    root = Path(project_root(os.fspath(launch.program.parent.resolve()), ())).resolve()
    inside = Path(here).resolve()
    if inside.is_relative_to(root) and launch.directory is None:
        from dataclasses import replace

        launch = replace(launch, directory=inside)
    return program_of(launch, root, launch.program.name)
