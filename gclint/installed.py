"""Which releases are installed: beside gclint, or in the environment that a project's programs run in."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import lru_cache
from glob import escape, glob
from typing import NamedTuple

ACTIVATED = ("VIRTUAL_ENV", "CONDA_PREFIX")
BESIDE = (".venv", "venv")
PACKAGES = ("lib/python3*/site-packages", "lib64/python3*/site-packages", "Lib/site-packages")
JUDGED = "torch"  # an environment without it runs none of the programs that are judged


class Environment(NamedTuple):
    """An environment by its path, with the directories that hold its packages and what their times were; with nothing
    of this the one that gclint itself is installed in.
    """

    path: str = ""
    places: tuple[str, ...] = ()
    times: tuple[int, ...] = ()

    def release(self, package: str) -> str | None:
        """Return the installed version of a package, by its canonical name; None where it is not installed."""
        return _release(self, package)


OWN = Environment()


def environment_of(root: str) -> Environment:
    """Return the environment of the project `root`: the activated one (`VIRTUAL_ENV`, `CONDA_PREFIX`), else `.venv` or
    `venv` at the root, the first of them in which torch is installed; where it is in none, the one of gclint.

    The order is that of uv and ty (docs.astral.sh/uv/pip/environments).
    """
    wanted = [*(os.environ.get(name, "") for name in ACTIVATED), *(os.path.join(root, name) for name in BESIDE)]
    for path in filter(os.path.isdir, wanted):
        found = OWN if os.path.realpath(path) == os.path.realpath(sys.prefix) else _environment_at(path)
        if (found.places or found is OWN) and found.release(JUDGED) is not None:
            return found
    return OWN


@lru_cache(maxsize=512)
def _release(environment: Environment, package: str) -> str | None:
    return installed_version(package, environment.places or sys.path)


def _environment_at(path: str) -> Environment:
    places = tuple(place for each in PACKAGES for place in sorted(glob(os.path.join(escape(path), each))))
    return Environment(path, places, tuple(os.stat(place).st_mtime_ns for place in places))


def installed_version(package: str, places: Sequence[str]) -> str | None:
    """Return the version of a package that is installed in one of these directories, those of `sys.path` or the like,
    by its canonical name; None where it is not.

    The name of the directory of its metadata tells it: to import `importlib.metadata` and ask it takes many times as
    long, and is done for other ways to be installed.
    """
    wanted = package.replace("-", "_")
    for place in places:
        for name in metadata_in(place or "."):
            project, _, version = name.partition("-")
            if project.lower().replace("-", "_").replace(".", "_") != wanted:
                continue
            if name.endswith(".dist-info"):
                return version.removesuffix(".dist-info")
            return _asked_of_metadata(package, places)
    return _asked_of_metadata(package, places) if any(map(os.path.isfile, places)) else None


def metadata_in(place: str) -> list[str]:
    """Return the names of the directories and files of packages' metadata in a directory."""
    try:
        names = os.listdir(place)
    except OSError:
        return []
    return [name for name in names if name.lower().endswith((".dist-info", ".egg-info", ".egg"))]


def _asked_of_metadata(package: str, places: Sequence[str]) -> str | None:
    from importlib import metadata

    found = metadata.Distribution.discover(name=package, path=list(places))
    return next((each.version for each in found), None)
