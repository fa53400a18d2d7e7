"""What the language server judges: the whole project, as `gclint check` does, unless it is very large."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.check.engine import check
from gclint.check.request import Request
from gclint.integrations import documents
from gclint.integrations.nearby import has_more_modules

PROGRAM = """
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModelForCausalLM

import settings

model = AutoModelForCausalLM.from_config(config)
model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": settings.REENTRANT})
model = DistributedDataParallel(model)
for batch in loader:
    model(**batch).loss.backward()
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.gclint]\ntarget = {torch = "2.8.0", transformers = "4.57.6"}\nselect = ["GCL201"]\n'
    )
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "settings.py").write_text("REENTRANT = True\n")
    for number in range(70):
        (tmp_path / f"other_{number}.py").write_text(f"NUMBER = {number}\n")
    return tmp_path


def found(project: Path, text: str) -> list[str]:
    source = documents.document(str(project / "settings.py"), text)
    assert source is not None
    (report,) = documents.examine([source]).values()
    return [f"{finding.code} {Path(finding.location.path).name}" for finding in report.findings]


def test_an_edit_of_one_file_shows_in_the_program_that_reads_it(project: Path) -> None:
    for _ in range(2):
        assert found(project, "REENTRANT = True\n") == ["GCL201 program.py"]
        assert found(project, "REENTRANT = False\n") == []
    assert [finding.code for finding in check(Request(["."])).findings] == ["GCL201"]


def test_of_a_very_large_project_only_what_is_open_is_judged(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST_WHOLE", 71)
    assert found(project, "REENTRANT = True\n") == []


def test_modules_are_counted(project: Path) -> None:
    assert has_more_modules(str(project), 71)
    assert not has_more_modules(str(project), 72)
