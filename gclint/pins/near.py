"""The pins around a program: its own header, then its directory's files, then the parents' up to the root."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from gclint.pins.copies import copies_in
from gclint.pins.environments import read_conda
from gclint.pins.kinds import HINTS, NEVER_TRAINED_WITH, WORKFLOW_DIRECTORIES, Reader, reader_of
from gclint.pins.manifests import read_script_header
from gclint.pins.notebooks import read_notebook_cells
from gclint.pins.pin import FilePins, Pin, either
from gclint.pins.requirements_txt import read_requirements
from gclint.source.kinds import SIDE_DIRECTORIES
from gclint.source.source import inside

MAX_BYTES = 16_000_000
MAX_INCLUDES = 50
OWN = {".py": read_script_header, ".ipynb": read_notebook_cells}


@dataclass(frozen=True)
class Word:
    """What one file says about one package (`pin`), or that it asks for ROCm builds (`pin` is None); in a `hint`, what
    somebody is told to install.
    """

    path: Path
    line: int
    pin: Pin | None
    hint: bool = False


def words_near(root: Path, entry: Path | None) -> Iterator[Word]:
    """Every pin between `entry` (a file or directory; the root when None) and `root`, the nearest first.

    In one directory a copy of the library is believed before files, a single version before a range, and what tells
    no version last. Files that cannot be read say nothing; nothing outside `root` is read.
    """
    root = Path(os.path.abspath(root))
    start = Path(os.path.abspath(entry)) if entry is not None else root
    if start != root and root not in start.parents:
        start = root
    if start.suffix in OWN:
        yield from _words_in(start, root)
    here = start if start == root or start.is_dir() else start.parent
    for directory in (here, *here.parents):
        yield from _words_in(directory, root)
        if directory == root:
            return


def asks_for_rocm(root: Path, places: Iterable[str]) -> bool:
    """Whether anything around one of these files or directories, up to the root, asks for ROCm builds."""
    root = Path(os.path.abspath(root))
    around = {directory for place in places for directory in (Path(place), *Path(place).parents)}
    return any(word.pin is None for directory in sorted(around) for word in _words_in(directory, root))


def _words_in(place: Path, root: Path) -> list[Word]:
    """What a program says of itself, or what lies in a directory, the most believed first; nothing outside the root."""
    if place != root and root not in place.parents:
        return []
    if place.suffix in OWN:
        return list(_words_of(place, OWN[place.suffix], root, {place}))
    files, hints, copies = _around(place)
    found = [Word(path, line, Pin(package, f"=={version}", line)) for package, version, path, line in copies]
    words = [word for path, read in files for word in _words_of(path, read, root, {path})]
    found += sorted((word for word in words if not _is_workflow(word.path)), key=_order)
    found += _any_of([word for word in words if _is_workflow(word.path)])
    for path, read in hints:
        told = [word for word in _words_of(path, read, root, {path}) if word.pin is not None]
        found += [replace(word, hint=True) for word in _any_of(told)]
    return found


def _order(word: Word) -> int:
    return 0 if word.pin is None or word.pin.exact else 2 if word.pin.open else 1


def _is_workflow(path: Path) -> bool:
    return path.parent.name in WORKFLOW_DIRECTORIES


def _any_of(words: list[Word]) -> list[Word]:
    """Of what several workflows install, or a reader is told to, any may be what runs: a range at the first's place."""
    found: dict[str, Word] = {}
    for word in words:
        name = word.pin.package if word.pin is not None else ""
        held = found.setdefault(name, word)
        if held.pin is not None and word.pin is not None:
            found[name] = replace(held, pin=either(held.pin, word.pin))
    return list(found.values())


def _words_of(path: Path, read: Reader, root: Path, seen: set[Path]) -> Iterator[Word]:
    if not inside(path, root):
        return
    found = _read_file(path, read)
    if found.rocm_line and not _is_workflow(path):  # that a build is tested says not that one trains with it
        yield Word(path, found.rocm_line, None)
    for pin in found.pins:
        yield Word(path, pin.line, pin)
    for include in found.includes:
        target = Path(os.path.normpath(path.parent / include))
        if target not in seen and root in target.parents and len(seen) < MAX_INCLUDES:
            seen.add(target)
            conda = target.suffix in (".yml", ".yaml")
            yield from _words_of(target, read_conda if conda else read_requirements, root, seen)


Files = tuple[tuple[Path, Reader], ...]
Copies = tuple[tuple[str, str, Path, int], ...]


def _around(directory: Path) -> tuple[Files, Files, Copies]:
    """The files that tell versions, those that hint at some, and the copies of libraries in a directory."""
    files, hints, copies = _listing(str(directory), _changed(directory))
    for name in SIDE_DIRECTORIES:
        side = directory / name
        if side.is_dir():
            more, told, _ = _listing(str(side), _changed(side))
            files, hints = files + more, hints + told
    return files, hints, copies


def _changed(directory: Path) -> int:
    try:
        return directory.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=512)
def _listing(directory: str, changed: int) -> tuple[Files, Files, Copies]:
    ranked: list[tuple[bool, int, str, Reader]] = []
    hints: list[tuple[str, Reader]] = []
    try:
        with os.scandir(directory) as entries:
            names = {entry.name: entry.is_dir() for entry in entries}
    except OSError:
        return (), (), ()
    for name, is_directory in sorted(names.items()):
        ranked_reader = None if is_directory else reader_of(name, os.path.basename(directory))
        if ranked_reader is None:
            continue
        rank, read = ranked_reader
        if rank == HINTS:
            hints.append((name, read))
        else:
            ranked.append((NEVER_TRAINED_WITH.search(name) is not None, rank, name, read))
    ranked.sort(key=lambda row: row[:3])
    held = tuple((Path(directory, name), read) for _, _, name, read in ranked)
    copies = copies_in(Path(directory), sorted(name for name, is_directory in names.items() if is_directory))
    return held, tuple((Path(directory, name), read) for name, read in hints), copies


def _read_file(path: Path, read: Reader) -> FilePins:
    try:
        status = path.stat()
    except OSError:
        return FilePins()
    return _read_bytes(str(path), status.st_mtime_ns, status.st_size, read)


@lru_cache(maxsize=1024)
def _read_bytes(path: str, changed: int, size: int, read: Reader) -> FilePins:
    if size > MAX_BYTES or not os.path.isfile(path):
        return FilePins()
    try:
        with open(path, "rb") as handle:
            raw = handle.read()
    except OSError:
        return FilePins()
    utf16 = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    return read(raw.decode("utf-16" if utf16 else "utf-8-sig", errors="replace"))
