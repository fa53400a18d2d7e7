"""What guards are made of: the conditions inside conditions, each looked at once however many ways lead to it."""

from __future__ import annotations

from .guards import ALWAYS, ANY_PACKAGE, WIDENED, Atom, Guard, complement


def everything(guard: Guard, tacit: bool = True) -> set[tuple[Atom, bool]]:
    """The conditions of a guard, and those that they are made of, each once; without the `tacit` ones less what goes
    without saying and what that is made of.
    """
    seen: set[tuple[Atom, bool]] = set()
    todo = list(guard)
    while todo:
        pair = todo.pop()
        if pair not in seen and (tacit or not pair[0].tacit):
            seen.add(pair)
            todo += pair[0].parts or ()
    return seen


def without_tacit(guard: Guard) -> Guard:
    """The guard less what goes without saying: that the program did not end before."""
    return frozenset((atom, truth) for atom, truth in guard if not atom.tacit)


def is_given_up(pair: tuple[Atom, bool]) -> bool:
    """Whether a condition stands for one that took too many words."""
    atom, truth = pair
    return truth and atom.key.startswith(WIDENED) and not atom.subject


def is_exact(guard: Guard) -> bool:
    """Whether nothing of a guard was given up."""
    return not any(atom.key.startswith(WIDENED) for atom, _ in everything(guard))


def is_read(guard: Guard) -> bool:
    """Whether no condition is on what a file or a hub holds that nobody read."""
    return not any(atom.unread for atom, _ in everything(guard))


def compares_release(guard: Guard, package: str) -> bool:
    """Whether one of the conditions compares the release of a package, as far as can be told: that a name is missing
    tells of it, that nothing is goes without saying.
    """
    return any(
        atom.about in (package, ANY_PACKAGE) and (truth or atom.negated != "") for atom, truth in everything(guard)
    )


def covers(guard: Guard, other: Guard) -> bool:
    """Whether a guard holds wherever the other does, as long as the program goes on."""
    return without_tacit(guard) <= other


def without_elements(guard: Guard) -> Guard:
    """The guard less the conditions on single elements of a loop."""
    return frozenset((atom, truth) for atom, truth in guard if not atom.each)


def found(guard: Guard, sought: set[Atom]) -> Guard:
    """The guard in which conditions on one element of a loop say that there is such an element."""
    known: dict[Atom, Guard] = {}

    def of_atom(atom: Atom) -> Guard:
        if atom not in known:
            if atom.each and atom.parts is not None:
                known[atom] = of(atom.parts)
            else:
                known[atom] = frozenset({(_some(atom) if atom in sought else atom, True)})
        return known[atom]

    def of(guard: Guard) -> Guard:
        return ALWAYS.union(*(of_atom(atom) if truth else complement(of_atom(atom)) for atom, truth in guard))

    return of(guard) if sought else guard


def _some(atom: Atom) -> Atom:
    return Atom(f"some {atom.key}", atom.text, atom.negated, about=atom.about)
