"""`python -m tests.knowledge.lost DIR`: the programs of a checkout that come to no backward though they import one.

Each is told with the place of the last event of its walk, and that of the last exception that it made. This shows what
no judgement of findings does: models that nobody follows, loops that are taken for ones that never run.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from gclint.check.program import analyse
from gclint.finding import Finding
from gclint.rule import Rule
from gclint.run.events import Backward, LibraryCall, RunEnded, TrainerStarted
from gclint.run.run import Run
from gclint.source.source import read

BACKWARD = ".backward("
RAISES = ("Error", "Exception", "exit")


def lost(root: Path) -> list[str]:
    """A line for each program below a directory that is walked to its end and trains nothing, though it might."""
    told: dict[str, None] = {}
    rule = Rule(code="LST001", name="lost", docs="", words=(("backward", "Trainer"),))

    @rule.on(RunEnded)
    def ended(event: RunEnded, run: Run) -> Iterator[Finding]:
        if event.whole and not run.beside_programs and _might_train(run) and not run.of_type(Backward, TrainerStarted):
            told[_line(run, root)] = None
        return iter(())

    sources = [read(path, str(path), "python") for path in sorted(root.rglob("*.py"))]
    analyse(sources, root, {}, [rule])
    return list(told)


def _might_train(run: Run) -> bool:
    return run.entry is not None and any(True for _ in run.modules_with(BACKWARD))


def _line(run: Run, root: Path) -> str:
    calls = run.of_type(LibraryCall)
    raised = [each for each in calls if each.name.startswith("builtins.") and each.name.endswith(RAISES)]
    last = [each.site.location() for each in (*run.events[-2:-1], *raised[-1:])]
    places = [f"{os.path.relpath(place.path, root)}:{place.line}" for place in last]
    return f"{os.path.relpath(run.path, root)}: ends at {', and raises at '.join(places) or 'its beginning'}"


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    print("\n".join(lost(parser.parse_args().root.resolve())))


if __name__ == "__main__":
    main()
