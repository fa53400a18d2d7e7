"""What programs are given from outside their code: the words of launchers, and the configuration files they name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from gclint.files.source import content, inside

MOST_FILES = 200
MOST_BYTES = 2_000_000
_PARSERS = (b"HfArgumentParser", b"TrlParser")
_ENDING = re.compile(rb"\.(?:ya?ml|json|toml)\b")
_NAMED = re.compile(rb"(?<![\w./-])[\w./-]+\.(?:ya?ml|json|toml)\b")


def outside(texts: Iterable[bytes], root: Path) -> Iterator[bytes]:
    """Yield what the programs with these texts may take settings from: each a piece of text.

    Launchers are read only where the code fills settings from a command line by their names alone.
    """
    named: dict[bytes, None] = {}
    parses = False
    for text in texts:
        named.update(dict.fromkeys(_names(text)))
        parses = parses or any(word in text for word in _PARSERS)
    files = [os.path.join(root, os.fsdecode(name)) for name in list(named)[:MOST_FILES]]
    if parses:
        from gclint.launch import launches

        for launch in launches(root):
            yield " ".join(launch.arguments).encode("utf-8", "surrogatepass")
            files += [os.fspath(path) for path in launch.configs]
    for path in dict.fromkeys(files):
        if inside(path, root):
            held = content(path, MOST_BYTES + 1)
            if len(held) <= MOST_BYTES:
                yield held


def _names(text: bytes) -> Iterator[bytes]:
    """Yield the names of configuration files, looked for only in lines that hold such an ending."""
    at = 0
    while ending := _ENDING.search(text, at):
        start = text.rfind(b"\n", 0, ending.start()) + 1
        at = text.find(b"\n", ending.end()) % (len(text) + 1)
        yield from _NAMED.findall(text[start:at])
