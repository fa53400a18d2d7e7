"""The table of verdicts on planted edits: `python -m tests.verdicts [--evidence program] [--only NAME]`.

`--part 1/2 --json a.json` proves a half; `--page docs/verdicts.md a.json b.json` writes the page of what was
proved, the later file where two have the same edit.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.verdicts.page import page
from tests.verdicts.trials import court, trials


def main() -> int:
    """Prove every edit and print a line for each, then what they add up to; 1 where a verdict is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evidence", choices=("program", "architecture", "both"), default="both")
    parser.add_argument("--only", default="", help="programs or operators whose name has this in it")
    parser.add_argument("--part", default="1/1", help="this part of the programs, such as 1/2")
    parser.add_argument("--json", help="write the rows here; what stands there already is not proved again")
    parser.add_argument("--page", help="write the page of the rows in the files given, and prove nothing")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    if options.page:
        every = [row for name in options.files for row in json.loads(Path(name).read_text(encoding="utf-8"))]
        latest = {(row["evidence"], row["program"], row["operator"]): row for row in every}
        Path(options.page).write_text(page(list(latest.values()), len(trials("program"))), encoding="utf-8")
        return 0
    rows = _proved(options)
    counts = Counter((row["evidence"], row["harmless"], row["verdict"], row["right"]) for row in rows)
    print()
    for (evidence, harmless, verdict, right), number in sorted(counts.items()):
        print(f"{evidence:12} {'harmless' if harmless else 'bad':8} {verdict:10} {number:4} {'' if right else 'WRONG'}")
    return int(any(not row["right"] for row in rows))


def _proved(options: argparse.Namespace) -> list[dict[str, Any]]:
    part, parts = map(int, options.part.split("/"))
    kinds: Sequence[str] = ("program", "architecture") if options.evidence == "both" else (options.evidence,)
    chosen = [each for kind in kinds for each in trials(kind) if options.only in f"{each.program} / {each.operator}"]
    names = sorted({each.program for each in chosen})
    kept = Path(options.json) if options.json else None
    rows = json.loads(kept.read_text(encoding="utf-8")) if kept is not None and kept.exists() else []
    known = {(row["evidence"], row["program"], row["operator"]) for row in rows}
    chosen = [each for each in chosen if (each.evidence, each.program, each.operator) not in known]
    with court() as judge:
        for trial in (each for each in chosen if names.index(each.program) % parts == part - 1):
            began = time.monotonic()
            proof = judge.proof(trial)
            row = {
                "evidence": trial.evidence, "program": trial.program, "operator": trial.operator,
                "harmless": trial.harmless, "verdict": proof.verdict, "right": trial.is_right(proof),
                "reason": proof.reason, "seconds": time.monotonic() - began,
            }  # fmt: skip
            rows.append(row)
            if kept is not None:
                kept.write_text(json.dumps(rows), encoding="utf-8")
            told = [trial.evidence, trial.program, trial.operator, proof.verdict, "" if row["right"] else "WRONG"]
            print(" | ".join([*told, proof.reason[:160]]), f"({row['seconds']:.1f} s)", flush=True)
    return rows


if __name__ == "__main__":
    sys.exit(main())
