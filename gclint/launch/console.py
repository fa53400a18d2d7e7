"""Console scripts: the commands that a project installs, each a function of one of its modules."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from gclint.launch.programs import module_file
from gclint.source.source import content, inside

MAX_BYTES = 1_000_000
MANIFESTS = ("pyproject.toml", "setup.cfg", "setup.py")
REFERENCE = re.compile(r"(\w+(?:\.\w+)*)\s*:\s*(\w+(?:\.\w+)*)")
DEFINED = re.compile(r"\s*([\w.-]+)\s*=\s*([^\s\[].*)")
GROUPS = ("console_scripts", "gui_scripts")


class Command(NamedTuple):
    """An installed command: `function` of the module `module`, whose file is `program`."""

    name: str
    module: str
    program: Path
    function: str


def console_scripts(root: Path) -> tuple[Command, ...]:
    """The commands that `pyproject.toml`, `setup.cfg` and `setup.py` of `root` define; none is run."""
    found: dict[str, Command] = {}
    for manifest in MANIFESTS:
        path = Path(os.path.abspath(root)) / manifest
        try:
            status = path.stat()
        except OSError:
            continue
        if status.st_size <= MAX_BYTES and inside(path, root):
            for command in _read(path, status.st_mtime_ns, status.st_size):
                found.setdefault(command.name, command)
    return tuple(found.values())


def command_of(words: tuple[str, ...], known: Mapping[str, Command]) -> tuple[int, Command] | None:
    """Where in a command line one of the project's commands stands, and which it is; None without one."""
    from gclint.launch.commands import PREFIXES

    for at, word in enumerate(words):
        name = word.rsplit("/", 1)[-1]
        if name in known:
            return at, known[name]
        if name not in PREFIXES and not word.startswith("-") and "=" not in word and word not in ("run", "exec"):
            return None
    return None


@lru_cache(maxsize=256)
def _read(path: Path, changed: int, size: int) -> tuple[Command, ...]:
    text = content(path).decode("utf-8-sig", errors="replace")
    reader = {"pyproject.toml": _pyproject, "setup.cfg": _setup_cfg, "setup.py": _setup_py}[path.name]
    found = []
    for name, given in reader(text):
        reference = REFERENCE.match(given.strip())
        program = module_file(reference[1], [path.parent], path.parent) if reference else None
        if reference and program is not None:
            found.append(Command(name, reference[1], program, reference[2]))
    return tuple(found)


def _pyproject(text: str) -> Iterator[tuple[str, str]]:
    from gclint.pins.manifests import parse_toml

    document = parse_toml(text)
    project = _table(document, "project")
    poetry = _table(_table(document, "tool"), "poetry")
    for table in (_table(project, "scripts"), _table(project, "gui-scripts"), _table(poetry, "scripts")):
        for name, given in table.items():
            reference = given if isinstance(given, str) else _table(table, name).get("reference")
            yield name, str(reference)


def _table(document: dict[str, Any], key: str) -> dict[str, Any]:
    held = document.get(key)
    return held if isinstance(held, dict) else {}


def _setup_cfg(text: str) -> Iterator[tuple[str, str]]:
    import configparser

    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    for group in GROUPS:
        yield from _defined(parser.get("options.entry_points", group, fallback=""))


def _setup_py(text: str) -> Iterator[tuple[str, str]]:
    """The literal entry points in a call such as setup(entry_points={"console_scripts": ["a = b:c"]})."""
    import ast

    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.Dict):
            continue
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value in GROUPS:
                leaves = (leaf.value for leaf in ast.walk(value) if isinstance(leaf, ast.Constant))
                yield from (pair for leaf in leaves if isinstance(leaf, str) for pair in _defined(leaf))


def _defined(block: str) -> Iterator[tuple[str, str]]:
    for line in block.splitlines():
        found = DEFINED.fullmatch(line)
        if found:
            yield found[1], found[2]
