"""Templates of Python files are left out; what is only like one, or is broken beside, is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.check.engine import check
from gclint.check.request import Request
from gclint.source.templates import is_template


@pytest.mark.parametrize(
    "text",
    [
        "class {{ name }}Config:\n    pass\n",
        "{% if torch %}\nimport torch\n{% endif %}\nx = 1\n",
        "{# a note #}\nfrom {{cookiecutter.package}}.models import {{ cookiecutter.model }}\n",
    ],
)
def test_a_template(text: str) -> None:
    assert is_template(text)


@pytest.mark.parametrize(
    "text",
    ["def broken(:\n", "chat = '{% for m in messages %}{{ m }}{% endfor %}'\ndef broken(:\n", "x = {{1}}\ny = (\n"],
)
def test_no_template(text: str) -> None:
    assert not is_template(text)


def test_a_check_leaves_templates_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model_{{name}}.py").write_text("import torch\nclass {{name}}(torch.nn.Module):\n    pass\n")
    assert check(Request(["."], {}, cache=False)).findings == ()
    assert check(Request(["model_{{name}}.py"], {}, cache=False)).findings == ()
    (tmp_path / "broken.py").write_text("import torch\nclass (torch.nn.Module):\n")
    assert [finding.code for finding in check(Request(["broken.py"], {}, cache=False)).findings] == ["GCL000"]
