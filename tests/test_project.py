"""The project about itself: the README's table, the packages that are installed, its own code under gclint."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import readme_rules
from gclint import listing
from gclint.check.engine import check_paths
from gclint.rule import load_rules

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]


def test_the_readme_lists_the_rules_as_they_are() -> None:
    text = readme_rules.README.read_text(encoding="utf-8")
    assert readme_rules.written(text) == text, "run: python tests/readme_rules.py"


def test_the_readme_can_be_read_on_the_package_index() -> None:
    """Every link and picture is a whole address, into this repository where it can be, and what it names is there."""
    text = readme_rules.README.read_text(encoding="utf-8")
    home = PROJECT["urls"]["Repository"]
    raw = home.replace("github.com", "raw.githubusercontent.com")
    assert len(text.splitlines()) <= 120
    links = re.findall(r"(!?)\[[^]]*\]\(([^)]*)\)", text)
    assert [link for picture, link in links if picture]
    for picture, link in links:
        start = f"{raw}/main/" if picture else f"{home}/blob/main/"
        assert link.startswith(start), link
        path, _, section = link.removeprefix(start).partition("#")
        assert (ROOT / path).is_file(), link
        assert not section or section in sections((ROOT / path).read_text(encoding="utf-8")), link


def sections(text: str) -> set[str]:
    """The names by which GitHub links to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_page_lists_the_rules_as_they_are() -> None:
    assert readme_rules.PAGE.read_text(encoding="utf-8") == readme_rules.page(), "run: python tests/readme_rules.py"


def test_the_rules_are_listed_as_they_are() -> None:
    assert Path(listing.PATH).read_text(encoding="utf-8") == readme_rules.listing(), "run: python tests/readme_rules.py"
    assert listing.listed() is not None


def test_every_package_is_installed() -> None:
    listed = PYPROJECT["tool"]["setuptools"]["packages"]
    found = {"gclint.fixtures"}
    for top, name in (("gclint", "gclint"), ("rules", "gclint.rules")):
        for place in (ROOT / top).rglob("__init__.py"):
            found.add(".".join([name, *place.parent.relative_to(ROOT / top).parts]))
    assert sorted(listed) == sorted(found)


def test_every_code_of_a_rule_has_fixtures_and_no_fixture_is_orphaned() -> None:
    codes = {rule.code for rule in load_rules()}
    assert {path.name for path in (ROOT / "fixtures").glob("GCL*")} == codes


def test_gclint_finds_nothing_that_fails_in_its_own_training_code() -> None:
    report = check_paths([str(ROOT / "gclint" / "verify" / "worker")])
    assert not report.problems
    assert [finding for finding in report.findings if finding.certainty == "fails"] == []


def test_the_conda_recipe_and_the_citation_are_of_this_package() -> None:
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8"))
    needed = {canonicalize_name(each.name): str(each.specifier) for each in map(Requirement, PROJECT["dependencies"])}
    asked = dict(each.split(" ") for each in recipe["requirements"]["run"])
    assert asked.pop("python") == PROJECT["requires-python"]
    assert asked == needed
    assert recipe["build"]["python"]["entry_points"] == [f"{name} = {at}" for name, at in PROJECT["scripts"].items()]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert recipe["context"]["version"] == str(citation["version"]) == PROJECT["version"]
    assert recipe["about"]["repository"] == citation["repository-code"] == PROJECT["urls"]["Repository"]


def test_the_image_is_built_of_what_is_let_into_it() -> None:
    steps = [line.split() for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()]
    copied = {name for step in steps if step[:1] == ["COPY"] and "=" not in step[1] for name in step[1:-1]}
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert copied == let_in and all((ROOT / name).exists() for name in copied)
    assert {PROJECT["readme"], *PROJECT["license-files"]} < copied
    assert {place.split("/")[0] for place in PYPROJECT["tool"]["setuptools"]["package-dir"].values()} < copied


def test_the_sources_are_packed_with_tests_and_pages() -> None:
    lines = (ROOT / "MANIFEST.in").read_text(encoding="utf-8").splitlines()
    packed = {name for line in lines if line.startswith(("graft", "include")) for name in line.split()[1:]}
    assert {"tests", "docs", "fixtures"} < packed and all((ROOT / name).exists() for name in packed)


@pytest.mark.parametrize("name", ["false-finding", "missed-finding", "crash"])
def test_an_issue_form_asks_each_thing_once(name: str) -> None:
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= form.keys() and "bug" in form["labels"]
    names = [each["id"] for each in form["body"]]
    assert len(set(names)) == len(names) and "program" in names and "versions" in names
    assert all(each["type"] in {"input", "textarea"} and each["attributes"]["label"] for each in form["body"])
