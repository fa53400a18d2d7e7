"""What other installed packages bring to gclint, through entry points: rules, and frameworks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache

from .installed import metadata_in

RULES = "gclint.rules"
FRAMEWORKS = "gclint.frameworks"
_OWN = "gclint."


def brought(group: str) -> tuple[str, ...]:
    """Return the modules that other packages enter in a group, sorted; gclint's own is not among them."""
    return _brought()[group]


@lru_cache(maxsize=1)
def _brought() -> dict[str, tuple[str, ...]]:
    named: dict[str, set[str]] = {RULES: set(), FRAMEWORKS: set()}
    if any(map(_may_bring, sys.path)):
        from importlib import metadata

        points = metadata.entry_points()
        named = {group: {point.value for point in points.select(group=group)} for group in named}
    return {group: tuple(sorted(name for name in names if not name.startswith(_OWN))) for group, names in named.items()}


def _may_bring(place: str) -> bool:
    """Whether a package installed in an entry of `sys.path`, other than gclint, may name it among its entry points.

    To read those files alone takes a tenth of what importing `importlib.metadata` and asking it does.
    """
    if not os.path.isdir(place or "."):
        return os.path.exists(place)
    for name in metadata_in(place or "."):
        if not name.startswith("gclint-"):
            inner = "EGG-INFO" if name.endswith(".egg") else ""
            try:
                with open(os.path.join(place, name, inner, "entry_points.txt"), "rb") as file:
                    if b"[gclint." in file.read().replace(b" ", b""):
                        return True
            except OSError:
                continue
    return False


def pack_stamps() -> list[str]:
    """Return a line for each file, and its directory, that was imported for rules or frameworks of others.

    Empty where they have not been imported; that a package was installed or removed shows in its directory on
    `sys.path` already (`gclint.source.stamps.surroundings`).
    """
    tops = {name.partition(".")[0] for group in (RULES, FRAMEWORKS) for name in brought(group)}
    files = set()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] in tops and file:
            files |= {file, os.path.dirname(file)}
    return list(_stamped(sorted(files)))


def unchanged(stamps: Iterable[str]) -> bool:
    """Return whether all that `pack_stamps` told is still so."""
    told = list(stamps)
    return not told or list(_stamped(line.rsplit("|", 2)[0] for line in told)) == told


def _stamped(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            continue
        yield f"{path}|{status.st_size}|{status.st_mtime_ns}"
