"""Entries: how each file of a project is started, by launchers, by itself, or by the commands it installs."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gclint.launch import Command, Launch, console_scripts, is_readme, launches

if TYPE_CHECKING:
    from gclint.source.source import Source

    from .project import Project

MOST_LAUNCHES = 6
MOST_SHOWN = 2  # of these in a README
_SEVERAL_NUMBERS = re.compile(r"\d+(,\d+)+")
STARTS = re.compile(rb"^if\b.*__name__.*__main__|^if\b.*__main__.*__name__", re.MULTILINE)
STARTS_WHAT_IT_DECORATES = re.compile(rb"^@\w+\.automain\b", re.MULTILINE)
"""How sacred starts the function of a file that is run as a script (sacred/experiment.py)."""
ONLY_CALLS = re.compile(
    rb"^if\b[^\n]*__name__[^\n]*:[^\n]*\n+[ \t]+(?:sys\.exit\(|raise SystemExit\()?(\w+)\(\)\)?[ \t]*(?:#[^\n]*)?\s*\Z",
    re.MULTILINE,
)


class Entry(NamedTuple):
    """One way a program starts: the launch, None when no launcher starts it so, and the function that is called
    in its module, "" where the file is run as a script. `alike` are other launches that say nothing more: what is found
    in the text of the launch itself is asked of them too. `opened` is what a script does in other hands: the launch
    with whatever further options somebody gives. `acting` is a file that nothing starts and whose top level is a
    program all the same: within a package it is imported as a module of that.
    """

    launch: Launch | None = None
    function: str = ""
    alike: tuple[Launch, ...] = ()
    opened: bool = False
    acting: bool = False


def with_more_options(launch: Launch) -> Entry:
    """A launch with whatever its script may be given besides."""
    return Entry(replace(launch, arguments=(*launch.arguments, "$@")), launch.function, opened=True)


def _starts(source: Source) -> bool:
    by_name = "__main__" in source.marks and STARTS.search(source.data) is not None
    return by_name or (b".automain" in source.data and STARTS_WHAT_IT_DECORATES.search(source.data) is not None)


def _called_by_script(source: Source) -> str:
    """The function that a file calls, and does nothing else, where it is run as a script; "" where it does other."""
    found = ONLY_CALLS.search(source.data) if _starts(source) else None
    return found[1].decode() if found is not None else ""


class _Started(NamedTuple):
    """What is started below a directory, by file (an absolute path): by launchers, and by installed commands."""

    launches: dict[str, list[Launch]]
    commands: dict[str, list[Command]]


class Entries:
    """The entries of a project's files; launchers and manifests are read once per program root."""

    def __init__(self, project: Project):
        self._project = project
        self._below: dict[Path, _Started] = {}
        self._near: dict[str, _Started] = {}

    def of(self, path: str) -> list[Entry]:
        """How the file starts, several processes first; empty for a module that only others import. What a README shows
        is one of many ways: where nothing else starts the file, it is walked with nothing said as well.
        """
        source = self._project.sources.get(path)
        if source is None:
            return []
        main = _called_by_script(source)
        known = self._all_launches(path)
        chosen = _chosen(known, main)
        left = [each for each in known if each not in chosen][: MOST_LAUNCHES - len(chosen)]
        near = [next((one for one in chosen if _said(each, main) <= _said(one, main)), chosen[0]) for each in left]
        found = [
            Entry(one, one.function, tuple(each for each, other in zip(left, near, strict=True) if other is one))
            for one in chosen
        ]
        only_shown = all(is_readme(launch.path) for launch in chosen)
        if only_shown and (source.kind == "notebook" or chosen or _starts(source)):
            found.append(Entry())
        launched = {entry.function for entry in found}
        launched |= {"", main} if launched & {"", main} else set()
        for command in self._started_near(path).commands.get(path, ()):
            if command.function not in launched:
                found.append(Entry(None, command.function))
                launched.add(command.function)
        return found

    def launches(self, path: str) -> list[Launch]:
        """The launches of the file, several processes first and what a README shows last: those that differ in what
        they say, at most `MOST_LAUNCHES`, and among these the ones that say most.
        """
        source = self._project.sources.get(path)
        return _chosen(self._all_launches(path), _called_by_script(source) if source is not None else "")

    def commands(self, path: str) -> list[Launch]:
        """Everything that starts the file, also what says nothing more than another."""
        near = self._started_near(path).launches.get(path, [])
        everywhere = self._started_below(self._project.root).launches.get(path, [])
        told = {(launch.path, launch.line) for launch in near}
        return [*near, *(item for item in everywhere if (item.path, item.line) not in told)]

    def _all_launches(self, path: str) -> list[Launch]:
        own = [launch for launch in self.commands(path) if not is_readme(launch.path) or _tells_more(launch)]
        own.sort(key=lambda one: (is_readme(one.path), not one.distributed, str(one.path), one.line))
        return own

    def _started_near(self, path: str) -> _Started:
        directory = os.path.dirname(path)
        if directory not in self._near:
            self._near[directory] = self._started_below(self._project.program_root(path))
        return self._near[directory]

    def _started_below(self, root: Path) -> _Started:
        if root not in self._below:
            made = _Started({}, {})
            for launch in launches(root):
                made.launches.setdefault(os.path.realpath(launch.program), []).append(launch)
            for command in console_scripts(root):
                made.commands.setdefault(os.path.realpath(command.program), []).append(command)
            self._below[root] = made
        return self._below[root]


