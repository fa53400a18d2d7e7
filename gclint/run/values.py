"""Abstract values: short lists of guarded alternatives, and the objects on the abstract heap."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import Any, Union

from ..ir.syntax import FunctionDef, Module, Site
from .guards import ALWAYS, Guard, compatible, complement, conj, either
from .release import Release

MAX_ALTERNATIVES = 12
MOST_CONDITIONS = 100
MOST_ANCESTORS = 200


@dataclass(frozen=True)
class Const:
    """A literal that Python code can write: None, a boolean, a number, a string.

    `place` is where it is written, when that is in a file that is no Python.
    """

    value: Any
    place: Site | None = field(default=None, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True)
class Missing:
    """No value: a key that a dict has only under some guard."""


@dataclass(frozen=True)
class External:
    """A name of a library, fully qualified as the code spells it: `torch.utils.checkpoint.checkpoint`."""

    name: str


@dataclass(frozen=True)
class Function:
    """A function or lambda of the project, with the scope it closes over and the object it is bound to."""

    node: FunctionDef | ast.Lambda = field(hash=False, compare=False, repr=False)
    module: Module = field(hash=False, compare=False, repr=False)
    scope: Scope = field(hash=False, compare=False, repr=False)
    defaults: dict[str, Value] = field(hash=False, compare=False, repr=False)
    owner: Class | None = field(default=None, hash=False, compare=False)
    receiver: Alternative | None = None
    node_id: int = 0

    def bound(self, receiver: Alternative) -> Function:
        """The same function with its first parameter bound."""
        return Function(self.node, self.module, self.scope, self.defaults, self.owner, receiver, self.node_id)


@dataclass(frozen=True)
class Class:
    """A class of the project: its own names, and its bases as values."""

    node: ast.ClassDef = field(hash=False, compare=False, repr=False)
    module: Module = field(hash=False, compare=False, repr=False)
    names: dict[str, Value] = field(hash=False, compare=False, repr=False)
    bases: tuple[Alternative, ...] = field(hash=False, compare=False, repr=False)
    decorators: tuple[str, ...] = field(default=(), hash=False, compare=False)
    node_id: int = 0

    @property
    def name(self) -> str:
        """The class's own name."""
        return self.node.name

    def ancestry(self) -> Iterator[Class | External]:
        """This class and everything it inherits from, in Python's order of looking things up; a library's class stands
        for all that it inherits from itself.
        """
        yield self
        lines: list[list[Class | External]] = []
        for base in self.bases:
            if isinstance(base, Class):
                lines.append(list(base.ancestry()))
            elif isinstance(base, External):
                lines.append([base])
        if len(lines) < 2:
            yield from lines[0] if lines else ()
            return
        lines.append([line[0] for line in lines])
        while lines:
            heads = (line[0] for line in lines if not any(line[0] in other[1:] for other in lines))
            head = next(heads, lines[0][0])  # where Python refuses the bases, in their order
            yield head
            lines = [left for line in lines if (left := [each for each in line if each != head])]

    def inherits(self, *names: str) -> bool:
        """Whether a library base's last name is among the given ones."""
        return any(isinstance(base, External) and base.name.rsplit(".", 1)[-1] in names for base in self.ancestry())


@dataclass(frozen=True)
class Inherited(External):
    """A class method that a class of the project has from a library's: `Net.from_pretrained`."""

    owner: Class


@dataclass(frozen=True)
class Partial:
    """functools.partial of something, with what it already supplies."""

    function: Alternative
    positional: tuple[Value, ...] = field(hash=False, compare=False, repr=False)
    keywords: dict[str, Value] = field(hash=False, compare=False, repr=False)
    site_id: int = 0
    places: dict[str, Site] = field(default_factory=dict, hash=False, compare=False, repr=False)


@dataclass(frozen=True)
class Method:
    """A library method of an object on the heap, not called yet, read at `site`."""

    receiver: Object
    name: str
    site: Site | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Super:
    """super() inside a method: what comes after `owner` in the receiver's ancestry."""

    owner: Class
    receiver: Alternative


@dataclass(frozen=True)
class ModuleRef:
    """A module of the project."""

    module: Module = field(hash=False, compare=False, repr=False)
    path: str = ""


