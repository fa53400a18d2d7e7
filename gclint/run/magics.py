"""IPython's lines in a notebook that change the process: `%env`, `%set_env`."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from . import environment
from .values import const, of

if TYPE_CHECKING:
    from .interpreter import Interpreter

MARK = "# magic: "
SETS = re.compile(r"%(?:set_)?env\s+([A-Za-z_]\w*)(?:\s*=\s*|\s+)(.*\S)\s*")


def run(it: Interpreter, statement: ast.Pass) -> bool:
    """What a line stands for that the notebook's reader put in place of a magic; the walk goes on after it."""
    if MARK not in it.module.text:
        return True
    place = it.module.span(statement)
    comment = it.module.lines[place.end_line - 1][place.end_column - 1 :].strip()
    found = SETS.fullmatch(comment.removeprefix(MARK))
    if found is not None:
        text = found[2]
        known = "$" not in text and "{" not in text
        value = const(text.strip("'\"")) if known else of(it.unknown(text))
        environment.put(it, found[1], value, statement)
    return True
