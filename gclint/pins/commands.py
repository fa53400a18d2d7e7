"""Install commands in texts that a shell runs: pip, uv and conda, with the variables that the text itself sets."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

from gclint.pins.pin import FilePins, Reading, canonical
from gclint.pins.requirement import CONDA_NAMES, read_conda_requirement
from gclint.pins.requirements_txt import read_pip_words, split_words

Values = dict[str, list[str]]

INSTALLS = re.compile(r"\b(?:pip[\d.]*|uv|conda|mamba|micromamba|poetry)\s")
GOES = re.compile(r"\bcd\s")
SEPARATORS = re.compile(r"&&|\|\||[;|`]")
ASSIGNMENT = re.compile(r"(?:export\s+|ARG\s+|ENV\s+|set\s+|%env\s+|!)?([A-Za-z_]\w*)=(\"[^\"]*\"|'[^']*'|[^\s;&|]*)")
VARIABLE = re.compile(
    r"\$\{\{\s*[\w.]*?(?P<workflow>[\w-]+)\s*\}\}|\$\{(?P<braced>\w+)(?::?-(?P<default>[^}]*))?\}|\$(?P<bare>[A-Za-z_]\w*)"
)
ENTRY = re.compile(r"\s*(?:-\s+)?([\w-]+):\s*(\S.*)?$")
ITEM = re.compile(r"\s*-\s+([\"']?)([^\"'\s:]+)\1\s*$")
PROMPT = re.compile(r"^\s*(?:RUN\s+|[-*]\s+|run:\s*|(?:-\s+)?[\w-]+:\s+\|?\s*|[$>!%]\s*)*")
LIBRARY = (
    r"(?i)\b(torch|pytorch|transformers|peft|trl|accelerate|deepspeed|diffusers|pytorch.lightning)\b"
    r"[`*]*(?:\]\([^)]*\))?\s*"
)
TOLD = re.compile(
    LIBRARY + r"(?:version\s|install(?:ed)?\s|==|=|\(?\s*we\s+used?\s|\()?\s*[`*]*"
    r"v?(\d+\.\d+(?:\.\d+)*(?:\.?dev\d*)?)(?![\d+.]*[\d+])"
    r"(?!(?:\]\([^)]*\))?\W*(?:or|and)\s+(?:above|higher|later|newer|greater|up)\b)"
)
AT_LEAST = re.compile(LIBRARY + r"(?:versions?\s*)?(?:>=|≥)\s*v?(\d+\.\d+(?:\.\d+)*)")
UP = r"(?:\+(?!\w)|(?:\]\([^)]*\))?\W*(?:or|and)\s+(?:above|higher|later|newer|greater|up)\b)"
OR_NEWER = re.compile(LIBRARY + r"(?:version\s)?\(?\s*v?(\d+\.\d+(?:\.\d+)*)" + UP)
OTHER = re.compile(r"\s*(?:[,/~–-]|to|or|and)+\s*v?(\d+(?:\.\d+)+)(" + UP + ")?")
"""A further release behind one that is told, as in `1.4 or 1.7`, and whether what is newer is meant as well."""
LINE = re.compile(LIBRARY + r"v?(\d+)\.x\b")
PYTHON = re.compile(
    r"(?i)\b(python)[`*]*\s*(?:==?|version\b|:|\s)\s*[`*]*v?(3\.\d+)(?:\.\d+)?(?![\w.]*[\w+])" + f"(?!{UP})"
)
CONDA = ("conda", "mamba", "micromamba")
CONDA_FILES = ("-f", "--file")
CONDA_WITH_VALUE = (*CONDA_FILES, "-c", "--channel", "-n", "--name", "-p", "--prefix", "--override-channels")
MOST_SPELLINGS = 8


def read_shell(text: str) -> FilePins:
    """What the install commands of a script say; two of them, of different branches, are a range."""
    return read_commands(text, {}) if INSTALLS.search(text) else FilePins()


def read_workflow(text: str) -> FilePins:
    """What the commands of a workflow install, for every value of its matrix and its variables."""
    return read_commands(text, _entries(text)) if INSTALLS.search(text) else FilePins()


def read_told(text: str) -> FilePins:
    """What readers are told to install, by a command or by a version that stands behind a library's name; of several
    versions any may be meant. The files that a command installs are its includes.
    """
    reading, commands = Reading(several=True), read_shell(text)
    for pin in commands.pins:
        reading.add(pin.package, pin.specifier, pin.line)
    installed = {pin.package for pin in commands.pins}
    for sign, name, version, line in sorted(_told(text), key=lambda one: one[0] != ">="):
        package = CONDA_NAMES.get(name.lower(), name)
        tested = sign == "==" and name.lower() != "python"  # a bound leaves open more than what was tested
        if tested or canonical(package) not in installed:
            reading.add(package, f"{sign}{version}", line)
    reading.includes += commands.includes
    return reading.done()


def _told(text: str) -> Iterator[tuple[str, str, str, int]]:
    """The releases that stand behind a library's name, one behind the other or alone: whether it is that one or what is
    newer as well, the name, the release and its line.
    """
    for sign, pattern in ((">=", AT_LEAST), (">=", OR_NEWER), ("==", TOLD), ("==", PYTHON), ("~=", LINE)):
        for line, told in enumerate(text.splitlines(), start=1):
            for found in pattern.finditer(told):
                yield sign, found[1], found[2] + (".0" if pattern is LINE else ""), line
                other = OTHER.match(told, found.end())
                while sign == "==" and other:
                    yield ">=" if other[2] else sign, found[1], other[1], line
                    other = OTHER.match(told, other.end())


def read_commands(text: str, values: Values) -> FilePins:
    """What the install commands of a text say, with these values of variables and those that it sets itself."""
    reading = Reading(several=True)
    known = {name: list(held) for name, held in values.items()}
    for line, command in logical_lines(text):
        if command.startswith("#"):
            continue
        note_assignments(command, known)
        read_command_line(command, line, known, reading)
    return reading.done()


def read_command_line(text: str, line: int, values: Mapping[str, Sequence[str]], into: Reading) -> None:
    """Add what the install commands of one line of a shell say."""
    if not INSTALLS.search(text) and not GOES.search(text):
        return
    for spelled in spellings(text, values):
        for command in SEPARATORS.split(spelled):
            _read_command(split_words(PROMPT.sub("", command)), line, into)


def note_assignments(text: str, values: Values) -> None:
    """Note the variables that a line sets; one that is set twice may have either value."""
    for name, value in ASSIGNMENT.findall(text) if "=" in text else ():
        for spelled in spellings(value.strip("\"'"), values):
            held = values.setdefault(name, [])
            if spelled and spelled not in held:
                held.append(spelled)


def spellings(text: str, values: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """A text with its variables replaced, once for each of their values; one that nothing sets stays as it is."""
    names = list(dict.fromkeys(_name(found) for found in VARIABLE.finditer(text))) if "$" in text else []
    choices = [values.get(name) or [""] for name in names]
    for chosen in islice(product(*choices), MOST_SPELLINGS):
        given = dict(zip(names, chosen, strict=True))
        yield VARIABLE.sub(lambda found, given=given: given[_name(found)] or found["default"] or found[0], text)  # type: ignore[misc]


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a text with the number of each (from 1), those that a backslash continues as one."""
    first, joined = 0, ""
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        first = first if joined else number
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        yield first, joined + line
        joined = ""
    if joined:
        yield first, joined


