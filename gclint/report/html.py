"""The proof of fixes as one self-contained page: no script, no font and no picture from elsewhere."""

from __future__ import annotations

import math
import os
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gclint.fix.diff import unified_all
from gclint.fix.proof import Proof
from gclint.fix.trials import Trial, ranked
from gclint.report.chart import by_step, chart
from gclint.report.content import Report, place_text
from gclint.report.fits import gibibytes, option_text, run_text, verdict_text
from gclint.report.pages import document, provenance, words
from gclint.report.pages import text as _text
from gclint.report.proofs import COLOURS, gradients_text

if TYPE_CHECKING:
    from gclint.fix.job import Outcome

WORDS = {
    "confirmed": "what the finding foretells was seen before the edit and not after it, and nothing else changed",
    "passes": "nothing failed in either run, and training is the same",
    "rejected": "the edit fails, or changes what training does",
    "unverified": "the runs cannot tell, for the reason that stands there",
    "gradients": "how far those of the first step are from a run without checkpointing and wrappers, of their size",
    "rank": "a process of the run; their gradients are averaged",
    "kept by forward": "the memory that activations take until backward",
    "recomputed regions": "checkpointed regions that were computed again in backward",
}
CLASSES = {"+": "add", "-": "del", "@": "hunk"}


def page(outcome: Outcome) -> str:
    """Return the page: a summary, then every fix with its diff, what was seen before and after, and its price."""
    counts: Counter[str] = Counter(proof.verdict for proof in outcome.proofs)
    badges = " ".join(f"{_badge(name)} {counts[name]}" for name in COLOURS if counts[name])
    fixes = "".join(_fix(outcome.report, proof) for proof in outcome.proofs)
    tried = "".join(_ranking(trials) for trials in outcome.trials)
    head = f"<h1>Verification</h1><p class=counts>{badges}</p>{_machine(outcome.proofs)}{provenance(os.curdir)}"
    body = f"{head}{fixes}{tried}{words(WORDS)}"
    return document("gclint: verification", "verify.css", body)


def _badge(verdict: str) -> str:
    return f'<span class="badge {verdict}">{verdict}</span>'


def _machine(proofs: Sequence[Proof]) -> str:
    """The hardware and the versions that the runs saw."""
    devices = dict.fromkeys(str(proof.data["device"]) for proof in proofs if proof.data.get("device"))
    versions = {name: found for proof in proofs for name, found in proof.data.get("versions", {}).items()}
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    told = [f"run on {', '.join(devices)} ({machine})"] if devices else []
    told += [f"{name} {found}" for name, found in versions.items()]
    return f"<p class=machine>{' &middot; '.join(map(_text, told))}</p>" if told else ""


def _fix(report: Report, proof: Proof) -> str:
    finding, data = proof.finding, proof.data
    places = [(place_text(report.shown(finding.location)), finding.location.message)]
    places += [(place_text(report.shown(place)), place.message) for place in finding.related]
    listed = "".join(f"<li><code>{_text(place)}</code> {_text(message)}</li>" for place, message in places)
    condition = f"<p>when {_text(finding.stated.brief)}</p>" if finding.condition else ""
    judged = f"<p>judged for {_text(finding.versions)}</p>" if finding.versions else ""
    judged += f"<p>this run: {_text(finding.this_run)}</p>" if finding.this_run else ""
    ranks = f", {data['processes']} ranks" if data.get("processes", 1) > 1 else ""
    evidence = f"<p class=evidence>evidence: {_text(data['evidence'])}{_shown(data)}{ranks}</p>" if data else ""
    replaced = "".join(f"<li>{_text(each)}</li>" for each in data.get("replaced", ()))
    evidence += f"<ul class=evidence>{replaced}</ul>" if replaced else ""
    return (
        f"<section><header><h2>{_text(finding.code)} <span>{_text(finding.name)}</span></h2>{_badge(proof.verdict)}"
        f"</header><p class=message>{_text(finding.message)}</p>{condition}{judged}<ul class=places>{listed}</ul>"
        f"<h3>Fix: {_text(_title(proof))}</h3>{_diff(unified_all(proof.changes))}"
        f"{_reason(proof)}{_runs(data)}{_price(data)}{_fit(data.get('fit'))}{evidence}</section>"
    )


def _title(proof: Proof) -> str:
    return next((fix.title for fix in proof.finding.fixes if fix.name == proof.fix), proof.fix)


def _shown(data: Mapping[str, Any]) -> str:
    return f" ({_text(data['model'])})" if data.get("model") else ""


def _reason(proof: Proof) -> str:
    return "" if proof.verdict == "confirmed" else f"<p class=reason>{_text(proof.reason)}</p>"


def _diff(text: str) -> str:
    rows = []
    for line in text.splitlines():
        kind = "file" if line.startswith(("--- ", "+++ ")) else CLASSES.get(line[:1], "same")
        rows.append(f'<span class="{kind}">{_text(line) or " "}</span>')
    return f"<pre class=diff>{''.join(rows)}</pre>" if rows else ""


