"""A pin: one package, what is allowed of it, and where that is written."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field, replace
from functools import lru_cache

ANY = ">=0"


@dataclass(frozen=True)
class Pin:
    """`specifier` is PEP 440 text such as "==4.44.2" or ">=4.40,<5", never empty; `line` counts from 1, in a notebook
    within its `cell`.
    """

    package: str
    specifier: str
    line: int
    cell: int = 0

    @property
    def exact(self) -> bool:
        """Whether exactly one version is allowed."""
        return self.specifier.startswith("==") and not set(self.specifier) & set(",*")

    @property
    def open(self) -> bool:
        """Whether it is only said where the package comes from: a commit, a branch."""
        return self.specifier == ANY


@dataclass(frozen=True)
class FilePins:
    """What one file says: pins, the files it includes (as written), the line that asks for ROCm (0: none)."""

    pins: tuple[Pin, ...] = ()
    includes: tuple[str, ...] = ()
    rocm_line: int = 0


@dataclass
class Reading:
    """The pins of a file while it is read, the first word on a package kept; of `several` commands, of which any may
    be what was run, all exact ones, as a range. `folder` is where they have gone by `cd`.
    """

    several: bool = False
    pins: dict[str, Pin] = field(default_factory=dict)
    includes: list[str] = field(default_factory=list)
    rocm_line: int = 0
    folder: str = ""

    def add(self, package: str, specifier: str, line: int) -> None:
        """Note a pin; an empty specifier, or a variable's, says nothing about the version and is dropped."""
        name = canonical(package)
        specifier = "".join(specifier.split())
        if "+rocm" in specifier or name == "pytorch-triton-rocm":
            self.add_rocm(line)
        if specifier and specifier != "*" and "$" not in specifier:
            pin = Pin(name, re.sub(r"\+[\w.]+", "", specifier), line)
            held = self.pins.setdefault(name, pin)
            if self.several:
                self.pins[name] = either(held, pin)

    def include(self, path: str) -> None:
        """Note a file that is included, from where the commands have gone so far and from where they began."""
        self.includes += dict.fromkeys((posixpath.join(self.folder, path), path))

    def add_rocm(self, line: int) -> None:
        """Note that the file asks for ROCm builds; the first line is kept."""
        self.rocm_line = self.rocm_line or line

    def done(self) -> FilePins:
        """What has been read."""
        return FilePins(tuple(self.pins.values()), tuple(self.includes), self.rocm_line)


def either(first: Pin, second: Pin) -> Pin:
    """The first pin where it is the same or a range of its own; of exact ones, what they name and what lies between."""
    from packaging.version import InvalidVersion, Version

    one, other = first.specifier, second.specifier
    if one == other:
        return first
    texts = [part.lstrip("=<>").removesuffix(".*") for part in (*one.split(","), *other.split(","))]
    try:
        ends = sorted(map(Version, texts))
    except InvalidVersion:
        return first
    exact = other.startswith("==") and (one.startswith("==") or re.fullmatch(r">=[^,]+,<=[^,]+", one))
    return replace(first, specifier=f">={ends[0]},<={ends[-1]}") if exact else first


@lru_cache(maxsize=1024)
def canonical(package: str) -> str:
    """The package's name as PyPI compares it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", package.strip()).lower()


def line_of(text: str, needle: str, start: int = 0) -> int:
    """The line (from 1) where `needle` first occurs after offset `start`; 1 when it does not."""
    at = text.find(needle, start)
    return text.count("\n", 0, at) + 1 if at >= 0 else 1
