"""A fix as a patch that `git apply` and `patch -p1` take: by the bytes of the files, also of a notebook."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gclint.fix.converge import REMAINS, fault
from gclint.fix.diff import NO_NEWLINE, unified_lines
from gclint.fix.edits import Chosen, apply_all
from gclint.report.escape import printable
from gclint.source.source import Source


class NoPatch(Exception):
    """A fix that cannot be had as a patch; the message says why."""


@dataclass(frozen=True)
class Patch:
    """A unified diff, and the directory that its names begin in ("" for the working directory)."""

    text: str
    directory: str = ""


def patch_of(chosen: Chosen, sources: Mapping[str, Source]) -> Patch:
    """Return what one fix changes in `sources`; raises `NoPatch`."""
    paths = {edit.path for edit in chosen.fix.edits}
    if paths - set(sources):
        raise NoPatch(f"{min(paths - set(sources))} cannot be read")
    current = {path: sources[path] for path in paths}
    why = fault(current, [chosen])
    if why:
        raise NoPatch(why)
    texts = apply_all({path: source.text for path, source in current.items()}, [chosen])
    if not texts:
        raise NoPatch(REMAINS)
    directory = _directory([os.fspath(current[path].absolute) for path in texts])
    pieces: list[str] = []
    for path, text in sorted(texts.items()):
        source = current[path]
        pieces += _hunks(_name(source, directory), source.data, source.encode(text))
    return Patch("".join(pieces), "" if directory == os.getcwd() else directory)


def _directory(files: list[str]) -> str:
    """The working directory where the files lie below it, else the nearest one that holds them all."""
    here = os.getcwd()
    inside = all(file.startswith(here.rstrip(os.sep) + os.sep) for file in files)
    return here if inside else os.path.commonpath([os.path.dirname(file) for file in files])


def _name(source: Source, directory: str) -> str:
    """The file as a patch names it; a tab ends a name that has spaces, as in those of git."""
    name = os.path.relpath(source.absolute, directory).replace(os.sep, "/")
    if printable(name) != name or '"' in name:
        raise NoPatch("a patch cannot name its file")
    return f"{name}\t" if " " in name else name


def _hunks(name: str, before: bytes, after: bytes) -> Iterator[str]:
    for line in unified_lines(_lines(before), _lines(after), name):
        text = line.removesuffix(f"\n{NO_NEWLINE}").removesuffix("\n").removesuffix("\r").replace("\t", "")
        if printable(text) != text:
            raise NoPatch("the lines around it hold control characters")
        yield line


def _lines(data: bytes) -> list[str]:
    try:
        return list(io.StringIO(data.decode(), newline="\n"))
    except UnicodeDecodeError:
        raise NoPatch("its file is not UTF-8") from None
