"""What every page has: one file, without a script, a font or a picture from elsewhere."""

from __future__ import annotations

from html import escape
from importlib import resources
from typing import Any

from gclint.report.escape import printable

_HEAD = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'


def document(title: str, style: str, body: str) -> str:
    """Return the whole page; `style` is a file beside this one."""
    css = resources.files("gclint.report").joinpath(style).read_text(encoding="utf-8")
    return (
        f'<!doctype html>\n<html lang="en"><head>{_HEAD}<title>{text(title)}</title><style>{css}</style></head>'
        f"<body><main>{body}</main></body></html>\n"
    )


def text(value: Any) -> str:
    """Return a value as text that a page can hold."""
    return escape(printable(str(value)))
