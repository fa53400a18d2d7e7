"""The run: the state of a training run while the interpreter walks the program."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from typing import TYPE_CHECKING, Any

from ..finding import Condition, Location
from ..ir.syntax import Module, Site
from ..pins.versions import Targets
from ..source.source import shown
from .guards import ALWAYS, DISTRIBUTED, NEVER, Guard, Work, all_of, either
from .parts_of_guards import without_elements
from .statement import state as stated
from .values import Alternative, Object, Value

if TYPE_CHECKING:
    from ..failures import Problem
    from .events import Event, LibraryCall


MOST_WAYS = 16


def unheard(event: Event) -> None:
    """Nobody listens."""


def no_modules(word: str, using: Module | None = None) -> Iterable[Module]:
    """Nobody has walked anything yet."""
    return ()


def untold(variable: str) -> bool:
    """Of no environment variable it is told that the process starts without it."""
    return False


SEVERAL = "several_processes"
"""The fact that the code itself shows that it runs on several processes: where."""
PROCESSES = "processes of its own"
"""The fact that the program starts processes, True where several at once: what stands outside of what they run is done
by none of them."""
SHOWN = frozenset({SEVERAL, "process_group", "env:LOCAL_RANK"})
"""All facts that say something of processes."""
OPTIONS = "options"
"""The fact that names the program's options by the key of the condition that one is given, or not its default."""
LEFT_OUT = "left_out"
"""The fact that the known launcher leaves out an option, which has its default there."""


