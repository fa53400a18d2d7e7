"""A program whose walk reached its bound, or an import or a call that raises: how far it is judged, told as a note.

The bound is a number of expressions, not of seconds: the same program is judged as far on every machine. The programs
of a project have one in common too, for those with the most of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..finding import Finding, Location
from ..ir.syntax import Site
from ..source.source import shown

if TYPE_CHECKING:
    from gclint.launch import Launch

    from ..ir.syntax import Module
    from .interpreter import Interpreter

CODE, NAME = "GCL002", "program-judged-in-part"
MAX_STEPS = 300_000
MOST_STEPS_OF_ALL = 1_000_000
FEWEST_STEPS = 30_000
STEPS_OF_IMPORTS = 60_000
"""The steps that a program may take in modules that it imports, beside its own."""
SHARES = 30


def steps_left(taken: int, further: bool, waiting: int) -> int:
    """How many steps the walk of the next program may take where those before it took so many and so many are `waiting`
    with it: several times its share of what is left, as most take next to none, for the first not to take all. A few in
    any case, but that of a `further` launch of the same program none where the others took nearly all.

    It is one of few numbers: what was walked under the same one need not be walked again.
    """
    left = MOST_STEPS_OF_ALL - taken
    if further and left < FEWEST_STEPS:
        return 0
    most = min(left, SHARES * left // max(1, waiting))
    steps = FEWEST_STEPS
    while 2 * steps <= most:
        steps *= 2
    return min(MAX_STEPS, left if most == left > FEWEST_STEPS else steps)


def standing(it: Interpreter, node: ast.AST) -> tuple[Site, ...]:
    """The calls in progress, outermost first, and the node that is being evaluated."""
    return (*(frame.site for frame in it.frames if frame.site is not None), it.site(node))


def judged_in_part(entry: Module, stopped: tuple[Site, ...], bound: int) -> Finding:
    """The note at the statement of the entry's own file that was being walked when the bound was reached."""
    own = [site for site in stopped if site.module is entry] or [Site.at(entry, entry.tree)]
    place = _start(own[-1])
    way = [_start(site, "called from here") for site in own[:-1]]
    inner = _start(stopped[-1], "the analysis stood here")
    related = [item for item in (*way, inner) if (item.path, item.line) != (place.path, place.line)]
    others = "" if bound == MAX_STEPS else f", as the project's other programs took {MOST_STEPS_OF_ALL:,}"
    message = (
        f"this program is judged up to here only: its analysis stops after {bound:,} steps{others} "
        f"(what to do: gclint rule {CODE})"
    )
    return Finding(CODE, NAME, message, place, "fragile", related=tuple(dict.fromkeys(related)))


def import_raises(site: Site, name: str) -> Finding:
    """The note at the import of a name that is nowhere, which ends every run of a program."""
    message = f"there is no `{name}`: this import raises, and what runs after it is not judged (gclint rule {CODE})"
    return Finding(CODE, NAME, message, _start(site), "fragile")


def raises_in_every_run(site: Site, why: str) -> Finding:
    """The note at what raises, and so ends every run of a program."""
    message = f"{why}, and what runs after it is not judged (gclint rule {CODE})"
    return Finding(CODE, NAME, message, _start(site), "fragile")


def launches_left_out(launches: Sequence[Launch]) -> Iterator[Finding]:
    """The one note of all further launches of programs for which no steps are left."""
    places = [Location(shown(str(each.path)), each.line, 1, each.line, 1, "nor this one") for each in launches]
    if places:
        first = replace(places[0], message="")
        which = "this launch and those below are" if places[1:] else "this launch is"
        message = (
            f"{which} not judged, another one of the program is: the project's programs took {MOST_STEPS_OF_ALL:,} "
            f"steps before (what to do: gclint rule {CODE})"
        )
        yield Finding(CODE, NAME, message, first, "fragile", related=tuple(places[1:]))


def _start(site: Site, message: str = "") -> Location:
    place = site.location(message)
    return Location(place.path, place.line, place.column, place.line, place.column, message)
