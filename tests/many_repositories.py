"""500 small repositories on Ray with a worker killed: `pip install ray`, then `python tests/many_repositories.py [N]`.

Most are trainings with findings; every tenth has no findings, a wrong configuration, a file that does not parse, or is
not there. Prints how many rows of which kind came of them, and in how many seconds.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import ray

from gclint import check_repositories
from gclint.many import rows_in

ROOT = Path(__file__).parent.parent
FINE = "import torch\n\nmodel = torch.nn.Linear(4, 4)\nmodel(torch.ones(2, 4)).sum().backward()\n"
TRAININGS = (ROOT / "docs" / "example", *sorted(path / "before" for path in (ROOT / "fixtures" / "seeds").iterdir()))
OTHERS = {
    "fine": ("train.py", FINE),
    "wrong": ("gclint.toml", "selct = []\n"),
    "broken": ("train.py", "import torch (\n"),
}
SHARE = 10


def made(place: Path, count: int) -> list[str]:
    """So many repositories in a folder."""
    kinds = [*OTHERS, "absent"]
    for number in range(count):
        repository = place / f"repository{number}"
        kind = kinds[number // 10 % len(kinds)] if number % 10 == 0 else ""
        if kind in OTHERS:
            name, text = OTHERS[kind]
            repository.mkdir()
            (repository / name).write_text(text)
        elif not kind:
            shutil.copytree(TRAININGS[number % len(TRAININGS)], repository)
    return [str(place / f"repository{number}") for number in range(count)]


@ray.remote
def check_share(repositories: list[str], into: str, begun: str) -> None:
    """Check a share, by a worker that says which process it is and what it begins."""
    Path(begun, f"{Path(repositories[0]).name}.{os.getpid()}").touch()
    check_repositories(repositories, into)


def main() -> None:
    """Make the repositories, check them, kill a worker on the way, and say what came of it."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    with tempfile.TemporaryDirectory() as directory:
        place, into, begun = (Path(directory) / name for name in ("repositories", "found", "begun"))
        for each in (place, into, begun):
            each.mkdir()
        repositories = made(place, count)
        ray.init(include_dashboard=False)
        began = time.monotonic()
        shares = [repositories[start : start + SHARE] for start in range(0, count, SHARE)]
        running = [check_share.remote(share, str(into), str(begun)) for share in shares]
        while len(list(into.iterdir())) < SHARE // 2:
            time.sleep(0.1)
        os.kill(int(next(begun.iterdir()).suffix[1:]), signal.SIGKILL)
        ray.get(running)
        seconds = time.monotonic() - began
        rows, again = list(rows_in(into)), len(list(begun.iterdir())) - len(shares)
    kinds = Counter(row["kind"] for row in rows)
    ended = Counter(row["repository"] for row in rows if row["kind"] in ("repository", "failed"))
    assert ended == Counter(repositories), "each repository ends once"
    assert again, "no share was begun again by another worker"
    told = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
    print(f"{count} repositories, a worker killed, shares begun again: {again}")
    print(f"{len(rows)} rows ({told}) in {seconds:.0f} s, {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
