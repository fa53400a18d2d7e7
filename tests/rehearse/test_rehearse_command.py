from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gclint.cli import main
from gclint.rehearse.findings import report_of
from gclint.report.formats import render
from gclint.verify import Verifier

from .measure import HERE, programs, rehearsed

pytestmark = pytest.mark.slow


def project(place: Path, program: str) -> Path:
    shutil.copy(HERE / f"{program}.py", place / "train.py")
    return place


def test_what_was_seen_stands_at_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project(tmp_path, "planted/zero_grad_missing"))
    assert main(["rehearse", "--device", "cpu", "--html", "page.html", "--output-format", "json", "train.py"]) == 1
    data = json.loads(capsys.readouterr().out)
    (finding,) = data["findings"]
    assert (finding["code"], finding["certainty"]) == ("GCS201", "seen") and "zero_grad" in finding["help"]
    line = (tmp_path / "train.py").read_text().splitlines()[finding["location"]["row"] - 1]
    assert line.strip() == "optimizer.step()"
    assert len(data["steps"][0]) == 16 and data["status"] == "finished"
    page = (tmp_path / "page.html").read_text()
    assert "GCS201" in page and page.count("<svg") == 4 and 'class="chip moves"' in page
    assert "http" not in page and "<script" not in page
    assert sorted(each.name for each in tmp_path.iterdir()) == ["page.html", "train.py"], "the project is left alone"


def test_the_usual_forms(verifier: Verifier) -> None:
    program = next(each for each in programs("planted") if each.path.stem == "nll_of_logits")
    report = report_of(rehearsed(program, verifier))
    for form in ("sarif", "markdown", "full", "github", "gitlab", "junit", "concise"):
        assert "GCS504" in render(report, form), form
    assert "= help: log_softmax first" in render(report, "full")
    assert "1 finding in 1 file: 1 seen." in render(report, "full")


def test_a_healthy_program_exits_with_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project(tmp_path, "healthy/plain_loop"))
    assert main(["rehearse", "--device", "cpu", "--", "python", "train.py"]) == 0
    said = capsys.readouterr().out
    assert "train.py: 24 steps on 1 process, to its end" in said and "No findings" in said
    assert "costs: train.py:36 waits for the device 1 times a step (.item())" in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "name the program"),
        (["no_such.py"], "starts no Python file"),
        (["--only", "stpes", "train.py"], "did you mean `steps`"),
        (["train.py"], "ran to its end and took no optimizer step"),
        (["broken.py"], "ValueError: broken"),
        (["old.py"], "at old.py:2"),
    ],
)
def test_what_cannot_be_rehearsed_is_one_line(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text("import torch\n")
    (tmp_path / "old.py").write_text("import torch\nprint 'two'\n")
    (tmp_path / "broken.py").write_text("raise ValueError('broken')\n")
    monkeypatch.chdir(tmp_path)
    assert main(["rehearse", *words]) == 2
    said = capsys.readouterr().err
    assert told in said and said.startswith("gclint: error: ") and said.count("\n") == 1


def test_the_fixture_fails_a_test_with_what_was_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gclint_rehearse: Callable[[str], None]
) -> None:
    monkeypatch.chdir(project(tmp_path, "planted/kl_of_probabilities"))
    with pytest.raises(pytest.fail.Exception, match="GCS503"):
        gclint_rehearse("train.py")


def test_a_check_imports_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\nloss.backward()\n")
    code = "import sys; from gclint.cli import main; main(['check', '--no-cache', '.']); print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "gclint.check" in said and "gclint.rehearse" not in said and "gclint.verify" not in said
