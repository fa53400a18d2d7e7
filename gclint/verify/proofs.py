"""Fixes proved: the recipe of the run without a fix against the recipe of the run with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from gclint.check.program import Analysis, analyse
from gclint.finding import Aspect, Finding
from gclint.fix.edits import Chosen
from gclint.fix.proof import Proof, ProofRequest
from gclint.launch import Launch
from gclint.rule import Rule, load_rules
from gclint.run.guards import ALWAYS, DISTRIBUTED, Guard
from gclint.run.run import Run
from gclint.run.values import Object
from gclint.source.source import Source
from gclint.verify.api import Verification, Verifier
from gclint.verify.codec import to_data
from gclint.verify.derive import recipe_of, trained_models
from gclint.verify.fit import Fit, measured
from gclint.verify.fitted import fitted
from gclint.verify.footprint import Footprint, Wanted
from gclint.verify.moments import Train
from gclint.verify.options import Options
from gclint.verify.outcome import Outcome, Step
from gclint.verify.own import own_class
from gclint.verify.programs import Pair, changed_texts, judged, named_launch, pair_of
from gclint.verify.recipe import AnyRecipe, Recipe
from gclint.verify.stack import stack_of
from gclint.verify.unseen import unseen
from gclint.verify.verdict import Claim

Tell = Callable[[str], None]
Last = dict[tuple[Any, ...], Analysis]


def verifier_for(request: ProofRequest, tell: Tell | None = None) -> Verifier:
    """Return the verifier that runs what a request asks for, in the environment that it asks for.

    Raises VerifyUnavailable where that cannot be made.
    """
    options = request.options
    if options.stack:
        options = replace(options, python=stack_of(request.root, request.target, options.python, tell))
    known = {field.name for field in fields(Options)}
    given = {name: value for name, value in asdict(options).items() if name in known}
    return Verifier(Options(**{name: value for name, value in given.items() if value not in ("", 0, None)}), tell)


@dataclass(frozen=True)
class _Edit:
    """Fixes that are proved together: those that share an edit, or whose findings go only with each other's."""

    fixes: tuple[Chosen, ...]
    without: Mapping[str, Source]
    before: Analysis

    @property
    def intent(self) -> tuple[Aspect, ...]:
        """What all of its fixes together may change."""
        return tuple(dict.fromkeys(aspect for each in self.fixes for aspect in each.fix.intent))

    def claim(self, chosen: Chosen) -> Claim:
        """What one of its findings says of the run before."""
        finding = chosen.finding
        return Claim((finding.symptom, *finding.oracles), finding.oracles, self.intent)


@dataclass(frozen=True)
class _Pair:
    """The runs to make for an edit, and what `proof` makes of them for one of its fixes."""

    edit: _Edit
    before: AnyRecipe
    after: AnyRecipe
    proof: Callable[[Chosen, Verification], Proof]


def prove_fixes(request: ProofRequest, verifier: Verifier, last: Last) -> Iterator[Proof]:
    """Yield a verdict for every applied fix as it is known: all other fixes stay, only this one is taken back.

    `last` has the analysis of the last request that asked the same rules of the same project, for this one to take its
    walks, and then that of this one. Raises VerifyUnavailable when nothing can be run here.
    """
    for pair in _pairs(request, verifier, last):
        if isinstance(pair, Proof):
            yield pair
            continue
        verifier.expect((pair.before, pair.after))
        proofs = [
            pair.proof(chosen, verifier.verify(pair.before, pair.after, pair.edit.claim(chosen)))
            for chosen in pair.edit.fixes
        ]
        yield from _together(proofs)


def _together(proofs: Sequence[Proof]) -> Iterator[Proof]:
    """Proofs of one edit: where it cures the failure that came first, what it hid has passed."""
    shown = next((each for each in proofs if each.verdict == "confirmed"), None)
    for each in proofs:
        if shown is not None and each.verdict == "unverified":
            place = f"{shown.finding.code} at {shown.finding.location.path}:{shown.finding.location.line}"
            told = f"the failure of {place} came first, and went by the same edit; after it no failure shows"
            each = replace(each, verdict="passes", reason=told)
        yield each


def _pairs(request: ProofRequest, verifier: Verifier, last: Last) -> Iterator[_Pair | Proof]:
    """The runs of each edit, or for each of its fixes the proof that says why there are none."""
    codes = {chosen.finding.code for chosen in request.applied}
    rules = [rule for rule in load_rules() if rule.code in codes]
    named = named_launch(request.options.program, request.root) if request.options.program else None
    asked = (request.root, tuple(sorted(request.target.items())), request.options.launch, tuple(sorted(codes)))
    after = _analysed(request, request.after, rules, last.get(asked))
    last.clear()
    last[asked] = after
    for fixes in edits_of(request.applied):
        if verifier.progress is not None:
            place = fixes[0].finding.location
            verifier.progress(f"reading {fixes[0].finding.code} {place.path}:{place.line} without its fix")
        edit = _edit(request, fixes, rules, after)
        if request.options.evidence == "program":
            made = _by_program(request, edit, named, verifier)
        else:
            made = _by_recipe(request, edit, after, rules, named, verifier)
        yield from [made] if isinstance(made, _Pair) else [_unverified(chosen, made) for chosen in fixes]


def edits_of(applied: Sequence[Chosen]) -> list[tuple[Chosen, ...]]:
    """Return the applied fixes in order, those with an edit in common together."""
    groups: list[list[Chosen]] = []
    for chosen in applied:
        shared = [group for group in groups if any(set(chosen.fix.edits) & set(each.fix.edits) for each in group)]
        groups = [group for group in groups if group not in shared] + [[*(one for g in shared for one in g), chosen]]
    return [tuple(group) for group in sorted(groups, key=lambda group: list(applied).index(group[0]))]


