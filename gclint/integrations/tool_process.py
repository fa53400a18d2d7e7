"""The process that answers one call of a tool: arguments come on standard input, the answer goes to standard output.

`gclint mcp` starts one for each call, so that it can be ended at any time and nothing it does ends the server.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from gclint.cli import EXIT_CLEAN, EXIT_INTERRUPTED, said_of
from gclint.integrations.shortened import plain
from gclint.verify.worker.supervise import die_with_parent

MOST_OF_AN_ERROR = 1_000


def main() -> int:
    """Answer the tool that the command line names; every error is an answer too, in one line."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    die_with_parent()
    given = json.load(sys.stdin)
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)  # what anything else prints is no part of the answer
        try:
            json.dump(plain(_answer(sys.argv[1], given)), out, allow_nan=False)
        except KeyboardInterrupt:
            return EXIT_INTERRUPTED
    return EXIT_CLEAN


def _answer(tool: str, given: dict[str, Any]) -> dict[str, Any]:
    from gclint.cli.run import is_refusal
    from gclint.integrations.answers import ANSWERS
    from gclint.report.agent import brief

    try:
        return ANSWERS[tool](given)
    except Exception as error:
        return {"error": brief(str(error) if is_refusal(error) else said_of(error), MOST_OF_AN_ERROR)}