def _runs(data: Mapping[str, Any]) -> str:
    """What was seen before and after: the failure or the losses, and how far gradients are off."""
    if "before" not in data:
        return ""
    cells = []
    for index, name in enumerate(("before", "after")):
        losses = ", ".join(f"{each:.4g}" for each in _at(data, "losses", index) or () if math.isfinite(each))
        failed = data[name] != "runs"
        told = f'<p class="{"failed" if failed else "runs"}">{_text(data[name])}</p>'
        told += f"<p>losses {losses}</p>" if losses else ""
        error = data.get("gradient_error")
        if name == "after" and error is not None:
            told += f"<p>{_text(gradients_text(error))}</p>"
        cells.append(f"<div><h4>{name}</h4>{told}</div>")
    return f"<div class=runs>{''.join(cells)}</div><div class=charts>{_curves(data)}</div>"


def _curves(data: Mapping[str, Any]) -> str:
    """Losses and gradient norms of both runs, by rank and step."""
    drawn = []
    for index, name in enumerate(("before", "after")):
        ranks = _at(data, "signature", index) or []
        names = [f"rank {rank}" for rank in range(len(ranks))]
        steps = [rank["steps"] for rank in ranks]
        losses = [by_step([sum(each["losses"]) if each["losses"] else None for each in mine]) for mine in steps]
        norms = [by_step([next(iter(each["total_gradient"]), None) for each in mine]) for mine in steps]
        drawn += [chart(f"loss {name}", names, losses), chart(f"gradient norm {name}", names, norms)]
    return "".join(drawn)


def _at(data: Mapping[str, Any], name: str, index: int) -> Any:
    pair = data.get(name)
    return pair[index] if pair else None


def _price(data: Mapping[str, Any]) -> str:
    """Bars of what the runs used before and after."""
    measures = (
        ("peak memory", "peak_memory_bytes", gibibytes),
        ("kept by forward", "saved_bytes", gibibytes),
        ("seconds per step", "seconds_per_step", lambda value: f"{value:.3f}"),
        ("recomputed regions", "recomputations", str),
    )
    rows = []
    for title, name, shown in measures:
        pair = data.get(name) or (None, None)
        most = max((each for each in pair if each), default=0)
        if most:
            bars = "".join(_bar(when, each, most, shown) for when, each in zip(("before", "after"), pair, strict=True))
            rows.append(f"<tr><th>{title}</th><td>{bars}</td></tr>")
    return f"<h3>Price</h3><table class=price>{''.join(rows)}</table>" if rows else ""


def _bar(when: str, value: float | None, most: float, shown: Any) -> str:
    if value is None:
        return f"<div class=bar><span class=when>{when}</span><span class=value>not measured</span></div>"
    width = max(0.5, 100 * value / most) if value else 0
    return (
        f'<div class=bar><span class=when>{when}</span><span class=track><i class="{when}" style="width:{width:.1f}%">'
        f"</i></span><span class=value>{shown(value)}</span></div>"
    )


def _fit(fit: Mapping[str, Any] | None) -> str:
    """The full-size run as a stacked bar against its device."""
    if not fit:
        return ""
    if "unknown" in fit:
        return f"<h3>Full size</h3><p>unknown: {_text(fit['unknown'])}</p>"
    whole = max(fit["total"], fit["capacity"] or 0)
    parts = [(name, size) for name, size in fit["bytes"].items() if size]
    pieces = "".join(f'<i class="{name}" style="width:{100 * size / whole:.2f}%"></i>' for name, size in parts)
    limit = f'<b style="left:{100 * fit["capacity"] / whole:.2f}%"></b>' if fit["capacity"] else ""
    legend = "".join(f'<li><i class="{name}"></i>{name} {gibibytes(size)}</li>' for name, size in parts)
    state = {True: "runs", False: "failed", None: ""}[fit["fits"]]
    more = "".join(f"<li>{_text(option_text(each).strip())}</li>" for each in fit["options"])
    return (
        f'<h3>Full size</h3><p class="{state}">{_text(verdict_text(fit))}</p><div class=stack>{pieces}{limit}</div>'
        f"<ul class=legend>{legend}</ul><ul>{more}</ul><p class=evidence>{_text(run_text(fit))}</p>"
    )


def _ranking(trials: Sequence[Trial]) -> str:
    finding = trials[0].chosen.finding
    rows = "".join(_ranked(number, trial) for number, trial in enumerate(ranked(trials), start=1))
    head = "".join(f"<th>{name}</th>" for name in ("", "fix", "verdict", "full size", "s/step"))
    place = f"{_text(finding.code)} {_text(finding.location.path)}:{finding.location.line}"
    return f"<section><h2>Ways to fix {place}</h2><table class=ways><tr>{head}</tr>{rows}</table></section>"


def _ranked(number: int, trial: Trial) -> str:
    data = trial.proof.data if trial.proof is not None else {}
    fit = data.get("fit", {})
    seconds = _at(data, "seconds_per_step", 1)
    choice = f"--choose {trial.chosen.finding.code}={trial.chosen.fix.name}"
    cells: Iterable[str] = (
        str(number),
        f"{_text(trial.chosen.fix.title)}<br><code>{_text(choice)}</code>",
        _badge(trial.verdict) if trial.verdict else "",
        _text(verdict_text(fit)) if "total" in fit else "",
        f"{seconds:.3f}" if seconds is not None else "",
    )
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
