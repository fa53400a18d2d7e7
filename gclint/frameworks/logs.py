"""logging: what is logged is read, and stays as it is."""

from __future__ import annotations

from ..run.calls import Call
from ..run.values import NONE, Value, of
from .registry import Framework

framework = Framework("logging", kinds={"logger": "unknown"}, bases={"logging:Logger": "logger"})

MAKERS = (
    "logging.getLogger",
    "logging.Logger",
    "accelerate.logging.get_logger",
    "transformers.utils.logging.get_logger",
    "diffusers.utils.logging.get_logger",
)
LEVELS = ("debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log")


@framework.function(*MAKERS)
def make_logger(call: Call) -> Value:
    """A logger."""
    return of(call.make("logger"))


@framework.method("logger", *LEVELS)
def logged(call: Call) -> Value:
    """A line is written of what is given."""
    return NONE