def _name(found: re.Match[str]) -> str:
    return found["workflow"] or found["braced"] or found["bare"]


def _read_command(words: Sequence[str], line: int, into: Reading) -> None:
    if len(words) == 2 and words[0] == "cd":
        into.folder = posixpath.normpath(posixpath.join(into.folder, words[1]))
        return
    for at, word in enumerate(words[:-1]):
        tool = word.rsplit("/", 1)[-1].rstrip("0123456789.")
        if (tool == "pip" and words[at + 1] == "install") or (tool in ("uv", "poetry") and words[at + 1] == "add"):
            read_pip_words(words[at + 2 :], line, into)
            return
        verb = at + 2 if words[at + 1] == "env" else at + 1
        if tool in CONDA and words[verb : verb + 1] in (["install"], ["create"], ["update"]):
            _read_conda_words(words[verb + 1 :], line, into)
            return


def _read_conda_words(words: Sequence[str], line: int, into: Reading) -> None:
    option = ""
    for word in words:
        if not word.startswith("-") and option not in CONDA_WITH_VALUE:
            read_conda_requirement(word, line, into)
            continue
        option, _, value = word.partition("=") if word.startswith("-") else (option, "", word)
        if value and option in CONDA_FILES:
            into.include(value)
        option = "" if value else option


def _entries(text: str) -> Values:
    """The keys of a YAML text that hold one word or a list of words, whatever they lie in."""
    values: Values = {}
    key = ""
    for raw in text.splitlines():
        if found := ITEM.match(raw):
            values.setdefault(key, []).append(found[2])
        elif found := ENTRY.match(raw):
            key = found[1]
            held = (found[2] or "").split(" #")[0].strip("[] ")
            values.setdefault(key, []).extend(item.strip("\"' ") for item in held.split(",") if held)
    return values
