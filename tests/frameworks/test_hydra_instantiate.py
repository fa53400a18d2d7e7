"""What hydra's instantiate makes of a mapping is what gclint says: both get the same data and print the same dict."""

from __future__ import annotations

from pathlib import Path

import pytest
from both import printed, run_of
from test_hydra_store import data

from gclint.run.values import of

TWO = '{"_target_": "PLACE.pair", "a": 1, "b": {"_target_": "PLACE.pair", "a": 2}}'
GIVEN = {
    "keywords": '{"_target_": "PLACE.pair", "a": 1}',
    "more keywords": '{"_target_": "PLACE.pair", "a": 1}, a=2, b=3',
    "positional": '{"_target_": "PLACE.pair", "_args_": [4, 5]}',
    "positional in the call": '{"_target_": "PLACE.pair", "_args_": [4, 5]}, 6',
    "one in another": TWO,
    "keywords for the outer one only": f"{TWO}, a=7",
    "one in a list": '{"_target_": "PLACE.pair", "a": [{"_target_": "PLACE.pair", "b": 8}, 9]}',
    "none at the top": '{"x": {"_target_": "PLACE.pair", "a": 1}, "y": 2}',
    "not the inner one": '{"_target_": "PLACE.pair", "_recursive_": False, "a": {"_target_": "PLACE.pair"}}',
}


@pytest.mark.parametrize("name", GIVEN)
def test_it_makes_what_hydra_makes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("hydra")
    place = f"made_{list(GIVEN).index(name)}"
    (tmp_path / f"{place}.py").write_text('def pair(a=0, b=0):\n    return {"a": a, "b": b}\n')
    given = GIVEN[name].replace("PLACE", place)
    text = f"import hydra\nmade = hydra.utils.instantiate({given})\nprint({{'made': made}})\n"
    told = data(of(printed(run_of(text, tmp_path))))
    monkeypatch.syspath_prepend(str(tmp_path))
    names: dict[str, object] = {}
    exec(text, names)
    assert told == {"made": names["made"]}
