"""Which paths a walk leaves out: patterns in the way of .gitignore, each relative to its own directory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

DEFAULT_EXCLUDE = (
    ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".gclint_cache", ".hg", ".ipynb_checkpoints",
    ".mypy_cache", ".nox", ".pants.d", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox",
    ".venv", ".vscode", "__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist",
    "node_modules", "site-packages", "venv", "wandb",
)  # fmt: skip


@dataclass(frozen=True)
class FolderPattern:
    """One pattern as git asks it of a directory itself, whose parents are known not to be ignored (gitignore(5))."""

    ignores: bool
    body: str
    spec: GitIgnoreSpec

    @staticmethod
    def of(line: str) -> FolderPattern:
        """The pattern of a line."""
        body = line.removeprefix("!").rstrip("/")
        return FolderPattern(not line.startswith("!"), body, _spec([body]))

    def matches(self, relative: str) -> bool:
        """Whether the directory at a path relative to the pattern's is meant, and not only what lies above it."""
        if "/" not in self.body:
            return bool(self.spec.match_file(os.path.basename(relative)))
        above = os.path.dirname(relative)
        inherited = not self.body.endswith("**") and above and self.spec.match_file(above)
        return bool(self.spec.match_file(relative) and not inherited)


@dataclass(frozen=True)
class Patterns:
    """Patterns that hold below `base` (an absolute directory). `folders` are those for directories, in their order,
    where some take back what others ignore: pathspec lets no `!` pattern win over one that matches their contents.
    """

    base: str
    names: frozenset[str]
    spec: GitIgnoreSpec | None
    folders: tuple[FolderPattern, ...] = ()

    def verdict(self, path: str, directory: bool) -> bool | None:
        """Return True for ignored, False for taken back by a `!` pattern, None for not mentioned."""
        if os.path.basename(path) in self.names:
            return True
        if self.spec is None or not path.startswith(self.base):
            return None
        relative = path[len(self.base) :].lstrip(os.sep)
        if directory and self.folders:
            return next((each.ignores for each in reversed(self.folders) if each.matches(relative)), None)
        relative += "/" if directory else ""
        verdict: bool | None = self.spec.check_file(relative).include
        return verdict


def patterns(base: str, lines: Iterable[str]) -> Patterns:
    """Return the patterns in `lines` (as in a .gitignore); plain names are kept apart, since they are
    cheap.
    """
    kept = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    plain = not any(line.startswith("!") for line in kept)
    names = frozenset(line.rstrip("/") for line in kept if plain and _is_plain(line))
    rest = [line for line in kept if line.rstrip("/") not in names]
    folders = () if plain else tuple(map(FolderPattern.of, rest))
    return Patterns(base.rstrip(os.sep), names, _spec(rest) if rest else None, folders)


def ignored(stack: Sequence[Patterns], path: str, directory: bool) -> bool:
    """Return whether the deepest patterns of `stack` that mention `path` ignore it."""
    for level in reversed(stack):
        verdict = level.verdict(path, directory)
        if verdict is not None:
            return verdict
    return False


def gitignores_above(directory: str) -> list[Patterns]:
    """Return the .gitignore files above `directory` up to its repository's root, outermost first."""
    found: list[Patterns] = []
    here = directory
    while True:
        if os.path.exists(os.path.join(here, ".git")):
            break
        parent = os.path.dirname(here)
        if parent == here:
            return []
        here = parent
        level = gitignore_in(here)
        if level:
            found.insert(0, level)
    return found


def gitignore_in(directory: str) -> Patterns | None:
    """Return the patterns of the .gitignore in `directory`, None where there is none that can be read."""
    path = os.path.join(directory, ".gitignore")
    if not os.path.isfile(path):
        return None
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return patterns(directory, file)
    except OSError:
        return None


def _is_plain(line: str) -> bool:
    return not any(character in line.rstrip("/") for character in "*?[]!\\/") and not line.endswith("/")


def _spec(lines: Sequence[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)
