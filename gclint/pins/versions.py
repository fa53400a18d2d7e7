"""The versions a run is judged for: asked for, configured, pinned, installed, or the newest known."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from gclint.finding import Basis
from gclint.installed import OWN, Environment, environment_of
from gclint.pins import companions
from gclint.pins.near import words_near
from gclint.pins.pin import Pin, canonical
from gclint.pins.releases import LAST_OF_LINE, allowed, newest
from gclint.source.source import shown

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

ASSUMED = "newest"  # where nothing says the release
ASKED = {"flag": "--target", "config": "the configuration"}


class TargetError(ValueError):
    """A target version that cannot be read; the text says which and from where."""


@dataclass(frozen=True)
class Target:
    """The version of one package that a run is judged for.

    `version` is None when nothing is known of the package. `origin` is "flag", "config", a place such as
    "requirements.txt:3", "installed", "newest" (of those that fit what is pinned) or "unknown". `range` is what
    the origin allows, None when it is no range; `oldest` and `version` are then its two ends among the known
    releases, so that a rule can say that its answer differs inside the range. `path` and `line` (in a notebook of its
    `cell`) are the place of a pin as it is shown, "" and 0 without; of what is installed `path` is its environment, ""
    for gclint's own.
    """

    version: Version | None
    origin: str
    range: SpecifierSet | None = None
    oldest: Version | None = None
    path: str = ""
    line: int = 0
    cell: int = 0

    @property
    def place(self) -> str:
        """Where the pin is written, "" without one."""
        cell = f"cell {self.cell}:" if self.cell else ""
        return f"{self.path}:{cell}{self.line}" if self.line else ""

    @property
    def exact(self) -> bool:
        """Whether the origin leaves no other known release."""
        return self.oldest == self.version


@dataclass(frozen=True)
class Place:
    """A line of a file."""

    path: str
    line: int


@dataclass(frozen=True)
class Targets:
    """The targets of one program. A package is decided when it is first asked for.

    `hints` are the releases that somebody is told to install, of packages of which nothing else is stated: nothing is
    judged for them, and what does not hold with them is not told. What nobody states is as the `environment` has it.
    """

    stated: Mapping[str, Target] = field(default_factory=dict)
    hints: Mapping[str, Target] = field(default_factory=dict)
    rocm_place: Place | None = None
    rocm_stated: bool = False
    environment: Environment = OWN

    def __getitem__(self, package: str) -> Target:
        """The package's target; never raises, an unknown package has no version."""
        name = canonical(package)
        return self.stated.get(name) or _without_pin(name, self.environment)

    def version(self, package: str) -> Version | None:
        """The version that decides, None when nothing is known."""
        return self[package].version

    def told(self, package: str) -> Target:
        """The package's target, or what readers are told to install where neither a pin nor an environment of the
        project's own says more.
        """
        target = self[package]
        own = target.path or target.origin in ASKED
        return target if own else self.hints.get(canonical(package), target)

    def basis(self, package: str) -> Basis:
        """The release that a finding is judged for, and whether it is known."""
        target = self[package]
        told = target.origin in ASKED or (target.exact and target.origin not in (ASSUMED, "unknown"))
        source = ASKED.get(target.origin, target.place or _where_installed(target))
        version = str(target.version or "")
        return Basis(package, version, told and version != "", source, target.path if target.line else "", target.line)

    def differs(self, package: str, boundary: str) -> bool:
        """Whether the allowed range lies on both sides of `boundary` (versions below it, and from it on)."""
        from packaging.version import Version

        target = self[package]
        if target.version is None or target.oldest is None:
            return False
        return target.oldest < Version(boundary) <= target.version

    @property
    def rocm(self) -> bool:
        """Whether pins, index URLs or images ask for ROCm builds (`rocm_place` says where)."""
        return self.rocm_stated or self.rocm_place is not None


def targets_for(
    root: Path,
    entry: Path | None = None,
    flag: Mapping[str, str] | None = None,
    config: Mapping[str, str] | None = None,
) -> Targets:
    """The targets for the program `entry` in the project `root`.

    `flag` and `config` map a package to a version ("2.5" means any 2.5) or specifiers (">=4.40,<5"); the name
    "rocm" states that the run is on ROCm. Raises TargetError when one of them cannot be read.
    """
    stated: dict[str, Target] = {}
    for origin, wanted in (("flag", flag or {}), ("config", config or {})):
        for package, text in wanted.items():
            stated.setdefault(canonical(package), _asked(canonical(package), text, origin))
    hints: dict[str, Target] = {}
    names: dict[Path, tuple[str, str]] = {}
    top = os.path.abspath(root)
    rocm_place: Place | None = None
    for word in words_near(root, entry):
        if word.pin is None:
            rocm_place = rocm_place or Place(shown(str(word.path)), word.line)
        elif word.pin.package not in (into := hints if word.hint else stated):
            if word.path not in names:
                names[word.path] = os.path.relpath(word.path, top).replace(os.sep, "/"), shown(str(word.path))
            target = _pinned(word.pin, *names[word.path])
            if target is not None:
                into[word.pin.package] = target
    environment = environment_of(top)
    stated |= _beside_each_other(stated, environment)
    told = hints | _beside_each_other(hints | stated, environment)
    left = {name: target for name, target in told.items() if name not in stated}
    rocm_stated = "rocm" in (flag or {}) or "rocm" in (config or {})
    return Targets(stated, left, rocm_place, rocm_stated, environment)


