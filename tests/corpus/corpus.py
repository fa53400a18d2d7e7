"""The corpus: public packages at pinned versions, what gclint finds in them, and how each finding was judged.

`python tests/corpus/corpus.py [package ...]` fetches the sources (pip download, never committed), checks them and
writes the findings into `findings.csv`, keeping the verdicts of those that are there already.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from gclint.check.engine import check_paths

TABLE = Path(__file__).parent / "findings.csv"
PACKAGES = {
    "accelerate": "1.15.0",
    "diffusers": "0.42.1",
    "lightning": "2.6.6",
    "litgpt": "0.5.13",
    "llamafactory": "0.9.5",
    "peft": "0.21.2",
    "timm": "1.0.31",
    "transformers": "5.23.0",
    "trl": "1.16.0",
}
# what gclint says of itself: a suppression that silences nothing, a program judged in part
NOTES = ("GCL001", "GCL002")
# one release of each library, so that what happens to be installed changes nothing
TARGET = {
    "torch": "2.13.0",
    "transformers": "5.23.0",
    "peft": "0.21.2",
    "trl": "1.16.0",
    "accelerate": "1.15.0",
    "lightning": "2.6.6",
    "pytorch-lightning": "2.6.6",
    "diffusers": "0.42.1",
    "timm": "1.0.31",
    "deepspeed": "0.19.8",
}


class Row(NamedTuple):
    """A finding in a package; `verdict` is "true" or "false", "" when nobody has judged it, with `why`."""

    package: str
    version: str
    path: str
    line: int
    code: str
    certainty: str
    verdict: str = ""
    why: str = ""

    @property
    def place(self) -> tuple[str, str, str, int, str, str]:
        """What makes two rows the same finding."""
        return self[:6]

    def told(self) -> str:
        return f"{self.package} {self.version} {self.path}:{self.line} {self.code} {self.certainty}"


def fetched(package: str, cache: Path) -> Path:
    """The unpacked source of a package; raises CalledProcessError where it cannot be had."""
    version = PACKAGES[package]
    home = cache / f"{package}-{version}"
    if home.is_dir():
        return home
    files = cache / "files"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", str(files), f"{package}=={version}"]
    subprocess.run(command, check=True)
    (archive,) = [path for path in files.iterdir() if path.name.lower().startswith(f"{package}-{version}")]
    unpacked = cache / f"{package}-{version}.part"
    with zipfile.ZipFile(archive) if archive.suffix == ".whl" else tarfile.open(archive) as opened:
        opened.extractall(unpacked)
    unpacked.rename(home)
    return home


def findings(package: str, home: Path) -> list[Row]:
    """What gclint finds in the unpacked source of a package, in order; paths are from `home`."""
    before = os.getcwd()
    os.chdir(home)
    try:
        report = check_paths(["."], target=TARGET)
    finally:
        os.chdir(before)
    made = [
        Row(package, PACKAGES[package], item.location.path, item.location.line, item.code, item.certainty)
        for item in report.findings
        if item.code not in NOTES
    ]
    return sorted(set(made))


def table() -> list[Row]:
    """The committed findings and verdicts."""
    with TABLE.open(newline="") as file:
        return [Row(**{**row, "line": int(row["line"])}) for row in csv.DictReader(file)]  # type: ignore[arg-type]


def write(rows: Iterable[Row]) -> None:
    """Write the table, ordered as `PACKAGES` is."""
    order = list(PACKAGES)
    with TABLE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row._fields)
        writer.writerows(sorted(rows, key=lambda row: (order.index(row.package), row.place)))


def main(packages: Sequence[str]) -> None:
    cache = Path(os.environ.get("GCLINT_CORPUS", Path.home() / ".cache" / "gclint-corpus"))
    held = {row.place: row for row in table()} if TABLE.exists() else {}
    for package in packages or list(PACKAGES):
        made = findings(package, fetched(package, cache))
        held = {place: row for place, row in held.items() if row.package != package} | {
            row.place: held.get(row.place, row) for row in made
        }
        write(held.values())
        print(f"{package}: {len(made)} findings, {sum(not held[row.place].verdict for row in made)} not judged")


if __name__ == "__main__":
    main(sys.argv[1:])
