"""Dockerfiles as the commands that their containers run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gclint.launch.launched import Invocation, Setting
from gclint.launch.shell_script import Shell
from gclint.launch.shell_words import joined

DOCKER_PAIR = re.compile(r"([A-Za-z_]\w*)=(\"(?:\\.|[^\"])*\"|'[^']*'|(?:\\.|[^\s\\])*)")


@dataclass
class Image:
    """What a Dockerfile sets up: its environment, working directory and what it starts."""

    path: Path
    environment: dict[str, Setting] = field(default_factory=dict)
    directory: str = ""
    entrypoint: tuple[list[str], int] | None = None
    command: tuple[list[str] | str, int] | None = None


def read_image(text: str, path: Path) -> Image:
    """The last stage of a Dockerfile; variables of earlier stages are kept, as images build on each other."""
    image = Image(path)
    for line, raw in joined(text):
        word, _, rest = raw.strip().partition(" ")
        instruction, rest = word.upper(), rest.strip()
        if instruction == "ENV":
            _read_env(rest, line, image)
        elif instruction == "WORKDIR":
            image.directory = rest
        elif instruction == "ENTRYPOINT":
            parts = _exec_form(rest)
            image.entrypoint = (parts if parts is not None else ["sh", "-c", rest], line)
        elif instruction == "CMD":
            parts = _exec_form(rest)
            image.command = (parts if parts is not None else rest, line)
    return image


def image_invocations(image: Image, shell: Shell) -> Iterator[Invocation]:
    """What a container of the image starts, read by `shell`."""
    shell.values = {name: setting.value for name, setting in image.environment.items()}
    shell.exported = dict(image.environment)
    started = image.entrypoint or image.command
    if started is None:
        return
    words, line = started
    if image.entrypoint is not None and image.command is not None and isinstance(image.command[0], list):
        words = [*image.entrypoint[0], *image.command[0]]
    text = words if isinstance(words, str) else " ".join(_quoted(word) for word in words)
    yield from shell.run(text, line)


def _read_env(rest: str, line: int, image: Image) -> None:
    pairs = DOCKER_PAIR.findall(rest)
    if not pairs:
        name, _, value = rest.partition(" ")
        pairs = [(name, value.strip())]
    for name, value in pairs:
        plain = value[1:-1] if value[:1] in ("'", '"') and value[-1:] == value[:1] else value
        if name:
            image.environment[name] = Setting(name, plain, line, image.path)


def _exec_form(text: str) -> list[str] | None:
    if not text.startswith("["):
        return None
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return [str(part) for part in parts] if isinstance(parts, list) else None


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[\w./=,:@+-]+", word) else '"' + re.sub(r'(["\\`])', r"\\\1", word) + '"'
