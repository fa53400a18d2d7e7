"""gclint: finds training runs that crash or silently mis-train, before anything runs."""

__version__ = "0.1.0"
