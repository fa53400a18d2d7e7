"""The pins around a program: its own header, then its directory's files, then the parents' up to the root."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gclint.pins.environments import read_conda, read_dockerfile
from gclint.pins.locks import read_pipfile_lock, read_toml_lock
from gclint.pins.manifests import (
    read_pipfile,
    read_pyproject,
    read_script_header,
    read_setup_cfg,
    read_setup_py,
)
from gclint.pins.pin import FilePins, Pin
from gclint.pins.requirements_txt import read_requirements
from gclint.source.source import inside

MAX_BYTES = 16_000_000
MAX_INCLUDES = 50
SIDE_DIRECTORIES = ("requirements", "docker", ".devcontainer")

# in the order in which files of one directory are believed
KINDS: tuple[tuple[re.Pattern[str], Callable[[str], FilePins]], ...] = (
    (re.compile(r"requirements\.(?:txt|in)"), read_requirements),
    (re.compile(r"(?:.*[-_.])?(?:requirements|constraints)(?:[-_.].*)?\.(?:txt|in)"), read_requirements),
    (re.compile(r"pyproject\.toml"), read_pyproject),
    (re.compile(r"setup\.cfg"), read_setup_cfg),
    (re.compile(r"setup\.py"), read_setup_py),
    (re.compile(r"(?:uv|poetry|pdm)\.lock"), read_toml_lock),
    (re.compile(r"Pipfile\.lock"), read_pipfile_lock),
    (re.compile(r"Pipfile"), read_pipfile),
    (re.compile(r"(?:.*[-_.])?(?:environment|conda)(?:[-_.].*)?\.ya?ml"), read_conda),
    (re.compile(r"(?:.*\.)?(?:Dockerfile|Containerfile)(?:\..*)?|.*\.dockerfile"), read_dockerfile),
)
NOT_FOR_TRAINING = re.compile(r"(?:^|[-_.])(?:dev|test|tests|docs?|lint|ci)(?:[-_.]|$)")


@dataclass(frozen=True)
class Word:
    """What one file says about one package (`pin`), or that it asks for ROCm builds (`pin` is None)."""

    path: Path
    line: int
    pin: Pin | None


def words_near(root: Path, entry: Path | None) -> Iterator[Word]:
    """Every pin between `entry` (a file or directory; the root when None) and `root`, the nearest first.

    In one directory a single version is believed before a range. Files that cannot be read say nothing;
    nothing outside `root` is read.
    """
    root = Path(os.path.abspath(root))
    start = Path(os.path.abspath(entry)) if entry is not None else root
    if start != root and root not in start.parents:
        start = root
    if start.suffix == ".py":
        yield from _words_in(start, root)
    here = start if start == root or start.is_dir() else start.parent
    for directory in (here, *here.parents):
        words = _words_in(directory, root)
        yield from sorted(words, key=lambda word: word.pin is not None and not word.pin.exact)
        if directory == root:
            return


def asks_for_rocm(root: Path, places: Iterable[str]) -> bool:
    """Whether anything around one of these files or directories, up to the root, asks for ROCm builds."""
    root = Path(os.path.abspath(root))
    around = {directory for place in places for directory in (Path(place), *Path(place).parents)}
    return any(word.pin is None for directory in sorted(around) for word in _words_in(directory, root))


def _words_in(place: Path, root: Path) -> list[Word]:
    """What a script's header, or the files of a directory, say; nothing outside the root."""
    if place != root and root not in place.parents:
        return []
    if place.suffix == ".py":
        return list(_words_of(place, read_script_header, root, {place}))
    return [word for path, read in _files(place) for word in _words_of(path, read, root, {path})]


def _words_of(path: Path, read: Callable[[str], FilePins], root: Path, seen: set[Path]) -> Iterator[Word]:
    if not inside(path, root):
        return
    found = _read_file(path, read)
    if found.rocm_line:
        yield Word(path, found.rocm_line, None)
    for pin in found.pins:
        yield Word(path, pin.line, pin)
    for include in found.includes:
        target = Path(os.path.normpath(path.parent / include))
        if target not in seen and root in target.parents and len(seen) < MAX_INCLUDES:
            seen.add(target)
            yield from _words_of(target, read_requirements, root, seen)


def _files(directory: Path) -> tuple[tuple[Path, Callable[[str], FilePins]], ...]:
    try:
        changed = directory.stat().st_mtime_ns
    except OSError:
        return ()
    found = _listing(str(directory), changed)
    for name in SIDE_DIRECTORIES:
        if (directory / name).is_dir():
            found += _listing(str(directory / name), (directory / name).stat().st_mtime_ns)
    return found


@lru_cache(maxsize=512)
def _listing(directory: str, changed: int) -> tuple[tuple[Path, Callable[[str], FilePins]], ...]:
    ranked: list[tuple[bool, int, str, Callable[[str], FilePins]]] = []
    in_side = os.path.basename(directory) == "requirements"
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in entries if entry.is_file()]
    except OSError:
        return ()
    for name in names:
        for rank, (pattern, read) in enumerate(KINDS):
            if pattern.fullmatch(name) or (in_side and rank == 1 and name.endswith((".txt", ".in"))):
                ranked.append((NOT_FOR_TRAINING.search(name) is not None, rank, name, read))
                break
    ranked.sort(key=lambda row: row[:3])
    return tuple((Path(directory, name), read) for _, _, name, read in ranked)


def _read_file(path: Path, read: Callable[[str], FilePins]) -> FilePins:
    try:
        status = path.stat()
    except OSError:
        return FilePins()
    return _read_bytes(str(path), status.st_mtime_ns, status.st_size, read)


@lru_cache(maxsize=1024)
def _read_bytes(path: str, changed: int, size: int, read: Callable[[str], FilePins]) -> FilePins:
    if size > MAX_BYTES or not os.path.isfile(path):
        return FilePins()
    try:
        with open(path, "rb") as handle:
            raw = handle.read()
    except OSError:
        return FilePins()
    utf16 = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    return read(raw.decode("utf-16" if utf16 else "utf-8-sig", errors="replace"))
