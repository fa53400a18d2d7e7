"""Objects that keep the settings they were made with."""

from __future__ import annotations

from ..run.calls import Call
from ..run.values import Object


def with_settings(call: Call, kind: str) -> Object:
    """Return the object of `kind` that a call makes: its keywords as attributes, and where each is written."""
    made = call.make(kind, call.name)
    made.attributes.update(call.keywords)
    made.sites.update(call.places)
    return made
