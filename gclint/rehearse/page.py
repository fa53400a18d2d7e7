"""A rehearsal as one self-contained page: no script, no font and no picture from elsewhere."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gclint.finding import Finding
from gclint.rehearse.record import Event, Record
from gclint.rehearse.rehearsal import Rehearsal
from gclint.rehearse.told import costs, heading, loss_of, taken
from gclint.report.chart import PLANNED, Line, by_step, chart
from gclint.report.content import Report, place_text
from gclint.report.pages import document, provenance, words
from gclint.report.pages import text as _text

WORDS = {
    "loss": "what backward was given in a step, added up",
    "gradient norm": "of all gradients that the optimizer is about to use",
    "learning rate, planned": "where the schedule would go on to, for the total that it was made for",
    "graph nodes": "what autograd keeps alive after a step: a line that rises is memory that is never freed",
    "rank": "a process of the run",
    "replaced": "what the rehearsal put in the place of hub models, data and devices",
}
STATES = {
    "moves": "moves",
    "still": "does not move",
    "bare": "no gradient",
    "out": "in no optimizer",
    "frozen": "frozen",
}


def page(made: Rehearsal, report: Report) -> str:
    """Return the page: what was run, what is wrong, the curves of every rank and a map of the modules."""
    first, *rest = heading(made)
    told = "".join(f"<li>{_text(each.strip())}</li>" for each in (*rest, *costs(made)))
    findings = "".join(_finding(report, each) for each in report.findings) or "<p class=quiet>Nothing was seen.</p>"
    body = (
        f"<h1>Rehearsal</h1><p class=machine>{_text(first)}</p>{provenance(made.recipe.copy_of or os.curdir)}"
        f"<ul class=machine>{told}</ul>{findings}"
        f"<section><h2>Step by step</h2>{_curves(made)}</section>"
        f"<section><h2>Modules</h2>{_map(made.recording.first)}</section>"
        f"<section><h2>Time of each question</h2>{_times(made)}</section>{words(WORDS)}"
    )
    return document(f"gclint: rehearsal of {made.recipe.name}", "page.css", body)


def _finding(report: Report, finding: Finding) -> str:
    places = [(finding.location, ""), *((each, each.message) for each in finding.related)]
    listed = "".join(
        f"<li><code>{_text(place_text(place))}</code> {_text(message)}"
        f"<pre>{_text(report.line_text(place).strip())}</pre></li>"
        for place, message in places
    )
    return (
        f"<section class=finding><h2>{finding.code} <span>{_text(finding.name)}</span></h2>"
        f"<p class=message>{_text(finding.message)}</p><ul class=places>{listed}</ul>"
        f"<p><b>seen</b> {_text(finding.symptom)}</p><p><b>help</b> {_text(finding.help)}</p></section>"
    )


def _curves(made: Rehearsal) -> str:
    """Losses, gradient norms and rates by rank and step, and the graph nodes that outlive a step."""
    ranks = made.recording.ranks
    names = [f"rank {record.rank}" for record in ranks]
    rates = by_step([max(step["rates"], default=None) for step in ranks[0].steps])
    plan = _plan(ranks[0])
    drawn = [
        chart("loss", names, [by_step([loss_of(step) for step in record.steps]) for record in ranks]),
        chart("gradient norm", names, [by_step([step["total"] for step in record.steps]) for record in ranks]),
        chart("learning rate", ["run", PLANNED], [rates, plan]) if plan else chart("learning rate", ["run"], [rates]),
        chart("graph nodes alive after a step", names[:1], [by_step([each["nodes"] for each in ranks[0].of("graph")])]),
    ]
    return f"<div class=charts>{''.join(drawn)}</div>"


def _plan(record: Record) -> Line:
    """Where the schedule of the first optimizer would go on to behind the end of the run, over optimizer steps."""
    told = next((each for each in record.end.get("schedulers", ()) if each["plan"] and not each["optimizer"]), None)
    if told is None:
        return []
    steps = sum(not step["optimizer"] for step in record.steps)
    return [(at * steps / told["steps"], rate) for at, rate in told["plan"]]


def _map(record: Record) -> str:
    """Every module with parameters of its own, by model, in the colour of what became of them."""
    legend = "".join(f'<li><i class="{name}"></i>{told}</li>' for name, told in STATES.items())
    blocks = []
    for root in next((each["roots"] for each in record.of("model")), []):
        held = [
            (name, kind, [record.parameters[n] for n in numbers if n in record.parameters])
            for name, kind, numbers in root["modules"]
            if numbers
        ]
        groups: dict[str, list[tuple[str, str, list[Event]]]] = {}
        for each in held:
            groups.setdefault(each[0].rpartition(".")[0], []).append(each)
        rows = "".join(
            f"<tr><th>{_text(above or root['class'])}</th><td>{_chips(mine)}</td></tr>"
            for above, mine in groups.items()
        )
        blocks.append(f"<h3>{_text(root['class'])}</h3><table class=map>{rows}</table>")
    return f"<ul class=legend>{legend}</ul>{''.join(blocks)}"


def _chips(modules: Sequence[tuple[str, str, list[Event]]]) -> str:
    return "".join(
        f'<span class="chip {_worst(parameters)}" title="{_text(name)} ({_text(kind)})">'
        f"{_text(name.rpartition('.')[2] or kind)}</span>"
        for name, kind, parameters in modules
    )


def _worst(parameters: Sequence[Event]) -> str:
    """The state of a module's parameters that says most."""
    found = {_state(each) for each in parameters}
    return next((name for name in ("out", "bare", "still", "moves", "frozen") if name in found), "frozen")


def _state(parameter: Event) -> str:
    if not parameter["trainable"]:
        return "frozen"
    if not parameter["optimizers"]:
        return "out"
    if not parameter["gradients"]:
        return "bare"
    return "moves" if parameter["moves"] else "still"


def _times(made: Rehearsal) -> str:
    rows = "".join(f"<tr><th>{_text(name)}</th><td>{value:.1f} s</td></tr>" for name, value in taken(made))
    return f"<table class=times>{rows}</table>"
