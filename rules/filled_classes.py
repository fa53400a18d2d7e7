"""Classes whose objects a library fills from the command line: which objects, within which others, by which call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gclint.run.events import LibraryCall
from gclint.run.invocation import is_record
from gclint.run.run import Run
from gclint.run.values import NOTHING, Class, Object, Value

from .option_names import takes_the_command_line

OF_SEVERAL = ("parser.parse_args_into_dataclasses", "parser.parse_args_and_config")
"""What gives an object of each class that the parser was made for (transformers/hf_argparser.py, trl)."""
BY_KEYWORD = 99
OF_ONE = {
    "tyro.cli": ("f", BY_KEYWORD),
    "simple_parsing.parse": ("config_class", 2),
    "draccus.parse": ("config_class", 2),
    "pyrallis.parse": ("config_class", 2),
}
"""What gives an object of its first argument, and the place of the words that it reads (tyro 0.9, simple-parsing 0.1.8,
draccus 0.11, pyrallis 0.3).
"""
OF_A_NAMESPACE = ("settings_parser.parse_args", "settings_parser.parse_known_args")
WITHIN_EACH_OTHER = ("tyro.cli", "draccus.parse", "pyrallis.parse")
"""Those whose options are spelt with the names of all that holds them."""


class Filled(NamedTuple):
    """An object that is filled from the command line by a call, with what its options begin with, and with all that
    holds it, itself the last.
    """

    item: Object
    begins: str
    chain: tuple[Object, ...]
    parsed: LibraryCall


def filled_objects(run: Run) -> Iterator[Filled]:
    """The objects of the project's classes that the command line fills."""
    for parsed in run.of_type(LibraryCall):
        _, place = OF_ONE.get(parsed.name, ("", 0))
        if _fills(parsed.name) and takes_the_command_line(parsed.call, place):
            for item, chain in _made(parsed):
                yield from _with_parts(Filled(item, "", (*chain, item), parsed))


def _fills(name: str) -> bool:
    return name in OF_ONE or name in OF_SEVERAL or name in OF_A_NAMESPACE


def _made(parsed: LibraryCall) -> Iterator[tuple[Object, tuple[Object, ...]]]:
    """The objects that a call makes and fills, each with what holds it."""
    made = parsed.result.objects()
    if parsed.name in OF_SEVERAL:
        yield from ((item, ()) for outer in made for value in outer.items or () for item in value.objects())
    elif parsed.name in OF_A_NAMESPACE:
        for outer in [*made, *(part for item in made for value in (item.items or ())[:1] for part in value.objects())]:
            if outer.kind == "namespace":
                yield from ((item, (outer,)) for value in outer.attributes.values() for item in records_in(value))
    elif parsed.call is not None:
        asked = [item for _, item in parsed.call.get(OF_ONE[parsed.name][0], 0)]
        yield from ((item, ()) for item in made if item.type in asked and isinstance(item.type, Class))


def records_in(value: Value) -> list[Object]:
    """The objects of classes with fields that a value may be."""
    return [item for item in value.objects() if isinstance(item.type, Class) and is_record(item.type)]


def _with_parts(outer: Filled) -> Iterator[Filled]:
    """A filled object, and those that it holds, where the library fills them too."""
    yield outer
    if outer.parsed.name in OF_SEVERAL or not isinstance(outer.item.type, Class):
        return
    for name in outer.item.attributes:
        for item in records_in(outer.item.attributes.get(name, NOTHING)):
            if item not in outer.chain:
                begins = f"{outer.begins}{name}." if outer.parsed.name in WITHIN_EACH_OTHER else ""
                yield from _with_parts(Filled(item, begins, (*outer.chain, item), outer.parsed))
