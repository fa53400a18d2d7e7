"""`gclint fix --interactive`: the fixes of each finding side by side, and one key to choose."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from gclint.cli.parser import UsageError
from gclint.fix.choose import Decision
from gclint.fix.trials import Trial
from gclint.report.escape import printable

SKIP, QUIT = "s", "q"


def require_terminal() -> None:
    """Raise `UsageError` where nobody can press a key."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("--interactive needs a terminal")


def ask(trials: Sequence[Sequence[Trial]]) -> Iterator[Decision]:
    """Show the fixes of each finding and yield what the user decides; after `q` the rest is left as it is."""
    from rich.console import Console

    console, key = Console(highlight=False), ""
    for number, ways in enumerate(trials, start=1):
        finding = ways[0].chosen.finding
        if key == QUIT:
            yield Decision(finding, None)
            continue
        place = f"{printable(finding.location.path)}:{finding.location.line}"
        console.print(f"\n[bold]{finding.code}[/bold] {place} ({number} of {len(trials)})")
        console.print(printable(finding.message), markup=False)
        key = _choose(ways, console)
        yield Decision(finding, None if key in (SKIP, QUIT) else ways[int(key) - 1].chosen.fix.name)


def _choose(ways: Sequence[Trial], console: object) -> str:
    from gclint.report.choices import side_by_side

    side_by_side(ways, console)  # type: ignore[arg-type]
    open_ = [str(number) for number, trial in enumerate(ways, start=1) if trial.verdict != "rejected"][:9]
    print(f"{'/'.join(open_)} takes a fix, {SKIP} skips, {QUIT} leaves the rest: ", end="", flush=True)
    while True:
        key = _key()
        if key in (*open_, SKIP, QUIT):
            print(key, flush=True)
            return key


def _key() -> str:
    """Return the next key pressed, without waiting for Enter; `q` at the end of input."""
    if sys.platform == "win32":
        import msvcrt

        return msvcrt.getwch()
    import os
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSADRAIN)
        read = os.read(descriptor, 1)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
    return read.decode("ascii", "replace") if read else QUIT
