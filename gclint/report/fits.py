"""Whether the full-size run fits its device, as a table and in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gclint.report.escape import printable

if TYPE_CHECKING:
    from rich.console import Console

    from gclint.fix.proof import Proof


def gibibytes(value: float) -> str:
    """Return bytes as text: "14.2 GiB", "153 MiB", "12 KiB"."""
    if abs(value) >= 2**30:
        return f"{value / 2**30:.1f} GiB"
    return f"{value / 2**20:.0f} MiB" if abs(value) >= 10 * 2**20 else f"{value / 2**10:.0f} KiB"


def run_text(fit: Mapping[str, Any]) -> str:
    """Return what was measured: the model, where its sizes come from, batch and sequence, checkpointing."""
    state = "on" if fit["checkpointing"] else "off"
    told = f" ({fit['told']})" if fit["told"] else ""
    length = f" x {fit['sequence_length']} tokens" if fit["sequence_length"] else ""
    return (
        f"{fit['model']}, {counted(fit['parameters'])} parameters ({fit['config']}), {counted(fit['trainable'])}"
        f" trainable, batch {fit['batch_size']}{length}{told}, checkpointing {state}; fullest in the {fit['moment']}, "
        f"the allocator holds {gibibytes(fit['reserved'])} with its gaps"
    )


def counted(number: int) -> str:
    """Return a count as text: "6.74 B", "124.4 M", "650"."""
    if number >= 10**9:
        return f"{number / 1e9:.2f} B"
    return f"{number / 1e6:.1f} M" if number >= 10**5 else str(number)


def verdict_text(fit: Mapping[str, Any]) -> str:
    """Return whether it fits, in a sentence."""
    total, capacity = gibibytes(fit["total"]), fit["capacity"]
    if capacity is None:
        return f"needs {total}; name a GPU's memory to compare with (--gpu-memory 24GiB)"
    if fit["fits"]:
        return f"fits {gibibytes(capacity)}, {gibibytes(fit['margin'])} to spare"
    return f"does not fit {gibibytes(capacity)}: needs {total}, {gibibytes(-fit['margin'])} too much"


def distinct(proofs: Iterable[Proof]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the estimates of proofs, each once, as fixes of one run share theirs; where there are several, with the
    places of their fixes.
    """
    found: list[tuple[list[str], Mapping[str, Any]]] = []
    for proof in proofs:
        fit = proof.data.get("fit")
        place = f"{proof.finding.location.path}:{proof.finding.location.line}"
        known = next((places for places, held in found if held == fit), None)
        if known is not None:
            known.append(place)
        elif fit:
            found.append(([place], fit))
    return [(f" ({', '.join(dict.fromkeys(places))})" if len(found) > 1 else "", fit) for places, fit in found]


def show(fits: Iterable[tuple[str, Mapping[str, Any]]], console: Console) -> None:
    """Print a table for every estimate, and what would fit where one does not."""
    from rich.markup import escape
    from rich.table import Table

    for places, fit in fits:
        console.print()
        if "unknown" in fit:
            told = f"The full-size run{places}: unknown, {fit['unknown']}"
            console.print(escape(printable(told)), highlight=False)
            continue
        console.print(escape(printable(f"A step of the full-size run{places}")), highlight=False)
        table = Table(show_header=False)
        table.add_column("part")
        table.add_column("bytes", justify="right")
        for name, size in fit["bytes"].items():
            if size:
                table.add_row(name, gibibytes(size))
        table.add_section()
        table.add_row("needed", gibibytes(fit["total"]))
        console.print(table)
        console.print(escape(printable(run_text(fit))), style="dim", highlight=False, soft_wrap=True)
        colour = {True: "green", False: "red", None: ""}[fit["fits"]]
        console.print(verdict_text(fit), style=colour, highlight=False)
        for option in fit["options"]:
            console.print(escape(printable(option_text(option))), highlight=False, soft_wrap=True)


def text(fits: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """Return what `show` prints, as plain text for a file or in colour for a terminal."""
    from rich.console import Console

    console = Console()
    with console.capture() as captured:
        show(fits, console)
    return captured.get()


def option_text(option: Mapping[str, Any]) -> str:
    """Return what a change comes to, in a line."""
    if option.get("error"):
        return f"  could not be measured with {option['title']}: {option['error']}"
    how = ", by formula" if option.get("by_formula") else ""
    start = "would fit" if option["fits"] else "not enough"
    return f"  {start}: {option['title']} ({gibibytes(option['total'])}{how})"
