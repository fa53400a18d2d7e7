"""Lock files: uv.lock, poetry.lock, pdm.lock and pylock.toml (one shape), Pipfile.lock, conda-lock, pixi.lock."""

from __future__ import annotations

import json
import re
from urllib.parse import unquote

from gclint.pins.pin import FilePins, Reading, line_of
from gclint.pins.requirement import CONDA_NAMES

NAME = re.compile(r'^name = "([^"]+)"$')
VERSION = re.compile(r'^version = "([^"]+)"$')
ITEM = re.compile(r"^(?:- |  )name: [\"']?([\w.-]+)[\"']?$")
ITEM_VERSION = re.compile(r"^  version: [\"']?([^\"'\s]+)[\"']?$")
BUILT = re.compile(r"/([\w.-]+)-(\d[\w.]*)-([\w.]+)\.(?:conda|tar\.bz2)\b")
WHEEL_NAME = re.compile(r"/([\w.]+)-(\d[\w.+%]*?)(?:-\d\w*)?-\w+-\w+-[\w.]+\.whl\b")


def read_toml_lock(text: str) -> FilePins:
    """The locked versions; read line by line, since whole TOML documents of this size are slow to parse."""
    reading = Reading()
    name = ""
    for number, raw in enumerate(text.splitlines(), start=1):
        if raw.startswith("["):
            name = ""
        elif not name and (found := NAME.match(raw)):
            name = found.group(1)
        elif name and (found := VERSION.match(raw)):
            reading.add(name, f"=={found.group(1)}", number)
        elif raw.startswith("source = ") and "/rocm" in raw:
            reading.add_rocm(number)
    return reading.done()


def read_conda_lock(text: str) -> FilePins:
    """The versions of conda-lock.yml, of pixi.lock and of conda's explicit lists: by their names, else by the files
    that they name.
    """
    reading = Reading()
    name = ""
    for number, raw in enumerate(text.splitlines(), start=1):
        if found := ITEM.match(raw):
            name = found.group(1)
        elif name and (found := ITEM_VERSION.match(raw)):
            _locked(name, found.group(1), number, reading)
            name = ""
        elif (found := BUILT.search(raw)) or (found := WHEEL_NAME.search(raw)):
            _locked(found.group(1), unquote(found.group(2)), number, reading)
    return reading.done()


def _locked(name: str, version: str, line: int, reading: Reading) -> None:
    reading.add(CONDA_NAMES.get(name, name), f"=={version}", line)


def read_pipfile_lock(text: str) -> FilePins:
    """The locked versions of a Pipfile.lock."""
    reading = Reading()
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return FilePins()
    for section in ("default", "develop"):
        packages = document.get(section) if isinstance(document, dict) else None
        for name, entry in packages.items() if isinstance(packages, dict) else ():
            version = entry.get("version") if isinstance(entry, dict) else None
            if isinstance(version, str):
                reading.add(name, version, line_of(text, f'"{name}"'))
    return reading.done()
