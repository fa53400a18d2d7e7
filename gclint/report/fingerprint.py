"""What identifies a finding when lines move: its rule and the text it stands on, not the line's number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

from gclint.finding import Finding
from gclint.report.content import Report


def fingerprints(report: Report) -> Sequence[tuple[Finding, str]]:
    """Return every finding with a hash of code, path and line text, numbered where the same occurs again."""
    seen: Counter[str] = Counter()
    found = []
    for finding in report.findings:
        mark = content_hash(report, finding)
        seen[mark] += 1
        found.append((finding, f"{mark}:{seen[mark]}"))
    return found


def content_hash(report: Report, finding: Finding, path: str = "") -> str:
    """Return 16 hexadecimal digits of the finding's code, path and line without its indentation.

    `path` takes the place of the path as shown.
    """
    text = " ".join(report.line_text(finding.location).split())
    path = (path or finding.location.path).replace("\\", "/")
    joined = "\0".join([finding.code, path, text]).encode("utf-8", "surrogatepass")
    return sha256(joined).hexdigest()[:16]
