"""The ways to fix a finding, ranked in a table, and side by side with their diffs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gclint.fix.diff import unified_all
from gclint.fix.trials import Trial, ranked
from gclint.report.escape import printable
from gclint.report.fits import gibibytes, verdict_text
from gclint.report.proofs import COLOURS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

NARROWEST = 44
DIFF = {"+": "green", "-": "red", "@": "cyan"}


def show_ranking(trials: Sequence[Trial], console: Console) -> None:
    """Print the fixes of one finding, the best first, and how to take another."""
    from rich.table import Table

    finding = trials[0].chosen.finding
    place = f"{finding.code} {printable(finding.location.path)}:{finding.location.line}"
    table = Table(title=f"Ways to fix {place}", title_justify="left")
    for name in ("", "fix", "verdict", "full size", "memory", "s/step"):
        justify: Any = "right" if name in ("", "memory", "s/step") else "left"
        table.add_column(name, overflow="fold", justify=justify, no_wrap=name in ("", "fix", "verdict"))
    for number, trial in enumerate(ranked(trials), start=1):
        data = trial.proof.data if trial.proof is not None else {}
        verdict = f"[{COLOURS[trial.verdict]}]{trial.verdict}[/]" if trial.verdict else "-"
        fit = data.get("fit", {})
        size = verdict_text(fit) if "total" in fit else "-"
        table.add_row(str(number), trial.chosen.fix.name, verdict, size, _memory(data), _seconds(data))
    console.print(table)
    console.print(f"take one: gclint fix --choose {finding.code}=NAME", style="dim", highlight=False)


def side_by_side(trials: Sequence[Trial], console: Console) -> None:
    """Print the fixes of one finding beside each other, each under its key from 1."""
    from rich.table import Table

    room = max(1, console.width // NARROWEST)
    for start in range(0, len(trials), room):
        table = Table(expand=True, show_lines=False)
        part = list(enumerate(trials, start=1))[start : start + room]
        for number, trial in part:
            table.add_column(f"[bold]\\[{number}][/bold] {trial.chosen.fix.name}", ratio=1, overflow="fold")
        table.add_row(*(_told(trial) for _, trial in part))
        console.print(table)


def _told(trial: Trial) -> Text:
    from rich.text import Text

    fix = trial.chosen.fix
    text = Text(f"{printable(fix.title)}\n")
    if fix.cost:
        text.append(f"cost: {printable(fix.cost)}\n", "yellow")
    if fix.applicability == "unsafe":
        text.append("needs judgement\n", "yellow")
    for line in unified_all(trial.changes).splitlines():
        if not line.startswith(("---", "+++")):
            text.append(line + "\n", DIFF.get(line[:1], ""))
    text.rstrip()
    return text


def figures(trials: Sequence[Trial]) -> Text:
    """What is known so far of how the fixes of one finding run, each under its key from 1."""
    from rich.text import Text

    text = Text()
    for number, trial in enumerate(trials, start=1):
        text.append(f"[{number}] ", "bold")
        for line, colour in _figures(trial):
            text.append(line + "\n", colour)
    return text


def _figures(trial: Trial) -> Iterator[tuple[str, str]]:
    if trial.proof is None:
        yield "no figures yet", "dim"
        return
    data = trial.proof.data
    reason = "" if trial.verdict == "confirmed" else f": {trial.proof.reason}"
    yield printable(f"{trial.verdict}{reason}"), COLOURS[trial.verdict]
    if "peak_memory_bytes" in data or "seconds_per_step" in data:
        yield f"    memory {_memory(data)}, seconds per step {_seconds(data)}", ""
    fit = data.get("fit", {})
    if "total" in fit:
        yield f"    full size {verdict_text(fit)}", {True: "green", False: "red", None: ""}[fit["fits"]]
        for proposal in [each for each in fit["options"] if each["fits"]][:1]:
            yield f"    would fit: {proposal['title']} ({gibibytes(proposal['total'])})", ""


def _memory(data: Any) -> str:
    return _pair(data.get("peak_memory_bytes"), gibibytes)


def _seconds(data: Any) -> str:
    return _pair(data.get("seconds_per_step"), lambda value: f"{value:.3f}")


def _pair(values: Any, shown: Any) -> str:
    before, after = values if values else (None, None)
    texts = [shown(each) if each is not None else "-" for each in (before, after)]
    return "-" if texts == ["-", "-"] else " -> ".join(texts)