@dataclass(frozen=True, eq=False)
class Deferred:
    """What an import bound without walking its module: the file, the member it takes of it ("" for the module
    itself), and the guard and the place of the import.
    """

    path: str
    member: str
    guard: Guard = field(repr=False)
    site: Site = field(repr=False)


OF_ELEMENT = "of an element"
"""The fact that a comprehension takes an element of a loop around it, so that what is asked of it is asked of each."""
ATTRIBUTES_OF = "attributes of"
"""The fact that a dict is that of an object's attributes, which what is put into it becomes."""
BY_TEXT = "filled by text"
"""The fact that the program gives an object attributes by names that it works out."""
HANDED_OVER = "handed over"
"""After how many events a method that was not walked was the last code that might change an object; no fact of an
object that other code may hold.
"""


@dataclass(eq=False)
class Object:
    """Something on the abstract heap; aliases share it.

    `kind` is what the frameworks know it as ("model", "ddp", "trainer", "list", "unknown", ...), `type` the library
    class or the project's class. `attributes` are what the code reads and sets on it, `state` what the frameworks know
    of it. Elements, entries and attributes that are there under some guard only are `MISSING` elsewhere; of a dict that
    is `open` for one key only that nobody knows, `keyed` has that key and what it holds where it equals no literal key.
    It was made under the guard `born`, in so many loops that are walked once (`vague`). `origins` are the tracked
    objects it was computed from, `made_of` the values that went into it. `parent` is the object it is a part
    of, `each` says that it stands for every element of a collection. Once it has
    `escaped`, code that nobody knows may have changed it (until `HANDED_OVER`).
    """

    id: int
    kind: str
    type: str | Class = ""
    label: str = ""
    site: Site | None = None
    attributes: dict[str, Value] = field(default_factory=dict)
    state: dict[str, Value] = field(default_factory=dict)
    items: list[Value] | None = None
    entries: dict[Any, Value] | None = None
    open: bool = False
    keyed: tuple[Object, Value] | None = None
    origins: frozenset[Object] = frozenset()
    parent: Object | None = None
    each: bool = False
    sites: dict[str, Site] = field(default_factory=dict)
    holder: Site | None = None
    built: tuple[list[Value], dict[str, Value]] | None = None
    made_of: Sequence[Value] = ()
    escaped: bool = False
    born: Guard = field(default=ALWAYS, repr=False)
    vague: int = field(default=0, repr=False)

    def __hash__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"<{self.kind} {self.text or self.type} #{self.id}>"

    def let_go(self) -> None:
        """Forget everything it is tied to, once nothing asks of it any more."""
        self.attributes.clear()
        self.state.clear()
        self.items = self.entries = self.parent = self.built = self.keyed = None
        self.made_of = ()
        self.origins = frozenset()

    @property
    def text(self) -> str:
        """What the code calls it: its label, else the expression that made it, shortened."""
        if self.label or self.site is None:
            return self.label
        return self.site.name

    @property
    def class_name(self) -> str:
        """The last name of its type."""
        return self.type.name if isinstance(self.type, Class) else self.type.rsplit(".", 1)[-1]

    def known(self, fact: str) -> Value:
        """What the frameworks know under this name; `NOTHING` when they know nothing."""
        return self.state.get(fact, NOTHING)

    def is_a(self, *names: str) -> bool:
        """Whether its class, or a library base of it, has one of these last names."""
        if isinstance(self.type, Class):
            return self.type.name in names or self.type.inherits(*names)
        return self.type.rsplit(".", 1)[-1] in names


Alternative = Union[Const, Missing, External, Function, Class, Partial, Method, Super, ModuleRef, Deferred, Object]  # noqa: UP007
MISSING = Missing()
Pair = tuple[Guard, Alternative]


