"""A project as it is copied for a run: which files, how much of them, and the Python text among them."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from gclint.verify.recipe import ProgramRecipe

IGNORED = frozenset(
    {".git", ".hg", ".svn", "__pycache__", "venv", "env", "node_modules", "site-packages", "wandb", "mlruns"}
)
LINES = (".jsonl", ".ndjson", ".csv", ".tsv", ".txt")
WHOLE, CUT, TOTAL = 32 << 20, 256 << 10, 512 << 20
CUT_ABOVE = 4 << 20
TEXT = 4 << 20


class TooLarge(Exception):
    """A project that is not copied; the message says why."""


def files_of(root: Path) -> Iterator[tuple[str, int]]:
    """Yield the files of a project that a run may need, by relative path and size in bytes.

    Left out: version control, environments, caches, hidden directories.
    """
    for directory, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if _is_needed(Path(directory, name)))
        for name in sorted(names):
            path = Path(directory, name)
            with suppress(OSError):
                status = path.stat()
                if stat.S_ISREG(status.st_mode):
                    yield path.relative_to(root).as_posix(), status.st_size


def copy_project(root: Path, target: Path) -> list[str]:
    """Copy a project into `target`; return what was not copied whole, in words.

    Files of lines above 4 MiB are cut to their first 256 KiB, others above 32 MiB left out. Directories that are
    links stay links. Raises TooLarge above 512 MiB, and OSError.
    """
    told, total = [], 0
    for name, size in files_of(root):
        cut = size > CUT_ABOVE and name.endswith(LINES)
        if size > WHOLE and not cut:
            told.append(f"{name} was not copied ({size >> 20} MiB)")
            continue
        total += CUT if cut else size
        if total > TOTAL:
            raise TooLarge(f"the files of {root} add up to more than {TOTAL >> 20} MiB")
        goal = target / name
        goal.parent.mkdir(parents=True, exist_ok=True)
        if cut:
            told.append(f"{name} was cut to its first {_copy_lines(root / name, goal)} lines")
        else:
            shutil.copy2(root / name, goal)
    for link in _linked_directories(root):
        (target / link).parent.mkdir(parents=True, exist_ok=True)
        (target / link).symlink_to((root / link).resolve(), target_is_directory=True)
    return told


@lru_cache(maxsize=8)
def text_of(root: Path) -> str:
    """The Python text of a project, its first 4 MiB, a NUL between files."""
    found, size = [], 0
    for name, length in files_of(root):
        if name.endswith(".py") and size + length < TEXT:
            with suppress(OSError):
                found.append((root / name).read_text(encoding="utf-8", errors="replace"))
                size += length
    return "\0".join(found)


def program_text(recipe: ProgramRecipe) -> str:
    """The Python text that a program may execute of its own, a NUL between files."""
    own = "\0".join([recipe.text, *(text for name, text in recipe.files.items() if name.endswith(".py"))])
    return own if recipe.copy_of is None else f"{own}\0{text_of(Path(recipe.copy_of))}"


def _is_needed(path: Path) -> bool:
    hidden = path.name.startswith(".") or path.name in IGNORED or path.name.endswith(".egg-info")
    return not hidden and not path.is_symlink() and not (path / "pyvenv.cfg").exists()


def _linked_directories(root: Path) -> Iterator[Path]:
    for directory, folders, _ in os.walk(root):
        links = [name for name in folders if Path(directory, name).is_symlink()]
        folders[:] = [name for name in folders if _is_needed(Path(directory, name))]
        yield from (Path(directory, name).relative_to(root) for name in links)


def _copy_lines(path: Path, goal: Path) -> int:
    with path.open("rb") as handle:
        head = handle.read(CUT)
    whole = head[: head.rfind(b"\n") + 1]
    goal.write_bytes(whole)
    return whole.count(b"\n")
