from __future__ import annotations

import pytest

from gclint import check_paths, check_source

LAYERS = """\
import torch
from torch.utils.checkpoint import checkpoint as again


def through(block, x):
    return again(block, x)
"""
TRAIN = """\
import torch
{line}

model = torch.nn.Linear(8, 8)
loss = {call}(model, torch.randn(2, 8, requires_grad=True)).sum()
loss.backward()
"""


@pytest.mark.parametrize(
    ("line", "call", "home"),
    [
        pytest.param("from layers import through", "through", "layers.py", id="a function of a module"),
        pytest.param("import layers", "layers.through", "layers.py", id="a module"),
        pytest.param("from parts import layers", "layers.through", "parts/layers.py", id="a submodule"),
        pytest.param("from parts.layers import (  # both\n    through,\n)", "through", "parts/layers.py", id="lines"),
        pytest.param("if 1:\n    from middle import through", "through", "layers.py", id="through another file"),
    ],
)
def test_rules_are_asked_whose_words_stand_in_what_the_named_file_imports(project, line, call, home):
    (project / "parts").mkdir()
    (project / "parts" / "__init__.py").write_text("")
    (project / home).write_text(LAYERS)
    (project / "middle.py").write_text("from layers import through\n")
    (project / "train.py").write_text(TRAIN.format(line=line, call=call))
    assert "checkpoint" not in (project / "train.py").read_text()
    found = check_paths(["train.py"], select=("GCL501",)).findings
    assert [(item.code, item.location.path, item.location.line) for item in found] == [("GCL501", home, 6)]
    assert check_source((project / "train.py").read_text(), "train.py", select=("GCL501",)).findings == found


def test_the_launcher_of_a_project_that_only_requirements_mark_is_found(project):
    import shutil

    import trainings

    shutil.copytree(trainings.SEED, project, dirs_exist_ok=True)
    found = check_paths(["src/baseline_sft/train_sft_abel.py"]).findings
    assert "GCL201" in {item.code for item in found}


def test_imports_in_a_circle_and_of_nothing(project):
    (project / "a.py").write_text("import b\nfrom . import *\nfrom .c import d\nimport\n")
    (project / "b.py").write_text("import a, b\n")
    assert check_paths(["b.py"]).findings == ()
