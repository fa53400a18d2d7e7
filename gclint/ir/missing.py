"""Modules that a package of the project has not: an import of one raises in every run of what is there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from .resolve import Imports

_MAKERS = (
    *("setup.py", "setup.cfg", "pyproject.toml", "MANIFEST.in", "CMakeLists.txt", "Makefile", "meson.build"),
    *("BUILD", "BUILD.bazel", ".gitignore"),
)
_SHOWS = ("README.md", "README.rst", "README.txt", "README")
_SEARCHES = re.compile(r"__path__|sys\.modules|sys\.meta_path|sys\.path_hooks")


def lacking(module: str, level: int, importer: Path, imports: Imports) -> tuple[Path, str] | None:
    """The `__init__.py` of the project's package in which `from {'.' * level}{module} import ...` finds nothing in any
    language, and the name that it has not; None where the import finds a module, or where another one may be meant.
    """
    parts = module.split(".") if module else []
    if imports.resolve(module, level, importer) is not None:
        return None
    for count in range(len(parts) - 1, -1 if level else 0, -1):
        package = imports.resolve(".".join(parts[:count]), level, importer)
        if package is not None:
            own = package.name == "__init__.py" and (bool(level) or imports.is_own_package(parts[0], package))
            files = {entry.partition(".")[0] for entry in os.listdir(package.parent)} if own else {parts[count]}
            return (package, parts[count]) if parts[count] not in files else None
    return None


def makers(package: Path, root: Path) -> Iterator[Path]:
    """The files around a package, up to the root, that say what somebody builds, makes as they show, or has and does
    not publish.
    """
    for folder in package.parents:
        yield from (folder / name for name in (*_MAKERS, *_SHOWS) if (folder / name).is_file())
        if folder == root:
            return


def searches_otherwise(text: str) -> bool:
    """Whether an `__init__.py` says itself where its package's modules are."""
    return _SEARCHES.search(text) is not None


def names(maker: Path, text: str, module: str) -> bool:
    """Whether such a file has the name of a module: what is written for people, that of its file."""
    ending = r"\.py" if maker.name in _SHOWS else ""
    return re.search(rf"\b{re.escape(module)}{ending}\b", text) is not None
