"""`gclint prove`."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from gclint.cli import EXIT_CLEAN, EXIT_ERROR, EXIT_FINDINGS, complain
from gclint.cli.parser import UsageError
from gclint.config import suggestion
from gclint.rule import Rule, load_rules

if TYPE_CHECKING:
    from gclint.verify.prove import Claim

COLOURS = {"holds": "green", "does not hold": "red", "cannot be run": "yellow"}
PLURAL = {"holds": "hold", "does not hold": "do not hold", "cannot be run": "cannot be run"}


def prove(options: Namespace) -> int:
    """Run the reproductions; the exit status is 0 when every claim that can be run holds, 1 when one does not."""
    from gclint.report.proofs import watching
    from gclint.verify.errors import VerifyUnavailable
    from gclint.verify.options import Options
    from gclint.verify.prove import prove_rules

    rules = _wanted(options.codes)
    given = {name: value for name in ("device", "timeout", "python") if (value := getattr(options, name, None))}
    try:
        with watching() as tell:
            claims = sorted(prove_rules(rules, Options(**given), tell), key=lambda claim: claim.code)
    except VerifyUnavailable as error:
        complain(str(error))
        return EXIT_ERROR
    if options.output_format == "json":
        print(json.dumps([claim.to_data() for claim in claims], indent=2))
    else:
        _table(claims)
    return EXIT_FINDINGS if any(claim.state == "does not hold" for claim in claims) else EXIT_CLEAN


def _wanted(codes: list[str]) -> list[Rule]:
    rules = load_rules()
    if not codes:
        return rules
    prefixes = [code.upper() for code in codes]
    for prefix in prefixes:
        if not any(rule.code.startswith(prefix) for rule in rules):
            raise UsageError(f"no rule `{prefix}`{suggestion(prefix, [rule.code for rule in rules])}")
    return [rule for rule in rules if rule.code.startswith(tuple(prefixes))]


def _table(claims: list[Claim]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for claim in claims:
        line = Text(f"{claim.code}  ")
        line.append(f"{claim.state:<14}", COLOURS[claim.state])
        line.append(claim.name)
        console.print(line)
        seen = " ".join((claim.seen if claim.state == "holds" else claim.reason).split())
        detail = Text(f"        {seen}", "dim" if claim.state == "holds" else "")
        if console.is_terminal:
            detail.truncate(max(console.width, 60), overflow="ellipsis")
        console.print(detail, soft_wrap=True)
    counted = {state: sum(claim.state == state for claim in claims) for state in COLOURS}
    told = (f"{count} {state if count == 1 else PLURAL[state]}" for state, count in counted.items() if count)
    print(", ".join(told), file=sys.stderr)
