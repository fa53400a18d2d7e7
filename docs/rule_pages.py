"""What mkdocs makes of the project: the README as the first page, and a page for every rule from its own words and its
fixtures. Links that lead out of the documentation, to files of the project, become the names of these files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from gclint.rule import Rule, load_rules

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
INWARD = re.compile(r"\]\((?!https?:|#)(?![^)]*\.(?:md|svg))[^)]*\)")
OUTWARD = re.compile(r"(?<!!)\[([^\]]+)\]\((\.\./[^)#]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the first page and the pages of the rules."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    within = re.sub(
        r"https://(?:raw\.githubusercontent\.com|github\.com)/gclint/gclint/(?:blob/)?main/docs/", "", readme
    )
    files.append(File.generated(config, "index.md", content=INWARD.sub("]", within)))
    for rule in sorted(load_rules(), key=lambda each: each.code):
        files.append(File.generated(config, f"rules/{rule.code}.md", content="\n".join(rule_page(rule))))
    return files


def on_page_markdown(markdown: str, **given: Any) -> str:
    """Name the files of the project instead of linking to them."""
    return OUTWARD.sub(lambda found: f"{found[1]} (`{found[2].lstrip('./')}`)", markdown)


def rule_page(rule: Rule) -> Iterator[str]:
    """What a rule says of itself, then the programs that hold it to that."""
    yield rule.docs.strip()
    yield "\n## In short\n\n| | |\n|---|---|"
    yield f"| certainty | {', '.join(rule.certainty)} |"
    yield f"| its fix | {rule.fixable or 'none'} |"
    yield f"| proved by | {', '.join(rule.oracles) or 'what the reproduction raises'} |"
    yield f"\n`gclint rule {rule.code}` prints this page in a terminal.\n\n## Programs that hold it to this\n"
    folder = FIXTURES / rule.code
    bad = sorted(path for path in folder.glob("bad_*.py") if not path.name.endswith(".fixed.py"))
    for path in bad:
        yield _folded("failure", f"found: {_said(path)}", path)
        fixed = path.with_suffix("").with_suffix(".fixed.py")
        if fixed.exists():
            yield _folded("success", "the same after the fix", fixed)
    for path in sorted(folder.glob("good_*.py")):
        yield _folded("info", f"quiet: {_said(path)}", path)


def _said(path: Path) -> str:
    return path.name.removesuffix(".py").partition("_")[2].replace("_", " ")


def _folded(kind: str, title: str, path: Path) -> str:
    lines = ["```python", *path.read_text(encoding="utf-8").rstrip().splitlines(), "```"]
    body = "\n".join(f"    {line}" if line else "" for line in lines)
    return f'??? {kind} "{title}"\n\n{body}\n'
