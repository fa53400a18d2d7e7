"""What stands in the folders of the project's code, as a program that lists one of them sees it. What a program makes
only when it runs lies elsewhere: in a package there is what was put there by hand.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gclint.source.folders import names
from gclint.source.source import inside

if TYPE_CHECKING:
    from .project import Project
    from .syntax import Module

INIT = "__init__.py"
MADE = frozenset({"__pycache__"})


def folder(name: str, importer: Module, project: Project) -> str | None:
    """A folder that holds code of the project (an absolute path), by what the code of a module calls it; None of any
    other.
    """
    here = project.absolute(importer).parent
    for base in (here, project.program_root(here / "_"), project.root):
        path = os.path.normpath(base / name)
        if inside(path, project.root) and any(each.endswith(".py") for each in names(path)):
            project.consulted.add(path)
            return path
    return None


def in_package(path: str) -> list[str] | None:
    """The names of what a package's folder holds; None where it is no package's."""
    held = names(path)
    return sorted(set(held) - MADE) if INIT in held else None


def code_in(path: str) -> list[str]:
    """The names of the modules that a folder holds as files, ending with `.py`."""
    return sorted(name for name in names(path) if name.endswith(".py"))


def modules_in(path: str) -> list[tuple[str, bool]]:
    """The modules of a folder as `pkgutil.iter_modules` gives them: each one's name, and whether it is a package."""
    files = [(name.removesuffix(".py"), False) for name in code_in(path) if name != INIT]
    packages = [(name, True) for name in names(path) if name.isidentifier() and INIT in names(os.path.join(path, name))]
    return sorted([*files, *packages])
