"""Counters: numbers of which each round of a loop has another one, none of them below, or above, where they began."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from ..ir.syntax import For, Site, dotted, nodes
from . import changed_by_text, changes
from .elements import ANY
from .values import NOTHING, TRUE, Alternative, Const, Object, Value, assigned, const, of

if TYPE_CHECKING:
    from .interpreter import Interpreter

EXACT = 2**53  # below it floats tell all whole numbers apart
LEAST, GREATEST = "least", "greatest"  # facts of an object: it is no number below, or above, this one
WHOLE = "whole"  # the fact that it is an int


class Ends(NamedTuple):
    """Between which numbers something is, these included, and whether it is an int; None where there is no such end."""

    least: float | None = None
    greatest: float | None = None
    whole: bool = False


class Step(NamedTuple):
    """What is added to a number, and whether that leaves an int one."""

    by: float
    whole: bool = False


def number_in(item: Alternative) -> float | None:
    """The number that a literal is; None for anything else, and for one that may not be exact."""
    held = item.value if isinstance(item, Const) else None
    if isinstance(held, bool) or not isinstance(held, (int, float)) or not abs(held) < EXACT:
        return None
    return float(held)


def ends_of(item: Alternative) -> Ends | None:
    """Between which numbers something is; None where nothing is known of that."""
    number = number_in(item)
    if number is not None:
        return Ends(number, number, is_int(item))
    if not isinstance(item, Object) or not (LEAST in item.state or GREATEST in item.state):
        return None
    return Ends(item.known(LEAST).constant(), item.known(GREATEST).constant(), WHOLE in item.state)


def is_int(item: Alternative) -> bool:
    """Whether something is a literal int."""
    return isinstance(item, Const) and isinstance(item.value, int) and not isinstance(item.value, bool)


def keep(item: Object, ends: Ends | None) -> None:
    """Something is between these numbers."""
    least, greatest, whole = ends or Ends()
    if whole:
        item.state[WHOLE] = TRUE
    if least is not None:
        item.state[LEAST] = const(least)
    if greatest is not None:
        item.state[GREATEST] = const(greatest)


def around(value: Value) -> Ends | None:
    """Between which numbers everything is that a value may be."""
    found = [ends_of(item) for _, item in value]
    known = [ends for ends in found if ends is not None]
    if not known or len(known) < len(found):
        return None
    least = [ends.least for ends in known if ends.least is not None]
    greatest = [ends.greatest for ends in known if ends.greatest is not None]
    return Ends(
        min(least) if len(least) == len(known) else None,
        max(greatest) if len(greatest) == len(known) else None,
        all(ends.whole for ends in known),
    )


def indices(item: Object, start: Value, stop: Value | None = None, step: Value | None = None) -> None:
    """Something is any of the numbers that are counted from `start`, by ones or by another step, to before `stop`."""
    first, by = around(start), around(step) if step is not None else Ends(1.0, 1.0, True)
    if first is None or by is None:
        return
    last = (around(stop) if stop is not None else None) or Ends()
    whole = first.whole and by.whole
    if by.least is not None and by.least > 0:
        keep(item, Ends(first.least, last.greatest, whole))
    elif by.greatest is not None and by.greatest < 0:
        keep(item, Ends(last.least, first.greatest, whole))


def _onwards(ends: Ends, steps: list[Step]) -> Ends | None:
    """Where something is that begins between these ends and to which only these steps are ever added."""
    whole = ends.whole and all(step.whole for step in steps)
    if all(step.by > 0 for step in steps):
        return Ends(ends.least, None, whole)
    return Ends(None, ends.greatest, whole) if all(step.by < 0 for step in steps) else None


def remainder(sign: ast.operator, left: Value, right: Value) -> Value | None:
    """What `left % 1` is of an int; None for anything else."""
    by = right.only()
    if not isinstance(sign, ast.Mod) or not isinstance(by, Const) or not is_int(by) or by.value != 1:
        return None
    ends = around(left)
    return const(0) if ends is not None and ends.whole else None


def moved(sign: ast.operator, left: Value, right: Value, made: Object) -> None:
    """`made` is a counter plus or less a literal."""
    number = number_in(right.only() or Const(None))
    ends = around(left) if number is not None and isinstance(sign, (ast.Add, ast.Sub)) else None
    if ends is None or number is None:
        return
    by = number if isinstance(sign, ast.Add) else -number
    least, greatest, whole = ends
    whole = whole and all(is_int(item) for _, item in right)
    keep(made, Ends(None if least is None else least + by, None if greatest is None else greatest + by, whole))


def in_any_round(it: Interpreter, loop: For | ast.While, name: str, start: Value) -> Ends | None:
    """Between which numbers a name is in any round of a loop that begins with `start`, and after it: by what the loop's
    body does to it, where nothing else can do anything.
    """
    steps = it.module.once(_steps, loop).get(name)
    if not steps or it.scope.home(name) is not it.scope or name in it.module.once(_shared, it.module.tree):
        return None
    ends = around(start)
    return None if ends is None else _onwards(ends, steps)


def _steps(loop: For | ast.While) -> dict[str, list[Step]]:
    """What a loop's body adds to names; 0 for what is no literal, and for another change."""
    found: dict[str, list[Step]] = {}
    counted: set[ast.AST] = set()
    inner = [node for statement in loop.body for node in nodes(statement)]
    for node in inner:
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            counted.add(node.target)
            found.setdefault(node.target.id, []).append(_step(node))
    for node in inner:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and node not in counted:
            found.setdefault(node.id, []).append(Step(0.0))
    return found


