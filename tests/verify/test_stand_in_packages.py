from __future__ import annotations

from pathlib import Path

import pytest

from gclint.verify import Outcome, ProgramRecipe, Verifier

pytestmark = pytest.mark.slow

LOOP = """
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(3):
    loss = model(torch.ones(2, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

PROBED = """
import importlib.util
try:
    import package_that_is_not_here
except ImportError:
    package_that_is_not_here = None
assert package_that_is_not_here is None
assert importlib.util.find_spec("package_that_is_not_here") is None
"""

REPORTED = """
import package_that_is_not_here as metrics
from package_that_is_not_here.trackers import Tracker
class Mine(Tracker):
    pass
metric = metrics.load("accuracy")
tracker = Mine("run")
@metrics.decorated
def told():
    return 4
assert told() == 4
with metrics.timer():
    metric.add(predictions=[1], references=[1])
print(f"{metric.compute()['accuracy']:.2f}")
"""


def run(verifier: Verifier, place: Path, text: str, **files: str) -> Outcome:
    (place / "train.py").write_text(text)
    for name, held in files.items():
        (place / f"{name}.py").write_text(held)
    return verifier.outcome(ProgramRecipe("p", name="train.py", copy_of=str(place), stop_after=3))


def test_a_probe_hears_that_the_package_is_missing(verifier: Verifier, tmp_path: Path) -> None:
    found = run(verifier, tmp_path, PROBED + LOOP)
    assert (found.status, found.first.step_count) == ("finished", 3), found.summary
    assert not any("stand-in" in each for each in found.replaced)


def test_a_module_that_imports_it_for_a_caller_that_catches_hears_so_too(verifier: Verifier, tmp_path: Path) -> None:
    text = "try:\n    import inner\nexcept ImportError:\n    inner = None\nassert inner is None\n" + LOOP
    found = run(verifier, tmp_path, text, inner="import package_that_is_not_here\n")
    assert (found.status, found.first.step_count) == ("finished", 3), found.summary


def test_what_only_reports_is_stood_in_for_and_told(verifier: Verifier, tmp_path: Path) -> None:
    found = run(verifier, tmp_path, REPORTED + LOOP)
    assert (found.status, found.first.step_count) == ("finished", 3), found.summary
    told = next(each for each in found.replaced if "stand-in" in each)
    used = "trackers.Tracker, load(), trackers.Tracker(), decorated()"
    assert told.startswith(f"package_that_is_not_here is not installed: a stand-in, used for {used} and")
    assert found.limits == ()


def test_a_model_that_is_handed_to_a_stand_in_is_a_limit(verifier: Verifier, tmp_path: Path) -> None:
    text = "import package_that_is_not_here as kernels\n" + LOOP.replace(
        "optimizer =", "kernels.patch(model)\noptimizer =", 1
    )
    found = run(verifier, tmp_path, text)
    assert found.status == "finished", found.summary
    told = "package_that_is_not_here is not installed: its stand-in took a model in patch() and did nothing"
    assert found.limits == (told,)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("loss = model", "loss = metrics.scale() * model"),
        ("loss.backward()", "metrics.loss(loss).backward()"),
        ("optimizer.step()", "optimizer.step() if metrics.ready() else None"),
        ("0.1)", "float(metrics.rate()))"),
        ("for step in range(3)", "for step in metrics.steps()"),
    ],
)
def test_training_that_needs_its_value_is_not_run(verifier: Verifier, tmp_path: Path, old: str, new: str) -> None:
    found = run(verifier, tmp_path, "import package_that_is_not_here as metrics\n" + LOOP.replace(old, new, 1))
    assert found.status == "not-run", found.summary
    assert found.reason.startswith("package_that_is_not_here is not installed, and the program")


def test_a_refusal_that_the_program_swallows_is_told_all_the_same(verifier: Verifier, tmp_path: Path) -> None:
    text = "import package_that_is_not_here as metrics\ntry:\n    rate = float(metrics.rate())\n"
    found = run(verifier, tmp_path, text + "except Exception:\n    rate = 1\n" + LOOP)
    assert found.status == "not-run" and "takes a number from it" in found.reason


def test_a_program_that_ends_without_a_step_shows_nothing(verifier: Verifier, tmp_path: Path) -> None:
    found = run(verifier, tmp_path, "import package_that_is_not_here as run\ndef main(): pass\nrun.fire(main)\n")
    assert found.status == "not-run" and "trains nothing" in found.reason


def test_the_own_package_is_found_where_installing_would_find_it(verifier: Verifier, tmp_path: Path) -> None:
    (tmp_path / "src" / "ours").mkdir(parents=True)
    (tmp_path / "src" / "ours" / "__init__.py").write_text("size = 4\n")
    found = run(verifier, tmp_path, "from ours import size\nassert size == 4\n" + LOOP)
    assert (found.status, found.first.step_count) == ("finished", 3), found.summary
