"""From what a command names to the program's file in the project."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from gclint.launch.launched import Invocation, Launch, Setting, Start
from gclint.launch.launchers import is_readme
from gclint.launch.variables import together
from gclint.source.folders import entries

PREFIXED = re.compile(r"([A-Z_][A-Z0-9_]*)=(.*)", re.DOTALL)
CONFIGURATION = (".yaml", ".yml", ".json", ".toml")
SOURCES = ("", "src", "lib", "python")


def launch_of(start: Start, invocation: Invocation, path: Path, root: Path) -> Launch | None:
    """The launch a command makes; None when its program is not a file of the project."""
    places = list(dict.fromkeys(_places(invocation.directory, path, root)))
    if is_readme(path) and not start.module and _file(start.program, places, root) is None:
        places = _meant(start.program, path)
    program = module_file(start.program, places, root) if start.module else _file(start.program, places, root)
    if program is None:
        return None
    environment = {setting.name: setting for setting in invocation.environment}
    environment |= {name: Setting(name, value, invocation.line, path) for name, value in start.environment}
    for word in invocation.words[: invocation.words.index(start.program)]:
        found = PREFIXED.fullmatch(word)
        if found:
            environment[found[1]] = Setting(found[1], found[2], invocation.line, path)
    named = [start.config, *(word.partition("=")[2] or word for word in start.arguments)]
    configs = [_file(word, places, root) for word in named if word.endswith(CONFIGURATION)]
    return Launch(
        path=path,
        line=invocation.line,
        program=program,
        launcher=start.launcher,
        world_size=start.world_size,
        distributed=start.distributed,
        strategy=start.strategy,
        environment=tuple(environment.values()),
        arguments=start.arguments,
        configs=tuple(dict.fromkeys(config for config in configs if config is not None)),
        module=start.program if start.module else "",
        directory=_directory(start, places, root),
        undecided=together(invocation.undecided, start.undecided),
        passes_rank=start.passes_rank,
    )


def _meant(name: str, readme: Path) -> list[Path]:
    """Where a README that does not say it means a program to be started: in the one folder beside it that has it."""
    found = [Path(entry.path) for entry in entries(os.fspath(readme.parent)) if os.path.isfile(f"{entry.path}/{name}")]
    return found if len(found) == 1 else []


def _directory(start: Start, places: list[Path], root: Path) -> Path | None:
    find = module_file if start.module else _file
    return next((place for place in places if find(start.program, [place], root) is not None), None)


def named_file(name: str, directory: str, path: Path, root: Path) -> Path | None:
    """The project's file that `name` means in a command of the launcher `path`; None when there is none."""
    return _file(name, list(dict.fromkeys(_places(directory, path, root))), root)


def _places(directory: str, path: Path, root: Path) -> Iterator[Path]:
    here = path.parent
    if directory and "$" not in directory and "`" not in directory:
        yield _normal(root / directory)
        yield _normal(here / directory)
    elif "dirname" in directory or "BASH_SOURCE" in directory:
        yield _normal(here / directory.rsplit(")", 1)[-1].lstrip("/\"'")) if ")/" in directory else here
    yield root
    yield here
    yield from (parent for parent in here.parents if root in parent.parents)


def _file(name: str, places: Iterable[Path], root: Path) -> Path | None:
    name = _without_head(name)
    if not name or "$" in name or "\0" in name or len(name) > 1000:
        return None
    for place in places:
        candidate = _normal(place / name.lstrip("/")) if name.startswith("/") else _normal(place / name)
        if root in candidate.parents and os.path.isfile(candidate):
            return candidate
    return None


def _without_head(name: str) -> str:
    """The name without a directory that only the shell knows: `$ROOT/train.py` is looked for as train.py."""
    head = re.match(r"(?:\$\w+|\$\{[^{}]*\}|\$\([^()]*(?:\([^()]*\)[^()]*)*\)|`[^`]*`)/", name)
    return name[head.end() :] if head else name


def module_file(name: str, places: Iterable[Path], root: Path) -> Path | None:
    """The project's file of a module by its dotted name, also below src/ and the like; None without one."""
    if not re.fullmatch(r"\w+(?:\.\w+)*", name):
        return None
    stem = name.replace(".", "/")
    for place in places:
        for source in SOURCES:
            for ending in (".py", "/__main__.py"):
                candidate = place / source / f"{stem}{ending}"
                if root in candidate.parents and os.path.isfile(candidate):
                    return candidate
    return None


def _normal(path: Path) -> Path:
    return Path(os.path.normpath(path))