class Value:
    """What an expression can be: alternatives, each under the guard in which it holds."""

    __slots__ = ("alternatives",)

    def __init__(self, alternatives: Iterable[tuple[Guard, Alternative]]):
        self.alternatives = tuple(alternatives)

    def __repr__(self) -> str:
        return f"Value{self.alternatives!r}"

    def __iter__(self) -> Iterator[tuple[Guard, Alternative]]:
        return iter(self.alternatives)

    def __bool__(self) -> bool:
        return bool(self.alternatives)

    def under(self, guard: Guard) -> Value:
        """The alternatives that the guard leaves possible, each with the guard added."""
        if not guard:
            return self
        if len(self.alternatives) == 1 and not self.alternatives[0][0]:
            return Value(((guard, self.alternatives[0][1]),))
        return Value([(both, item) for held, item in self.alternatives if (both := conj(held, guard)) is not None])

    def possible(self, guard: Guard) -> Value:
        """The alternatives that the guard leaves possible, their own guards unchanged."""
        if not guard or (len(self.alternatives) == 1 and not self.alternatives[0][0]):
            return self
        return Value([pair for pair in self.alternatives if compatible(pair[0], guard)])

    def only(self) -> Alternative | None:
        """The one thing it can be, whatever the guards; None when there are several or none."""
        if len(self.alternatives) == 1:
            return self.alternatives[0][1]
        found = {item for _, item in self.alternatives}
        return found.pop() if len(found) == 1 else None

    def constant(self) -> Any:
        """The literal it is, when it can be only that; else None."""
        item = self.only()
        return item.value if isinstance(item, Const) else None

    def objects(self) -> list[Object]:
        """The heap objects it can be."""
        if len(self.alternatives) == 1:
            item = self.alternatives[0][1]
            return [item] if isinstance(item, Object) else []
        return list(dict.fromkeys([item for _, item in self.alternatives if isinstance(item, Object)]))

    def where(self, test: Callable[[Alternative], bool]) -> list[Guard]:
        """The guards under which the test holds."""
        return [guard for guard, item in self.alternatives if test(item)]

    def missing(self) -> list[Guard]:
        """The guards under which there is none."""
        return [guard for guard, item in self.alternatives if item is MISSING]

    def is_const(self, *literals: Any) -> list[Guard]:
        """The guards under which it is one of these literals."""
        wanted = {Const(literal) for literal in literals}
        return [guard for guard, item in self if item in wanted]


NOTHING = Value(())
NONE = Value([(ALWAYS, Const(None))])
TRUE = Value([(ALWAYS, Const(True))])
FALSE = Value([(ALWAYS, Const(False))])


def const(literal: Any, place: Site | None = None) -> Value:
    """The value of a literal; `place` as that of `Const`."""
    return Value(((ALWAYS, Const(literal, place)),))


def of(item: Alternative) -> Value:
    """The value that is this one thing."""
    return Value(((ALWAYS, item),))


def union(values: Iterable[Value]) -> Value:
    """All alternatives of several values, without repetition."""
    values = [value for value in values if value.alternatives]
    if len(values) == 1 and len(values[0].alternatives) == 1:
        return values[0]
    seen: dict[tuple[Guard, Alternative], None] = {}
    for value in values:
        seen.update(dict.fromkeys(value.alternatives))
    return Value(seen if len(seen) <= MAX_ALTERNATIVES else _fewer(seen))


def _fewer(pairs: Iterable[Pair]) -> list[Pair]:
    """As many as a value may have: what is the same under several guards is one, and one that nobody knows stands for
    all that are too many. Of the objects that one expression made, the first comes before all others.
    """
    held: dict[Alternative, list[Guard]] = {}
    for guard, item in pairs:
        held.setdefault(item, []).append(guard)
    if len(held) <= MAX_ALTERNATIVES:
        return [(either(guards), item) for item, guards in held.items()]
    made: dict[tuple[int, str], Alternative] = {}
    kept: list[Alternative] = []
    others: list[Alternative] = []
    for item in held:
        like = (item.site.node_id, item.kind) if isinstance(item, Object) and item.site is not None else None
        (kept if like is None or made.setdefault(like, item) is item else others).append(item)
    ordered = [(either(held[item]), item) for item in (*kept, *others)]
    return [*ordered[: MAX_ALTERNATIVES - 1], _rest(tuple(ordered[MAX_ALTERNATIVES - 1 :]))]


@lru_cache(maxsize=500)
def _rest(pairs: tuple[Pair, ...]) -> Pair:
    """What stands for these, and has them as what it `stands_for`: the same for the same."""
    rest = Object(next(_NUMBERS), "unknown")
    rest.state["stands_for"] = Value(pairs)
    return either(guard for guard, _ in pairs), rest


_NUMBERS = count(-1, -1)


