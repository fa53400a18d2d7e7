"""Where gclint lives, and where its documentation is published."""

from __future__ import annotations

HOME = "https://github.com/gclint/gclint"
DOCUMENTATION = "https://gclint.readthedocs.io/en/stable/"
SEEN = f"{DOCUMENTATION}rehearse/#the-questions"


def page_of(code: str) -> str | None:
    """Return the address of a rule's page, or of what a rehearsal sees; None for the rules of other packs."""
    if code.startswith("GCS"):
        return SEEN
    return f"{DOCUMENTATION}rules/{code}/" if code.startswith("GCL") else None
