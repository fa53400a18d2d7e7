"""What programs are given from outside their code: by launchers, by the configuration files they name, by what is
pinned around them, and by what the user states.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from gclint.source.source import content, inside

ROCM = "rocm"
MOST_FILES = 200
MOST_BYTES = 2_000_000
_PARSERS = (
    *(b"HfArgumentParser", b"TrlParser", b"LightningCLI", b"jsonargparse", b"tyro", b"draccus", b"pyrallis"),
    *(b"simple_parsing", b"ml_collections"),
)
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


class Outside(NamedTuple):
    """What programs say of `settings` from outside, as `settings_in` does, and the `places` (files or directories)
    around which their versions are pinned.
    """

    settings: tuple[bytes, ...]
    places: tuple[str, ...]


def outside(asked: Outside, root: Path, target: Iterable[str] = ()) -> Iterator[bytes]:
    """Yield what programs may take from outside their code, each a piece of text: "rocm" where a pin or a name of the
    `target` asks for its builds, the variables that launchers set, and the configuration files.

    Launchers' arguments are read only where the code fills settings from a command line by their names alone.
    """
    from gclint.launch import launches
    from gclint.pins.near import asks_for_rocm

    if ROCM in target or asks_for_rocm(root, asked.places):
        yield ROCM.encode()

    started = launches(root)
    yield " ".join(setting.name for launch in started for setting in launch.environment).encode()
    said = dict.fromkeys(asked.settings)
    named = [name for name in said if name not in _PARSERS]
    files = [os.path.join(root, os.fsdecode(name)) for name in named[:MOST_FILES]]
    for launch in started if len(named) < len(said) else ():
        yield " ".join(launch.arguments).encode("utf-8", "surrogatepass")
        files += [os.fspath(path) for path in launch.configs]
    for path in dict.fromkeys(files):
        if inside(path, root):
            held = content(path, MOST_BYTES + 1)
            if len(held) <= MOST_BYTES:
                yield held
