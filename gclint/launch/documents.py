"""YAML and JSON that start programs: workflows, compose files, pipelines, VS Code's launch.json.

YAML is composed, never constructed, so that aliases cost nothing and no tag is acted on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gclint.launch.launched import Invocation, Setting
from gclint.launch.shell_script import Shell

COMMAND_KEYS = frozenset(
    {"run", "cmd", "command", "commands", "script", "entrypoint", "args", "setup", "before_script"}
)
ENVIRONMENT_KEYS = frozenset({"env", "environment", "envs", "variables"})
SECTIONS = frozenset({"fsdp_config", "deepspeed_config", "mpirun_config"})
MAX_DEPTH = 30
MAX_NODES = 20_000


def yaml_invocations(text: str, shell: Shell) -> Iterator[Invocation]:
    """The commands under keys such as `run`, `script` and `command`, with the `env` that encloses them.

    Each is read by a shell like the given one.
    """
    root = _composed(text)
    if root is not None:
        yield from _walk(root, {}, shell, MAX_DEPTH, [MAX_NODES])


def accelerate_settings(text: str) -> dict[str, str]:
    """The scalars of an accelerate configuration, those of its sections among them, as text; empty when it is none."""
    root = _composed(text)
    pairs = root.value if root is not None and root.id == "mapping" else []
    sections = [value.value for key, value in pairs if _name(key) in SECTIONS and value.id == "mapping"]
    every = [pair for section in (*sections, pairs) for pair in section]
    return {str(key.value): str(value.value) for key, value in every if key.id == value.id == "scalar"}


def vscode_invocations(text: str, path: Path) -> Iterator[Invocation]:
    """The configurations of a VS Code launch.json."""
    document = _json_with_comments(text)
    found = document.get("configurations") if isinstance(document, dict) else None
    for entry in found if isinstance(found, list) else ():
        if isinstance(entry, dict):
            yield from _vscode(entry, text, path)


def _vscode(entry: dict[str, Any], text: str, path: Path) -> Iterator[Invocation]:
    program, module = entry.get("program"), entry.get("module")
    head = ["-m", module] if isinstance(module, str) else [program] if isinstance(program, str) else None
    if head is None:
        return
    arguments = entry.get("args")
    words = [*head, *(arguments if isinstance(arguments, list) else str(arguments or "").split())]
    workspace = re.compile(r"\$\{workspace(?:Folder|Root)\}/?")
    plain = tuple(workspace.sub("", str(word)) for word in words)
    name = json.dumps(entry.get("name", ""), ensure_ascii=False)
    line = text.count("\n", 0, max(text.find(name), 0)) + 1
    variables = entry.get("env")
    environment = tuple(
        Setting(str(key), str(value), line, path)
        for key, value in (variables.items() if isinstance(variables, dict) else ())
    )
    yield Invocation(("python", *plain), line, environment, workspace.sub("", str(entry.get("cwd", ""))))


def _composed(text: str) -> Any:
    import yaml

    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


def _walk(
    node: Any, environment: dict[str, Setting], shell: Shell, depth: int, left: list[int]
) -> Iterator[Invocation]:
    left[0] -= 1
    if depth <= 0 or left[0] <= 0:
        return
    if node.id == "sequence":
        for item in node.value:
            yield from _walk(item, environment, shell, depth - 1, left)
    elif node.id == "mapping":
        environment = {**environment, **_environment(node, shell.path)}
        directory = next((value.value for key, value in node.value if _name(key) == "working-directory"), "")
        for key, value in node.value:
            if _name(key) in COMMAND_KEYS:
                yield from _commands(value, environment, shell, str(directory))
            elif _name(key) not in ENVIRONMENT_KEYS:
                yield from _walk(value, environment, shell, depth - 1, left)


def _commands(node: Any, environment: dict[str, Setting], like: Shell, directory: str) -> Iterator[Invocation]:
    shell = Shell(like.path, like.source, directory=directory)
    shell.exported = dict(environment)
    shell.values = {name: setting.value for name, setting in environment.items()}
    if node.id == "scalar":
        first = node.start_mark.line + (2 if node.style in ("|", ">") else 1)
        yield from shell.run(node.value, first)
        return
    items = [item for item in node.value if getattr(item, "id", "") == "scalar"]
    if any(" " in item.value.strip() for item in items[:1]):
        for item in items:
            first = item.start_mark.line + (2 if item.style in ("|", ">") else 1)
            yield from shell.run(item.value, first)
    elif items:
        words = tuple(item.value for item in items)
        settings = tuple(environment.values())
        yield Invocation(words, items[0].start_mark.line + 1, settings, directory)


def _environment(node: Any, path: Path) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for key, value in node.value:
        if _name(key) not in ENVIRONMENT_KEYS:
            continue
        pairs: list[tuple[str, str, int]] = []
        if value.id == "mapping":
            pairs = [(name.value, item.value, name.start_mark.line + 1) for name, item in value.value]
        elif value.id == "sequence":
            texts = [item for item in value.value if item.id == "scalar" and "=" in item.value]
            pairs = [(*item.value.split("=", 1), item.start_mark.line + 1) for item in texts]
        for name, text, line in pairs:
            if isinstance(name, str) and isinstance(text, str):
                found[name] = Setting(name, text, line, path)
    return found


def _name(key: Any) -> str:
    return str(key.value) if key.id == "scalar" else ""


def _json_with_comments(text: str) -> Any:
    pieces = re.split(r'("(?:\\.|[^"\\\n])*")', text)
    for at in range(0, len(pieces), 2):
        pieces[at] = re.sub(r"//[^\n]*|/\*.*?\*/", "", pieces[at], flags=re.DOTALL)
    cleaned = re.sub(r",(\s*[}\]])", r"\1", "".join(pieces))
    try:
        return json.loads(cleaned)
    except (ValueError, RecursionError):
        return None
