"""Calls: into the project's own code, walked; into libraries, left to the frameworks."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..ir.syntax import Site
from . import calls, containers, elements, inference, loops, names, refusals
from .calls import Call
from .defaults import IS_DEFAULT, unsure
from .events import LibraryCall
from .guards import NEVER, Guard
from .jumps import RETURN, taken
from .parts_of_guards import found
from .setters import forget_what_it_sets
from .values import (
    HANDED_OVER,
    NONE,
    NOTHING,
    Alternative,
    Class,
    Const,
    External,
    Function,
    Inherited,
    Method,
    Object,
    Partial,
    Value,
    const,
    mark_releases,
    of,
    release_of,
    union,
)

if TYPE_CHECKING:
    from .interpreter import Frame, Interpreter

_PLAIN = ("list", "dict", "tuple")
MAX_DEPTH = 24
MAX_RECURSION = 1
CALLS_AT_ANY_COST = 3
MOST_STEPS_IN_ONE = 1_500
STEPS_OF_A_SMALL_ONE = 25
MOST_STEPS_IN_SETTINGS = 20_000
MOST_STEPS_ON_OTHERS = 5_000


def invoke(it: Interpreter, function: Value, call: Call) -> Value:
    """Call whatever a value can be, each alternative under its guard."""
    if it.is_dead:
        return NOTHING
    possible = function.possible(it.guard).alternatives
    if len(possible) == 1 and not possible[0][0]:
        return _invoke_item(it, possible[0][1], call.as_given_under(it.guard))
    parts = list[Value]()
    for guard, item in _likely_first(possible):
        with it.under(guard) as can_be:
            if can_be:
                result = _one_of_several(it, item, replace(call.as_given_under(it.guard)), bool(parts))
                parts.append(result.under(guard))
    return union(parts) if parts else call.unknown()


def _likely_first(possible: Sequence[tuple[Guard, Alternative]]) -> Sequence[tuple[Guard, Alternative]]:
    """What a call may be of, the one first that settings have by default, as in a table of layers by their names."""
    return sorted(possible, key=lambda pair: any(atom.test == IS_DEFAULT and not truth for atom, truth in pair[0]))


def _one_of_several(it: Interpreter, item: Alternative, call: Call, further: bool) -> Value:
    """Call one of the functions or classes that a call may be of; unknown is what the `further` ones give where those
    at the same place have taken many steps: the first of them leads through the rest of the program as well.
    """
    place = call.site.node_id
    if not further or not isinstance(item, (Function, Class)):
        return _invoke_item(it, item, call)
    if it.on_others[place] > MOST_STEPS_ON_OTHERS:
        loops.leave_out(it)
        return _not_followed(it, item, call) if isinstance(item, Function) else call.foreign()
    before = it.steps
    made = _invoke_item(it, item, call)
    it.on_others[place] += before - it.steps
    return made


def _invoke_item(it: Interpreter, item: Alternative, call: Call) -> Value:
    if isinstance(item, External):
        call.name, call.owner = item.name, item.owner if isinstance(item, Inherited) else None
        it.risks += not item.name.startswith("builtins.")
        return it.library.call_function(it, call)
    if isinstance(item, Method):
        call.receiver, call.method = item.receiver, item.site
        it.risks += item.receiver.kind not in _PLAIN
        return it.library.call_method(it, item.name, call)
    if isinstance(item, Function):
        return walk(it, item, call)
    if isinstance(item, Class):
        return instantiate(it, item, call)
    if isinstance(item, Partial):
        return _invoke_item(it, item.function, _completed(item, call))
    it.risks += 1
    if isinstance(item, Object):
        return call_object(it, item, call)
    return call.unknown()


def _completed(item: Partial, call: Call) -> Call:
    keywords = {**item.keywords, **call.keywords}
    return Call(
        walk=call.it,
        site=call.site,
        name=call.name,
        positional=[*item.positional, *call.positional],
        keywords=keywords,
        open=call.open,
        places={**item.places, **call.places},
    )


def walk(it: Interpreter, function: Function, call: Call) -> Value:
    """Walk a function of the project with these arguments; returns what it returns."""
    from .interpreter import Frame

    if refusals.ends(function, call):
        return NOTHING
    entered = sum(frame.function is not None and frame.function.node_id == function.node_id for frame in it.frames)
    it.entered[function.node_id] += 1
    enough = _walked_enough(it, function, call)
    if enough:
        loops.leave_out(it)
    if enough or len(it.frames) > MAX_DEPTH or entered > MAX_RECURSION:
        return _not_followed(it, function, call)
    first = function.node_id not in it.interpreted
    it.interpreted.add(function.node_id)
    bound = calls.bind(it, function, call)
    frame = Frame(function, function.module, it.within(function.scope, bound), call.site, it.guard)
    frame.is_generator, frame.vague = function.module.is_generator(function.node), it.vague
    frame.on_yield = it.consumers.get(id(call.site.node)) if frame.is_generator else None
    added = it.decorations.get(function.node_id, [])
    held, it.expression_statement = it.expression_statement, None
    steps, mark = it.steps, len(it.jumps)
    it.frames.append(frame)
    it.contexts.extend(added)
    try:
        if isinstance(function.node, ast.Lambda):
            return it.evaluate(function.node.body)
        it.execute(function.node.body)
        end = it.guard
        taken(it, mark, RETURN)
        it.go_on(frame.base, mark)
    finally:
        it.frames.pop()
        del it.contexts[len(it.contexts) - len(added) :]
        it.expression_statement = held
        it.spent[function.node_id] += steps - it.steps
        caller = it.frames[-1].function if it.frames else None
        if caller is not None:
            it.spent[caller.node_id] -= steps - it.steps
        if first and it.steps < 0:  # cut short: to be walked for its own sake
            it.interpreted.discard(function.node_id)
    if frame.at_end is not None:
        frame.at_end(call.site)
    return _of_release(call, _result(it, frame, end, call))


def _not_followed(it: Interpreter, function: Function, call: Call) -> Value:
    """The result of a function of the project that is not walked, and what it may change."""
    forget_what_it_sets(it, function)
    return _handed_over(it, function.receiver, call)


def _handed_over(it: Interpreter, receiver: Alternative | None, call: Call) -> Value:
    """The result of a function of the project that is not walked, which may change until it returns what it is given,
    its own object, and what that holds.
    """
    own = [receiver] if isinstance(receiver, Object) else []
    own += [item for each in own for value in each.attributes.values() for item in value.objects()]
    held = [*own, *(item for value in call.inputs() for item in value.objects())]
    until_then = [item for item in held if not item.escaped or HANDED_OVER in item.state]
    result = call.foreign()
    for item in own:
        it.library.escaped(item)
    for item in until_then:
        item.state[HANDED_OVER] = const(len(it.run.events))
    return result


def _walked_enough(it: Interpreter, function: Function, call: Call) -> bool:
    """Whether a function was called often, or not so often and its walks took long, in all and each of them: a
    constructor that is given nothing fills its object with what it did before, which many a program's settings are, and
    may take longer.
    """
    calls = it.entered[function.node_id]
    given = call.positional or call.keywords or call.open or getattr(function.node, "name", "") != "__init__"
    most = MOST_STEPS_IN_ONE if given else MOST_STEPS_IN_SETTINGS
    long = it.spent[function.node_id] > max(most, calls * STEPS_OF_A_SMALL_ONE)
    return calls > it.call_limit or (calls > CALLS_AT_ANY_COST and long)


def _result(it: Interpreter, frame: Frame, end: Guard, call: Call) -> Value:
    """What a function gives that was walked up to its `end`: what it returned, or, of a generator, a list of what it
    yielded; nothing where each was consumed as it was yielded.
    """
    if frame.on_yield is not None:
        return NOTHING
    if frame.is_generator:
        made = elements.once(it.new("list", "", "", call.site))
        made.items = [elements.present(guard, value) for guard, value in frame.yielded]
        made.each = frame.is_vague
        return of(made)
    parts = [value.under(found(guard, frame.sought)) for guard, value in frame.returned]
    if end is not NEVER:
        parts.append(NONE.under(found(end - frame.base, frame.sought)))
    return union(parts)


def _of_release(call: Call, result: Value) -> Value:
    """The result of a function that is given the release of a package: what is left open about it is for the release
    to tell, such as whether a minimum is met.
    """
    package = next((name for value in call.inputs() for _, item in value if (name := release_of(item))), "")
    if not package:
        return result
    truths = [item for _, item in result if isinstance(item, Const) and isinstance(item.value, bool)]
    if len(truths) == len(result.alternatives) > 1:
        result = of(call.it.unknown(call.name, call.site))
    mark_releases(result, package)
    return result


ENUMS = ("Enum", "StrEnum", "IntEnum", "Flag", "IntFlag")
"""Classes that are called with the value of a member, to get that (docs: library/enum.html)."""


def instantiate(it: Interpreter, owner: Class, call: Call) -> Value:
    """A new object of a class of the project, its constructor walked; of an enumeration what one of its members is."""
    it.instantiated.add(owner.node_id)
    if owner.inherits(*ENUMS) and not call.uncalled:
        return call.get("value", 0)
    made = it.new("instance", owner, "", call.site)
    made.kind = it.library.kind_of_class(owner)
    if made.kind == "dict":
        made.kind, made.entries = ("dict", {}) if containers.is_dict_of_its_own(owner) else ("instance", None)
    call.instance = made
    made.built = None if call.open else (list(call.positional), dict(call.keywords))
    initialiser = names.class_attribute(owner, "__init__")
    if initialiser is not None:
        bound = Value((guard, item.bound(made) if isinstance(item, Function) else item) for guard, item in initialiser)
        given = Call(it, call.site, owner.name, call.positional, call.keywords, call.open, call.places)
        given.uncalled, given.spelled_out = call.uncalled, call.spelled_out
        invoke(it, bound, given)
    elif is_record(owner):
        _fill_record(it, made, owner, call)
        if not call.unfilled:
            after_filling(it, made, call.site)
    else:
        external = next((base for base in owner.ancestry() if isinstance(base, External)), None)
        if external is not None:
            it.library.construct(it, external.name, call)
    it.library.built(it, made, call.site)
    return of(made)


def after_filling(it: Interpreter, made: Object, site: Site) -> None:
    """What a record does once its fields are there (docs: library/dataclasses.html#post-init-processing)."""
    post = names.class_attribute(made.type, "__post_init__") if isinstance(made.type, Class) else None
    if post is not None:
        bound = Value((guard, item.bound(made) if isinstance(item, Function) else item) for guard, item in post)
        invoke(it, bound, Call(it, site, "__post_init__"))


def is_record(owner: Class) -> bool:
    """Whether a class gets its constructor from its fields: a dataclass, a NamedTuple, a pydantic model."""
    return any(
        isinstance(base, Class) and "dataclass" in base.decorators for base in owner.ancestry()
    ) or owner.inherits("NamedTuple", "BaseModel")


def is_filled(it: Interpreter, owner: Alternative) -> bool:
    """Whether a program makes objects of a record class and has come to all of its methods: of the bare class nothing
    is left to say, and its defaults are not what anybody runs with.
    """
    if not isinstance(owner, Class) or owner.node_id not in it.instantiated or not is_record(owner):
        return False
    methods = [part for held in owner.names.values() for _, part in held if isinstance(part, Function)]
    return all(part.node_id in it.interpreted for part in methods)


def fields(owner: Class) -> list[str]:
    """The field names of a record class, bases first."""
    found: dict[str, None] = {}
    for base in reversed([base for base in owner.ancestry() if isinstance(base, Class)]):
        for line in base.node.body:
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                found[line.target.id] = None
    return list(found)


def _fill_record(it: Interpreter, made: Object, owner: Class, call: Call) -> None:
    external = next((base for base in owner.ancestry() if isinstance(base, External)), None)
    if external is not None:
        it.library.construct(it, external.name, call)
    for index, name in enumerate(fields(owner)):
        default = names.class_attribute(owner, name)
        if default is None:
            default = of(it.child(made, name))
        elif call.foreign_mapping:
            default = unsure(f"{owner.name}.{name}", default, it.unknown(name, call.place(name)))
        made.attributes[name] = call.given(name, index, default)
        made.sites[name] = call.place(name)


def call_object(it: Interpreter, item: Object, call: Call) -> Value:
    """Call an object: as its framework says, by its class's __call__, else unknown."""
    known = it.library.call_object(it, item, call)
    if known is not None:
        return known
    if isinstance(item.type, Class):
        method = names.class_attribute(item.type, "__call__")
        if method is not None:
            bound = Value((guard, part.bound(item) if isinstance(part, Function) else part) for guard, part in method)
            return invoke(it, bound, call)
    call.receiver = item
    of_a_tensor = ("tensor", call.last) in it.library.all.methods
    result = call.unknown() if of_a_tensor else call.foreign()
    inference.after_call(it, call, item.parent or item, item.text.rpartition(".")[2], result)
    _tell_of_method(it, item, call, result)
    _tell_of_base(it, item, call, result)
    return result


def _tell_of_base(it: Interpreter, item: Object, call: Call, result: Value) -> None:
    """Emit the call of an object of the project's class that a base of a library would answer."""
    bases = item.type.ancestry() if isinstance(item.type, Class) else ()
    base = next((each for each in bases if isinstance(each, External)), None)
    if base is not None:
        of_base = replace(call, name=f"{base.name}.__call__")
        it.emit(LibraryCall(it.moment(site=call.site), of_base.name, of_base, result))


def _tell_of_method(it: Interpreter, item: Object, call: Call, result: Value) -> None:
    """Emit the call of a method that no framework describes, on an object of a class that one does, or of a class of
    the project that extends such a one.
    """
    owner = item.parent
    if owner is None or owner.kind in ("unknown", "instance"):
        return
    name = next((name for name, held in owner.attributes.items() if held.only() is item), None)
    if name is not None:
        of_owner = replace(call, name=f"{owner.kind}.{name}", receiver=owner)
        it.emit(LibraryCall(it.moment(site=call.site), of_owner.name, of_owner, result))
