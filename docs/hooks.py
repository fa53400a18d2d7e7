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
from gclint.cli.explain import how_to_turn_on  # noqa: E402
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


def on_post_build(config: MkDocsConfig) -> None:
    """Lay the pages' own texts beside them, for those who read no HTML: `llms.txt` leads to them."""
    for path in DOCS.glob("*.md"):
        Path(config.site_dir, path.name).write_bytes(path.read_bytes())


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
    """What holds for every finding of a rule, what shows it, and what was seen of it."""
    rows = {
        "certainty": ", ".join(rule.certainty),
        "fix": {"safe": "`gclint fix`", "unsafe": "`gclint fix --unsafe`"}.get(rule.fixable, "by hand"),
        "holds for": rule.holds,
        "off": "; ".join(how_to_turn_on(rule)),
        "shown by": shown(rule),
        "run with": " · ".join(f"{stack}: {state}" for stack, state in proved(rule.code)),
        "in public code": "; ".join(judged(rule.code)),
    }
    more = {"run with": "versions.md", "in public code": "strangers.md"}
    linked = {name: f"[{name}](../{more[name]})" if name in more else name for name in rows}
    return "\n".join(
        ["\n| | |", "|---|---|", *(f"| {linked[name]} | {text} |" for name, text in rows.items() if text), ""]
    )


def shown(rule: Rule) -> str:
    """The program by which `gclint prove` shows a rule's claim, and how it shows."""
    claim = rule.reproduction
    if not claim.before:
        return f"not by a run: {claim.needs}"
    program = f"[{claim.before}]({HOME}/blob/main/fixtures/{rule.code}/{claim.before})"
    ranks = f" on {claim.processes} processes" if claim.processes > 1 else ""
    silent = ", ".join(f"`{oracle}`" for oracle in claim.oracles or rule.oracles)
    how = f"`{claim.raises}`" if claim.raises else f"what is measured of {silent}" if silent else "how it ends"
    needs = f"; needs {claim.needs}" if claim.needs else ""
    return f"`gclint prove {rule.code}`: {program}{ranks}, {how}{needs}".replace("|", "\\|")


def proved(code: str) -> list[tuple[str, str]]:
    """What became of a rule's claim in each stack of releases, as the page on releases has it."""
    lines = (DOCS / "versions.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    stacks = next(row for row in rows if row[0] == "rule")
    states = next((row for row in rows if row[0] == code), stacks[:1])
    return [(stack, state) for stack, state in zip(stacks[1:], states[1:], strict=False) if state != "-"]


def judged(code: str) -> list[str]:
    """How many of a rule's findings in public repositories a reader found true or false, for each certainty."""
    result = (DOCS / "strangers.md").read_text(encoding="utf-8").partition("no longer reported")[0]
    rows = re.findall(rf"^\| {code} (\w+) \| (\d+) \| (\d+) \|", result, re.MULTILINE)
    return [f"`{certainty}`: {true} true, {false} false" for certainty, true, false in rows]


def examples(folder: Path) -> list[str]:
    """A program that the rule finds something in, the same after `gclint fix`, and, folded, those that are fine."""
    bad = sorted(path for path in folder.glob("bad_*") if ".fixed" not in path.name)
    fixed = {path.name.replace(".fixed", "") for path in folder.glob("*.fixed.*")}
    first = next((path for path in bad if path.name in fixed), bad[0])
    parts = [
        "\n## Programs\n",
        f"One in which gclint finds it ([all]({HOME}/tree/main/fixtures/{folder.name})):\n",
        fenced(first),
    ]
    if first.name in fixed:
        parts += ["The same after `gclint fix`:\n", fenced(first.with_suffix(f".fixed{first.suffix}"))]
    good = sorted(folder.glob("good_*"))
    parts += ["And programs near to it in which it finds nothing:\n"] if good else []
    for path in good:
        body = fenced(path).replace("\n", "\n    ").rstrip()
        parts.append(f'??? success "{capital(path.stem.removeprefix("good_").replace("_", " "))}"\n\n    {body}\n')
    return parts


def fenced(path: Path) -> str:
    """A file as a block of code."""
    return f'````{path.suffix[1:]} title="{path.name}"\n{path.read_text(encoding="utf-8").rstrip()}\n````\n'
