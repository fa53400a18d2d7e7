"""Fixes proved: the recipe of the run without a fix against the recipe of the run with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from gclint.analysis.guards import ALWAYS, DISTRIBUTED, Guard
from gclint.analysis.program import Analysis, analyse
from gclint.analysis.run import Run
from gclint.analysis.values import Object
from gclint.files.source import Source
from gclint.finding import Finding
from gclint.fix.edits import Chosen
from gclint.fix.proof import Proof, ProofOptions, ProofRequest
from gclint.launch import Launch
from gclint.rule import Rule, load_rules
from gclint.verify.api import Verification, Verifier
from gclint.verify.derive import recipe_of, trained_models
from gclint.verify.fit import fit
from gclint.verify.fitted import fitted
from gclint.verify.footprint import Sizes
from gclint.verify.moments import Train
from gclint.verify.options import Options
from gclint.verify.outcome import Outcome
from gclint.verify.own import own_class
from gclint.verify.programs import changed_texts, judged, named_launch, pair_of
from gclint.verify.recipe import AnyRecipe, Recipe
from gclint.verify.sizes import sizes_of

Tell = Callable[[str], None]
Last = dict[tuple[Any, ...], Analysis]


def verifier_for(options: ProofOptions, tell: Tell | None = None) -> Verifier:
    """Return the verifier that runs what `options` ask for."""
    known = {field.name for field in fields(Options)}
    given = {name: value for name, value in asdict(options).items() if name in known}
    return Verifier(Options(**{name: value for name, value in given.items() if value not in ("", 0, None)}), tell)


@dataclass(frozen=True)
class _Pair:
    """One fix's runs to make, and what `proof` makes of them."""

    before: AnyRecipe
    after: AnyRecipe
    proof: Callable[[Verification], Proof]


def prove_fixes(request: ProofRequest, verifier: Verifier, last: Last) -> list[Proof]:
    """A verdict for every applied fix: all other fixes stay, only this one is taken back.

    `last` has the analysis of the last request that asked the same rules of the same project, for this one to take its
    walks, and then that of this one. Raises VerifyUnavailable when nothing can be run here.
    """
    pairs = list(_pairs(request, verifier, last))
    verifier.expect(recipe for pair in pairs if isinstance(pair, _Pair) for recipe in (pair.before, pair.after))
    return [pair if isinstance(pair, Proof) else pair.proof(verifier.verify(pair.before, pair.after)) for pair in pairs]


def _pairs(request: ProofRequest, verifier: Verifier, last: Last) -> Iterator[_Pair | Proof]:
    """The runs of each applied fix, or the proof that says why there are none."""
    codes = {chosen.finding.code for chosen in request.applied}
    rules = [rule for rule in load_rules() if rule.code in codes]
    by_program = request.options.evidence == "program"
    named = named_launch(request.options.program, request.root) if request.options.program else None
    asked = (request.root, tuple(sorted(request.target.items())), request.options.launch, tuple(sorted(codes)))
    after = _analysed(request, request.after, rules, last.get(asked))
    last.clear()
    last[asked] = after
    for chosen in request.applied:
        if verifier.progress is not None:
            place = chosen.finding.location
            verifier.progress(f"reading {chosen.finding.code} {place.path}:{place.line} without its fix")
        if all(rule.code != chosen.finding.code for rule in rules):
            yield _unverified(chosen, "no rule of this code is installed")
            continue
        without = request.without(chosen)
        before = _analysed(request, without, rules, after)
        if by_program:
            yield _by_program(request, chosen, without, before, named, verifier)
        else:
            yield _by_recipe(request, chosen, without, before, after, verifier)


def _analysed(
    request: ProofRequest, sources: Mapping[str, Source], rules: Sequence[Rule], like: Analysis | None = None
) -> Analysis:
    """The runs of the project with these files; those that are the same are taken from a `like` analysis."""
    return analyse(
        list(sources.values()),
        Path(request.root),
        request.target,
        rules,
        keep_runs=True,
        launch=request.options.launch,
        like=like,
    )


def _unverified(chosen: Chosen, why: str) -> Proof:
    return Proof(chosen.finding, chosen.fix.name, "unverified", why)


def _by_program(
    request: ProofRequest,
    chosen: Chosen,
    without: Mapping[str, Source],
    before: Analysis,
    named: Launch | None,
    verifier: Verifier,
) -> _Pair | Proof:
    """The user's own program before and after, in copies of the project, as small as it has to be."""
    holding, guard = next(_holding(chosen.finding, before), (None, ALWAYS))
    pair = pair_of(request, chosen, without, holding, named, (DISTRIBUTED, True) in guard)
    if isinstance(pair, str):
        return _unverified(chosen, pair)
    first, second = fitted(pair.before, pair.after, verifier.outcome)

    def proof(made: Verification) -> Proof:
        verdict = judged(made, pair, chosen.finding)
        return Proof(chosen.finding, chosen.fix.name, verdict.name, verdict.reason, _data(made))

    return _Pair(first, second, proof)


