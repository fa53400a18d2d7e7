"""Every launch of a project, found by reading the files that may start a program."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from gclint.files.source import NOTEBOOK_LIMIT, content, given, inside
from gclint.launch import jobs
from gclint.launch.accelerate import configured
from gclint.launch.commands import started
from gclint.launch.console import Command, command_of, commands
from gclint.launch.documents import vscode_invocations, yaml_invocations
from gclint.launch.images import image_invocations, read_image
from gclint.launch.launched import Invocation, Launch, Setting, Start
from gclint.launch.makefiles import Makefile
from gclint.launch.notebooks import notebook_invocations
from gclint.launch.programs import launch_of, named_file
from gclint.launch.shell_script import Shell
from gclint.launch.slurm import slurm_variables

MAX_BYTES = 256_000
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

SHELL = re.compile(r".*\.(?:sh|bash|zsh|ksh|sbatch|slurm|job|pbs|lsf)(?:\.template)?")
MAKEFILE = re.compile(r"(?:GNU)?[Mm]akefile|.*\.mk")
DOCKERFILE = re.compile(r"(?:.*\.)?(?:Dockerfile|Containerfile)(?:\..*)?|.*\.dockerfile")
YAML = re.compile(r".*\.ya?ml")
NOTEBOOK = re.compile(r".*\.ipynb")
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
    known = commands(top)
    files = _launcher_files(top)
    state = hash(tuple(_stamp(path) for path in files))
    read = [(path, launch) for path in files for launch in _read(path, top, known, state)]
    through = {(launch.path, launch.line) for path, launch in read if launch.path != path}
    found = [launch for path, launch in read if launch.path != path or (path, launch.line) not in through]
    return sorted(dict.fromkeys(found), key=lambda launch: (str(launch.path), launch.line))


def launches_of(root: Path, program: Path) -> list[Launch]:
    """The launches of one program; empty when no launcher names it."""
    wanted = Path(os.path.abspath(program))
    return [launch for launch in launches(root) if launch.program == wanted]


def image_environment(root: Path) -> list[Setting]:
    """What the project's Dockerfiles set with ENV, also where they start no program."""
    top = Path(os.path.abspath(root))
    images = [path for path in _launcher_files(top) if DOCKERFILE.fullmatch(path.name)]
    return [setting for path in images for setting in read_image(_text(path), path).environment.values()]


def launches_in_text(text: str, path: Path, root: Path, first_line: int = 1) -> list[Launch]:
    """The launches of shell text that stands in another file, such as a notebook's `!torchrun` line."""
    shell = Shell(path, lambda name, directory: _sourced(name, directory, path, root))
    return _resolved(shell.run(text, first_line), path, root, {command.name: command for command in commands(root)})


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
    text = _text(path)
    names = {command.name: command for command in known}
    if not any(word in text for word in (*STARTS, *names)):
        return ()
    return tuple(_resolved(_invocations(path, text, root), path, root, names))


def _invocations(path: Path, text: str, root: Path) -> Iterator[Invocation]:
    shell = Shell(path)
    shell.source = lambda name, directory: _sourced(name, directory, path, root)
    if DOCKERFILE.fullmatch(path.name):
        image = read_image(text, path)
        directory = "" if image.directory.startswith("/") else image.directory
        return (replace(found, directory=directory) for found in image_invocations(image, shell))
    if MAKEFILE.fullmatch(path.name):
        read = Makefile(lambda name: _sourced(name, "", path, root)).read(text, path)
        return shell.recipes(read, None)
    if path.name == "launch.json":
        return vscode_invocations(text, path)
    if path.suffix == ".ipynb":
        return notebook_invocations(path, shell)
    if YAML.fullmatch(path.name):
        return yaml_invocations(text, shell)
    jobs.begin(shell, text)
    return shell.run(text)


def _resolved(invocations: Iterator[Invocation], path: Path, root: Path, known: Mapping[str, Command]) -> list[Launch]:
    found: list[Launch] = []
    slurm: dict[Path, dict[str, str]] = {}
    for invocation in invocations:
        here = invocation.path or path
        if here not in slurm:
            slurm[here] = slurm_variables(_text(here))
        installed = command_of(invocation.words, known)
        if installed is not None:
            found += _of_command(invocation, *installed, here, root)
            continue
        environment = slurm[here] | {setting.name: setting.value for setting in invocation.environment}
        start = started(invocation.words, environment)
        if start is not None and start.program in invocation.words:
            start = _with_accelerate_config(start, invocation, here, root)
            launch = launch_of(start, invocation, here, root)
            found += [launch] if launch is not None else []
    return found


def _of_command(invocation: Invocation, at: int, command: Command, path: Path, root: Path) -> list[Launch]:
    """The launch of an installed command, which runs in one process."""
    words = invocation.words
    start = Start("console", command.module, True, words[at + 1 :], 1, False)
    named = replace(invocation, words=(*words[:at], command.module, *words[at + 1 :]))
    launch = launch_of(start, named, path, root)
    return [] if launch is None else [replace(launch, program=command.program, function=command.function)]


def _with_accelerate_config(start: Start, invocation: Invocation, path: Path, root: Path) -> Start:
    if start.launcher != "accelerate":
        return start
    config = named_file(start.config, invocation.directory, path, root) if start.config else None
    return configured(start, "" if config is None else _text(config))


def _sourced(name: str, directory: str, path: Path, root: Path) -> tuple[Path, str] | None:
    found = named_file(name, directory, path, root)
    return None if found is None else (found, _text(found))


def _launcher_files(root: Path) -> list[Path]:
    found: list[Path] = []
    seen = 0
    for directory, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if _is_walked(name))
        seen += len(names)
        if seen > MAX_ENTRIES:
            break
        found += [Path(directory, name) for name in sorted(names) if _may_start(directory, name)]
    return found


def _is_walked(name: str) -> bool:
    return name in HIDDEN_BUT_READ or not (name.startswith((".", "__")) or name in SKIPPED)


def _may_start(directory: str, name: str) -> bool:
    if name.endswith(".py"):
        return False
    if name == "launch.json":
        return os.path.basename(directory) == ".vscode"
    patterns = (SHELL, MAKEFILE, DOCKERFILE, YAML, NOTEBOOK)
    if any(pattern.fullmatch(name) for pattern in patterns):
        return True
    return "." not in name and _has_shell_head(os.path.join(directory, name))


def _has_shell_head(path: str) -> bool:
    head = content(path, 64).split(b"\n", 1)[0]
    return head.startswith(b"#!") and re.search(rb"(?:ba|z|k|da)?sh\b", head) is not None


def _text(path: Path) -> str:
    raw = content(path, (NOTEBOOK_LIMIT if path.suffix == ".ipynb" else MAX_BYTES) + 1)
    return raw.decode("utf-8-sig", errors="replace")
