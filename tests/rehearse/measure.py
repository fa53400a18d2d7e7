"""How much of what was planted a rehearsal names, and what it says of healthy programs.

    python -m tests.rehearse.measure [--only NAMES] [KIND ...]

Kinds are planted, healthy, failing and mended. The first line of a planted program says which codes are due (any of
them) and on how many ranks it is run. `failing` and `mended` are the reproductions of the rules whose failure is
silent: programs that were not written for this.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gclint.rehearse.program import program_named
from gclint.rehearse.rehearsal import Rehearsal, rehearse
from gclint.rule import load_rules
from gclint.verify import Options, Verifier

HERE = Path(__file__).parent
FIXTURES = HERE.parents[1] / "fixtures"


@dataclass(frozen=True)
class Program:
    """A program of the collection: its file, what is due of it, and how it is started."""

    path: Path
    due: tuple[str, ...]
    ranks: int
    of: str = ""

    @property
    def command(self) -> list[str]:
        name = self.path.name
        return ["torchrun", f"--nproc_per_node={self.ranks}", name] if self.ranks > 1 else [name]


def programs(kind: str) -> Iterator[Program]:
    """The programs of a folder, or of the rules' fixtures."""
    if kind in ("failing", "mended"):
        yield from _reproductions(kind == "failing")
        return
    for path in sorted((HERE / kind).glob("*.py")):
        head = path.read_text().partition("\n")[0]
        ranks = re.search(r"ranks: (\d)", head)
        yield Program(path, tuple(re.findall(r"GC[SL]\d+", head)), int(ranks[1]) if ranks else 1)


def _reproductions(failing: bool) -> Iterator[Program]:
    for rule in load_rules():
        claim = rule.reproduction
        if claim.before and not claim.needs and not claim.raises:
            path = FIXTURES / rule.code / (claim.before if failing else claim.after)
            yield Program(path, (), claim.processes, rule.code)


@contextmanager
def verifier(timeout: float = 40) -> Iterator[Verifier]:
    with Verifier(Options(device="cpu", timeout=timeout)) as found:
        yield found


def rehearsed(program: Program, with_: Verifier) -> Rehearsal:
    """Rehearse a program alone in a project of its own."""
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as record:
        shutil.copy(program.path, place)
        return rehearse(program_named(program.command, place), with_, Path(record))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kinds", nargs="*", default=["planted", "healthy"])
    parser.add_argument("--only", default="", help="names that hold one of these words")
    options = parser.parse_args()
    with verifier() as found:
        for kind in options.kinds:
            _measure(kind, options.only, found)


def _measure(kind: str, only: str, found: Verifier) -> None:
    right, seconds, asked = (
        0,
        0.0,
        [each for each in programs(kind) if any(word in each.path.name for word in only.split(","))],
    )
    for program in asked:
        began = time.perf_counter()
        made = rehearsed(program, found)
        seconds += time.perf_counter() - began
        codes = made.codes
        due = set(program.due) if kind == "planted" else set(codes)
        good = bool(set(codes) & due) if kind in ("planted", "failing") else not codes
        right += good
        told = f"{made.outcome.status} {made.outcome.reason[:100]}" if made.outcome.status != "finished" else ""
        head = (
            f"{'ok  ' if good else 'MISS'} {f'{program.of} {program.path.stem}'.strip():42} {' '.join(codes) or '-':20}"
        )
        print(f"{head} {time.perf_counter() - began:4.1f} s {told}", flush=True)
        for each in made.seen if not good or set(codes) - due else ():
            print(f"       {each.code} {each.place}: {each.message}; {each.effect}")
    share = f"{right} of {len(asked)} ({100 * right / max(len(asked), 1):.0f} %)"
    verb = "named" if kind in ("planted", "failing") else "quiet"
    print(f"{kind}: {share} {verb}, {seconds / max(len(asked), 1):.1f} s each")


if __name__ == "__main__":
    main()
