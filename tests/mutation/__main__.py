"""`python -m tests.mutation --count 80 --seed 0`: which small mutations of the core no fast test notices."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .mutants import CORE, ROOT, Mutant, drawn, equivalent
from .trial import TESTS, failing

LEAST_CAUGHT = 0.9


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each mutant and the share that is caught; 1 where that is less than nine of ten."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=80)
    parser.add_argument("--skip", type=int, default=0, help="leave out the first of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--file", nargs="*", default=[], help="of these files of the core only, by name")
    parser.add_argument("--key", default="", help="only the mutants whose change contains this")
    parser.add_argument("--without", nargs="*", help="tests that fail anyway; without this they are looked for first")
    parser.add_argument("tests", nargs="*", default=TESTS)
    options = parser.parse_args(arguments)
    sample = drawn(options.count, options.seed, [path for path in CORE if path.stem in options.file] or CORE)
    tried = [mutant for mutant in sample[options.skip :] if options.key in mutant.key]
    anyway = failing(None, options.tests) if options.without is None else options.without
    for test in anyway:
        print(f"fails without a mutation, left out: {test}", flush=True)
    return _table(tried, options.tests, anyway)


def _table(tried: Sequence[Mutant], tests: Sequence[str], anyway: Sequence[str]) -> int:
    reasons = equivalent()
    caught = excused = 0
    for mutant in tried:
        found = [] if mutant.key in reasons else failing(mutant, tests, anyway)
        caught += bool(found)
        excused += mutant.key in reasons
        said = f"caught: {found[0]}" if found else f"equivalent: {reasons[mutant.key]}" if mutant.key in reasons else ""
        place = f"{mutant.path.relative_to(ROOT)}:{mutant.line}"
        print(f"{place} | {mutant.operator} | {mutant.key} | {said or 'SURVIVED'}", flush=True)
    asked = len(tried) - excused
    share = caught / max(asked, 1)
    print(f"{len(tried)} mutants, {excused} equivalent, {caught} of {asked} caught ({share:.1%})")
    return int(share < LEAST_CAUGHT)


if __name__ == "__main__":
    sys.exit(main())
