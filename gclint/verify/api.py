"""Verification as the command line calls it: recipes in, outcomes and a verdict out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gclint.verify.codec import to_data
from gclint.verify.footprint import Footprint
from gclint.verify.merge import merge
from gclint.verify.options import Options
from gclint.verify.oracles import ORACLES
from gclint.verify.outcome import Outcome
from gclint.verify.pool import Pool
from gclint.verify.recipe import AnyRecipe, ProgramRecipe, recipe_to_data, reference_of
from gclint.verify.signature import differences
from gclint.verify.verdict import NOTHING, Claim, References, Runs, Verdict, judge

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Verification:
    """Both runs, their references and the verdict on the edit between them."""

    before: Outcome
    after: Outcome
    verdict: Verdict
    references: References = field(default_factory=References)

    def to_data(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        data: dict[str, Any] = to_data(self)
        return data

    def to_json(self) -> str:
        """Return everything as JSON text."""
        return json.dumps(self.to_data(), indent=2)


class Verifier:
    """Runs recipes on warm workers and keeps the outcomes of runs it has seen. A context manager."""

    def __init__(self, options: Options | None = None, progress: Progress | None = None):
        self.options = options or Options()
        self.progress = progress
        self._pool = Pool(self.options, progress)
        self._seen: dict[str, Outcome] = {}
        self._repeated: dict[str, Outcome] = {}
        self._sized: dict[str, Footprint] = {}

    def expect(self, recipes: Iterable[AnyRecipe]) -> None:
        """Start the workers of recipes that are run later, all at once."""
        self._pool.expect(recipes)

    def outcome(self, recipe: AnyRecipe, reference: bool = False) -> Outcome:
        """Run a recipe, or return what it gave before; `reference` runs it without checkpointing and DDP."""
        if reference:
            recipe = reference_of(recipe)
        key = _key(recipe, reference)
        if key not in self._seen:
            self._seen[key] = merge(self._pool.run(recipe, reference))
        return self._seen[key]

    def verify(self, before: AnyRecipe, after: AnyRecipe, claim: Claim = NOTHING) -> Verification:
        """Run both recipes, and the references that the verdict needs, and judge."""
        self._tell("before", before)
        first = self.outcome(before)
        reference = self._reference(before) if first.status == "raised" else None
        witness = first if reference is None else reference
        before, after = (_as_long_as(witness, recipe) for recipe in (before, after))
        self._tell("after", after)
        second = self.outcome(after)
        if reference is None and first.status == "finished" and _asks_reference(first, second, claim):
            reference = self._reference(before)
        other = None
        if second.status in ("finished", "raised") and _asks_own_reference(reference, first, claim):
            other = self._reference(after)
        runs = Runs(first, second, References(reference, other), lambda: self._again(before, first, reference))
        return Verification(first, second, judge(runs, claim), runs.references)

    def footprint(self, recipe: ProgramRecipe) -> Footprint:
        """Return the full-size memory of a program's step on one device; see `Footprint`."""
        key = json.dumps(recipe_to_data(replace(recipe, title="")), sort_keys=True, default=str)
        if key not in self._sized:
            self._tell("full size of", recipe)
            self._sized[key] = self._pool.footprint(recipe)
        return self._sized[key]

    def close(self) -> None:
        """End the workers."""
        self._pool.close()

    def __enter__(self) -> Verifier:
        return self

    def __exit__(self, *ignored: object) -> None:
        self.close()

    def _reference(self, recipe: AnyRecipe) -> Outcome:
        self._tell("reference of", recipe)
        return self.outcome(recipe, reference=True)

    def _again(self, recipe: AnyRecipe, first: Outcome, reference: Outcome | None) -> Outcome:
        """One more run of what an edit is held against, to see whether it is always the same."""
        by_reference = first.status != "finished" and reference is not None
        key = _key(recipe, by_reference)
        if key not in self._repeated:
            self._tell("once more", recipe)
            self._repeated[key] = merge(self._pool.run(reference_of(recipe) if by_reference else recipe, by_reference))
        return self._repeated[key]

    def _tell(self, what: str, recipe: AnyRecipe) -> None:
        if self.progress is not None:
            self.progress(f"verify {what} {recipe.title}".strip())


def _key(recipe: AnyRecipe, reference: bool) -> str:
    return json.dumps([reference, recipe_to_data(replace(recipe, title=""))], sort_keys=True, default=str)


def _as_long_as(witness: Outcome, recipe: AnyRecipe) -> AnyRecipe:
    """The recipe with as many steps as another run took, or to its own end where that one came to its own."""
    if not isinstance(recipe, ProgramRecipe) or not recipe.short or witness.status != "finished":
        return recipe
    return replace(recipe, short=False, stop_after=witness.first.step_count if witness.first.cut else None)


def _asks_reference(before: Outcome, after: Outcome, claim: Claim) -> bool:
    """Whether the reference of a run that finished can tell more: what the oracles see, or what the edit cured."""
    return bool(set(claim.oracles) & set(ORACLES)) or bool(differences(after, before, claim.intent))


def _asks_own_reference(reference: Outcome | None, before: Outcome, claim: Claim) -> bool:
    """Whether the run after needs a reference of its own: it may differ from that of the run before, or has none."""
    unknown = before.status != "finished" and (reference is None or reference.status != "finished")
    return unknown or bool(claim.oracles and claim.intent)


def verify(
    before: AnyRecipe,
    after: AnyRecipe,
    *,
    options: Options | None = None,
    progress: Progress | None = None,
    claim: Claim = NOTHING,
) -> Verification:
    """Run one recipe before and after an edit and return outcomes and verdict.

    Raise VerifyUnavailable when nothing can be run here (no torch, workers that do not start).
    """
    with Verifier(options, progress) as verifier:
        return verifier.verify(before, after, claim)


def verify_many(
    pairs: Iterable[tuple[AnyRecipe, AnyRecipe]],
    *,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Iterator[Verification]:
    """Yield the verification of each pair, with the workers kept warm from one to the next."""
    with Verifier(options, progress) as verifier:
        for before, after in pairs:
            yield verifier.verify(before, after)


def reproduce(
    before: Path,
    after: Path,
    *,
    world_size: int = 1,
    claim: Claim = NOTHING,
    argv: Sequence[str] = (),
    cold: bool = False,
    options: Options | None = None,
    verifier: Verifier | None = None,
) -> Verification:
    """Run two scripts, with and without a defect, under the same measuring, and judge them.

    `claim` says what the first one shows; `cold` starts them before torch is imported, which the oracle
    "environment" needs.
    """
    scripts = [
        ProgramRecipe(path.name, path.read_text(encoding="utf-8"), argv=tuple(argv), world_size=world_size, cold=cold)
        for path in (before, after)
    ]
    if verifier is not None:
        return verifier.verify(scripts[0], scripts[1], claim)
    return verify(scripts[0], scripts[1], options=options, claim=claim)
