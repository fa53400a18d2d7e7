"""Every launch of a project, found by reading the files that may start a program."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from gclint.launch.console import Command, console_scripts
from gclint.launch.launched import Launch, Setting
from gclint.launch.launchers import DOCKERFILE, MAX_BYTES, is_readme, may_start, text_of
from gclint.source.folders import entries, leads_to_directory
from gclint.source.source import NOTEBOOK_LIMIT, given, inside

MAX_ENTRIES = 50_000
HIDDEN_BUT_READ = frozenset({".github", ".vscode", ".devcontainer"})
SKIPPED = frozenset(
    {
        "node_modules",
        "venv",
        "env",
        "site-packages",
        "build",
        "dist",
        "data",
        "datasets",
        "wandb",
        "outputs",
        "logs",
    }
)

STARTS = (
    "torchrun",
    "torch.distributed",
    "accelerate",
    "deepspeed",
    "srun",
    "mpirun",
    "python",
    ".py",
    ".sh",
    "sbatch",
    "make",
)


def launches(root: Path) -> list[Launch]:
    """Every place in the project that starts one of its Python files, ordered by file and line.

    A script that another one runs is taken with the environment and the arguments that it is run with. Nothing is
    executed and nothing outside `root` is read; a file that cannot be understood gives none.
    """
    top = Path(os.path.abspath(root))
    known = console_scripts(top)
    files = _launcher_files(top)
    state = hash(tuple(_stamp(path) for path in files))
    read = [(path, launch) for path in files for launch in _read(path, top, known, state)]
    ran = [(path, launch) for path, launch in read if launch.path != path and not is_readme(path)]
    through = {(launch.path, launch.line) for _, launch in ran}
    found = [launch for path, launch in read if launch.path != path or (path, launch.line) not in through]
    return sorted(dict.fromkeys(found), key=lambda launch: (str(launch.path), launch.line))


def launches_of(root: Path, program: Path) -> list[Launch]:
    """The launches of one program; empty when no launcher names it."""
    wanted = Path(os.path.abspath(program))
    return [launch for launch in launches(root) if launch.program == wanted]


def image_environment(root: Path) -> list[Setting]:
    """What the project's Dockerfiles set with ENV, also where they start no program."""
    top = Path(os.path.abspath(root))
    from gclint.launch.images import read_image

    images = [path for path in _launcher_files(top) if DOCKERFILE.fullmatch(path.name)]
    return [setting for path in images for setting in read_image(text_of(path), path).environment.values()]


def _stamp(path: Path) -> tuple[Path, int, int]:
    held = given(path)
    if held is not None:
        return path, hash(held), len(held)
    try:
        status = path.stat()
    except OSError:
        return path, 0, 0
    return path, status.st_mtime_ns, status.st_size


@lru_cache(maxsize=2048)
def _read(path: Path, root: Path, known: tuple[Command, ...], state: int) -> tuple[Launch, ...]:
    """The launches in one file; `state` is that of all launchers, which may run one another."""
    if _stamp(path)[2] > (NOTEBOOK_LIMIT if path.suffix == ".ipynb" else MAX_BYTES):
        return ()
    if not inside(path, root):
        return ()
    text = text_of(path)
    names = {command.name: command for command in known}
    if not any(word in text for word in (*STARTS, *names)):
        return ()
    from gclint.launch.reading import launches_in

    return launches_in(path, root, names)


def _launcher_files(root: Path) -> list[Path]:
    found: list[Path] = []
    todo, seen = [os.fspath(root)], 0
    while todo:
        directory = todo.pop()
        try:
            held = sorted(entries(directory), key=lambda entry: entry.name)
        except OSError:
            continue
        names = [entry.name for entry in held if not leads_to_directory(entry)]
        seen += len(names)
        if seen > MAX_ENTRIES:
            break
        found += [Path(directory, name) for name in names if may_start(directory, name)]
        inner = (entry for entry in held if entry.is_dir(follow_symlinks=False) and _is_walked(entry.name))
        todo += reversed([entry.path for entry in inner])
    return found


def _is_walked(name: str) -> bool:
    return name in HIDDEN_BUT_READ or not (name.startswith((".", "__")) or name in SKIPPED)
