"""What one launcher starts: its text read by its kind, and the commands in it resolved to programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from gclint.launch import jobs
from gclint.launch.accelerate import configured
from gclint.launch.commands import started
from gclint.launch.console import Command, command_of, console_scripts
from gclint.launch.documents import vscode_invocations, yaml_invocations
from gclint.launch.images import image_invocations, read_image
from gclint.launch.launched import Invocation, Launch, Start
from gclint.launch.launchers import DOCKERFILE, MAKEFILE, YAML, is_readme, text_of
from gclint.launch.makefiles import Makefile
from gclint.launch.notebooks import notebook_invocations
from gclint.launch.programs import launch_of, named_file
from gclint.launch.readmes import readme_invocations
from gclint.launch.shell_script import Shell
from gclint.launch.slurm import slurm_variables


def launches_in(path: Path, root: Path, known: Mapping[str, Command]) -> tuple[Launch, ...]:
    """The launches in one file of a project whose commands are `known` by name."""
    return tuple(_resolved(_invocations(path, text_of(path), root), path, root, known))


def launches_in_text(text: str, path: Path, root: Path, first_line: int = 1) -> list[Launch]:
    """The launches of shell text that stands in another file, such as a notebook's `!torchrun` line."""
    shell = Shell(path, lambda name, directory: _sourced(name, directory, path, root))
    return _resolved(
        shell.run(text, first_line), path, root, {command.name: command for command in console_scripts(root)}
    )


def _invocations(path: Path, text: str, root: Path) -> Iterator[Invocation]:
    shell = Shell(path, lambda name, directory: _sourced(name, directory, path, root))
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
    if is_readme(path):
        folder = "" if path.parent == root else path.parent.relative_to(root).as_posix()
        return readme_invocations(text, lambda: Shell(path, shell.source, directory=folder))
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
            slurm[here] = slurm_variables(text_of(here))
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
    return configured(start, "" if config is None else text_of(config))


def _sourced(name: str, directory: str, path: Path, root: Path) -> tuple[Path, str] | None:
    found = named_file(name, directory, path, root)
    return None if found is None else (found, text_of(found))
