"""Verification as the command line calls it: recipes in, outcomes and a verdict out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gclint.verify.codec import to_data
from gclint.verify.footprint import Footprint, Sizes
from gclint.verify.merge import merge
from gclint.verify.options import Options
from gclint.verify.oracles import DEFAULT
from gclint.verify.outcome import Outcome
from gclint.verify.pool import Pool
from gclint.verify.recipe import AnyRecipe, ProgramRecipe, Recipe, recipe_to_data, reference_of
from gclint.verify.verdict import References, Verdict, judge

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
        self._sized: dict[tuple[str, Sizes], Footprint] = {}

    def expect(self, recipes: Iterable[AnyRecipe]) -> None:
        """Start the workers of recipes that are run later, all at once."""
        self._pool.expect(recipes)

    def outcome(self, recipe: AnyRecipe, reference: bool = False) -> Outcome:
        """Run a recipe, or return what it gave before; `reference` runs it without checkpointing and DDP."""
        if reference:
            recipe = reference_of(recipe)
        key = json.dumps([reference, recipe_to_data(replace(recipe, title=""))], sort_keys=True, default=str)
        if key not in self._seen:
            self._seen[key] = merge(self._pool.run(recipe, reference))
        return self._seen[key]

    def verify(self, before: AnyRecipe, after: AnyRecipe, oracles: Sequence[str] = DEFAULT) -> Verification:
        """Run both recipes and their references, and judge."""
        self._tell("before", before)
        first = self.outcome(before)
        self._tell("after", after)
        second = self.outcome(after)
        self._tell("reference of", after)
        same = first.raised is not None and second.raised is not None and first.raised.line == second.raised.line
        references = References(self._reference(before, first, False), self._reference(after, second, same))
        return Verification(first, second, judge(first, second, references, oracles), references)

    def footprint(self, recipe: Recipe, sizes: Sizes) -> Footprint:
        """Return the full-size memory of a recipe's step on one device; see `Footprint`."""
        key = (json.dumps(recipe_to_data(replace(recipe, title="")), sort_keys=True, default=str), sizes)
        if key not in self._sized:
            self._tell("full size of", recipe)
            self._sized[key] = self._pool.footprint(recipe, sizes)
        return self._sized[key]

    def close(self) -> None:
        """End the workers."""
        self._pool.close()

    def __enter__(self) -> Verifier:
        return self

    def __exit__(self, *ignored: object) -> None:
        self.close()

    def _reference(self, recipe: AnyRecipe, outcome: Outcome, same: bool) -> Outcome | None:
        """The reference of a run that finished, or of one that may fail whatever the fix does.

        That is a scaled-down model, or a project's program that ends the `same` way before and after.
        """
        doubtful = isinstance(recipe, Recipe) or (recipe.copy_of is not None and same)
        wanted = outcome.status == "finished" or (outcome.status == "raised" and doubtful)
        return self.outcome(recipe, reference=True) if wanted else None

    def _tell(self, what: str, recipe: AnyRecipe) -> None:
        if self.progress is not None:
            self.progress(f"verify {what} {recipe.title}".strip())


def verify(
    before: AnyRecipe,
    after: AnyRecipe,
    *,
    options: Options | None = None,
    progress: Progress | None = None,
    oracles: Sequence[str] = DEFAULT,
) -> Verification:
    """Run one recipe before and after an edit and return outcomes and verdict.

    Raise VerifyUnavailable when nothing can be run here (no torch, workers that do not start).
    """
    with Verifier(options, progress) as verifier:
        return verifier.verify(before, after, oracles)


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
    oracles: Sequence[str] = DEFAULT,
    argv: Sequence[str] = (),
    cold: bool = False,
    options: Options | None = None,
    verifier: Verifier | None = None,
) -> Verification:
    """Run two scripts, with and without a defect, under the same measuring, and judge them.

    `oracles` name what counts as failing besides an exception; `cold` starts them before torch is imported,
    which the oracle "environment" needs.
    """
    scripts = [
        ProgramRecipe(path.name, path.read_text(encoding="utf-8"), argv=tuple(argv), world_size=world_size, cold=cold)
        for path in (before, after)
    ]
    if verifier is not None:
        return verifier.verify(scripts[0], scripts[1], oracles)
    return verify(scripts[0], scripts[1], options=options, oracles=oracles)
