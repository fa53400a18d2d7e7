"""Every rule on its own fixtures: silent on the good ones, exact on the bad ones, fixed as written down."""

from __future__ import annotations

from pathlib import Path

import pytest

import fixtures
from gclint.check.request import Request
from gclint.fix.job import fix
from gclint.rule import load_rules

GOOD = fixtures.scripts("good_")
BAD = fixtures.scripts("bad_")


@pytest.mark.parametrize("path", GOOD, ids=fixtures.name)
def test_good_programs_raise_nothing(path: Path, tmp_path: Path) -> None:
    assert fixtures.found(path.read_text(), tmp_path) == []


@pytest.mark.parametrize("path", BAD, ids=fixtures.name)
def test_bad_programs_raise_what_they_say_and_nothing_else(path: Path, tmp_path: Path) -> None:
    text = path.read_text()
    wanted = fixtures.expected(text)
    assert path.parent.name in {code for _, code in wanted}
    assert fixtures.found(text, tmp_path) == wanted


@pytest.mark.parametrize("path", BAD, ids=fixtures.name)
def test_a_rule_finds_by_itself_what_it_finds_among_others(path: Path, tmp_path: Path) -> None:
    text, code = path.read_text(), path.parent.name
    alone = fixtures.findings(text, tmp_path, select=[code])
    wanted = [each for each in fixtures.expected(text) if each[1] == code]
    assert sorted((each.location.line, each.code) for each in alone if each.code == code) == wanted


def fixed(text: str, directory: Path) -> str:
    """The text after `gclint fix --unsafe` of the rule's own findings, with the fixes its header chooses."""
    script = fixtures.stage(text, directory)
    chosen = dict(item.split("=") for item in fixtures.headers(text).get("fix", "").split())
    fix(Request([str(script)], fixtures.settings_of(text), cache=False), unsafe=True, chosen=chosen)
    return script.read_text()


@pytest.mark.parametrize(
    "path", [path for path in BAD if path.with_suffix("").with_suffix(".fixed.py").exists()], ids=fixtures.name
)
def test_the_fix_gives_the_fixed_text_and_is_final(path: Path, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    made = fixed(path.read_text(), tmp_path / "a")
    assert made == path.with_suffix("").with_suffix(".fixed.py").read_text()
    assert fixed(made, tmp_path / "b") == made
    left = fixtures.findings(made, tmp_path / "b")
    assert [item.code for item in left if item.certainty == "fails"] == []


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.code)
def test_every_rule_has_its_page_and_its_fixtures(rule) -> None:  # type: ignore[no-untyped-def]
    home = fixtures.ROOT / rule.code
    assert len(list(home.glob("good_*"))) >= 2, "at least two good programs"
    assert [path for path in home.glob("bad_*") if not path.name.endswith(".fixed.py")]
    assert not rule.fixable or list(home.glob("bad_*.fixed.py")), "a fixable rule shows a fix"
    for heading in ("What it does", "Why it breaks", "Example", "Use instead", "When it is fine", "Evidence"):
        assert f"## {heading}\n" in rule.docs, heading
    assert rule.words and rule.summary.endswith((".", ")"))
