"""Templates of Python files, as jinja and cookiecutter fill them in: not Python until that is done."""

from __future__ import annotations

import re

from gclint.source.syntax import is_python

_FILLED_IN = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_TAKEN_OUT = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.DOTALL)


def is_template(text: str) -> bool:
    """Return whether a text that does not parse does so with its values filled in and its directives taken out."""
    plain = _TAKEN_OUT.sub("", _FILLED_IN.sub("filled_in", text))
    return plain != text and is_python(plain)
