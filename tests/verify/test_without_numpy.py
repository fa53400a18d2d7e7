"""What compares runs needs no numpy: torch is often installed alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("torch")


def test_the_state_of_generators_is_told_without_numpy() -> None:
    program = (
        "import sys; sys.modules['numpy'] = None\n"
        "import torch; from gclint.verify.worker.randomness import generators\n"
        "one = generators(); torch.rand(1); print(one['torch'] != generators()['torch'])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr
