"""The tests run against one mutant, in a child process that stops at the first failure."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import signal
import tempfile
from collections.abc import Generator, Sequence
from types import CodeType
from typing import Any

import libcst  # noqa: F401  (what the children need anyway is imported once)
import pytest
import rich.console  # noqa: F401

from .mutants import ROOT, Mutant

TESTS = (
    "tests/differential/test_differential.py::test_counterexamples_of_earlier_runs_are_exact",
    "tests/differential/test_differential.py::test_what_is_not_known_is_told_as_far_as_the_program_says",
    "tests/test_letting_go.py",
    "tests/test_guards.py",
    "tests/test_statements.py",
    "tests/test_conditions.py",
    "tests/versions/test_targets.py",
    "tests/resolve/test_imports.py",
    "tests/test_freezing.py",
    "tests/differential/test_differential.py",
    "tests/test_fixtures.py",
)
LEFT_OUT = "not pytorch_trains and not its_page"  # what does not run the core
CPU_SECONDS_OF_A_TEST = 15


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a mutant where the module of its name is imported."""

    def __init__(self, mutant: Mutant):
        super().__init__(mutant.module, str(mutant.path))
        self.mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.mutant.tree(), str(self.mutant.path), "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant):
        self.mutant = mutant

    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.mutant.module:
            return None
        return importlib.util.spec_from_file_location(fullname, self.mutant.path, loader=_Loader(self.mutant))


class _Watch:
    """Sends the tests that fail, and one that does not end, to the process that asked."""

    def __init__(self, pipe: int):
        self.pipe = pipe

    def send(self, words: str) -> None:
        os.write(self.pipe, (json.dumps(words) + "\n").encode())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        def end(*_: object) -> None:
            self.send(f"{item.nodeid} (no end)")
            os._exit(1)

        signal.signal(signal.SIGPROF, end)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS_OF_A_TEST)
        made = yield
        signal.setitimer(signal.ITIMER_PROF, 0)
        return made

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.send(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.send(f"{report.nodeid} (import)")


def failing(mutant: Mutant | None, tests: Sequence[str] = TESTS, without: Sequence[str] = ()) -> list[str]:
    """The tests that fail, at most one where there is a mutant; those of `without` are not run."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            _run(mutant, tests, without, writing)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as told:
        lines = told.read().splitlines()
    _, status = os.waitpid(child, 0)
    found = [json.loads(line) for line in lines]
    return found or ([f"the process ended with {status}"] if status else [])


def _run(mutant: Mutant | None, tests: Sequence[str], without: Sequence[str], pipe: int) -> None:
    """Run the tests in this process and end it."""
    if mutant is not None:
        import sys

        sys.meta_path.insert(0, _Finder(mutant))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    os.chdir(ROOT)
    code = 0
    with tempfile.TemporaryDirectory() as directory:
        options = [
            "-x",
            "-q",
            "--tb=no",
            "--assert=plain",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-k",
            LEFT_OUT,
            f"--basetemp={directory}/tests",
        ]
        options += [f"--deselect={each}" for each in without]
        for path in tests:
            code = pytest.main([*(options if mutant else options[1:]), path], plugins=[_Watch(pipe)])
            if code and mutant:
                break
    os._exit(0)
