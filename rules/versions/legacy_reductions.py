"""`size_average=` and `reduce=` of losses, in whose place torch takes `reduction=` now. It warns of them since 0.4.1
(torch/nn/_reduction.py, `legacy_get_string`). What 0.4.1 called `elementwise_mean` is `mean` since 1.0 (the same file,
`get_enum`).
"""

from __future__ import annotations

import ast

from gclint.finding import Fix
from gclint.ir.syntax import Site
from gclint.run import rewrite
from gclint.run.calls import Call
from gclint.run.values import NONE, Const

CLASSES = (
    *("BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "HingeEmbeddingLoss", "KLDivLoss"),
    *("L1Loss", "MSELoss", "MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss"),
    *("NLLLoss", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss"),
)
FUNCTIONS = (
    *("binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy"),
    *("hinge_embedding_loss", "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss", "multi_margin_loss"),
    *("multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "poisson_nll_loss", "smooth_l1_loss"),
    *("soft_margin_loss", "triplet_margin_loss"),
)
NAMES = {*(f"torch.nn.{name}" for name in CLASSES), *(f"torch.nn.functional.{name}" for name in FUNCTIONS)}
OLD = ("size_average", "reduce")
SINCE = "0.4.1"
OLD_MEAN, MEAN_SINCE = "elementwise_mean", "1.0"


def meant_by(call: Call) -> tuple[str, str]:
    """The first of the old arguments that a loss is given, or `reduction` with the old word for a mean, and the
    `reduction` that they come to; twice "" where none is given, or one that nobody knows.
    """
    if call.name not in NAMES or call.open:
        return "", ""
    if call.get("reduction", None, NONE).only() == Const(OLD_MEAN):
        return "reduction", "mean"
    held = {name: call.get(name, None, NONE).only() for name in OLD}
    given = {name: value.value for name, value in held.items() if isinstance(value, Const)}
    first = next((name for name in OLD if given.get(name) is not None), "")
    if len(given) < len(OLD) or not first:
        return "", ""
    if given["reduce"] is not None and not given["reduce"]:
        return first, "none"
    return first, "mean" if given["size_average"] is None or given["size_average"] else "sum"


def by_reduction(site: Site, reduction: str) -> Fix | None:
    """The same loss with `reduction`, where one old argument alone is given by its name."""
    given = [held for name in (*OLD, "reduction") if (held := rewrite.argument(site, name)) is not None]
    if len(given) != 1 or (given[0].arg == "reduction" and not isinstance(given[0].value, ast.Constant)):
        return None
    edit = rewrite.replace(Site.at(site.module, given[0]), f'reduction="{reduction}"')
    return Fix("reduction", f"Say reduction={reduction}", (edit,))
