"""What the tools of `gclint mcp` answer: made by the functions of the command line, as small JSON objects."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gclint.cli.parser import EVIDENCE, UsageError, build
from gclint.integrations.shortened import findings_as_data, list_as_data, text_as_data
from gclint.integrations.tools import OWN

if TYPE_CHECKING:
    from gclint.fix.edits import Chosen
    from gclint.fix.job import Outcome

Record = dict[str, Any]
MOST = 10
MOST_TEXT = 8_000
_MEASURED = ("evidence", "device", "processes", "before", "after", "limits", "peak_memory_bytes", "seconds_per_step")


def check(given: Mapping[str, Any]) -> Record:
    """Return what is found, the first to mend first."""
    from gclint.check.engine import check as check_request
    from gclint.cli.request import request_of
    from gclint.report.mending import by_urgency
    from gclint.report.style import Style
    from gclint.report.tally import tally

    report = check_request(request_of(_options("check", given)))
    shown = findings_as_data(report, by_urgency(report), given.get("most", MOST), given.get("target"))
    return {"summary": tally(report, Style()), **shown, **list_as_data("problems", map(str, report.problems))}


def explain(given: Mapping[str, Any]) -> Record:
    """Return the page of a rule, or a line for each of a family."""
    from gclint.cli.explain import page_of, rules_named

    rules, whole = rules_named(given["code"])
    if not whole:
        return {"rules": [{"code": rule.code, "name": rule.name, "summary": rule.summary} for rule in rules]}
    (rule,) = rules
    return {"code": rule.code, "name": rule.name, **text_as_data("page", page_of(rule), MOST_TEXT)}


def fix(given: Mapping[str, Any]) -> Record:
    """Return what was or would be edited, and what is left to find after it."""
    return _fixed(_options("fix", given))


def verify(given: Mapping[str, Any]) -> Record:
    """Return the verdict on each edit, and what `fix` returns."""
    return _fixed(_options("fix", given, f"--verify={given.get('evidence', EVIDENCE[0])}"))


def rehearse(given: Mapping[str, Any]) -> Record:
    """Return what a short run of the program showed."""
    from gclint.cli.rehearsing import rehearsal_of, why_not
    from gclint.rehearse.told import as_data
    from gclint.report.mending import by_urgency

    options = _options("rehearse", given)
    options.run = _split(given["command"])
    made, report = rehearsal_of(options)
    data = as_data(made)
    losses = [step["loss"] for step in data["steps"][0]] if data["steps"] else []
    kept = ("program", "status", "processes", "device", "replaced", "limits", "costs", "seconds")
    answer = {name: data[name] for name in kept} | {"steps": len(losses), "losses": [*losses[:3], *losses[3:][-1:]]}
    if not made.trained:
        answer["why"] = why_not(made)
    return answer | findings_as_data(report, by_urgency(report), MOST)


def fit(given: Mapping[str, Any]) -> Record:
    """Return what a step of the program needs at full size, whether that fits, and what would make it fit."""
    from gclint.cli.fitting import fit_of

    options = _options("fit", given)
    options.run = _split(given["command"])
    return fit_of(options).to_data()


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"command: {error}") from None


ANSWERS: dict[str, Callable[[Mapping[str, Any]], Record]] = {
    each.__name__: each for each in (check, explain, fix, verify, rehearse, fit)
}


def _fixed(options: Namespace) -> Record:
    from gclint.cli.fixing import outcome_of
    from gclint.cli.request import request_of
    from gclint.fix.diff import unified_all
    from gclint.report.mending import by_urgency
    from gclint.report.proofs import as_data

    outcome = outcome_of(options, request_of(options))
    report = outcome.report
    refused = [_edit(each.chosen) | {"why": each.why} for each in outcome.refused]
    answer = {
        "written": outcome.written,
        **list_as_data("edits", map(_edit, outcome.applied)),
        **list_as_data("refused", refused),
        **text_as_data("diff", unified_all(outcome.changes), MOST_TEXT),
        **list_as_data("problems", map(str, report.problems)),
    }
    if options.verify:
        answer |= list_as_data("proofs", map(_proof, as_data(outcome.proofs)))
    if note := _note(outcome):
        answer["note"] = note
    return answer | {"left": findings_as_data(report, by_urgency(report), MOST, briefly=True)}


def _note(outcome: Outcome) -> str:
    """Why there are fewer edits than might be, and what to do about it."""
    if any(proof.verdict == "unverified" for proof in outcome.proofs):
        return "what is unverified is left out here; the tool fix writes it all the same"
    offered = [finding for finding in outcome.report.findings if any(fix.edits for fix in finding.fixes)]
    if not outcome.applied and offered:
        return "nothing was edited; the fixes of what is left need judgement: name one (choose), or give unsafe=true"
    return ""


def _edit(chosen: Chosen) -> Record:
    finding, fix = chosen.finding, chosen.fix
    place = f"{finding.location.path}:{finding.location.line}"
    return {"code": finding.code, "place": place, "fix": fix.name, "title": fix.title}


def _proof(data: Mapping[str, Any]) -> Record:
    told = {"code": data["code"], "place": f"{data['filename']}:{data['row']}"}
    return told | {name: data[name] for name in ("fix", "verdict", "reason", *_MEASURED) if name in data}


def _options(command: str, given: Mapping[str, Any], *more: str) -> Namespace:
    """The options of a command as its own parser makes them of a tool's arguments; raises `UsageError`."""
    paths = given.get("paths", [])
    if "-" in paths:
        raise UsageError("- (standard input) is not read here; name files and directories")
    shows = ["--diff"] if command == "fix" and not given.get("write") else []
    words = [word for name, value in given.items() if name not in OWN for word in _words(name, value)]
    places = ["--", *paths] if paths else []
    return build(command)[1][command].parse_args([*words, *more, *shows, *places])


def _words(name: str, value: Any) -> Sequence[str]:
    flag = "--" + name.replace("_", "-")
    if isinstance(value, bool):
        return [flag] * value
    several = [f"{key}={each}" for key, each in value.items()] if isinstance(value, dict) else value
    return [f"{flag}={each}" for each in (several if isinstance(several, list) else [several])]
