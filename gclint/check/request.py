"""What a command is about, made ready: files read, grouped by the configuration that holds for them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gclint.config import INLINE, Settings
from gclint.config_files import inline, load, nearest, of_user
from gclint.report.content import Asked
from gclint.source.discover import Discovery, Exclusion, Found, discover
from gclint.source.folders import begins_project, holds_any
from gclint.source.ignored import DEFAULT_EXCLUDE, patterns
from gclint.source.kinds import Kind, kind_of
from gclint.source.remembered import Files
from gclint.source.source import Source, Unreadable, parse, read

_ROOT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", "gclint.toml", ".gclint.toml")
_PACKAGE = ("__init__.py",)
_WEAK_ROOT_MARKS = ("requirements.txt", "environment.yml")


@dataclass(frozen=True)
class Request:
    """Which files, and what the command line says of the configuration.

    `given` are keys of `Settings` that take the place of the files' own, as do those of the texts `inline`, which
    `given` takes the place of; `config` is one file for everything, `isolated` none at all. `stdin` is text that stands
    for the file `stdin_name`. A long check is divided among `jobs` processes. `around` are the settings of
    directories that hold there whatever their files say.
    """

    paths: Sequence[str] = (".",)
    given: Mapping[str, Any] = field(default_factory=dict)
    config: str | None = None
    inline: tuple[str, ...] = ()
    isolated: bool = False
    cache: bool = True
    stdin: bytes | None = None
    stdin_name: str = "stdin.py"
    jobs: int = 1
    around: Mapping[str, Settings | None] = field(default_factory=dict)

    @property
    def asked(self) -> Asked:
        """What it asks, as words of a command line: its paths, and what decides how they are judged."""
        target = ",".join(f"{name}={version}" for name, version in self.given.get("target", {}).items())
        given = [(INLINE, self.config), *((INLINE, text) for text in self.inline), ("--target", target)]
        options = [word for name, value in given if value for word in (name, value)]
        return Asked(tuple(self.paths), (*options, *["--isolated"] * self.isolated))


@dataclass(frozen=True)
class Batch:
    """Files with the same configuration and project root; `sources` by path as shown."""

    settings: Settings
    root: Path
    sources: Mapping[str, Source]


@dataclass(frozen=True)
class Gathered:
    """The batches of a request, what could not be read, and how many files there were."""

    batches: tuple[Batch, ...]
    unreadable: tuple[Unreadable, ...]
    files: int


def settings_of(request: Request, directory: str, known: dict[str, Settings | None] | None = None) -> Settings:
    """Return the settings that hold in `directory`; raises `BadConfig`."""
    known = {**request.around} if known is None else known
    if request.isolated:
        found = Settings()
    elif request.config:
        found = load(request.config)
    else:
        found = nearest(directory, known) or of_user(known) or Settings()
    if request.inline:
        found = found.extended(inline(request.inline), root=found.root, origin=INLINE)
    return found.merged(**request.given) if request.given else found


def find(request: Request) -> Discovery:
    """Return the files the request names, by the exclusions that hold in the working directory's project."""
    settings = settings_of(request, directory_of(request.paths[0] if request.paths else "."))
    return discover(request.paths, exclusion_of(settings))


def directory_of(path: str) -> str:
    """Return the directory that a path is, or lies in."""
    absolute = os.path.abspath(path)
    return absolute if os.path.isdir(absolute) else os.path.dirname(absolute)


def exclusion_of(settings: Settings) -> Exclusion:
    """Return what the settings leave out of a walk, by patterns that are relative to the file that has them."""
    levels = [
        (level.root or os.getcwd(), (*(level.exclude or ()), *level.extend_exclude)) for level in settings.lineage()
    ]
    if all(level.exclude is None for level in settings.lineage()):
        levels.insert(0, (levels[0][0], DEFAULT_EXCLUDE))
    excluded = tuple(patterns(base, lines) for base, lines in levels if lines)
    return Exclusion(tuple(excluded), settings.respect_gitignore, settings.force_exclude)


def gather(request: Request, files: Files | None = None) -> Gathered:
    """Return the request's files, read and grouped, those that `files` remembers unread; raises `BadConfig`."""
    if request.stdin is not None:
        return _gather_stdin(request, request.stdin)
    discovery = find(request)
    unreadable = list(discovery.problems)
    members: dict[str, list[Source]] = {}
    settings: dict[str, Settings] = {}
    known = {**request.around}
    roots: dict[str, str] = {}
    marked: dict[str, bool] = {}
    beside = set(discovery.configurations)
    for found in (*discovery.files, *discovery.configurations):
        directory = os.path.dirname(found.absolute)
        if directory not in roots:
            own = settings_of(request, directory, known)
            roots[directory] = own.root or project_root(directory, request.paths, marked)
            settings[roots[directory]] = own
        try:
            source = (files.read if files is not None else read)(found.absolute, found.path, _kind(found))
        except Unreadable as error:
            if found not in beside:
                unreadable.append(error)
            continue
        members.setdefault(roots[directory], []).append(source)
    batches = tuple(
        Batch(settings[root], Path(root), {source.path: source for source in sources})
        for root, sources in sorted(members.items())
    )
    return Gathered(batches, tuple(unreadable), len(discovery.files))


def _gather_stdin(request: Request, data: bytes) -> Gathered:
    absolute = os.path.abspath(request.stdin_name)
    directory = os.path.dirname(absolute)
    settings = settings_of(request, directory)
    try:
        source = parse(request.stdin_name, Path(absolute), data)
    except Unreadable as error:
        return Gathered((), (error,), 1)
    root = Path(settings.root or project_root(directory, ()))
    return Gathered((Batch(settings, root, {source.path: source}),), (), 1)


def project_root(directory: str, paths: Sequence[str], marked: dict[str, bool] | None = None) -> str:
    """Return the nearest directory at or above `directory` that looks like a project's root.

    Without one it is the directory named in `paths` that holds `directory`, else the nearest with a list of
    requirements, else the outermost package that holds `directory`, or `directory` itself. `marked` remembers which
    directories look like a root.
    """
    known = {} if marked is None else marked
    start = directory if os.path.isdir(directory) else os.path.dirname(directory)
    for here in _upwards(start):
        if here not in known:
            known[here] = begins_project(here, _ROOT_MARKS)
        if known[here]:
            return here
    for path in paths:
        named = os.path.abspath(path)
        if os.path.isdir(named) and (directory + os.sep).startswith(named.rstrip(os.sep) + os.sep):
            return named
    return next((here for here in _upwards(start) if holds_any(here, _WEAK_ROOT_MARKS)), outermost_package(directory))


def outermost_package(directory: str) -> str:
    """Return the outermost package that holds a directory, which is one itself; else the directory."""
    while holds_any(directory, _PACKAGE) and holds_any(os.path.dirname(directory), _PACKAGE):
        directory = os.path.dirname(directory)
    return directory


def _upwards(directory: str) -> Iterator[str]:
    while True:
        yield directory
        parent = os.path.dirname(directory)
        if parent == directory:
            return
        directory = parent


def _kind(found: Found) -> Kind:
    """Return the kind its name says; a file named by the user that says none is Python."""
    kind = kind_of(found.path)
    return "python" if kind == "other" else kind