def assigned(guard: Guard, new: Value, old: Value | None) -> Value:
    """What a name holds after an assignment under a guard: the new value there, the old one elsewhere.

    Nobody knows which of the old ones it is under more than `MOST_CONDITIONS` on any: in a long program a name that is
    assigned again and again would gather them without end.
    """
    if not guard or old is None:
        return new
    elsewhere = complement(guard)
    left = old.under(elsewhere).alternatives
    kept = [pair for pair in left if len(pair[0]) <= MOST_CONDITIONS]
    if len(kept) < len(left):
        kept.append((elsewhere, _rest(left)[1]))
    return union((new.under(guard), Value(kept)))


def mark_release(made: Object, source: Alternative) -> None:
    """Keep of something unknown that it was computed from the release of a package."""
    if isinstance(source, Const) and isinstance(source.value, Release):
        made.state["release"] = const(source.value.package)


def release_of(item: Alternative) -> str:
    """The package of which something is the release, or from whose release it was computed; "" for none."""
    if isinstance(item, Const):
        return item.value.package if isinstance(item.value, Release) else ""
    return release_in(item)


def mark_releases(value: Value, package: str) -> None:
    """Keep of everything unknown and every sequence that a value may be that it tells of the release of a package."""
    for item in value.objects():
        if item.kind in ("unknown", "list", "tuple"):
            item.state.setdefault("release", const(package))


def release_in(*items: Alternative) -> str:
    """The package from whose release one of these, an item of one or what has one as a method was computed; "" for
    none.
    """
    known = [item.receiver if isinstance(item, Method) else item for item in items]
    objects = [item for item in known if isinstance(item, Object)]
    held = [part for item in objects for value in item.items or () for part in value.objects()]
    found = next((part.state["release"] for part in (*objects, *held) if "release" in part.state), NOTHING)
    return str(found.constant() or "")


def replaced(value: Value, default: Value) -> Value:
    """The value with `default` where it has none."""
    if all(item is not MISSING for _, item in value):
        return value
    parts: list[Value] = []
    for guard, item in value:
        parts.append(default.under(guard) if item is MISSING else Value([(guard, item)]))
    return union(parts)


@dataclass
class Scope:
    """The names of a function call, a class body or a module, and the scope around it."""

    names: dict[str, Value] = field(default_factory=dict)
    parent: Scope | None = None
    is_class: bool = False
    globals_: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)

    def lookup(self, name: str) -> Value | None:
        """The value that a name has here, in the nearest scope that binds it."""
        scope = self.holder(name)
        return scope.names[name] if scope is not None else None

    def holder(self, name: str) -> Scope | None:
        """The nearest scope that binds a name."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names and not (scope.is_class and scope is not self):
                return scope
            scope = scope.parent
        return None

    def home(self, name: str) -> Scope:
        """The scope in which an assignment to the name lands."""
        if name in self.globals_:
            scope = self
            while scope.parent is not None:
                scope = scope.parent
            return scope
        if name in self.nonlocals and self.parent is not None:
            scope = self.parent
            while name not in scope.names and scope.parent is not None:
                scope = scope.parent
            return scope
        return self


def ancestors(value: Value) -> set[Alternative]:
    """All that a value was computed from, itself included."""
    found: set[Alternative] = set()
    waiting = [item for _, item in value]
    while waiting and len(found) < MOST_ANCESTORS:
        item = waiting.pop()
        if item not in found:
            found.add(item)
            if isinstance(item, Object):
                waiting += [other for part in item.made_of for _, other in part]
    return found


def made_from(item: Object) -> list[Object]:
    """What something was computed from directly, and what it is a part of."""
    given = [*item.made_of, item.attributes.get("inputs", NOTHING)]
    found = [each for value in given for each in value.objects()]
    return found + ([item.parent] if item.parent is not None else [])


def sources(value: Value, most: int = MOST_ANCESTORS) -> set[Object]:
    """The same, of objects, with what they are parts of and what lists and tuples hold, as of a text that is made by
    `%`: a method that nobody describes is a part of what has it. At most so many.
    """
    found: set[Object] = set()
    waiting = value.objects()
    while waiting and len(found) < most:
        item = waiting.pop()
        if item not in found:
            found.add(item)
            parts = [*item.made_of, *((item.items or ()) if item.kind in ("tuple", "list") else ())]
            waiting += [other for part in parts for other in part.objects()]
            waiting += [item.parent] if item.parent is not None else []
    return found


def root(item: Object) -> Object:
    """The outermost object that this one is a part of; itself when it is a part of none."""
    while item.parent is not None:
        item = item.parent
    return item