ONE_RELEASE = re.compile(r"===?[^*,]+$|==\d+(?:\.\d+){2}\.\*$")
"""One release, also as conda asks for it: `name=1.2.3` allows what was repaired in how it was built."""
LINE_OF_PYTHON = re.compile(r"===?(\d+\.\d+)[^,]*$")


def _where_installed(target: Target) -> str:
    """How it is said that a release is installed, and in which environment; "" where it is not."""
    if target.origin != "installed":
        return ""
    return f"installed in {target.path}" if target.path else "installed"


def _pinned(pin: Pin, relative: str, path: str) -> Target | None:
    target = _decide(pin.package, pin.specifier)
    if target is None:
        return None
    cell = f"cell {pin.cell}:" if pin.cell else ""
    return replace(target, origin=f"{relative}:{cell}{pin.line}", path=path, line=pin.line, cell=pin.cell)


def _beside_each_other(stated: Mapping[str, Target], environment: Environment) -> dict[str, Target]:
    """The targets that differ where exact pins of other packages exclude what would be decided without them."""
    pinned = {name: target.version for name, target in stated.items() if target.version is not None and target.exact}
    open_ = [name for name in LAST_OF_LINE if name not in pinned and companions.concerns(name, pinned)]
    found = {name: _fitting(name, stated.get(name) or _without_pin(name, environment), pinned) for name in open_}
    return {name: target for name, target in found.items() if target is not None}


def _fitting(package: str, target: Target, pinned: Mapping[str, Version]) -> Target | None:
    """The target among the releases that can be installed beside the pins, whatever a file states of it where that
    and the pins exclude each other; None where it stays as it is, as what is asked for does then.
    """
    within = companions.possible(package, allowed(package, target.range), pinned)
    fitting = within or companions.possible(package, allowed(package, None), pinned)
    if not fitting or target.version in fitting or (not within and target.origin in ASKED):
        return None
    if target.range is None or not within:
        return Target(fitting[-1], ASSUMED, oldest=fitting[-1])
    return replace(target, version=fitting[-1], oldest=fitting[0])


def _asked(package: str, text: str, origin: str) -> Target:
    wanted = str(text).strip()
    if re.fullmatch(r"v?\d+(\.\d+)?", wanted):
        specifier = f"=={wanted.lstrip('v')}.*"
    else:
        specifier = wanted if wanted[:1] in "<>=!~" else f"=={wanted}"
    if package == "rocm":
        return Target(None, origin)
    target = _decide(package, specifier) if wanted else None
    if target is None:
        source = "--target" if origin == "flag" else "the configuration's target"
        raise TargetError(f"{source} {package}={text}: not a version or a version specifier")
    return Target(target.version, origin, target.range, target.oldest)


@lru_cache(maxsize=1024)
def _decide(package: str, specifier: str) -> Target | None:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import Version

    try:
        specifiers = SpecifierSet(specifier)
    except InvalidSpecifier:
        return None
    known = allowed(package, specifiers)
    python = LINE_OF_PYTHON.match(specifier) if package == "python" else None
    if python is not None:  # what a release is for is told by lines of Python
        line = Version(python[1])
        return Target(line, "", None, line)
    if not known or (newest(package) is None and not ONE_RELEASE.match(specifier)):
        return Target(None, "", specifiers)
    only = len(known) == 1
    return Target(known[-1], "", None if only else specifiers, known[0])


@lru_cache(maxsize=256)
def _without_pin(package: str, environment: Environment) -> Target:
    version = _installed(package, environment)
    if version is not None:
        return Target(version, "installed", oldest=version, path=shown(environment.path) if environment.path else "")
    version = newest(package)
    return Target(version, ASSUMED if version else "unknown", oldest=version)


def _installed(package: str, environment: Environment) -> Version | None:
    from packaging.version import InvalidVersion, Version

    try:
        return Version(Version(environment.release(package) or "").public)
    except (InvalidVersion, ValueError, TypeError):
        return None
