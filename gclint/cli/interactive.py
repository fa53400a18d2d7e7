"""`gclint fix --interactive`: the fixes of each finding side by side, and one key to choose.

The questions have a thread of their own: the first is asked once it is known what its fixes change. Meanwhile they are
run, and the figures come to stand below the question that is open.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from time import sleep
from typing import TYPE_CHECKING

from gclint.cli.parser import UsageError
from gclint.fix.choose import Decision
from gclint.fix.trials import Offer
from gclint.report.escape import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

SKIP, QUIT = "s", "q"
WAIT = 0.05


def require_terminal() -> None:
    """Raise `UsageError` where nobody can press a key."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("--interactive needs a terminal")


def ask(offers: Sequence[Offer]) -> list[Decision]:
    """Ask what to do about each finding, and run the fixes meanwhile; after `q` the rest is left as it is."""
    questions = _Questions(offers)
    with _single_keys(), ThreadPoolExecutor(1) as threads:
        answers = threads.submit(questions.ask)
        try:
            questions.work(answers)
            return answers.result()
        finally:
            questions.ended.set()


class _Questions:
    """The questions that are asked: how many are answered, and whether that has `ended` without an answer to all."""

    def __init__(self, offers: Sequence[Offer]):
        self.offers, self.answered, self.ended = offers, 0, Event()

    def work(self, answers: Future[list[Decision]]) -> None:
        """Find out what fixes change, one question ahead, and run those of the question that is open."""
        for number, offer in enumerate(self.offers):
            if answers.done():
                return
            for near in self.offers[number : number + 2]:
                near.show()
            measured = offer.measure()
            while self.answered <= number and not answers.done() and next(measured, None) is not None:
                pass

    def ask(self) -> list[Decision]:
        """Ask one question after the other, and return what the user decides."""
        from rich.console import Console

        console, decided, key = Console(highlight=False), list[Decision](), ""
        for offer in self.offers:
            if key != QUIT:
                while not offer.trials and not self.ended.is_set():
                    sleep(WAIT)
                key = self._choose(offer, console)
            taken = None if key in (SKIP, QUIT) else offer.fixes[int(key) - 1].name
            decided.append(Decision(offer.finding, taken))
            self.answered += 1
        return decided

    def _choose(self, offer: Offer, console: Console) -> str:
        from rich.live import Live

        from gclint.report.choices import figures, side_by_side

        if self.ended.is_set():
            return QUIT
        place = f"{printable(offer.finding.location.path)}:{offer.finding.location.line}"
        console.print(f"\n[bold]{offer.finding.code}[/bold] {place} ({self.answered + 1} of {len(self.offers)})")
        console.print(printable(offer.finding.message), markup=False)
        side_by_side(offer.trials, console)
        if not offer.measures:
            console.print(_prompt(offer), end="", markup=False)
            key = self._key(offer)
            console.print(key)
            return key

        def shown() -> Text:
            return figures(offer.trials).append(_prompt(offer))

        with Live(console=console, get_renderable=shown):
            return self._key(offer)

    def _key(self, offer: Offer) -> str:
        """The next key that answers a question; `q` where the input or the asking ends."""
        while not self.ended.is_set():
            key = _pressed()
            if key in (*_open(offer), SKIP, QUIT):
                return key
        return QUIT


def _open(offer: Offer) -> list[str]:
    """The keys of the fixes that can be taken: of a rejected one there is none."""
    return [str(number) for number, trial in enumerate(offer.trials, start=1) if trial.verdict != "rejected"][:9]


def _prompt(offer: Offer) -> str:
    return f"{'/'.join(_open(offer))} takes a fix, {SKIP} skips, {QUIT} leaves the rest: "


def _pressed() -> str:
    """The key that is pressed within a moment, without waiting for Enter; "" for none, `q` at the end of input."""
    if sys.platform == "win32":
        import msvcrt

        sleep(WAIT)
        return msvcrt.getwch() if msvcrt.kbhit() else ""
    import os
    import select

    if not select.select([sys.stdin], [], [], WAIT)[0]:
        return ""
    read = os.read(sys.stdin.fileno(), 1)
    return read.decode("ascii", "replace") if read else QUIT


@contextmanager
def _single_keys() -> Iterator[None]:
    """Keys are read one by one while the block runs."""
    if sys.platform == "win32":
        yield
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSADRAIN)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
