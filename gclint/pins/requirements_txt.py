"""requirements files and pip's command line, which take the same options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from gclint.pins.pin import FilePins, Reading
from gclint.pins.requirement import EXPORTED, read_conda_requirement, read_requirement

INCLUDES = ("-r", "--requirement", "-c", "--constraint")
INDEXES = ("-i", "--index-url", "--extra-index-url", "-f", "--find-links")
FEWEST_LISTED = 3
LISTED = re.compile(r"[\w.-]+(?:\[[\w,. -]+\])?\s*(?:(?:[=<>~!]=|[<>])\s*[\w.*+!-]+\s*,?\s*)*")
WITH_VALUE = (*INCLUDES, *INDEXES, "-e", "--editable", "--trusted-host", "-t", "--target", "--prefix")


def read_requirements(text: str) -> FilePins:
    """The pins of a requirements or constraints file, its `-r`/`-c` includes and a ROCm index URL; a single `=` is
    conda's, as its exported lists write it.
    """
    reading = Reading()
    for number, line in _logical_lines(text):
        if line.startswith("-"):
            option, value = _option(line)
            _read_option(option, value, number, reading)
        elif EXPORTED.fullmatch(line.split(" #")[0].rstrip()):
            read_conda_requirement(line.split(" #")[0].rstrip(), number, reading)
        else:
            read_requirement(line, number, reading)
    return reading.done()


def read_listed(text: str) -> FilePins:
    """The same of a list under another name: of several lines, each of which names a package, most with a release."""
    lines = [line for _, line in _logical_lines(text)]
    is_list = len(lines) >= FEWEST_LISTED and all(LISTED.fullmatch(line) or EXPORTED.fullmatch(line) for line in lines)
    released = sum("=" in line for line in lines)
    return read_requirements(text) if is_list and len(lines) < 2 * released else FilePins()


def read_pip_words(words: Sequence[str], line: int, into: Reading) -> None:
    """Add the pins of `pip install WORDS...` (the words after `install`)."""
    pending = ""
    for word in words:
        if pending:
            _read_option(pending, word, line, into)
            pending = ""
        elif word.startswith("-"):
            option, value = _option(word)
            if value:
                _read_option(option, value, line, into)
            elif option in WITH_VALUE:
                pending = option
        else:
            read_requirement(word, line, into)


def split_words(command: str) -> list[str]:
    """A command line's words as a shell splits them; split at blanks when the quoting is broken."""
    try:
        return shlex.split(command, comments=True)
    except ValueError:
        return command.split()


def _logical_lines(text: str) -> list[tuple[int, str]]:
    lines: list[tuple[int, str]] = []
    number, joined = 0, ""
    for index, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        number = number if joined else index
        if line.endswith("\\") and not line.startswith("#"):
            joined += line[:-1] + " "
            continue
        joined += line
        if joined and not joined.startswith("#"):
            lines.append((number, joined.strip()))
        joined = ""
    if joined.strip():
        lines.append((number, joined.strip()))
    return lines


def _option(text: str) -> tuple[str, str]:
    words = text.replace("=", " ", 1) if text.startswith("--") else text
    option, _, value = words.partition(" ")
    if not value and len(option) > 2 and option[:2] in ("-r", "-c", "-i", "-f"):
        option, value = option[:2], option[2:]
    return option, value.split(" #")[0].strip().strip("\"'")


def _read_option(option: str, value: str, line: int, into: Reading) -> None:
    if option in INCLUDES:
        into.include(value)
    elif option in INDEXES and "rocm" in value.lower():
        into.add_rocm(line)
    elif option in ("-e", "--editable") and "://" in value:
        read_requirement(value, line, into)
