"""The measure: how many twisted programs were checked and fixed, and what went wrong.

`python -m tests.fuzz --examples 2000` prints the counts; `--seed` takes other programs, `--keep DIR` writes there
those that something is wrong with. One in ten is a random program of hypothesmith, alone or behind a fixture, where
hypothesmith is installed; the others are mutations of the fixtures.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import fixtures
from gclint.check.findings import builtin_judge

from .mutations import mutated
from .trial import Result, tried

RANDOM_SHARE = 10
PER_TASK = 25


@dataclass(frozen=True)
class Example:
    """A text to try, made of an `original`; ungated without one, as no rule's words would let it be walked."""

    name: str
    text: str
    original: str = ""


def mutations(count: int, seed: int) -> list[Example]:
    """Mutations of the fixtures, the same ones for the same seed."""
    paths = [path for path in (*fixtures.scripts("bad_"), *fixtures.scripts("good_")) if path.suffix == ".py"]
    random = Random(seed)
    chosen = [(path, path.read_text()) for path in random.choices(paths, k=count)]
    return [
        Example(f"{fixtures.name(path)} {number}", mutated(text, random), text)
        for number, (path, text) in enumerate(chosen)
    ]


def random_programs(count: int, seed: int) -> list[Example]:
    """Programs of hypothesmith, every other one behind a fixture; none where it is not installed."""
    try:
        import hypothesis
        import hypothesmith
    except ImportError:
        return []
    made: list[str] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(hypothesmith.from_node())
    def collect(text: str) -> None:
        made.append(text)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collect()
    paths = [path for path in fixtures.scripts("bad_") if path.suffix == ".py"]
    random = Random(seed)
    originals = [random.choice(paths).read_text() if number % 2 else "" for number in range(len(made))]
    return [
        Example(f"random {number}", original + text, original)
        for number, (original, text) in enumerate(zip(originals, made, strict=True))
    ]


def outcomes(examples: Sequence[Example]) -> list[tuple[Example, Result]]:
    """Every example with what came of it."""
    judge = builtin_judge()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [(each, tried(each.text, each.original, replace(judge, gated=bool(each.original)))) for each in examples]


def printed(made: Iterable[tuple[Example, Result]], seconds: float) -> str:
    """The counts as text."""
    results = [(example, result) for example, result in made]
    rows = {
        "examples": len(results),
        "  random programs": sum(example.name.startswith("random") for example, _ in results),
        "  that parse": sum(result.parses for _, result in results),
        "findings": sum(result.findings for _, result in results),
        "fixes applied": sum(result.applied for _, result in results),
        "  in programs": sum(result.applied > 0 for _, result in results),
        "fixes refused": sum(result.refused for _, result in results),
        "wrong": sum(bool(result.wrong) for _, result in results),
    }
    lines = [f"{name:20}{count:>8}" for name, count in rows.items()]
    return "\n".join([*lines, f"{'seconds':20}{seconds:>8.0f}"])


def main(arguments: Sequence[str]) -> int:
    """Print the counts; the exit status is 1 where anything went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--examples", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="write the programs that something is wrong with here")
    asked = parser.parse_args(arguments)
    began = time.monotonic()
    examples = random_programs(asked.examples // RANDOM_SHARE, asked.seed)
    examples += mutations(asked.examples - len(examples), asked.seed)
    tasks = [examples[first : first + PER_TASK] for first in range(0, len(examples), PER_TASK)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        made = [pair for some in pool.map(outcomes, tasks) for pair in some]
    for number, (example, result) in enumerate(made):
        if result.wrong:
            print(f"{example.name}: {result.wrong}")
            if asked.keep is not None:
                asked.keep.mkdir(parents=True, exist_ok=True)
                (asked.keep / f"{number}.py").write_bytes(example.text.encode("utf-8", "surrogatepass"))
    print(printed(made, time.monotonic() - began))
    return int(any(result.wrong for _, result in made))
