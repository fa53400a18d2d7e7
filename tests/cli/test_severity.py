"""`severity`: what findings count as; what the analysis says of them, their certainty, stays as it is."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from gclint.check.engine import check_paths, check_source
from gclint.config import Settings
from gclint.config_files import load


@pytest.fixture
def levels(gclint, project):
    """Exit status, and what `boom` (which fails) and `shaky` (which is fragile) count as."""
    (project / "a.py").write_text("boom(1)\nshaky(2)\n")

    def run(configuration, *arguments):
        (project / "gclint.toml").write_text(configuration)
        status, out, err = gclint("check", "--output-format", "json", *arguments)
        assert status in (0, 1), err
        found = json.loads(out)
        assert [item["certainty"] for item in found] == ["fails", "fragile"][: len(found)]
        return (status, *[item["severity"] for item in found])

    return run


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        ("", (1, "error", "warning")),
        ('severity = { GCL101 = "warning", GCL201 = "error" }', (1, "warning", "error")),
        ('severity = { GCL101 = "note" }', (1, "note", "warning")),
        ('[severity]\nGCL = "note"\n', (0, "note", "note")),
        ('severity = { ALL = "note" }', (0, "note", "note")),
        ('severity = { ALL = "note", GCL2 = "error" }', (1, "note", "error")),
        ('severity = { GCL101 = "error", GCL1 = "note", GCL2 = "note" }', (1, "error", "note")),
        ('severity = { GCL1 = "note" }\nignore = ["GCL2"]', (0, "note")),
        ('severity = { GCL2 = "error" }\nmin-certainty = "fails"', (1, "error")),
    ],
)
def test_what_findings_count_as(levels, configuration, expected):
    assert levels(configuration) == expected


def test_entries_are_laid_over_those_of_what_is_extended_and_of_files(levels, project):
    (project / "base.toml").write_text('severity = { GCL101 = "note", GCL201 = "error" }')
    assert levels('extend = "base.toml"\nseverity = { GCL201 = "note" }') == (0, "note", "note")
    assert levels('extend = "base.toml"', "--config", 'severity.GCL201 = "warning"') == (1, "note", "warning")
    assert load(str(project / "gclint.toml")).severity == {"GCL101": "note", "GCL201": "error"}


def test_a_name_is_as_good_as_a_code(project):
    (project / "gclint.toml").write_text('severity = { set-epoch-missing = "note" }')
    assert list(load(str(project / "gclint.toml")).severity.values()) == ["note"]
    assert next(iter(load(str(project / "gclint.toml")).severity)).startswith("GCL")


def test_it_holds_for_each_file_by_its_own_configuration(gclint, levels, project):
    (project / "inner").mkdir()
    (project / "inner" / "a.py").write_text("boom(1)\n")
    (project / "inner" / "gclint.toml").write_text("")
    assert levels('severity.ALL = "note"', "a.py") == (0, "note", "note")
    out = gclint("check", "--output-format", "github")[1]
    assert [line.partition(" ")[0] for line in out.splitlines()] == ["::notice", "::notice", "::error"]


def test_a_report_is_not_recalled_with_another_level(levels):
    assert levels('severity.ALL = "note"')[0] == 0 and levels("")[0] == 1


def test_every_format_that_knows_levels_has_it(gclint, levels):
    levels('severity = { GCL101 = "note", GCL201 = "error" }')

    def told(name):
        return gclint("check", "--output-format", name)[1]

    assert [item["level"] for item in json.loads(told("sarif"))["runs"][0]["results"]] == ["note", "error"]
    assert [item["severity"] for item in json.loads(told("gitlab"))] == ["info", "major"]
    assert [case[0].tag for case in ET.fromstring(told("junit")).iter("testcase")] == ["skipped", "failure"]
    assert "(fails) at a.py:1:1" in told("agent") and "| fails | GCL101 |" in told("markdown")
    full = told("full")
    assert "note[GCL101]: " in full and "  = certainty: fails\n" in full
    assert "error[GCL201]: " in full and "  = certainty: fragile\n" in full
    assert "2 findings in 1 file: 1 failing, 1 fragile, 1 of them only noted." in full


def test_the_editor_has_it():
    types = pytest.importorskip("lsprotocol.types")
    from gclint.integrations.shapes import Shapes

    report = check_source("x = 1  # noqa: GCL501\n", severity={"GCL001": "note"})
    (found,) = report.findings
    assert Shapes(report).diagnostic(found).severity == types.DiagnosticSeverity.Information


def test_what_could_not_be_judged_is_an_error_whatever_it_says(gclint, project):
    (project / "a.py").write_text("def f(:\n")
    (project / "gclint.toml").write_text('severity.ALL = "note"\n')
    status, out, _ = gclint("check", "a.py", "--output-format", "json")
    assert status == 2 and json.loads(out)[0]["severity"] == "error"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[severity]\nGCL201 = "error"\nGCL101 = "eror"\n',
            "gclint.toml:3: `severity` for 'GCL101' must be one of error, warning, note, not 'eror'; did",
        ),
        ("severity = { GCL101 = 1 }\n", "gclint.toml:1: `severity` for 'GCL101' must be one of error, warning, note, "),
        ('severity = "note"\n', "gclint.toml:1: `severity` must be a table, not 'note'"),
        ('[severity]\nGCL101 = "note"\nGCL999 = "note"\n', "gclint.toml:3: unknown code `GCL999`"),
        (
            '[severity]\nset-epoch-mising = "note"\n',
            "gclint.toml:2: `severity` has 'set-epoch-mising', which is no code",
        ),
    ],
)
def test_a_mistake_is_one_line_and_status_2(gclint, project, text, message):
    (project / "a.py").write_text("")
    (project / "gclint.toml").write_text(text)
    status, out, err = gclint("check")
    assert (status, out, err.count("\n")) == (2, "", 1) and message in err


def test_it_is_a_setting_of_the_functions_too(project):
    (project / "a.py").write_text("x = 1  # noqa: GCL101\n")
    (found,) = check_paths(str(project), severity={"unused-suppression": "note"}).findings
    assert (found.code, found.level) == ("GCL001", "note")
    assert Settings().severity == {}


def test_a_note_does_not_stop_a_run(gclint, project, monkeypatch):
    started = []
    monkeypatch.setattr("gclint.cli.preflight._start", lambda words: started.append(words) or 0)
    (project / "train.py").write_text(
        "import torch\nfrom torch.utils.checkpoint import checkpoint\n"
        "x = torch.ones(2, requires_grad=True)\ncheckpoint(torch.sin, x, mask=None)\n"
    )
    words = ("preflight", "--target", "torch=2.5", "--select", "GCL501", "--", "python", "train.py")
    assert gclint(*words)[0] == 1 and started == []
    (project / "gclint.toml").write_text('severity.GCL501 = "note"\n')
    status, _, err = gclint(*words)
    assert status == 0 and started == [["python", "train.py"]] and "note[GCL501]" in err
