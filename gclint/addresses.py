"""Where gclint lives, and where its documentation is published."""

from __future__ import annotations

HOME = "https://github.com/gclint/gclint"
DOCUMENTATION = "https://gclint.readthedocs.io/en/stable/"


def page_of(code: str) -> str | None:
    """Return the address of a rule's page; None for the rules of other packs."""
    return f"{DOCUMENTATION}rules/{code}/" if code.startswith("GCL") else None
