"""The page of the planted edits: what they add up to, and each edit with its verdicts over all programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

VERDICTS = ("confirmed", "passes", "rejected", "unverified")
HEAD = """# Edits that must not pass

`gclint fix --verify` may only write an edit that was shown to be harmless. So edits are planted: {bad} ways to harm a
training and {harmless} that do no harm, in {programs} healthy programs (`tests/verdicts/programs`: plain loops,
checkpointing, DDP, accumulation, AMP, a GAN, resuming, accelerate, transformers' Trainer, trl, adapters, vision), each
as the fix of a rule pack that declares no intent, so that it may change nothing. A bad edit is judged rightly by
`rejected` or `unverified` (neither is written), a harmless one by anything but `rejected`. `python -m tests.verdicts`
makes the table anew; a sample of it runs in the test suite.

| evidence | edits | confirmed | passes | rejected | unverified | wrong |
|---|---|---|---|---|---|---|
"""
NOTE = """
A derived run (`architecture`) shows few of these edits: what it does not show is `unverified`, and says so.

What is not seen: an edit whose effect no step of the short run shows and that has no part left unexecuted, such as a
factor that is one until the millionth step; and code that attacks the measurement from within its process, knowing
gclint's own names.

## By edit

| edit | evidence | confirmed | passes | rejected | unverified |
|---|---|---|---|---|---|
"""


def page(rows: Sequence[dict[str, Any]], applicable: int) -> str:
    """Return the page, as Markdown; `applicable` edits there are in each kind of evidence, run or not."""
    sizes = {
        "bad": len({row["operator"] for row in rows if not row["harmless"]}),
        "harmless": len({row["operator"] for row in rows if row["harmless"]}),
        "programs": len({row["program"] for row in rows}),
    }
    lines = []
    for evidence in ("program", "architecture"):
        for harmless in (False, True):
            some = [row for row in rows if row["evidence"] == evidence and row["harmless"] == harmless]
            wrong = sum(not row["right"] for row in some)
            kind = f"`{evidence}`, {'harmless' if harmless else 'bad'}"
            lines.append(f"| {kind} | {len(some)} | {_counts(some)} | {wrong} |")
    by_edit = []
    for operator in dict.fromkeys(row["operator"] for row in rows):
        for evidence in ("program", "architecture"):
            some = [row for row in rows if row["operator"] == operator and row["evidence"] == evidence]
            shown = f"{operator} (harmless)" if some and some[0]["harmless"] else operator
            by_edit += [f"| {shown} | {evidence} | {_counts(some)} |"] if some else []
    run = {kind: sum(row["evidence"] == kind for row in rows) for kind in ("program", "architecture")}
    share = ", ".join(f"{number} in `{kind}`" for kind, number in run.items())
    told = f"\nOf {applicable} edits that can be made in each kind of evidence this measurement ran {share}.\n"
    return HEAD.format(**sizes) + "\n".join(lines) + "\n" + told + NOTE + "\n".join(by_edit) + "\n"


def _counts(rows: Sequence[dict[str, Any]]) -> str:
    counts = Counter(row["verdict"] for row in rows)
    return " | ".join(str(counts.get(verdict, 0)) for verdict in VERDICTS)
