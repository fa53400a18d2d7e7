"""Lock files: uv.lock, poetry.lock and pdm.lock (one shape), Pipfile.lock."""

from __future__ import annotations

import json
import re

from gclint.pins.pin import FilePins, Reading, line_of

NAME = re.compile(r'^name = "([^"]+)"$')
VERSION = re.compile(r'^version = "([^"]+)"$')


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
