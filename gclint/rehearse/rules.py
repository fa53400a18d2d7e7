"""The rules, asked of the run that was observed.

The workers' records make a run of the same kind as the analysis derives (`gclint.run.observed`): the rules ask it their
questions as they are. What one says to fail there is told, with certainty `seen`: where it was come to, where nothing
is left open but one condition that was met, and where the exception that it foretells was raised, if it foretells one.
What a question of the rehearsal says of the same file already is not told twice.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gclint.check.findings import Judge, judge_batch
from gclint.check.program import Analysis, analyse
from gclint.check.request import Request, gather
from gclint.config import LIBRARIES
from gclint.finding import Condition, Finding
from gclint.launch import Launch, Setting
from gclint.rehearse.record import Recording, place_of
from gclint.rehearse.seen import Seen, listed
from gclint.rule import known_rules
from gclint.run.observed import Observed
from gclint.run.run import Run
from gclint.verify.outcome import Outcome
from gclint.verify.recipe import ProgramRecipe
from gclint.verify.symptom import CLASS, is_symptom

NEVER_MISSED = ("optimizer", "step", "backward", "zeroed", "clip", "load", "save", "read")
SAYS_THE_SAME = {
    "GCS103": "GCL603",
    "GCS105": "GCL812",
    "GCS106": "GCL712 GCL713",
    "GCS107": "GCL608 GCL806",
    "GCS108": "GCL211 GCL603",
    "GCS109": "GCL711",
    "GCS201": "GCL805",
    "GCS202": "GCL806",
    "GCS203": "GCL810",
    "GCS204": "GCL811",
    "GCS205": "GCL802",
    "GCS207": "GCL610 GCL611",
    "GCS210": "GCL807",
    "GCS211": "GCL808",
    "GCS212": "GCL809",
    "GCS302": "GCL708",
    "GCS303": "GCL707",
    "GCS305": "GCL816",
    "GCS401": "GCL220",
    "GCS402": "GCL219",
    "GCS403": "GCL228",
    "GCS406": "GCL822",
    "GCS408": "GCL821",
    "GCS409": "GCL831",
    "GCS410": "GCL832",
    "GCS501": "GCL824",
    "GCS502": "GCL825",
    "GCS503": "GCL826",
    "GCS601": "GCL813",
    "GCS602": "GCL813",
    "GCS603": "GCL813",
    "GCS801": "GCL814",
    "GCS901": "GCL305 GCL306",
    "GCS902": "GCL313",
    "GCS912": "GCL314",
    "GCS913": "GCL314",
}
"""Of each question's code the rules that say the same; one that names the cause of what a question sees is told too."""


def ask_rules(
    recipe: ProgramRecipe, outcome: Outcome, recording: Recording, seen: Collection[Seen] = ()
) -> Iterator[Finding]:
    """What the rules find in a run that was recorded and of which something was `seen` by the questions."""
    observed = _observed(recipe, outcome, recording)
    launch = _launch(recipe, outcome)
    runs: list[Run] = []

    def analysed(sources: Any, root: Path, target: Any, rules: Any) -> Analysis:
        made = analyse(sources, root, target, rules, keep_runs=True, launch=launch, observed=observed)
        runs.extend(made.runs)
        return made

    files = sorted({os.path.join(observed.root, name) for files in observed.marks for name in files})
    shown = [os.path.relpath(name) for name in files if os.path.exists(name)]
    versions = {name: text.partition("+")[0] for name, text in outcome.versions.items() if name in LIBRARIES}
    judge = Judge(analysed, tuple(known_rules()), gated=False)
    batches = gather(Request(shown, {"target": versions})).batches if shown else ()
    program = os.path.realpath(launch.program)
    own = (batch for batch in batches if any(os.path.realpath(each) == program for each in batch.sources))
    found = [finding for batch in own for finding in judge_batch(batch, judge).findings]
    told = {(each.place[0], code) for each in seen if each.place for code in SAYS_THE_SAME.get(each.code, "").split()}
    guards = {key: guard - run.assumed for run in runs for key, guard in run.found.items()}
    for finding in found:
        path = os.path.relpath(os.path.realpath(finding.location.path), observed.root)
        is_new = finding.key in guards and (path, finding.code) not in told
        met = not finding.stated.parts or (is_new and observed.was_met(guards[finding.key]))
        if is_new and met and _happened(finding, outcome):
            yield from _as_seen(finding, observed, path, len(recording.ranks))


def _observed(recipe: ProgramRecipe, outcome: Outcome, recording: Recording) -> Observed:
    events = recording.first.of(*NEVER_MISSED)
    return Observed(
        os.path.realpath(str(recipe.copy_of)),
        [record.marks for record in recording],
        {(event["kind"], *place) for event in events if (place := place_of(event))},
        whole=outcome.status == "finished" and not recording.first.end.get("cut"),
        numbers=not recording.made_up and "numbers" not in recipe.small,
    )


def _launch(recipe: ProgramRecipe, outcome: Outcome) -> Launch:
    """How the program was started."""
    root = Path(str(recipe.copy_of))
    program = root / recipe.name
    return Launch(
        program,
        1,
        program,
        "torchrun" if outcome.world_size > 1 else "python",
        outcome.world_size,
        outcome.world_size > 1,
        recipe.strategy,
        tuple(Setting(each.name, each.value, 1, program) for each in recipe.environment),
        recipe.argv,
        function=recipe.function,
        module=recipe.module,
        directory=root / recipe.directory,
    )


def _happened(finding: Finding, outcome: Outcome) -> bool:
    """Whether a finding is of a failure that there was: silent, or the exception that ended the run."""
    raised = "" if outcome.raised is None else outcome.raised.line
    foretells = CLASS.fullmatch(finding.symptom.partition(":")[0]) is not None
    return finding.certainty == "fails" and (is_symptom(raised, finding.symptom) or not foretells)


def _as_seen(finding: Finding, observed: Observed, path: str, ranks: int) -> Iterator[Finding]:
    """The finding as one that was seen, with the step and the ranks; nothing where no rank came to its line."""
    came = observed.came_to(path, finding.location.line)
    if came is not None:
        where = f"come to in step {came.step + 1}" if came.step else "come to before the second step"
        on = f" on {'ranks' if came.ranks[1:] else 'rank'} {listed(map(str, came.ranks))}" if ranks > 1 else ""
        remedy = f"{finding.fixes[0].title}; " if finding.fixes else ""
        yield replace(
            finding,
            certainty="seen",
            symptom="; ".join(filter(None, [finding.symptom, where + on])),
            stated=Condition(),
            basis=(),
            target=(),
            fixes=(),
            help=f"{remedy}`gclint rule {finding.code}` explains it",
        )
