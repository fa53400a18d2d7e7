from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gclint.cli import main
from gclint.verify.places import changed_lines, edited_lines
from gclint.verify.symptom import is_symptom

pytestmark = pytest.mark.slow
SEEDS = Path(__file__).parents[2] / "fixtures" / "seeds"


@pytest.fixture
def seed(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "project"
    shutil.copytree(SEEDS / request.param / "before", project)
    monkeypatch.chdir(project)
    return project


def proved(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, dict[str, Any]]:
    main(["fix", "--verify=program", "--unsafe", "--device", "cpu", "--output-format", "json", *more])
    return {each["code"]: each for each in json.loads(capsys.readouterr().out)["verification"]}


@pytest.mark.parametrize("seed", ["visempar"], indirect=True)
def test_a_trainer_as_its_launcher_starts_it(seed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("accelerate")
    found = proved(capsys)["GCL101"]
    assert (found["verdict"], found["evidence"]) == ("confirmed", "program"), found
    assert "expected device meta" in found["before"]
    assert found["gradient_error"] == pytest.approx(0, abs=1e-3)
    assert any("Qwen2ForCausalLM, scaled down" in each for each in found["replaced"])
    assert "data/train_amr.txt is not there: synthetic rows" in found["replaced"]
    assert '"cpu": "50GB"' in (seed / "config" / "config.py").read_text()
    assert 'device_map={"": 0}' in (seed / "train_baseline.py").read_text()
    assert not (seed / "data").exists() and not (seed / "outputs").exists()


@pytest.mark.parametrize("seed", ["chatgot"], indirect=True)
def test_a_loop_of_ones_own_with_arguments(seed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = seed / "configs" / "small_14m_gradient_checkpoint.yaml"
    config.write_text(
        config.read_text().replace("d_model: 512", "d_model: 64").replace("max_seq_length: 256", "max_seq_length: 32")
    )
    found = proved(capsys, "--select", "GCL301,GCL512")
    before, after = found["GCL512"]["recomputations"]
    assert before == after > 0 and found["GCL512"]["verdict"] == "unverified", "no error went into the handler"
    assert "not through all of the lines that the edit changes (chatgot/memory.py:" in found["GCL512"]["reason"]
    assert found["GCL301"]["verdict"] == "unverified"
    assert "not through all of the edited lines (scripts/train_with_samples.py:" in found["GCL301"]["reason"]


@pytest.mark.parametrize("seed", ["abel"], indirect=True)
def test_what_no_launcher_starts_is_run_by_itself(seed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = proved(capsys, "check_single_gpu.py")["GCL601"]
    assert found["evidence"] == "program" and found["losses"][1], found


@pytest.mark.parametrize("seed", ["abel"], indirect=True)
@pytest.mark.parametrize("command", ["no_such_file.py", "ls -l", "'unfinished", ""])
def test_a_command_that_starts_nothing_is_one_line(
    seed: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(seed)
    status = main(["fix", "--verify=program", "--program", command or "./", "--select", "GCL601"])
    said = capsys.readouterr()
    assert status == 2
    assert said.err.startswith("gclint: error: --program: `") and said.err.count("\n") == 1
    assert files(seed) == before


def files(project: Path) -> dict[Path, bytes]:
    """Every file of a project but for what gclint remembers of it."""
    found = (path for path in project.rglob("*") if path.is_file() and ".gclint_cache" not in path.parts)
    return {path: path.read_bytes() for path in found}


def test_edited_statements() -> None:
    before = "import a\n\ndef f():\n    g(\n        1,\n        x=2,\n    )\n    return 3\n"
    after = "import a\nimport b\n\ndef f():\n    g(\n        1,\n        x=3,\n    )\n    return 3\n"
    assert edited_lines(before, before) == []
    assert edited_lines(after, before) == [(5, 8)], "an import that came with it does not count"
    assert changed_lines(after, before) == [7], "of a statement on several lines only what was edited"
    assert edited_lines("import b\nimport a\n", "import a\n") == [(1, 1)]


def test_the_value_of_a_renamed_argument_is_no_part_of_the_edit() -> None:
    before = 'made = Options(\n    size=1,\n    evaluation="steps" if held else "no",\n)\n'
    assert changed_lines(before.replace("evaluation=", "eval="), before) == [1], "it is the call"
    assert changed_lines(before.replace('evaluation="steps"', 'eval="epoch"'), before) == [3]
    assert changed_lines(before.replace("evaluation=", "eval=").replace("size=1", "size=2"), before) == [1, 2]
    assert changed_lines(before.replace("evaluation=", "evaluation=True, eval="), before) == [3]


def test_a_failure_is_the_symptom_by_class_and_words() -> None:
    symptom = "RuntimeError: Expected to mark a variable ready only once."
    assert is_symptom("RuntimeError: Expected to mark a variable ready only once. This error", symptom)
    assert not is_symptom("RuntimeError: Boom", symptom)
    assert not is_symptom("TypeError: Expected to mark a variable ready only once", symptom)
    assert not is_symptom("RuntimeError: Boom", "silent: gradients are wrong")
