"""A rehearsal in words and as data: what was run and replaced, what it cost, what it only costs."""

from __future__ import annotations

from typing import Any

from gclint.rehearse.rehearsal import Rehearsal
from gclint.report.tally import counted

LEAST = 0.05  # seconds


def heading(made: Rehearsal) -> list[str]:
    """What was run, what took the place of what, and what was not run."""
    outcome, record = made.outcome, made.recording.first
    ranks = counted(outcome.world_size, "process").replace("processs", "processes")
    whole = "cut there" if record.end.get("cut") else "to its end"
    steps = counted(len(record.steps), "step")
    spent = sum(made.seconds.values())
    lines = [f"{made.recipe.name}: {steps} on {ranks}, {whole}, {outcome.device or 'cpu'}, {spent:.0f} s"]
    lines += [f"  replaced: {each}" for each in outcome.replaced]
    lines += [f"  not run: {each}" for each in outcome.limits]
    lines += [f"  not asked, please report it: {each}" for each in made.failed]
    return lines


def times(made: Rehearsal) -> str:
    """What the run and each question took, in a line."""
    return "  took: " + ", ".join(f"{name} {value:.1f} s" for name, value in taken(made))


def taken(made: Rehearsal) -> list[tuple[str, float]]:
    """What the run and the questions took, in seconds, in their order; what took next to nothing is left out."""
    return [(name, value) for name, value in made.seconds.items() if value >= LEAST]


def costs(made: Rehearsal) -> list[str]:
    """What is right and slow: waits for the device in lines that every step executes."""
    record = made.recording.first
    steps = len(record.steps)
    waits = [each for each in record.end.get("waits", ()) if steps >= 3 and each[3] >= steps - 1]
    return [
        f"  costs: {file}:{line} waits for the device {count / steps:.2g} times a step (.{name}())"
        for file, line, name, count in waits[:5]
    ]


def as_data(made: Rehearsal) -> dict[str, Any]:
    """What was run, for programs."""
    outcome = made.outcome
    return {
        "program": made.recipe.name,
        "status": outcome.status,
        "reason": outcome.reason,
        "processes": outcome.world_size,
        "device": outcome.device,
        "versions": dict(outcome.versions),
        "replaced": list(outcome.replaced),
        "limits": list(outcome.limits),
        "failed": list(made.failed),
        "steps": [
            [
                {"loss": loss_of(step), "gradient": step["total"], "rates": step["rates"], "moved": step["moved"]}
                for step in record.steps
            ]
            for record in made.recording
        ],
        "seconds": {name: round(value, 3) for name, value in made.seconds.items()},
        "costs": [line.strip() for line in costs(made)],
    }


def loss_of(step: dict[str, Any]) -> float | None:
    """The mean of the losses that led to a step, None where there were none."""
    values = [value for each in step["losses"] for value in each["values"]]
    return sum(values) / len(values) if values else None
