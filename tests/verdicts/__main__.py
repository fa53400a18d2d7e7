"""The table of verdicts on planted edits: `python -m tests.verdicts [--evidence program] [--only NAME]`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter

from tests.verdicts.trials import court, trials


def main() -> int:
    """Prove every edit and print a line for each, then what they add up to; 1 where a verdict is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evidence", choices=("program", "architecture", "both"), default="both")
    parser.add_argument("--only", default="", help="programs or operators whose name has this in it")
    parser.add_argument("--part", default="1/1", help="this part of the programs, such as 1/2")
    parser.add_argument("--json", help="write the rows here")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    kinds = ("program", "architecture") if options.evidence == "both" else (options.evidence,)
    chosen = [each for kind in kinds for each in trials(kind) if options.only in f"{each.program} / {each.operator}"]
    names = sorted({each.program for each in chosen})
    chosen = [each for each in chosen if names.index(each.program) % parts == part - 1]
    rows, counts = [], Counter[tuple[str, bool, str, bool]]()
    with court() as judge:
        for trial in chosen:
            began = time.monotonic()
            proof = judge.proof(trial)
            right = trial.is_right(proof)
            counts[trial.evidence, trial.harmless, proof.verdict, right] += 1
            row = [
                trial.evidence,
                trial.program,
                trial.operator,
                proof.verdict,
                "" if right else "WRONG",
                proof.reason[:160],
            ]
            rows.append([*row, trial.harmless])
            print(" | ".join(row), f"({time.monotonic() - began:.1f} s)", flush=True)
    print()
    for (evidence, harmless, verdict, right), number in sorted(counts.items()):
        print(f"{evidence:12} {'harmless' if harmless else 'bad':8} {verdict:10} {number:4} {'' if right else 'WRONG'}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as handle:
            json.dump(rows, handle)
    return int(any(not right for _, _, _, right in counts))


if __name__ == "__main__":
    sys.exit(main())
