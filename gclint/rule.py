"""A rule: a question about a run, with its page, its gate, its fix and its reproduction.

A rule is a module that holds one `Rule` named `rule`; the module's docstring is its documentation page. Packs
of rules are found through the entry-point group `gclint.rules`; gclint's own pack is one of them.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from .failures import Problem, unloaded
from .finding import Aspect, Certainty, Condition, Finding, Fix, Location
from .listing import Listed, listed
from .packs import RULES, brought
from .run.guards import satisfiable
from .run.parts_of_guards import is_exact, is_read

if TYPE_CHECKING:
    from .ir.syntax import Site
    from .run.events import FileSite
    from .run.guards import Guard
    from .run.run import Run

Bearing = Literal["processes", "bits", "accumulation"]
Question = Callable[[Any, "Run"], "Iterable[Finding]"]
F = TypeVar("F", bound=Question)
CODE = re.compile(r"^[A-Z]{1,3}[0-9]{3}$")


class RuleConflict(Exception):
    """Two packs bring the same code, or a code that flake8 would not take."""


@dataclass(frozen=True)
class Reproduction:
    """A run that fails before the fix and passes after it.

    `before` and `after` are programs under `fixtures/<code>/`; `processes` how many start each; `raises` the exception
    that shows it (else `oracles`, the rule's where none are named), `intent` what the second may do otherwise; `cold`
    starts them in a process that has not imported torch. `needs` is "" where a CPU shows the failure, else what it
    takes ("cuda", "rocm", "transformers<5") or, with no programs, why it cannot be shown.
    """

    before: str = ""
    after: str = ""
    processes: int = 1
    raises: str = ""
    oracles: tuple[str, ...] = ()
    intent: tuple[Aspect, ...] = ()
    cold: bool = False
    needs: str = ""


@dataclass
class Rule:
    """One rule.

    `words` is its gate: of every inner tuple at least one word must occur in the program. The first tuple is the
    rule's anchor: the rarest words, one of which stands in the code that makes the finding or in what it calls.
    `oracles` name what shows its silent effect in a run (`gclint.verify.oracles`), or are texts of exceptions by which
    it shows as well; the exception of a finding is its `symptom`. One whose only certainty is `costs`, or that is in
    `preview`, is off unless it is selected (`gclint.check.selection`). `bears` names what of a run makes a finding
    matter more or less: it is told with the finding where it is known (`gclint.check.this_run`).
    """

    code: str
    name: str
    docs: str
    words: Sequence[Sequence[str]]
    certainty: tuple[Certainty, ...] = ("fails",)
    fixable: str = ""
    holds: str = "all versions"
    oracles: tuple[str, ...] = ()
    reproduction: Reproduction = field(default_factory=Reproduction)
    preview: bool = False
    bears: tuple[Bearing, ...] = ()
    questions: list[tuple[tuple[type, ...], Question]] = field(default_factory=list)

    def on(self, *events: type) -> Callable[[F], F]:
        """Ask the decorated question whenever one of these events happens."""

        def keep(question: F) -> F:
            self.questions.append((events, question))
            return question

        return keep

    def load(self) -> Rule:
        """The rule itself, as of one that is only listed."""
        return self

    @property
    def summary(self) -> str:
        """The first paragraph of the page's "What it does", on one line."""
        match = re.search(r"## What it does\n+(.+?)(?:\n\n|\Z)", self.docs, re.DOTALL)
        return " ".join(match.group(1).split()) if match else self.name

    def finding(
        self,
        run: Run,
        site: Site | FileSite,
        message: str,
        *,
        guard: Guard = frozenset(),
        certainty: Certainty = "fails",
        symptom: str = "",
        condition: str = "",
        related: Iterable[Location | tuple[Site, str]] = (),
        fixes: Iterable[Fix | None] = (),
        versions: Sequence[str] = ("torch",),
        help: str = "",
    ) -> Finding:
        """A finding of this rule at a place; conditions that the guard leaves open are stated, and where the same was
        said of it before under others, what both come to if that is shorter. What no program of the project is seen to
        come to, though there are some, is not shown to fail. `help` says what to do where there is no fix, in place of
        the example of the rule's page.
        """
        place = site.location()
        key = (place.path, place.line, place.column, self.code)
        if satisfiable(guard):
            run.found.setdefault(key, guard)
            guard, left = run.shortest(guard, (*key, message, certainty))
        else:
            run.impossible.add(key)
            left = run.condition(guard)
        left = Condition((condition, *left.parts), left.more) if condition else left
        shown = is_exact(guard) and is_read(guard) and left.is_short and not run.among_programs
        if certainty == "fails" and not shown:
            certainty = "fragile"
        places = []
        for item in related:
            other = item if isinstance(item, Location) else item[0].location(item[1])
            if other not in places:
                places.append(other)
        basis = tuple(run.targets.basis(name) for name in run.used(versions))
        return Finding(
            self.code,
            self.name,
            message,
            place,
            certainty,
            symptom,
            left,
            tuple(places),
            tuple(fix for fix in fixes if fix is not None),
            tuple((each.package, each.version or "any") for each in basis),
            self.oracles,
            basis,
            help,
        )

    @property
    def costs(self) -> bool:
        """Whether it tells of nothing but what costs."""
        return self.certainty == ("costs",)

    @property
    def asks_of_files(self) -> bool:
        """Whether it asks about configuration files by themselves, whatever program reads them."""
        from .run.events import ConfigurationRead

        return self.listens(ConfigurationRead)

    def listens(self, kind: type) -> bool:
        """Whether the rule asks anything at events of this type."""
        return bool(self.questions_at(kind))

    def questions_at(self, kind: type) -> list[Question]:
        """What the rule asks at events of this type."""
        return [question for kinds, question in self.questions if issubclass(kind, kinds)]


def anchors() -> list[Sequence[Sequence[str]]]:
    """The anchors of all rules, each as a gate for one file of a program."""
    return [rule.words[:1] for rule in known_rules()]


def load_rules() -> list[Rule]:
    """Every rule of every installed pack, by code. Raises RuleConflict."""
    return [rule.load() for rule in known_rules()]


def known_rules() -> list[Rule | Listed]:
    """The same, gclint's own listed where that is enough. Raises RuleConflict."""
    return list(_known()[0])


def unloaded_packs() -> tuple[Problem, ...]:
    """What is wrong with the packs that cannot be imported; their rules are not among `load_rules`."""
    return _known()[1]


@lru_cache(maxsize=1)
def _known() -> tuple[tuple[Rule | Listed, ...], tuple[Problem, ...]]:
    found: dict[str, Rule | Listed] = {}
    problems = []
    for pack in _packs():
        try:
            own = listed() if pack == RULES else None
            rules = list(rules_of(pack)) if own is None else own
        except Exception as error:
            problems.append(unloaded(f"rule pack {pack}", error))
            continue
        for rule in rules:
            if not CODE.match(rule.code):
                raise RuleConflict(f"{pack}: rule code {rule.code!r} is not of flake8's form, letters then 3 digits")
            if rule.code in found:
                raise RuleConflict(f"{pack}: rule code {rule.code} is taken by {found[rule.code].name}; rename one")
            found[rule.code] = rule
    return tuple(found[code] for code in sorted(found)), tuple(problems)


def _packs() -> list[str]:
    return [RULES, *brought(RULES)]


def rules_of(pack: str) -> Iterator[Rule]:
    """The rules in a package: every module below it that holds one."""
    return (rule for _, rule in rules_in(pack))


def rules_in(pack: str) -> Iterator[tuple[str, Rule]]:
    """The same, each with the name of the module that holds it."""
    package = importlib.import_module(pack)
    paths = getattr(package, "__path__", None)
    names = [pack] if paths is None else [info.name for info in pkgutil.walk_packages(paths, f"{pack}.")]
    for name in names:
        rule = getattr(importlib.import_module(name), "rule", None)
        if isinstance(rule, Rule):
            yield name, rule
