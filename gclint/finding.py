"""What a rule says: findings, the fixes they carry, and the edits that a fix is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Certainty = Literal["fails", "fragile", "costs", "seen"]
Level = Literal["error", "warning", "note"]
Applicability = Literal["safe", "unsafe"]
Aspect = Literal[
    "steps", "backwards", "forwards", "loss", "gradients", "lost", "trained", "updates", "accumulation", "modes",
    "dtypes", "random", "buffers", "loaded", "saved", "collectives", "checkpointing",
]  # fmt: skip


@dataclass(frozen=True, order=True)
class Location:
    """A region of a file.

    Lines and columns count from 1, columns in code points; the end is exclusive. In a notebook they
    count over the notebook's one Python module, and `cell` (from 1) is filled in when it is reported.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str = ""
    cell: int | None = None


@dataclass(frozen=True, order=True)
class Edit:
    """Replace the text of `path` from (line, column) to (end_line, end_column) by `text`.

    Lines and columns as in `Location`: both from 1, the end exclusive. An insertion has equal start and end.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True)
class Fix:
    """One way to remove the defect.

    `name` is what `--choose CODE=name` takes; `title` an imperative sentence; `cost` what it is known to
    cost in memory or speed, empty when nothing is known. A fix that is not `automatic` gives something up that
    only its user can weigh: it is applied when it is named, never for being the first.

    `intent` is what of the training it may change; everything else has to be as it was, or as it is without
    checkpointing and data parallelism. "steps", "backwards", "forwards": how often; "loss", "gradients": their values
    in the first step; "trained", "lost": parameters that get a gradient now, or no longer; "updates": what the
    optimizer has and does; "accumulation": gradients kept from one step to the next; "modes", "dtypes", "random",
    "buffers"; "loaded", "saved": state dicts; "collectives", "checkpointing" (off where it was on).
    """

    name: str
    title: str
    edits: tuple[Edit, ...]
    applicability: Applicability = "safe"
    cost: str = ""
    automatic: bool = True
    intent: tuple[Aspect, ...] = ()


MOST_PARTS = 3
MOST_CHARACTERS = 200


@dataclass(frozen=True)
class Condition:
    """What the code leaves open: `parts` in words, all of which hold, and how many `more` are too long for words."""

    parts: tuple[str, ...] = ()
    more: int = 0

    def __str__(self) -> str:
        rest = f"under {self.more} more condition{'' if self.more == 1 else 's'} too long to state"
        parts = [*self.parts, rest] if self.more else [*self.parts]
        text = " and ".join(parts)
        return text[1:-1] if len(parts) == 1 and text.startswith("(") else text

    @property
    def length(self) -> tuple[int, int, int]:
        """How long it is: what is too long for words counts most, then how many parts there are."""
        return self.more, len(self.parts), len(str(self))

    @property
    def is_short(self) -> bool:
        """Whether it is one that a person can decide: three parts and 200 characters at most."""
        return not self.more and len(self.parts) <= MOST_PARTS and len(str(self)) <= MOST_CHARACTERS

    @property
    def brief(self) -> str:
        """The condition as people are told it; `str` has all of a long one."""
        return str(self) if self.is_short else "under conditions that could not be put shortly"


@dataclass(frozen=True)
class Basis:
    """The release of a package that a finding was judged for, and whether it is known to run.

    `source` says who tells it: a place ("requirements.txt:3", with its `path` and `line`), "--target",
    "the configuration", "installed", "" for nobody. A release that is not `known` is the newest that the source allows.
    `oldest` is the oldest possible release where the finding was found for that one too: then it holds whichever runs.
    """

    package: str
    version: str
    known: bool
    source: str = ""
    path: str = ""
    line: int = 0
    oldest: str = ""

    def __str__(self) -> str:
        if not self.version:
            return f"{self.package} (release unknown)"
        if self.known:
            return f"{self.package} {self.version} ({self.source})"
        if self.oldest:
            return f"{self.package} {self.oldest} to {self.version} ({self.source or 'every supported release'})"
        return f"{self.package} {self.version} (assumed{self.source and f', the newest that {self.source} allows'})"


@dataclass(frozen=True)
class Finding:
    """A state of the run that is known to crash or to mis-train or, of certainty `costs`, to be slower or less exact
    than it need be.

    `message` says what happens, `symptom` is the exception's text or the silent effect, `stated` what the
    code leaves open, `target` the versions it was judged for, `basis` how each is known, `fixes` the alternatives, the
    preferred one first, `related` the other places that take part (each with its own message), `oracles` what shows
    the silent effect in a run (`gclint.verify.oracles`). One of certainty `seen` was observed (`gclint.rehearse`) and
    has its remedy in words (`help`). `level` is what the configuration counts it as, None where it says nothing.
    `this_run` is what is known of the program's run that bears on it, "" where nothing is.
    """

    code: str
    name: str
    message: str
    location: Location
    certainty: Certainty
    symptom: str = ""
    stated: Condition = Condition()
    related: tuple[Location, ...] = ()
    fixes: tuple[Fix, ...] = ()
    target: tuple[tuple[str, str], ...] = field(default=())
    oracles: tuple[str, ...] = ()
    basis: tuple[Basis, ...] = ()
    help: str = ""
    level: Level | None = None
    this_run: str = ""

    @property
    def versions(self) -> str:
        """The releases that it was judged for, each with how it is known, in words."""
        return ", ".join(map(str, self.basis) if self.basis else (f"{name} {each}" for name, each in self.target))

    @property
    def told(self) -> str:
        """What happens, when, and for which releases that was judged, for formats that have one line."""
        when = f" ({self.stated.brief})" if self.condition else ""
        return f"{self.message}{when}" + (f" [{self.versions}]" if self.versions else "")

    @property
    def condition(self) -> str:
        """What the code leaves open, as one text; "" when nothing is."""
        return str(self.stated)

    @property
    def key(self) -> tuple[str, int, int, str]:
        """The order findings are printed in, and what makes two of them the same: place, then code."""
        return (self.location.path, self.location.line, self.location.column, self.code)


def finding_from(item: Mapping[str, Any]) -> Finding:
    """Return the finding of which `dataclasses.asdict` made `item`, perhaps by way of JSON.

    Raises `KeyError`, `TypeError` or `ValueError` where it is not one.
    """
    given = dict(item)
    given["location"] = Location(**given["location"])
    given["stated"] = Condition(tuple(given["stated"]["parts"]), given["stated"]["more"])
    given["related"] = tuple(Location(**place) for place in given["related"])
    given["fixes"] = tuple(_fix_from(fix) for fix in given["fixes"])
    given["oracles"] = tuple(given.get("oracles", ()))
    given["target"] = tuple((str(name), str(version)) for name, version in given["target"])
    given["basis"] = tuple(Basis(**each) for each in given.get("basis", ()))
    return Finding(**given)


def _fix_from(item: Mapping[str, Any]) -> Fix:
    return Fix(**{**item, "edits": tuple(Edit(**edit) for edit in item["edits"]), "intent": tuple(item["intent"])})
