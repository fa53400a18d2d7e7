"""The files through which a pool and its workers talk, in one scratch directory.

settings.json          what the pool wants of every worker
ready-RANK.json        the worker has imported its libraries (or says why it cannot)
job-N.json             the next run, the same for every rank
result-N-RANK.json     what a rank measured
imports-N-RANK.json    the library modules that the run imported
output-N-RANK.txt      what a rank printed
run-N, run-N-RANK      where all ranks, or one, run the job; removed by the pool once all have reported
steps-N.json           how many optimizer steps the ranks take
cancel-N               ranks that still run job N end it and report
stop                   workers leave
tmp                    temporary files of workers and libraries
alive                  touched by the pool while it lives, where a launcher of the user started the workers
"""

from __future__ import annotations

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


def ready(directory: Path, rank: int) -> Path:
    """The file in which a rank says that it is ready."""
    return directory / f"ready-{rank}.json"


def job(directory: Path, number: int) -> Path:
    """The file of a job."""
    return directory / f"job-{number}.json"


def result(directory: Path, number: int, rank: int) -> Path:
    """The file of a rank's result."""
    return directory / f"result-{number}-{rank}.json"


def imports(directory: Path, number: int, rank: int) -> Path:
    """The file that names the modules a job imported."""
    return directory / f"imports-{number}-{rank}.json"


def output(directory: Path, number: int, rank: int) -> Path:
    """The file that takes what a rank prints."""
    return directory / f"output-{number}-{rank}.txt"


def scratch(directory: Path, number: int, rank: int | None = None) -> Path:
    """The directory in which a job runs: of one rank, or of all of them."""
    return directory / (f"run-{number}" if rank is None else f"run-{number}-{rank}")


def temporary(directory: Path) -> Path:
    """The directory for temporary files of workers and libraries."""
    return directory / "tmp"


def steps(directory: Path, number: int) -> Path:
    """The file in which rank 0 says how many steps a job takes."""
    return directory / f"steps-{number}.json"


def cancel(directory: Path, number: int) -> Path:
    """The file that ends a job."""
    return directory / f"cancel-{number}"


def alive(directory: Path) -> Path:
    """The file that says that the pool lives."""
    return directory / "alive"


def stop(directory: Path) -> Path:
    """The file that ends the workers."""
    return directory / "stop"
