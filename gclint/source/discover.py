"""Which files a command is about: those named, and those found below the directories named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gclint.source.folders import entries
from gclint.source.ignored import Patterns, gitignore_in, gitignores_above, ignored
from gclint.source.source import Unreadable, unreadable_from

SUFFIXES = (".py", ".ipynb")
CONFIGURATIONS = (".yaml", ".yml", ".json")
LARGEST_CONFIGURATION = 64_000
MOST_CONFIGURATIONS = 2_000


@dataclass(frozen=True)
class Found:
    """A file to check: its path as shown, its absolute path, and whether the user named it."""

    path: str
    absolute: str


@dataclass(frozen=True)
class Discovery:
    """What a walk found, in order of path, and what it could not read.

    `configurations` are the small YAML and JSON files beside the code: read where they can be, never counted.
    """

    files: tuple[Found, ...]
    problems: tuple[Unreadable, ...]
    configurations: tuple[Found, ...] = ()


@dataclass(frozen=True)
class Exclusion:
    """What a walk leaves out: `excluded` patterns, .gitignore files, and with `force` also files named."""

    excluded: tuple[Patterns, ...] = ()
    respect_gitignore: bool = True
    force: bool = False


def discover(paths: Sequence[str], exclusion: Exclusion) -> Discovery:
    """Return the files that `paths` name, each once, ordered by path.

    Files named are taken whatever they are called, unless `exclusion.force` holds and they are excluded.
    Links to directories are not followed, nor links to files outside the directory that is walked.
    """
    files: dict[str, Found] = {}
    beside: dict[str, Found] = {}
    problems: list[Unreadable] = []
    for path in paths:
        absolute = os.path.abspath(path)
        if os.path.isdir(absolute):
            for found in _walk(absolute, exclusion, problems):
                kept = beside if found.path.endswith(CONFIGURATIONS) else files
                kept.setdefault(found.absolute, found)
        elif not os.path.exists(absolute):
            problems.append(Unreadable(path, "no such file or directory", "check the path"))
        elif not (exclusion.force and _excluded_above(absolute, exclusion)):
            files[absolute] = Found(shown(absolute), absolute)
    configurations = [found for path, found in beside.items() if path not in files][:MOST_CONFIGURATIONS]
    return Discovery(_ordered(files.values()), tuple(problems), _ordered(configurations))


def _ordered(files: Iterable[Found]) -> tuple[Found, ...]:
    return tuple(sorted(files, key=lambda found: found.absolute.split(os.sep)))


def shown(absolute: str) -> str:
    """Return `absolute` as reports show it: relative to the working directory where it lies below it."""
    return absolute[_hidden_prefix(absolute) :] or "."


def _hidden_prefix(absolute: str) -> int:
    """Return how many leading characters of `absolute` name the working directory, if it lies there."""
    try:
        here = os.getcwd().rstrip(os.sep) + os.sep
    except OSError:
        return 0
    return len(here) if (absolute + os.sep).startswith(here) else 0


def _walk(root: str, exclusion: Exclusion, problems: list[Unreadable]) -> Iterator[Found]:
    git = tuple(gitignores_above(root)) if exclusion.respect_gitignore else ()
    prefix = _hidden_prefix(root)
    todo = [(root, git)]
    while todo:
        directory, levels = todo.pop()
        try:
            listing = entries(directory)
        except OSError as error:
            problems.append(unreadable_from(shown(directory), error))
            continue
        if exclusion.respect_gitignore and any(entry.name == ".gitignore" for entry in listing):
            own = gitignore_in(directory)
            levels = (*levels, own) if own else levels
        for entry in listing:
            if entry.is_dir(follow_symlinks=False):
                if not _left_out(entry.path, True, exclusion, levels):
                    todo.append((entry.path, levels))
            elif (
                (entry.name.endswith(SUFFIXES) or _is_configuration(entry))
                and _inside(entry, root)
                and not _left_out(entry.path, False, exclusion, levels)
            ):
                yield Found(entry.path[prefix:], entry.path)


def _is_configuration(entry: os.DirEntry[str]) -> bool:
    if not entry.name.endswith(CONFIGURATIONS):
        return False
    try:
        return entry.stat().st_size <= LARGEST_CONFIGURATION
    except OSError:
        return False


def _inside(entry: os.DirEntry[str], root: str) -> bool:
    if not entry.is_symlink():
        return entry.is_file()
    target = os.path.realpath(entry.path)
    return os.path.isfile(target) and target.startswith(os.path.realpath(root) + os.sep)


def _left_out(path: str, directory: bool, exclusion: Exclusion, levels: tuple[Patterns, ...]) -> bool:
    if exclusion.excluded and ignored(exclusion.excluded, path, directory):
        return True
    return bool(levels) and ignored(levels, path, directory)


def _excluded_above(absolute: str, exclusion: Exclusion) -> bool:
    """Return whether the file or a directory above it is excluded."""
    git = tuple(gitignores_above(absolute)) if exclusion.respect_gitignore else ()
    directory, path = False, absolute
    while True:
        if _left_out(path, directory, exclusion, git):
            return True
        parent = os.path.dirname(path)
        if parent == path or not any(parent.startswith(level.base) for level in (*exclusion.excluded, *git)):
            return False
        directory, path = True, parent
