"""`python -m tests.differential --count 2000 --seed 1`: counts by verdict and by feature, and the first failures."""

from __future__ import annotations

import argparse
from collections import Counter

from .compared import compare
from .grammar import Grammar
from .shrink import shrunk


def main() -> None:
    """Compare programs and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--show",
        type=int,
        default=0,
        help="print this many programs of which not all is known, shrunk, beside all that are told wrong",
    )
    parser.add_argument("--size", type=int, default=4, help="statements of a program at most")
    options = parser.parse_args()
    verdicts: Counter[str] = Counter()
    features: Counter[str] = Counter()
    failing: Counter[str] = Counter()
    seen = unknown = shown = 0
    for seed in range(options.seed, options.seed + options.count):
        grammar = Grammar(seed)
        text = grammar.program(options.size)
        made = compare(text)
        if made is None:
            continue
        verdicts[made.verdict] += 1
        seen, unknown = seen + made.seen, unknown + made.unknown
        features.update(grammar.used)
        if made.verdict not in ("exact",):
            failing.update(grammar.used)
            if made.verdict != "unknown" or shown < options.show:
                shown += made.verdict == "unknown"
                small = shrunk(text, made.verdict)
                print(f"--- seed {seed}: {made.verdict}\n{small}\n{compare(small)}\n", flush=True)
    total = sum(verdicts.values())
    for name, count in verdicts.most_common():
        print(f"{name:10} {count:6} {count / total:6.1%}")
    print(f"unknown values: {unknown} of {seen} ({unknown / max(seen, 1):.1%})")
    for name, count in sorted(features.items(), key=lambda pair: -failing[pair[0]] / pair[1]):
        print(f"  {failing[name] / count:5.0%} of {count:5} with {name}")


main()