def _by_recipe(
    request: ProofRequest,
    chosen: Chosen,
    without: Mapping[str, Source],
    before: Analysis,
    after: Analysis,
    verifier: Verifier,
) -> _Pair | Proof:
    """The run that the analysis knows, before and after, and whether it fits at full size."""
    pair = _recipes(request, chosen.finding, before, after, without)
    if pair is None:
        return _unverified(chosen, "no training run around this place can be derived")
    first, second, sizes = pair

    def proof(made: Verification) -> Proof:
        sized = fit(second, sizes, verifier.footprint, request.options.gpu_memory or None)
        data = {**_data(made), "fit": sized.to_data()}
        return Proof(chosen.finding, chosen.fix.name, made.verdict.name, made.verdict.reason, data)

    return _Pair(first, second, proof)


def _holding(finding: Finding, analysis: Analysis) -> Iterator[tuple[Run, Guard]]:
    """The runs in which a finding was made, with the guard of the nearest of its kind in the file."""
    for run in analysis.runs:
        keys = [key for key in run.found if key[3] == finding.code and key[0] == finding.location.path]
        if keys:
            yield run, run.found[min(keys, key=lambda key: (abs(key[1] - finding.location.line), key))]


def _with_own(
    request: ProofRequest, recipe: Recipe, model: Object, guard: Guard, sources: Mapping[str, Source]
) -> Recipe:
    """The recipe with the steps asked for, and the project's own class where it may be imported, else why not."""
    steps = request.options.steps
    moments = (replace(each, steps=steps) if isinstance(each, Train) else each for each in recipe.moments)
    recipe = replace(recipe, moments=tuple(moments))
    if recipe.model.origin != "project":
        return recipe
    name = recipe.model.class_name
    if not request.options.allow_import:
        why = f"{name} is imported with --allow-import only"
        return replace(recipe, model=replace(recipe.model, why=why))
    found = own_class(model, guard, request.root.resolve(), changed_texts(request, sources))
    if isinstance(found, str):
        return replace(recipe, model=replace(recipe.model, why=f"{name} cannot be built: {found}"))
    return replace(recipe, model=replace(recipe.model, own=found))


def _recipes(
    request: ProofRequest, finding: Finding, before: Analysis, after: Analysis, without: Mapping[str, Source]
) -> tuple[Recipe, Recipe, Sizes] | None:
    for run, guard in _holding(finding, before):
        if not trained_models(run):
            continue
        index = next(number for number, each in enumerate(before.runs) if each is run)
        place = f"{finding.code} {finding.location.path}:{finding.location.line}"
        second = _same_run(run, after.runs, index)
        models = trained_models(second) if second is not None else []
        if second is None or not models:
            continue
        mine = trained_models(run)[0]
        first = _with_own(request, recipe_of(_found_only(run, finding.code), mine, guard, place), mine, guard, without)
        other = _with_own(
            request, recipe_of(_found_only(second), models[0], guard, place), models[0], guard, request.after
        )
        return first, other, sizes_of(second, models[0], guard, list(request.after.values()))
    return None


def _found_only(run: Run, code: str = "") -> Run:
    """The run as far as one rule, or with "" none, was asked: the fixes of the other codes have proofs of their own."""
    return replace(run, found={key: guard for key, guard in run.found.items() if key[3] == code})


def _same_run(run: Run, others: Sequence[Run], index: int) -> Run | None:
    wanted = (run.entry.path if run.entry else "", run.launch_places)
    same = [other for other in others if (other.entry.path if other.entry else "", other.launch_places) == wanted]
    if len(same) == 1:
        return same[0]
    return others[index] if index < len(others) and others[index] in same else next(iter(same), None)


def _data(made: Verification) -> dict[str, Any]:
    return {
        "evidence": made.verdict.evidence,
        "device": made.after.device,
        "processes": made.after.world_size,
        "before": made.verdict.before_failure or _state(made.before),
        "after": made.verdict.after_failure or _state(made.after),
        "gradient_error": made.verdict.gradient_error,
        "peak_memory_bytes": [made.before.peak_bytes, made.after.peak_bytes],
        "saved_bytes": [made.before.saved_bytes, made.after.saved_bytes],
        "losses": [list(made.before.losses), list(made.after.losses)],
        "versions": dict(made.after.versions),
        "model": made.after.model,
        "limits": list(dict.fromkeys((*made.before.limits, *made.after.limits))),
        "recomputations": [made.before.first.recomputed, made.after.first.recomputed],
        "recomputations_by_step": [[step.recomputed for step in run.first.steps] for run in (made.before, made.after)],
        "keys_loaded": [[asdict(keys) for keys in run.first.keys] for run in (made.before, made.after)],
        "replaced": list(dict.fromkeys((*made.before.replaced, *made.after.replaced))),
        "seconds_per_step": [made.before.seconds_per_step, made.after.seconds_per_step],
    }


def _state(outcome: Outcome) -> str:
    return "runs" if outcome.status == "finished" else outcome.status
