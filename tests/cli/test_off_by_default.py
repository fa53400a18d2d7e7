"""What is off unless it is selected: rules that only tell costs, and rules in preview."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from gclint.check.findings import Judge
from gclint.finding import Edit, Finding, Fix, Location
from gclint.rule import Rule

WORDS = (("slow",),)
RULES = (
    Rule("GCL101", "goes-boom", "# goes-boom", WORDS, certainty=("fails", "costs")),
    Rule("GCL841", "is-slow", "# is-slow", WORDS, certainty=("costs",), fixable="safe"),
    Rule("GCL842", "is-new", "# is-new", WORDS, preview=True),
    Rule("GCL843", "is-new-and-slow", "# is-new-and-slow", WORDS, certainty=("costs",), preview=True),
)


@dataclass
class Answer:
    findings: list[Finding]
    problems: tuple[()] = ()


def analyse(sources, root, target, rules, memory=""):
    asked = {rule.code: rule for rule in rules}
    found = [made(source, code, asked[code]) for source in sources if "slow" in source.text for code in asked]
    return Answer(found)


def made(source, code, rule):
    place = Location(source.path, 1, 1, 1, 5)
    fix = Fix("quick", "Make it quick", (Edit(source.path, 1, 1, 1, 5, "fast"),))
    certainty = "costs" if "costs" in rule.certainty else "fails"
    return Finding(code, rule.name, "slow", place, certainty, fixes=(fix,) if code == "GCL841" else ())


@pytest.fixture
def codes(gclint, project, monkeypatch):
    judge = Judge(analyse, RULES)
    monkeypatch.setattr("gclint.check.engine.judge_for", lambda request: judge)
    monkeypatch.setattr("gclint.fix.job.judge_for", lambda request: judge)
    monkeypatch.setattr("gclint.cli.explain._rules", lambda: list(RULES))
    (project / "a.py").write_text("slow\n")

    def run(*arguments, configuration=""):
        (project / "gclint.toml").write_text(configuration)
        status, out, err = gclint("check", "a.py", "--output-format", "json", *arguments)
        assert status in (0, 1), err
        return status, [item["code"] for item in json.loads(out)]

    return run


SELECTIONS = {
    "": [],
    "--select ALL": [],
    "--select GCL": [],
    "--select GCL8": [],
    "--select GCL84": ["GCL841"],
    "--select GCL841": ["GCL841"],
    "--extend-select GCL84": ["GCL841"],
    "--select GCL842": ["GCL842"],
    "--select GCL843": ["GCL843"],
    "--preview": ["GCL842"],
    "--preview --select GCL84": ["GCL841", "GCL842", "GCL843"],
    "--min-certainty costs": ["GCL101", "GCL841"],
    "--min-certainty costs --preview": ["GCL101", "GCL841", "GCL842", "GCL843"],
    "--min-certainty costs --ignore GCL84": ["GCL101"],
    "--min-certainty fails --extend-select GCL841": [],
    "--select GCL101": ["GCL101"],
}


@pytest.mark.parametrize("options", SELECTIONS)
def test_what_is_told(codes, options):
    assert codes(*options.split())[1] == SELECTIONS[options]


CONFIGURATIONS = {
    'extend-select = ["GCL84"]': ["GCL841"],
    'extend-select = ["GCL84"]\nignore = ["GCL841"]': [],
    'select = ["GCL842", "GCL1"]': ["GCL842"],
    "preview = true": ["GCL842"],
    'min-certainty = "costs"': ["GCL101", "GCL841"],
}


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_what_a_configuration_turns_on(codes, configuration):
    assert codes(configuration=configuration)[1] == CONFIGURATIONS[configuration]


def test_costs_never_decide_the_exit_status_and_preview_does(codes):
    assert codes("--select", "GCL841") == (0, ["GCL841"])
    assert codes("--select", "GCL842") == (1, ["GCL842"])
    assert codes("--min-certainty", "costs", "--preview", "--ignore", "GCL842,GCL843")[0] == 0


def test_a_name_is_as_good_as_a_code(codes, monkeypatch):
    monkeypatch.setattr("gclint.rule.known_rules", lambda: RULES)
    assert codes("--select", "is-slow")[1] == ["GCL841"]
    assert codes("--select", "is-new")[1] == ["GCL842"]
    assert codes(configuration='extend-select = ["is-slow"]')[1] == ["GCL841"]
    assert codes(configuration='preview = true\nignore = ["is-new"]')[1] == []
    by_file = 'preview = true\nper-file-ignores = { "a.py" = ["is-new"] }'
    assert codes(configuration=by_file)[1] == [] and codes(configuration=by_file.replace("a.py", "b.py"))[1]


def test_a_comment_is_unused_only_where_its_rule_is_on(codes, project):
    (project / "a.py").write_text("x = 1  # noqa: GCL841\n")
    assert codes()[1] == []
    assert codes("--extend-select", "GCL841")[1] == ["GCL001"]


def test_fix_mends_what_is_selected(gclint, codes, project):
    assert gclint("fix", "a.py")[0] == 0 and (project / "a.py").read_text() == "slow\n"
    _, out, _ = gclint("check", "a.py", "--select", "GCL841", "--output-format", "agent")
    (line,) = [line for line in out.splitlines() if line.startswith("write: ")]
    assert "--extend-select GCL841" in line
    assert gclint(*line.split()[2:])[0] == 0 and (project / "a.py").read_text() == "fast\n"


def test_a_rule_says_how_it_is_turned_on(gclint, codes):
    said = {code: gclint("rule", code)[1] for code in ("GCL101", "GCL841", "GCL842", "GCL843")}
    assert "off unless" not in said["GCL101"]
    assert "- off unless selected: by `GCL841`, `GCL84`, its name, or with `--min-certainty costs`\n" in said["GCL841"]
    assert "- in preview: off unless selected by its whole code, `GCL842`, or with `--preview`\n" in said["GCL842"]
    assert said["GCL843"].count("off unless") == 2
    record = json.loads(gclint("rule", "GCL842", "--output-format", "json")[1])
    assert record["preview"] is True and record["on_by_default"] is False
