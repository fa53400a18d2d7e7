"""What programs are given from outside their code: the words of launchers, and the configuration files they name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from gclint.source.source import content, inside

MOST_FILES = 200
MOST_BYTES = 2_000_000
_PARSERS = (b"HfArgumentParser", b"TrlParser")
_ENDING = re.compile(rb"\.(?:ya?ml|json|toml)\b")
_NAMED = re.compile(rb"(?<![\w./-])[\w./-]+\.(?:ya?ml|json|toml)\b")


def settings_in(text: bytes) -> list[bytes]:
    """Return what a program's text says of settings from outside it: the names of configuration files, looked for
    only in lines that hold such an ending, and the parsers that fill settings from a command line by their names.
    """
    found: list[bytes] = []
    at = 0
    while ending := _ENDING.search(text, at):
        start = text.rfind(b"\n", 0, ending.start()) + 1
        at = text.find(b"\n", ending.end()) % (len(text) + 1)
        found += _NAMED.findall(text[start:at])
    return [*found, *(word for word in _PARSERS if word in text)]


def outside(settings: Iterable[bytes], root: Path) -> Iterator[bytes]:
    """Yield what programs that say this of their `settings` may take them from: each a piece of text.

    Launchers are read only where the code fills settings from a command line by their names alone.
    """
    said = dict.fromkeys(settings)
    named = [name for name in said if name not in _PARSERS]
    files = [os.path.join(root, os.fsdecode(name)) for name in named[:MOST_FILES]]
    if len(named) < len(said):
        from gclint.launch import launches

        for launch in launches(root):
            yield " ".join(launch.arguments).encode("utf-8", "surrogatepass")
            files += [os.fspath(path) for path in launch.configs]
    for path in dict.fromkeys(files):
        if inside(path, root):
            held = content(path, MOST_BYTES + 1)
            if len(held) <= MOST_BYTES:
                yield held