def _edit(request: ProofRequest, fixes: tuple[Chosen, ...], rules: Sequence[Rule], after: Analysis) -> _Edit:
    """The fixes of an edit and the project without them; without any fix where another one cures the finding too."""
    without = request.without(fixes)
    before = _analysed(request, without, rules, after)
    hidden = all(next(_holding(chosen.finding, before), None) is None for chosen in fixes)
    if hidden and len(fixes) < len(request.applied):
        everything = request.without(tuple(request.applied))
        whole = _analysed(request, everything, rules, before)
        if any(next(_holding(chosen.finding, whole), None) is not None for chosen in fixes):
            return _Edit(fixes, everything, whole)
    return _Edit(fixes, without, before)


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


def _by_program(request: ProofRequest, edit: _Edit, named: Launch | None, verifier: Verifier) -> _Pair | str:
    """The user's own program before and after, in copies of the project, as small as it has to be; or why not."""
    pair = _program(request, edit, named)
    if isinstance(pair, str):
        return pair
    first, second = fitted(pair.before, pair.after, verifier.outcome)

    def proof(chosen: Chosen, made: Verification) -> Proof:
        verdict = judged(made, pair)
        data = {**_data(made), **_fit(request, edit, named, verifier)}
        return Proof(chosen.finding, chosen.fix.name, verdict.name, verdict.reason, data)

    return _Pair(edit, first, second, proof)


def _fit(request: ProofRequest, edit: _Edit, named: Launch | None, verifier: Verifier) -> dict[str, Any]:
    """Whether the program fits the named device after the edit; nothing where none is named."""
    capacity = request.options.gpu_memory
    if not capacity:
        return {}
    pair = _program(request, edit, named)
    if isinstance(pair, str):
        return {"fit": Fit(Footprint(unknown=pair)).to_data()}
    return {"fit": measured(pair.after, Wanted(capacity=capacity), verifier).to_data()}


def _program(request: ProofRequest, edit: _Edit, named: Launch | None) -> Pair | str:
    """The program around the edit's findings, before and after; or why there is none."""
    found = ((run, guard) for each in edit.fixes for run, guard in _holding(each.finding, edit.before))
    holding, guard = next(found, (None, ALWAYS))
    codes = {each.finding.code for each in edit.fixes}
    alone = all(rule.reproduction.processes == 1 for rule in load_rules() if rule.code in codes)
    several = (DISTRIBUTED, True) in guard or not alone
    return pair_of(request, edit.fixes, edit.without, holding, named, several, guard)


def _by_recipe(
    request: ProofRequest,
    edit: _Edit,
    after: Analysis,
    rules: Sequence[Rule],
    named: Launch | None,
    verifier: Verifier,
) -> _Pair | str:
    """The run that the analysis knows, before and after, and whether it fits at full size; or why there is none."""
    found = (_recipes(request, each.finding, edit.before, after, edit.without) for each in edit.fixes)
    made = next((each for each in found if each is not None), None)
    if made is None:
        return "no training run around this place can be derived"
    first, second = made
    hidden = unseen(
        edit.without,
        request.after,
        (first, second),
        lambda sources: _recipe_after(request, edit, rules, after, sources),
    )

    def proof(chosen: Chosen, made: Verification) -> Proof:
        data = {**_data(made), **_fit(request, edit, named, verifier)}
        name, reason = made.verdict.name, made.verdict.reason
        if hidden and name in ("passes", "confirmed"):
            name, reason = (
                "unverified",
                f"{hidden} is no part of the derived run; --verify=program runs the program itself",
            )
        return Proof(chosen.finding, chosen.fix.name, name, reason, data)

    return _Pair(edit, first, second, proof)


def _recipe_after(
    request: ProofRequest, edit: _Edit, rules: Sequence[Rule], like: Analysis, sources: Mapping[str, Source]
) -> Recipe | None:
    """The recipe of the run after with other texts in the place of the edited ones."""
    analysis = _analysed(request, sources, rules, like)
    found = (
        _recipes(replace(request, after=sources), each.finding, edit.before, analysis, edit.without)
        for each in edit.fixes
    )
    made = next((each for each in found if each is not None), None)
    return None if made is None else made[1]


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
    steps = request.options.steps or Train.steps
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
) -> tuple[Recipe, Recipe] | None:
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
        first = _with_own(request, recipe_of(run, mine, guard, place), mine, guard, without)
        other = _with_own(request, recipe_of(second, models[0], guard, place), models[0], guard, request.after)
        return first, other
    return None


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
        "signature": [_signature(run) for run in (made.before, made.after)],
        "seconds_per_step": [made.before.seconds_per_step, made.after.seconds_per_step],
    }


def _state(outcome: Outcome) -> str:
    return "runs" if outcome.status == "finished" else outcome.status


def _signature(outcome: Outcome) -> list[dict[str, Any]]:
    """What training did on each rank, step by step, without the sketches that only programs compare."""
    found = []
    for rank in outcome.ranks:
        steps = [{**to_data(step), **_norms(step)} for step in rank.steps]
        saves = [{"name": each.name, "keys": list(each.keys)} for each in rank.saves]
        found.append({"steps": steps, "performed": rank.step_count, "cut": rank.cut, "saved": saves})
    return found


def _norms(step: Step) -> dict[str, Any]:
    """The norms of gradients and moves in the place of their sketches."""
    gradients = {name: each[0] if each else None for name, each in step.gradients.items()}
    moves = None if step.moves is None else {name: each[0] for name, each in step.moves.items()}
    totals = {"total_gradient": step.total_gradient[:1], "total_move": step.total_move[:1]}
    return {"gradients": gradients, "moves": moves, **totals}
