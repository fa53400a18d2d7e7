"""The API as docs/api.md shows it: its example runs, its results pickle."""

from __future__ import annotations

import pickle
import re
from functools import partial
from pathlib import Path

import pytest
import trainings

import gclint
from gclint.config import BadConfig
from gclint.report.formats import FORMATS, render

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text()


def test_the_example_for_one_file(project, capsys):
    example = re.search(r"## One file\n\n```python\n(.+?)```", PAGE, re.DOTALL)[1]
    (project / "train.py").write_text(trainings.BAD)
    made: dict = {}
    exec(example, made)
    assert "GCL501" in capsys.readouterr().out and "use_reentrant=" in made["fixed"]
    assert (project / "train.py").read_text() == trainings.BAD


@pytest.mark.parametrize("judged", ["paths", "source"])
def test_reports_pickle_and_render_the_same(project, judged):
    (project / "train.py").write_text(trainings.BAD)
    report = gclint.check_paths() if judged == "paths" else gclint.check_source(trainings.BAD, "train.py")
    again = pickle.loads(pickle.dumps(report))
    assert again.findings == report.findings and report.findings
    for name in FORMATS:
        assert render(again, name) == render(report, name)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"selct": ("GCL2",)}, "unknown setting `selct`; did you mean `select`?"),
        ({"select": "GCL2"}, "`select` must be a list, not 'GCL2'"),
        (
            {"min_certainty": "fail"},
            "`min_certainty` must be one of costs, fragile, fails, not 'fail'; did you mean `fails`?",
        ),
        ({"target": {"torch": 2.5}}, "`target` for 'torch' must hold strings, not 2.5"),
        ({"target": {"transfomers": "4.44"}}, "`target` names `transfomers`; did you mean `transformers`?"),
    ],
)
def test_mistakes_in_settings_are_told(project, settings, message):
    for call in (gclint.check_paths, partial(gclint.check_source, ""), partial(gclint.fix_source, "")):
        with pytest.raises(BadConfig) as told:
            call(**settings)
        assert str(told.value) == message


def test_settings_and_paths_as_they_come_to_hand(project):
    (project / "train.py").write_text(trainings.BAD)
    settings = {"select": ["GCL5"], "target": {"Torch": "2.5", "torchaudio": "2.5"}}
    for paths in ("train.py", project / "train.py", [project]):
        assert len(gclint.check_paths(paths, **settings).findings) == 1
    assert gclint.check_source(trainings.BAD, project / "train.py", min_certainty=None).findings