@dataclass
class Run:
    """What is known of the process at the moment: environment, imports, models, launch, versions.

    `imported` has the first import of each library module, `import_sites` the import in the entry that first led to
    each module of the project. `modules_with` gives the project's modules whose text has a word, of those that the
    program imports, also where they were not walked, `beside_with` those in the folder of its file that it does not
    import. `absent` says of an environment variable whether the process starts without it.
    `heap` has what the walk made, the object of the number n at n - 1.
    `options` are the names of what parsers gave, `options_read` those of them that the code takes from it, or from the
    dict of it, with the places, None for one that is not told; `read_of` says of which namespaces each place takes it,
    None for a dict; `options_replaced` has the guard under which it has put
    something in the place of one, by what a parser gave; `read_of_others` are attributes of these names that the code
    reads, and where it takes some by texts, and whether all that they were read of so far is known and nothing that a
    parser gave; `taken_by_text` has whose attributes each of the latter takes, or sets, None where not all are known.
    `assumed` holds the conditions that the launcher decides; they are never stated.
    `launch_places` are the launches that decide them, `commands` all that start the file, be they walked or not.
    `found` has the guard of every finding that was made of this
    run, `impossible` are those whose guard cannot hold. `failures` has the parts of gclint that raised. `path` is the
    file of the entry. Where it walks what no program of the project comes to, though there are some, it is one
    `beside_programs`, and one `among_programs` also where they may come to it by a name that nobody knows. `is_program`
    says that a program is walked from its start.
    """

    targets: Targets
    assumed: Guard = ALWAYS
    launch_places: tuple[Any, ...] = ()
    commands: tuple[Any, ...] = ()
    environment: dict[str, Value] = field(default_factory=dict)
    environment_sites: dict[str, Site] = field(default_factory=dict)
    modules_with: Callable[[str], Iterable[Module]] = field(default=no_modules, repr=False)
    beside_with: Callable[..., Iterable[Module]] = field(default=no_modules, repr=False)
    absent: Callable[[str], bool] = field(default=untold, repr=False)
    imported: dict[str, Site] = field(default_factory=dict)
    import_sites: dict[str, Site] = field(default_factory=dict)
    initialised: dict[str, Site] = field(default_factory=dict)
    models: list[Object] = field(default_factory=list)
    options: set[str] = field(default_factory=set, repr=False)
    options_read: dict[str, set[Site | None]] = field(default_factory=dict, repr=False)
    read_of: dict[ast.AST, set[Object | None]] = field(default_factory=dict, repr=False)
    options_replaced: dict[tuple[Object, str], Guard] = field(default_factory=dict, repr=False)
    read_of_others: dict[ast.AST, bool] = field(default_factory=dict, repr=False)
    taken_by_text: dict[ast.AST, set[Object] | None] = field(default_factory=dict, repr=False)
    heap: list[Object] = field(default_factory=list, repr=False)
    events: list[Event] = field(default_factory=list)
    overrides: dict[str, Value] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    listener: Callable[[Event], None] = field(default=unheard, repr=False)
    entry: Module | None = None
    path: str = ""
    beside_programs: bool = False
    among_programs: bool = False
    is_program: bool = False
    found: dict[tuple[str, int, int, str], Guard] = field(default_factory=dict)
    impossible: set[tuple[str, int, int, str]] = field(default_factory=set)
    failures: dict[Problem, None] = field(default_factory=dict)
    _kinds: dict[type, tuple[list[int], list[Event]]] = field(default_factory=dict, repr=False)
    _place_of: dict[int, int] = field(default_factory=dict, repr=False)
    _asked: dict[str, int] = field(default_factory=dict, repr=False)
    _named: dict[str, list[LibraryCall]] = field(default_factory=dict, repr=False)
    _calls_at: dict[int, list[LibraryCall]] = field(default_factory=dict, repr=False)
    _makers: dict[Object, LibraryCall] = field(default_factory=dict, repr=False)
    _said: dict[Hashable, tuple[Guard, int, Condition]] = field(default_factory=dict, repr=False)
    _worded: dict[tuple[Guard, Guard], Condition] = field(default_factory=dict, repr=False)

    def emit(self, event: Event) -> None:
        """Record an event and let the rules ask their questions at that moment."""
        places, held = self._kinds.setdefault(type(event), ([], []))
        places.append(len(self.events))
        held.append(event)
        self._place_of[id(event)] = len(self.events)
        self.events.append(event)
        before = Work.rounds
        self.listener(event)
        Work.rounds = before  # what rules ask is no part of the walk

    def forget(self, since: int) -> None:
        """Leave out, from now on, the events from the `since`th of all on: of a round that was not walked whole. They
        keep their places.
        """
        for places, events in self._kinds.values():
            first = bisect_left(places, since)
            del places[first:], events[first:]
        for calls in self._named.values():
            del calls[bisect_left(calls, since, key=self.place) :]

    def let_go(self) -> None:
        """Drop the events, and what holds them or what they made."""
        for held in (self.events, self._kinds, self._named, self._calls_at, self._makers):
            held.clear()

    def of_type(self, *kinds: type, start: int = 0) -> list[Any]:
        """The events of these types so far, in order, from the `start`th of all on."""
        found = [held for kind, held in self._kinds.items() if issubclass(kind, kinds)]
        if len(found) == 1:
            places, events = found[0]
            return events[bisect_left(places, start) :] if start else events.copy()
        ordered = sorted(chain.from_iterable(places[bisect_left(places, start) :] for places, _ in found))
        return [self.events[place] for place in ordered]

    def calls_of(self, wanted: Callable[[str], bool]) -> list[LibraryCall]:
        """The calls so far of the library's functions whose names are wanted, in order."""
        from .events import LibraryCall

        for each in self.new_to("names", LibraryCall):
            self._named.setdefault(each.name, []).append(each)
        found = [held for name, held in self._named.items() if wanted(name)]
        return sorted(chain.from_iterable(found), key=self.place) if len(found) != 1 else found[0].copy()

    def new_to(self, asker: str, *kinds: type) -> list[Any]:
        """The events of these types since the same asker asked last, for what is drawn from all events one by one."""
        last = self._asked.get(asker, 0)
        self._asked[asker] = len(self.events)
        return self.of_type(*kinds, start=last)

    def calls_at(self, node: ast.AST) -> Sequence[LibraryCall]:
        """The calls of libraries that were made so far at one place in the code."""
        from .events import LibraryCall

        for each in self.new_to("calls at", LibraryCall):
            self._calls_at.setdefault(id(each.site.node), []).append(each)
        return self._calls_at.get(id(node), ())

    @property
    def makers(self) -> Mapping[Object, LibraryCall]:
        """What each thing that a library gave came from: the first call of which it is what was given."""
        from .events import LibraryCall

        for each in self.new_to("makers", LibraryCall):
            for item in each.result.objects():
                self._makers.setdefault(item, each)
        return self._makers

    def subject(self, asked: object) -> Object | None:
        """What a condition is about, by one of the keys that its atom has `of` it; None for anything but an object."""
        number = asked[1:] if isinstance(asked, str) and asked.startswith("#") else ""
        return self.heap[int(number) - 1] if number.isdigit() and 0 < int(number) <= len(self.heap) else None

    def place(self, event: Event) -> int:
        """How many events came before this one; raises KeyError for one that is not of this run."""
        return self._place_of[id(event)]

    def first_import(self, library: str) -> Site | None:
        """The entry's own import that brought a library in, through the project's modules if need be; where the
        library was imported when no import of the entry did; None when it was not.
        """
        imported = self.imported.get(library)
        if imported is None or imported.module is self.entry:
            return imported
        return self.import_sites.get(imported.module.path, imported)

    def used(self, packages: Sequence[str]) -> Sequence[str]:
        """Those of the packages that the program imports; all where it imports none, as a configuration file does."""
        return [name for name in packages if name.replace("-", "_") in self.imported] or packages

    def condition(self, guard: Guard) -> Condition:
        """What a guard leaves open, in words."""
        asked = self._open(guard), self._decided()
        if asked not in self._worded:
            self._worded[asked] = stated(*asked)
        return self._worded[asked]

    def _open(self, guard: Guard) -> Guard:
        """A guard less what the launcher decides, and less "several processes" where the program starts them."""
        return guard - self.assumed - self._decided()

    def _decided(self) -> Guard:
        if SEVERAL not in self.facts:
            return self.assumed
        return frozenset(pair for pair in self.assumed if pair[0] is not DISTRIBUTED) | {(DISTRIBUTED, True)}

    def launch_locations(self, message: str) -> list[Location]:
        """Where the launcher decides that this run is one of several processes."""
        return [
            Location(shown(str(launch.path)), launch.line, 1, launch.line, 1, message)
            for launch in self.launch_places
            if self.assumed and launch.distributed is not False
        ]

    def shortest(self, guard: Guard, said: Hashable) -> tuple[Guard, Condition]:
        """A guard under which something is `said` with its words, or what all those come to under which the same was
        said so far, if that takes fewer; after `MOST_WAYS` of which none is short they are not put together any more.
        """
        before, times, last = self._said.get(said, (NEVER, 0, Condition()))
        if times >= MOST_WAYS and not last.is_short:
            return guard, last
        whole = either((before, guard)) if times else guard
        own, all_ways = self.condition(guard), self.condition(whole)
        best = (guard, own) if whole == guard or own.length <= all_ways.length else (whole, all_ways)
        self._said[said] = whole, times + 1, best[1]
        return best

    def option_is_read(self, name: str, site: Site | None = None, namespace: Object | None = None) -> None:
        """Keep that an option's value is taken, and where, and of which namespace."""
        self.options_read.setdefault(name, set()).add(site)
        if site is not None:
            self.read_of.setdefault(site.node, set()).add(namespace)

    def open_guard(self, guard: Guard) -> Guard:
        """The part of a guard that the code and the launcher leave open."""
        return without_elements(self._open(guard))


def together(*guards: Guard) -> Guard | None:
    """The conjunction of guards; None when they contradict."""
    return all_of(guards)


def ways(base: Guard, *questions: Iterable[tuple[Guard, Any]] | Value) -> list[tuple[Guard, tuple[Any, ...]]]:
    """Every feasible combination of one alternative per question, with its guard, the loosest guard first."""
    found: list[tuple[Guard, tuple[Any, ...]]] = []
    for combination in product(*(list(question) for question in questions)):
        guard = all_of([base, *(held for held, _ in combination)])
        if guard is not None:
            found.append((guard, tuple(item for _, item in combination)))
    return sorted(found, key=lambda way: len(way[0]))


def weakest(guards: Iterable[Guard]) -> Guard | None:
    """The guard with the fewest conditions; None when there is none."""
    return min(guards, key=lambda guard: (len(guard), sorted(atom.key for atom, _ in guard)), default=None)


def when(value: Value, test: Callable[[Alternative], bool]) -> list[tuple[Guard, Alternative]]:
    """The alternatives for which the test holds."""
    return [(guard, item) for guard, item in value if test(item)]
