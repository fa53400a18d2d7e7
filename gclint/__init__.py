"""gclint: finds training runs that crash or silently mis-train, before anything runs."""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["__version__", "check_paths", "check_repositories", "check_source", "fix_source", "guard"]

_ENGINE = {
    "check_paths": "gclint.check.engine",
    "check_repositories": "gclint.many",
    "check_source": "gclint.check.engine",
    "fix_source": "gclint.fix.text",
    "guard": "gclint.rehearse.guard",
}


def __getattr__(name: str) -> object:
    """The functions of the API, imported when they are first asked for."""
    if name in _ENGINE:
        from importlib import import_module

        found: object = getattr(import_module(_ENGINE[name]), name)
        return found
    raise AttributeError(f"module 'gclint' has no attribute {name!r}")
