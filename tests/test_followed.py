"""What the analysis follows on the way to a finding, told by the condition of the finding, or by its absence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gclint.check.engine import check
from gclint.check.request import Request

HEAD = """
import collections, os

import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.Softmax(1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, rows, held = torch.ones(2, 4), [1 for _ in range(int(input()))], collections.deque()
"""
STEP = "nn.functional.cross_entropy(model(x), torch.zeros(2).long()).backward(); optimizer.step()"
GROWS = f"for _ in range(1000):\n    held.append(x)\n    if len({{of}}) > 100:\n        {STEP}\n"


@pytest.mark.parametrize(
    ("body", "conditions"),
    [
        pytest.param(GROWS.format(of="held"), [""], id="what grows in the loop is long in some round"),
        pytest.param(GROWS.format(of="rows"), ["if `len(rows) > 100`"], id="what does not is long or not"),
        pytest.param(
            f"if os.path.basename(os.path.join('a', 'b.yaml')) == 'b.yaml':\n    {STEP}\n", [""], id="a joined path"
        ),
        pytest.param(f"if os.path.join('a', 'b') == 'b':\n    {STEP}\n", [], id="another path"),
    ],
)
def test_what_is_followed(body: str, conditions: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(HEAD + body)
    monkeypatch.chdir(tmp_path)
    report = check(Request(["."], {}, cache=False))
    assert [str(each.condition) for each in report.findings if each.code == "GCL824"] == conditions


@pytest.mark.parametrize(
    ("entries", "conditions"),
    [
        pytest.param(40, [""], id="what stands in a file of settings is known"),
        pytest.param(60_000, ["if `held['epochs'] == 3`"], id="a vocabulary is data, whose entries nobody follows"),
    ],
)
def test_files_of_settings_and_of_data(
    entries: int, conditions: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = {f"word {number}": number for number in range(entries)}
    (tmp_path / "held.json").write_text(json.dumps({"epochs": 3, "vocabulary": held}))
    body = f"held = json.load(open('held.json'))\nif held['epochs'] == 3:\n    {STEP}\n"
    (tmp_path / "train.py").write_text("import json\n" + HEAD + body)
    monkeypatch.chdir(tmp_path)
    report = check(Request(["."], {}, cache=False))
    assert [str(each.condition) for each in report.findings if each.code == "GCL824"] == conditions


def test_a_module_of_which_no_name_is_known_beside_a_file_that_does_not_parse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = "import importlib\n\n\ndef find(name):\n    return importlib.import_module(name.rsplit('.', 1)[0])\n"
    each = "for name, kind in yaml.safe_load(open(input())).items():\n    find(kind)\n"
    (tmp_path / "train.py").write_text(f"import yaml\nfrom broken import part\n\npart()\n{find}{HEAD}{each}{STEP}\n")
    (tmp_path / "broken.py").write_text("(\n")
    monkeypatch.chdir(tmp_path)
    report = check(Request(["."], {}, cache=False))
    assert [each.code for each in report.findings if each.code in ("GCL000", "GCL824")] == ["GCL000", "GCL824"]
