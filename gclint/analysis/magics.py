"""IPython's lines in a notebook that change the process: `%env`, `%set_env`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from . import environment
from .values import const, of

if TYPE_CHECKING:
    from .interpreter import Interpreter

MARK = "# magic: "
SETS = re.compile(r"%(?:set_)?env\s+([A-Za-z_]\w*)(?:\s*=\s*|\s+)(.*\S)\s*")


def run(it: Interpreter, statement: cst.Pass) -> bool:
    """What a line stands for that the notebook's reader put in place of a magic; the walk goes on after it."""
    if MARK not in it.module.text:
        return True
    line = it.module.statement(statement)
    comment = line.trailing_whitespace.comment if isinstance(line, cst.SimpleStatementLine) else None
    found = SETS.fullmatch(comment.value.removeprefix(MARK)) if comment is not None else None
    if found is not None:
        text = found[2]
        known = "$" not in text and "{" not in text
        value = const(text.strip("'\"")) if known else of(it.unknown(text))
        environment.put(it, found[1], value, statement)
    return True
