"""`gclint rule`."""

from __future__ import annotations

import json
import re
import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gclint.addresses import SEEN
from gclint.check.selection import OWN_RULES, is_optional, nearest_code
from gclint.cli import EXIT_CLEAN
from gclint.cli.parser import UsageError
from gclint.config import suggestion

if TYPE_CHECKING:
    from gclint.rule import Rule

CODE = re.compile(r"[A-Z]+[0-9]+$")


def rule(options: Namespace) -> int:
    """Print the page of a rule, or a line for each rule of a family (`GCL2`) or of all; return the exit status."""
    if options.code:
        wanted, whole = rules_named(options.code)
        _print(wanted, options.output_format, pages=whole)
        return EXIT_CLEAN
    if not options.all:
        raise UsageError("name a rule, or --all")
    _print(_rules(), options.output_format, pages=options.output_format == "markdown")
    return EXIT_CLEAN


def rules_named(word: str) -> tuple[list[Any], bool]:
    """Return the rules of a code, a name or the beginning of codes, and whether it names one; raises `UsageError`."""
    rules = _rules()
    wanted = [item for item in rules if word.upper() == item.code or word == item.name]
    family = [item for item in rules if item.code.startswith(word.upper())]
    if word.upper().startswith("GCS"):
        raise UsageError(f"`{word}` is no rule: a rehearsal saw it, and says what to do ({SEEN})")
    if not (wanted or family):
        code = CODE.match(word.upper())
        near = nearest_code(word, [r.code for r in rules]) if code else suggestion(word, [r.name for r in rules])
        raise UsageError(f"no rule `{word}`{near}; `gclint rule --all` lists them")
    return wanted or family, bool(wanted)


def _rules() -> list[Any]:
    from gclint.rule import load_rules

    return sorted([*load_rules(), *OWN_RULES], key=lambda item: item.code)


def _print(rules: list[Any], output_format: str, pages: bool) -> None:
    if output_format == "json":
        records = [_record(item) for item in rules]
        print(json.dumps(records if len(rules) != 1 else records[0], indent=2))
    elif pages and output_format == "text" and sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        for item in rules:
            Console().print(Markdown(page_of(item)))
    elif pages:
        sys.stdout.write("\n".join(page_of(item) for item in rules))
    else:
        for item in rules:
            print(f"{item.code}  {item.name}: {item.summary}")


def page_of(item: Any) -> str:
    """Return the page of a rule; one that does not begin with a heading of its own gets one."""
    docs = item.docs.strip()
    page = docs if docs.startswith("#") else f"# {item.name} ({item.code})\n\n{docs}"
    return f"{page}\n{_facts(item)}"


def _facts(item: Any) -> str:
    """Return what the rule's metadata say: certainty, fix, versions, and how its claim is shown."""
    claim = getattr(item, "reproduction", None)
    if claim is None:
        return ""
    fix = {"safe": "safe", "unsafe": "unsafe (`--unsafe`)"}.get(item.fixable, "none")
    needs = f", needs {claim.needs}" if claim.needs else ""
    shown = f"`gclint prove {item.code}`{needs}" if claim.before else f"not shown by a run: {claim.needs}"
    facts = [f"certainty: {', '.join(item.certainty)}", f"fix: {fix}", f"holds for: {item.holds}", f"shown by: {shown}"]
    return "\n## Facts\n" + "".join(f"- {fact}\n" for fact in [*facts, *how_to_turn_on(item)])


def how_to_turn_on(rule: Rule) -> Iterator[str]:
    """Yield what it takes to have a rule that is off by default; nothing for the others."""
    if rule.preview:
        yield f"in preview: off unless selected by its whole code, `{rule.code}`, or with `--preview`"
    if rule.costs:
        yield f"off unless selected: by `{rule.code}`, `{rule.code[:-1]}`, its name, or with `--min-certainty costs`"


def _record(item: Any) -> dict[str, Any]:
    return {
        "code": item.code,
        "name": item.name,
        "certainty": getattr(item, "certainty", None),
        "fixable": getattr(item, "fixable", ""),
        "holds": getattr(item, "holds", ""),
        "preview": getattr(item, "preview", False),
        "on_by_default": not is_optional(item),
        "needs": getattr(getattr(item, "reproduction", None), "needs", ""),
        "summary": item.summary,
        "explanation": item.docs.strip(),
    }
