"""What the checks of one repository found, commit by commit, as a page."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from gclint.report.chart import by_step, chart
from gclint.report.pages import document, text
from gclint.report.tally import counted

SEVERITIES = {"error": "errors", "warning": "warnings", "note": "notes"}
Record = dict[str, Any]


class Check(NamedTuple):
    """The check of one commit: its name, and its findings as the format `json-lines` has them."""

    name: str
    findings: Sequence[Record]

    def others(self, known: Check) -> list[Record]:
        """Return the findings that the other check has not, by what they are known by when their line moves."""
        marks = {each["fingerprint"] for each in known.findings}
        return [each for each in self.findings if each["fingerprint"] not in marks]


def page(checks: Sequence[Check]) -> str:
    """Return the page: counts over all checks, each rule's, what is new since the last but one, and what there is."""
    last, before = checks[-1], checks[-2] if len(checks) > 1 else checks[-1]
    fresh, gone = last.others(before), before.others(last)
    below = _common([each["filename"] for each in (*before.findings, *last.findings)])
    since = f"Since {text(before.name)}: {len(fresh)} new, {len(gone)} gone." if before is not last else ""
    now = f"{counted(len(last.findings), 'finding')} in {text(last.name)}"
    body = (
        f"<h1>gclint, check by check</h1><p class=machine>{now}. {since}</p>{_charts(checks)}"
        f"<section><h2>Rules</h2>{_rules(checks)}</section>"
        f"{_section('New', fresh, below)}{_section('Gone', gone, below)}{_section('All', last.findings, below)}"
    )
    return document("gclint: check by check", "page.css", body)


def _charts(checks: Sequence[Check]) -> str:
    kinds = [Counter(each["severity"] for each in check.findings) for check in checks]
    held = [name for name in SEVERITIES if any(kind[name] for kind in kinds)]
    names, lines = [SEVERITIES[name] for name in held], [by_step([kind[name] for kind in kinds]) for name in held]
    drawn = chart("findings", names, lines, (checks[0].name, checks[-1].name))
    return f"<section><h2>Over {len(checks)} checks</h2><div class=charts>{drawn}</div></section>" if drawn else ""


def _rules(checks: Sequence[Check]) -> str:
    """A row for each rule: how many findings it has in the first check, in the last but one, and in the last."""
    shown = list({check.name: check for check in (checks[0], *checks[-2:])}.values())
    head = "".join(f"<th>{text(check.name)}</th>" for check in shown)
    counts = [Counter((each["code"], each["name"]) for each in check.findings) for check in shown]
    rows = [
        f"<tr><td><code>{text(code)}</code> {text(name)}</td>"
        + "".join(f"<td>{count[code, name]}</td>" for count in counts)
        + "</tr>"
        for code, name in sorted(set().union(*counts))
    ]
    return (
        f"<table><tr><th></th>{head}</tr>{''.join(rows)}</table>" if rows else "<p class=quiet>None found anything.</p>"
    )


def _section(title: str, findings: Sequence[Record], below: str) -> str:
    """Findings by file, each named from the directory that all lie `below`."""
    ordered = sorted(findings, key=lambda each: (each["filename"], each["location"]["row"], each["code"]))
    files = "".join(
        f"<h3><code>{text(os.path.relpath(name, below))}</code></h3><ul>{''.join(_items(held))}</ul>"
        for name, held in groupby(ordered, key=itemgetter("filename"))
    )
    return f"<section><h2>{title}</h2>{files}</section>" if files else ""


def _items(findings: Iterable[Record]) -> Iterator[str]:
    for each in findings:
        cell = f"cell {each['cell']}, " if each["cell"] is not None else ""
        code = text(each["code"])
        linked = f'<a href="{text(each["url"])}">{code}</a>' if each["url"] else code
        condition = f" <b>when {text(each['condition'])}</b>" if each["condition"] else ""
        place = f"{cell}line {each['location']['row']}"
        kind = text(each["certainty"])
        yield f"<li>{place}: {linked} {text(each['message'])}{condition} <b>{kind}</b></li>"


def _common(names: Sequence[str]) -> str:
    """The directory that all files lie in."""
    return os.path.commonpath([os.path.dirname(name) for name in names]) if names else ""
