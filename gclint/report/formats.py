"""The output formats by name, each imported only when it is asked for."""

from __future__ import annotations

from importlib import import_module

from gclint.report.content import Report
from gclint.report.style import Style

_RENDERERS = {
    "full": "full:render",
    "concise": "concise:render",
    "json": "as_json:render",
    "json-lines": "as_json:render_lines",
    "sarif": "sarif:render",
    "github": "github:render",
    "gitlab": "gitlab:render",
    "junit": "junit:render",
    "markdown": "markdown:render",
    "agent": "agent:render",
}
FORMATS = tuple(_RENDERERS)


def render(report: Report, name: str, style: Style | None = None) -> str:
    """Return `report` in the format `name` (one of `FORMATS`), without colour unless `style` has it."""
    module, function = _RENDERERS[name].split(":")
    text = getattr(import_module(f"gclint.report.{module}"), function)(report, style or Style())
    return str(text)
