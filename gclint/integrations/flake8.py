"""The flake8 plugin: every finding of a file, judged within its project.

flake8 gives one file at a time; the project around it is analysed once, by one of flake8's processes, and recalled
by the others and by later runs while nothing in it changes. flake8 applies its own noqa, select and
per-file-ignores. A failure in here costs this file's findings and one line on standard error, never the flake8 run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from gclint import __version__

if TYPE_CHECKING:
    import argparse
    import ast

    from gclint.integrations.memory import Found, Project

Answer = tuple[int, int, str, type[Any]]
_STDIN = ("-", "stdin")


class Plugin:
    """What flake8 calls for each file: a tree, a name, and the lines."""

    name = "gclint"
    version = __version__
    target: ClassVar[dict[str, str]] = {}
    named: ClassVar[tuple[str, ...]] = ()
    alone: ClassVar[bool] = False
    wanted: ClassVar[bool] = True
    jobs: ClassVar[int] = 1
    _projects: ClassVar[dict[str, Project]] = {}

    def __init__(self, tree: ast.AST, filename: str, lines: list[str]):
        self.filename = filename
        self.lines = lines

    @staticmethod
    def add_options(manager: Any) -> None:
        """Register --gclint-target and --gclint-file-only."""
        manager.add_option(
            "--gclint-target",
            default="",
            parse_from_config=True,
            metavar="NAME=VERSION,...",
            help="versions to judge for, such as torch=2.5,transformers=4.44",
        )
        manager.add_option(
            "--gclint-file-only",
            action="store_true",
            default=False,
            parse_from_config=True,
            help="look at each file and what it imports, not at the project around it",
        )

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Take the options over; where flake8 would drop every finding, none is looked for."""
        pairs = (part.split("=", 1) for part in options.gclint_target.split(",") if "=" in part)
        cls.target = {_library(name.strip()): version.strip() for name, version in pairs}
        cls.alone = options.gclint_file_only
        cls.jobs = _jobs(options)
        selected = [*(getattr(options, "select", None) or ()), *(getattr(options, "extend_select", None) or ())]
        given = getattr(options, "select", None)
        cls.wanted = not given or any("GCL".startswith(code) or code.startswith("GCL") for code in selected)
        cls.named = tuple(code for code in selected if code.startswith("GCL"))
        cls._projects = {}

    def run(self) -> Iterator[Answer]:
        """Yield (line from 1, column from 0, text, type) of each finding in the file."""
        if not self.wanted:
            return
        try:
            found = self._findings()
        except Exception as error:
            print(f"gclint: {self.filename}: not checked, {type(error).__name__}: {error}", file=sys.stderr)
            return
        for line, column, text in found:
            yield line, column, text, type(self)

    def _given(self) -> dict[str, Any]:
        """Return what goes before the project's settings: what is off by default is on where flake8 names it."""
        from gclint.rule import known_rules

        codes = [rule.code for rule in known_rules()] if self.named else []
        named = tuple(prefix for prefix in self.named if any(code.startswith(prefix) for code in codes))
        return {key: value for key, value in (("target", self.target), ("extend_select", named)) if value}

    def _findings(self) -> list[Found]:
        from gclint.integrations.memory import project_of

        text = "".join(self.lines)
        path = os.path.realpath("stdin.py" if self.filename in _STDIN else self.filename)
        project = project_of(path, self._given(), self._projects, self.jobs)
        if not self.alone and _on_disk(path) == text:
            return project.findings(path, text)
        data = text.encode("utf-8", "replace")
        if not project.admits(data):
            return []
        return _within(path, data, project)


def _library(name: str) -> str:
    """Return the name of a library; raises flake8's `ExecutionError` where it is nearly that of another."""
    from flake8.exceptions import ExecutionError  # type: ignore[import-untyped]

    from gclint.config import LIBRARIES
    from gclint.config_check import misspelt

    near = misspelt(name, LIBRARIES)
    if near:
        raise ExecutionError(f"--gclint-target: unknown library `{name}`{near}")
    return name


def _jobs(options: argparse.Namespace) -> int:
    """Return among how many processes an analysis is divided: those of flake8 wait while one of them analyses."""
    from gclint.forks import cores

    return cores() if options.jobs.is_auto else min(options.jobs.n_jobs, cores())


def _within(path: str, data: bytes, project: Project) -> list[Found]:
    from gclint.integrations.memory import asked

    return asked([], project.given, project.root, (path, data)).get(path, [])


def _on_disk(path: str) -> str | None:
    """Return the text of the file as flake8 reads it, None where there is none."""
    import tokenize

    try:
        with tokenize.open(path) as file:
            return file.read().removeprefix("\ufeff")
    except (OSError, SyntaxError, UnicodeError):
        return None
