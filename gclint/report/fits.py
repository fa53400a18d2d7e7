"""Whether the full-size run fits its device, as a table and in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gclint.report.escape import printable

if TYPE_CHECKING:
    from rich.console import Console

    from gclint.fix.proof import Proof

PARTS = ("weights", "adapters", "gradients", "optimizer", "activations", "overhead")


def gibibytes(value: float) -> str:
    """Return bytes as text: "14.2 GiB", "153 MiB", "12 KiB"."""
    if abs(value) >= 2**30:
        return f"{value / 2**30:.1f} GiB"
    return f"{value / 2**20:.0f} MiB" if abs(value) >= 10 * 2**20 else f"{value / 2**10:.0f} KiB"


def run_text(fit: Mapping[str, Any]) -> str:
    """Return what was estimated: the model, where its sizes come from, batch and sequence, checkpointing."""
    state = "on" if fit["checkpointing"] else "off"
    told = f" ({fit['assumed']})" if fit["assumed"] else ""
    return (
        f"{fit['model']}, {fit['parameters'] / 1e9:.2f} B parameters ({fit['config']}), {fit['trainable'] / 1e6:.0f} M"
        f" trainable, batch {fit['batch_size']} x {fit['sequence_length']} tokens{told}, checkpointing {state}"
    )


def verdict_text(fit: Mapping[str, Any]) -> str:
    """Return whether it fits, in a sentence."""
    total, capacity = gibibytes(fit["total"]), fit["capacity"]
    if capacity is None:
        return f"needs {total}; no GPU here to compare with (--gpu-memory 24GiB)"
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
            told = f"Fit of the full-size run{places}: unknown, {fit['unknown']}"
            console.print(escape(printable(told)), highlight=False)
            continue
        console.print(escape(printable(f"Fit of the full-size run{places}, after the fixes")), highlight=False)
        table = Table(show_header=False)
        table.add_column("part")
        table.add_column("bytes", justify="right")
        for name in PARTS:
            if fit["bytes"][name]:
                table.add_row(name, gibibytes(fit["bytes"][name]))
        table.add_section()
        table.add_row("needed", gibibytes(fit["total"]))
        console.print(table)
        console.print(escape(printable(run_text(fit))), style="dim", highlight=False)
        colour = {True: "green", False: "red", None: ""}[fit["fits"]]
        console.print(verdict_text(fit), style=colour, highlight=False)
        for proposal in fit["proposals"]:
            console.print(f"  would fit: {proposal['title']} ({gibibytes(proposal['total'])})", highlight=False)
