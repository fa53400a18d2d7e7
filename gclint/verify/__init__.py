"""Proves an edit by running the training before and after it in worker processes.

Nothing here imports torch: the workers do (`gclint.verify.worker`). `verify(before, after)` runs two recipes,
`reproduce(script, fixed)` two scripts; both return a `Verification` with two outcomes and a verdict.
"""

from gclint.verify.api import Verification, Verifier, reproduce, verify, verify_many
from gclint.verify.errors import VerifyUnavailable
from gclint.verify.options import Options
from gclint.verify.outcome import Outcome, RankReport
from gclint.verify.recipe import AnyRecipe, ModelSpec, ProgramRecipe, Recipe, Variable
from gclint.verify.verdict import Claim, Runs, Verdict, judge

__all__ = [
    "AnyRecipe",
    "Claim",
    "ModelSpec",
    "Options",
    "Outcome",
    "ProgramRecipe",
    "RankReport",
    "Recipe",
    "Runs",
    "Variable",
    "Verdict",
    "Verification",
    "Verifier",
    "VerifyUnavailable",
    "judge",
    "reproduce",
    "verify",
    "verify_many",
]
