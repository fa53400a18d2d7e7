"""Which programs are told that are walked to their end without training."""

from pathlib import Path

from tests.knowledge.lost import lost

TRAINS = """
def train(model, loader):
    for x in loader:
        model(x).mean().backward()
"""


def test_a_program_that_nobody_sees_training_is_told(tmp_path: Path) -> None:
    (tmp_path / "training.py").write_text(TRAINS)
    (tmp_path / "seen.py").write_text(
        "from training import train\nfrom torch import nn\ntrain(nn.Linear(1, 1), load())\n"
    )
    (tmp_path / "hidden.py").write_text(
        "from training import train\nfor model in []:\n    train(model, load())\nprint(1)\n"
    )
    (line,) = lost(tmp_path)
    assert line.startswith("hidden.py: ends at hidden.py:4")