def _step(node: ast.AugAssign) -> Step:
    given = Const(node.value.value) if isinstance(node.value, ast.Constant) else Const(None)
    sign = 1.0 if isinstance(node.op, ast.Add) else -1.0 if isinstance(node.op, ast.Sub) else 0.0
    return Step(sign * (number_in(given) or 0.0), is_int(given))


class Attribute(NamedTuple):
    """An attribute that each round of a loop makes of what it was, and between which numbers it is."""

    holder: Object
    name: str
    ends: Ends | None

    def begin(self, it: Interpreter, site: Site) -> None:
        """Nobody knows which number it is in one of the rounds."""
        self._put(it, site).each = True

    def end(self, it: Interpreter, site: Site) -> None:
        """Nor after them, unless the last of them gave it another value."""
        if any(item.each for item in self.holder.attributes.get(self.name, NOTHING).objects()):
            self._put(it, site)

    def _put(self, it: Interpreter, site: Site) -> Object:
        made, held = it.unknown(f"{self.holder.label or ANY}.{self.name}", site), self.holder.attributes
        keep(made, self.ends)
        held[self.name] = assigned(changes.since(it, self.holder), of(made), held.get(self.name))
        return made


def attributes(it: Interpreter, loop: For | ast.While) -> list[Attribute]:
    """The attributes that a loop's body counts in by its own statements, of what is the same in all rounds."""
    found: dict[tuple[Object, str], Attribute] = {}
    stored = it.module.bound_in(loop).stored
    for target in it.module.once(_counted_attributes, loop):
        holder = it.evaluate(target.value).only() if dotted(target.value).partition(".")[0] not in stored else None
        start = holder.attributes.get(target.attr, NOTHING) if isinstance(holder, Object) else NOTHING
        if isinstance(holder, Object) and start and all(number_in(item) is not None for _, item in start):
            found[holder, target.attr] = Attribute(holder, target.attr, of_attribute(it, holder, target.attr, start))
    return list(found.values())


def _counted_attributes(loop: For | ast.While) -> list[ast.Attribute]:
    inner = [node for statement in loop.body for node in nodes(statement)]
    targets = [node.target for node in inner if isinstance(node, ast.AugAssign)]
    return [target for target in targets if isinstance(target, ast.Attribute) and dotted(target)]


def of_attribute(it: Interpreter, holder: Object, name: str, start: Value) -> Ends | None:
    """Between which numbers an object's attribute is in any round of a loop, after `start`: by what the project's text
    ever puts into an attribute of that name.
    """
    modules = it.modules_with(name)
    changes = [each for module in modules for each in module.once(_attribute_changes, module.tree).get(name, [])]
    steps = [step for step, _ in changes if step is not None]
    put = [literal for step, literal in changes if step is None]
    ends = around(start)
    if ends is None or None in put or not steps or changed_by_text.may_change(it, holder, name):
        return None
    held = [ends, *(each for each in put if each is not None)]
    numbers = [number for each in held for number in (each.least, each.greatest) if number is not None]
    return _onwards(Ends(min(numbers), max(numbers), all(each.whole for each in held)), steps)


def _attribute_changes(tree: ast.AST) -> dict[str, list[tuple[Step | None, Ends | None]]]:
    """Of each attribute that a text changes: what is added, or which literal is put in; neither for anything else."""
    found: dict[str, list[tuple[Step | None, Ends | None]]] = {}
    told: set[ast.AST] = set()
    for node in nodes(tree):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute):
            told.add(node.target)
            found.setdefault(node.target.attr, []).append((_step(node), None))
        for target in _targets(node):
            told.add(target)
            found.setdefault(target.attr, []).append((None, _literal(node)))
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and node not in told:
            found.setdefault(node.attr, []).append((None, None))
    return found


def _targets(node: ast.AST) -> list[ast.Attribute]:
    """The attributes that a statement gives its value."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target for target in targets if isinstance(target, ast.Attribute)]


def _literal(node: ast.AST) -> Ends | None:
    value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    return ends_of(Const(value.value)) if isinstance(value, ast.Constant) else None


def _shared(tree: ast.AST) -> frozenset[str]:
    """The names that some function binds in a scope around it."""
    held = (node.names for node in nodes(tree) if isinstance(node, (ast.Global, ast.Nonlocal)))
    return frozenset(name for names in held for name in names)


def decided(first: Alternative, operator: ast.cmpop, second: Alternative) -> bool | None:
    """What a comparison of two numbers comes to by their ends; None where these leave it open."""
    one, other = ends_of(first), ends_of(second)
    if one is None or other is None:
        return None
    below, above = _is_less(one, other), _is_less(other, one)
    if isinstance(operator, (ast.Eq, ast.NotEq)):
        apart = below is True or above is True
        return isinstance(operator, ast.NotEq) if apart else None
    if isinstance(operator, (ast.Lt, ast.GtE)):
        return below if below is None or isinstance(operator, ast.Lt) else not below
    if isinstance(operator, (ast.Gt, ast.LtE)):
        return above if above is None or isinstance(operator, ast.Gt) else not above
    return None


def _is_less(one: Ends, other: Ends) -> bool | None:
    """Whether all numbers between the first ends are less than all between the others; None for some only."""
    if one.greatest is not None and other.least is not None and one.greatest < other.least:
        return True
    return False if one.least is not None and other.greatest is not None and one.least >= other.greatest else None
