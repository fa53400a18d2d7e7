"""The files through which a pool and its workers talk, in one scratch directory.

Jobs and results are signed with a key that the pool makes for these workers: what a run writes here is neither. The key
is in the settings until the workers have read them, and no job starts before they are removed.

settings.json          what the pool wants of every worker, and the key
ready-RANK.json        the worker has imported its libraries (or says why it cannot)
job-N.json             the next run, the same for every rank
result-N-RANK.json     what a rank measured
output-N-RANK.txt      what a rank printed
run-N                  where the ranks run the job; removed by the pool once all have reported
run-N/steps.json       how many optimizer steps the ranks take
cancel-N               ranks that still run job N end it and report
stop                   workers leave
tmp                    temporary files of workers and libraries
alive                  touched by the pool while it lives, where a launcher of the user started the workers
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from pathlib import Path
from typing import Any


def write_json(path: Path, data: Any) -> None:
    """Write `data` so that a reader sees the whole file or none."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(data), encoding="utf-8")
    temporary.replace(path)


def read_json(path: Path) -> Any | None:
    """Return the data in `path`, None when it is not there (yet)."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None


class Key:
    """What signs; a job's process forgets it before it runs anything."""

    def __init__(self, text: str):
        self._text = text.encode()

    def forget(self) -> None:
        """Sign and recognise nothing from now on."""
        self._text = b""

    def sign(self, name: str, text: str) -> str:
        """The signature of a file's text under its name."""
        return hmac.new(self._text, f"{name}\0{text}".encode(), hashlib.sha256).hexdigest()


def write_signed(path: Path, data: Any, key: Key) -> None:
    """Write `data`, whole or not at all, so that `read_signed` knows who wrote it."""
    text = json.dumps(data)
    write_json(path, [text, key.sign(path.name, text)])


def read_signed(path: Path, key: Key) -> Any | None:
    """Return the data in `path`, None when it is not there (yet) or somebody without the key wrote it."""
    try:
        text, signature = read_json(path) or ("", "")
        return json.loads(text) if hmac.compare_digest(signature, key.sign(path.name, text)) else None
    except (OSError, ValueError, TypeError):
        return None


def ready(directory: Path, rank: int) -> Path:
    """The file in which a rank says that it is ready."""
    return directory / f"ready-{rank}.json"


def job(directory: Path, number: int) -> Path:
    """The file of a job."""
    return directory / f"job-{number}.json"


def result(directory: Path, number: int, rank: int) -> Path:
    """The file of a rank's result."""
    return directory / f"result-{number}-{rank}.json"


def output(directory: Path, number: int, rank: int) -> Path:
    """The file that takes what a rank prints."""
    return directory / f"output-{number}-{rank}.txt"


def run(directory: Path, number: int) -> Path:
    """The directory of a job's runs."""
    return directory / f"run-{number}"


def scratch(directory: Path, number: int, rank: int | None = None) -> Path:
    """The directory in which a job runs: of one rank, or of all of them."""
    return run(directory, number) / ("all" if rank is None else f"rank-{rank}")


def temporary(directory: Path) -> Path:
    """The directory for temporary files of workers and libraries."""
    return directory / "tmp"


def steps(directory: Path, number: int) -> Path:
    """The file in which rank 0 says how many steps a job takes."""
    return run(directory, number) / "steps.json"


def cancel(directory: Path, number: int) -> Path:
    """The file that ends a job."""
    return directory / f"cancel-{number}"


def alive(directory: Path) -> Path:
    """The file that says that the pool lives."""
    return directory / "alive"


def stop(directory: Path) -> Path:
    """The file that ends the workers."""
    return directory / "stop"