def _chosen(launches: Sequence[Launch], main: str) -> list[Launch]:
    chosen = differing(launches, main)
    shown = [launch for launch in chosen if is_readme(launch.path)]
    return [launch for launch in chosen if launch not in shown[MOST_SHOWN:]]


def differing(launches: Sequence[Launch], main: str = "") -> list[Launch]:
    """The first launch, and again and again the one that says most of what none before it said, at most
    `MOST_LAUNCHES`. In their own order. To call the function `main` is to run the file as a script.
    """
    left, chosen, told = list(launches), list[Launch](), set[object]()
    while left and len(chosen) < MOST_LAUNCHES:
        best = left[0] if not chosen else max(left, key=lambda launch: len(_said(launch, main) - told))
        if chosen and _said(best, main) <= told:
            break
        left.remove(best)
        chosen.append(best)
        told |= _said(best, main)
    return sorted(chosen, key=launches.index)


def _tells_more(launch: Launch) -> bool:
    """Whether a launch tells more than options, each of which a program is judged with and without anyway."""
    return launch.distributed is not False or bool(launch.configs or launch.environment)


def _said(launch: Launch, main: str) -> frozenset[object]:
    """What a launch says of a run: its options and variables with their values, other than where files are. Of a
    number, and of how many devices there are, that it is none, one or several.
    """
    words = [word for argument in launch.arguments for word in argument.split("=", 1)]
    options = {
        (word, _roughly(following))
        for word, following in pairwise([*words, ""])
        if word.startswith("-") and not _is_place(following)
    }
    settings = {
        (key, _roughly(value))
        for key, equals, value in (argument.partition("=") for argument in launch.arguments)
        if equals and not key.startswith("-") and not _is_another_place(key, value)
    }
    variables = {(each.name, _roughly(each.value)) for each in launch.environment if not _is_place(each.value)}
    whole = (launch.distributed, launch.strategy, "" if launch.function == main else launch.function)
    return frozenset({whole, *options, *settings, *variables, *map(str, launch.configs)})


def _is_another_place(key: str, value: str) -> bool:
    """Whether what `key=value` sets is where something is: a file or folder, but for one that a group of settings is
    taken from, as by `experiment=tuned/large` (https://hydra.cc/docs/advanced/override_grammar/basic/).
    """
    is_group = "." not in key.partition("@")[0] and not os.path.isabs(value)
    return "$" in value or ("/" in value and not is_group)


def _roughly(word: str) -> str:
    if _SEVERAL_NUMBERS.fullmatch(word):
        return "several"
    return "several" if word.isdecimal() and int(word) > 1 else word


def _is_place(word: str) -> bool:
    return "/" in word or "$" in word
