"""What mkdocs builds besides the pages that lie in `docs/`: the README as the first page, and a page for every rule
from its docstring, its metadata and its fixtures.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from gclint.addresses import DOCUMENTATION, HOME  # noqa: E402
from gclint.check.selection import OWN_RULES  # noqa: E402
from gclint.rule import Rule  # noqa: E402
from readme_rules import FAMILIES, families  # noqa: E402

DOCS = ROOT / "docs"
RAW = HOME.replace("github.com", "raw.githubusercontent.com")
LINK = re.compile(rf"\]\(({re.escape(RAW)}/main|{re.escape(HOME)}/blob/main)/docs/([^)]+)\)")
ROW = re.compile(r"^\| (GCL\d{3}) \|", re.MULTILINE)


def on_config(config: MkDocsConfig) -> None:
    """Name the site's address, and put the rules into the navigation, by family, below the page that lists them."""
    config.site_url = DOCUMENTATION
    nav: list[dict[str, Any]] = config.nav
    entry = next(entry for entry in nav if "Rules" in entry)
    groups: list[Any] = [entry["Rules"]]
    groups += [{capital(FAMILIES[family]): [place(rule.code) for rule in rules]} for family, rules in families()]
    entry["Rules"] = [*groups, {"About the check itself": [place(rule.code) for rule in OWN_RULES]}]


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages that are made: the first one, and one for each rule."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "index.md", content=LINK.sub(from_the_root, readme)))
    for rule in [*OWN_RULES, *(rule.load() for _, rules in families() for rule in rules)]:
        files.append(File.generated(config, place(rule.code), content=page_of(rule)))


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Point links out of `docs/` to the repository, and the codes in the list of rules to their pages."""
    if page.file.src_uri == "rules.md":
        return ROW.sub(r"| [\1](rules/\1.md) |", markdown)
    if "/" in page.file.src_uri:
        return markdown
    return markdown.replace("](../", f"]({HOME}/blob/main/")


def capital(text: str) -> str:
    """The text with its first letter large."""
    return text[0].upper() + text[1:]


def place(code: str) -> str:
    """Where the page of a rule lies in the site's source."""
    return f"rules/{code}.md"


def from_the_root(link: re.Match[str]) -> str:
    """A link of the README, from the first page: to a page or a picture of the site where it is one."""
    path, _, section = link[2].partition("#")
    if not (DOCS / path).is_file():
        return link[0]
    return f"]({path}#{section})" if section else f"]({path})"


def page_of(rule: Any) -> str:
    """A rule's page: its docstring, what is known about it, and programs that it judges."""
    title, _, docs = rule.docs.strip().partition("\n")
    if not title.startswith("# "):
        title, docs = f"# {rule.name} ({rule.code})", rule.docs.strip()
    name = title.removeprefix("# ").rpartition(" (")[0]
    parts = [f"---\ntitle: {rule.code} {name}\n---\n", title, docs]
    if isinstance(rule, Rule):
        parts[2:2] = [facts(rule)]
        parts += examples(ROOT / "fixtures" / rule.code)
    return "\n".join(parts) + "\n"


def facts(rule: Rule) -> str:
    """What holds for every finding of a rule, in one line."""
    fix = {"safe": "`gclint fix`", "unsafe": "`gclint fix --unsafe`"}.get(rule.fixable, "by hand")
    return f"\n**certainty** {', '.join(rule.certainty)} · **fix** {fix} · **holds for** {rule.holds}\n"


def examples(folder: Path) -> list[str]:
    """A program that the rule finds something in, the same after `gclint fix`, and, folded, those that are fine."""
    bad = sorted(path for path in folder.glob("bad_*") if ".fixed" not in path.name)
    fixed = {path.name.replace(".fixed", "") for path in folder.glob("*.fixed.*")}
    shown = next((path for path in bad if path.name in fixed), bad[0])
    parts = ["\n## Programs\n", "One in which gclint finds it:\n", fenced(shown)]
    if shown.name in fixed:
        parts += ["The same after `gclint fix`:\n", fenced(shown.with_suffix(f".fixed{shown.suffix}"))]
    good = sorted(folder.glob("good_*"))
    parts += ["And programs near to it in which it finds nothing:\n"] if good else []
    for path in good:
        body = fenced(path).replace("\n", "\n    ").rstrip()
        parts.append(f'??? success "{capital(path.stem.removeprefix("good_").replace("_", " "))}"\n\n    {body}\n')
    return parts


def fenced(path: Path) -> str:
    """A file as a block of code."""
    return f'````{path.suffix[1:]} title="{path.name}"\n{path.read_text(encoding="utf-8").rstrip()}\n````\n'
