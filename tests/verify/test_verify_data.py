from __future__ import annotations

import subprocess
import sys

import pytest
import runs

from gclint.verify import ProgramRecipe, Recipe, Variable, VerifyUnavailable, launch
from gclint.verify.moments import KINDS, moment_from
from gclint.verify.recipe import recipe_from_data, recipe_to_data


def test_recipes_survive_json() -> None:
    for recipe in (runs.adapters_under_ddp(True), runs.adapters_offloaded(True), runs.resumed(True)):
        assert Recipe.from_json(recipe.to_json()) == recipe


def test_every_moment_survives_json() -> None:
    for name, kind in KINDS.items():
        assert moment_from({"do": name}) == kind()


def test_programs_survive_json() -> None:
    program = ProgramRecipe("p", "print(1)", argv=("-x",), environment=(Variable("A", "1", "after-import"),))
    assert recipe_from_data(recipe_to_data(program)) == program


def test_an_unknown_field_or_moment_is_named() -> None:
    with pytest.raises(ValueError, match="no field wheels"):
        recipe_from_data({"wheels": 4})
    with pytest.raises(ValueError, match="unknown moment 'fly'"):
        recipe_from_data({"moments": [{"do": "fly"}]})


def test_importing_verify_imports_no_library() -> None:
    code = "import sys, gclint.verify; sys.exit(bool({'torch', 'transformers', 'rich'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_no_torch_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(VerifyUnavailable, match=r"pip install 'gclint\[verify\]'"):
        launch.require_torch(None)


def test_a_wrong_interpreter_is_named() -> None:
    with pytest.raises(VerifyUnavailable, match="no-such-python"):
        launch.require_torch("no-such-python")
