"""What a program does in CPython: run in this process with recording stand-ins, once for each of its inputs."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import re
import sys
import traceback
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from unittest import mock

from .grammar import LETTERS

MOST_LINES = 4_000
_WRONG = (NameError, TypeError, AttributeError)


@dataclass(frozen=True)
class Inputs:
    """A letter and whether the switch is on, as a program is given them."""

    letter: str
    switch: bool

    @property
    def arguments(self) -> list[str]:
        """The command line, in the spelling that a program's header reads."""
        return ["program.py", self.letter, "on" if self.switch else "off"]

    @property
    def options(self) -> list[str]:
        """The command line of a program with options."""
        return ["program.py", "--a", self.letter, *(["--b"] if self.switch else [])]

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables."""
        return {"LETTER": self.letter, **({"SWITCH": "on"} if self.switch else {})}


INPUTS = [Inputs(letter, switch) for letter, switch in itertools.product(LETTERS, (True, False))]


@dataclass(frozen=True)
class Observed:
    """A recorded call: its line, and the `use_reentrant` that it was given, as Python writes it."""

    line: int
    value: str


def modules(text: str) -> dict[str, str]:
    """The files of a program by module name: "program", and after lines `# module name` those that it imports, in the
    order in which they are imported first.
    """
    main, *others = re.split(r"^# module (?=\w+\n)", text, flags=re.MULTILINE)
    return {"program": main, **dict(other.split("\n", 1) for other in others)}


class TooLong(BaseException):
    """A program that does not end within `MOST_LINES` lines."""


@contextlib.contextmanager
def process(text: str, inputs: Inputs) -> Iterator[None]:
    """A process that was started with these inputs, as far as the program can see."""
    arguments = inputs.options if "argparse" in text else inputs.arguments
    with mock.patch.object(sys, "argv", arguments), mock.patch.dict(os.environ, inputs.environment, clear=True):
        yield


@dataclass
class Happened:
    """The calls that a program made until it ended, and whether it ended with an error that no `raise` in it names."""

    calls: list[Observed] = field(default_factory=list)
    crashed: bool = False


def observe(text: str, inputs: Inputs) -> Happened | None:
    """What the program does with these inputs; None where it does not end, or goes wrong."""
    happened = Happened()

    def checkpoint(function: object, *given: object, use_reentrant: object = None) -> None:
        frame = sys._getframe(1)
        if frame.f_code.co_filename == "program.py":
            happened.calls.append(Observed(frame.f_lineno, repr(use_reentrant)))

    torch, utils, module = (types.ModuleType(name) for name in ("torch", "torch.utils", "torch.utils.checkpoint"))
    module.checkpoint = checkpoint  # type: ignore[attr-defined]
    stand_ins = {"torch": torch, "torch.utils": utils, "torch.utils.checkpoint": module}
    lines = itertools.count()

    wrong: list[type] = []

    def trace(frame: types.FrameType, event: str, given: object) -> object:
        if frame.f_code.co_filename != "program.py":
            return None
        if event == "exception" and isinstance(given, tuple) and issubclass(given[0], _WRONG):
            wrong.append(given[0])
        if next(lines) > MOST_LINES:
            raise TooLong
        return trace

    held = sys.gettrace()
    with (
        process(text, inputs),
        mock.patch.dict(sys.modules, stand_ins),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        sys.settrace(trace)  # type: ignore[arg-type]
        try:
            main, *others = modules(text).items()
            for name, content in others:
                sys.modules[name] = types.ModuleType(name)
                exec(compile(content, f"{name}.py", "exec"), vars(sys.modules[name]))
            exec(compile(main[1], "program.py", "exec"), {"__name__": "__main__"})
        except TooLong:
            return None
        except SystemExit:
            happened.crashed = False
        except Exception as error:
            happened.crashed = not _is_raised_by_name(error, text)
        finally:
            sys.settrace(held)
    return None if wrong else happened


def _is_raised_by_name(error: Exception, text: str) -> bool:
    lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == "program.py"]
    last = modules(text)["program"].splitlines()[(lines[-1] or 1) - 1] if lines else ""
    return last.lstrip().startswith(("raise", "assert"))
