"""Gradients that are left over count for the optimizer that steps with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.verify import ProgramRecipe, Verifier

pytestmark = pytest.mark.slow

GAME = """
import torch
maker, critic = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
of_maker, of_critic = (torch.optim.SGD(each.parameters(), lr=0.1) for each in (maker, critic))
for _ in range(3):
    made = maker(torch.randn(2, 4))
    of_critic.zero_grad()
    (critic(torch.randn(2, 8)).mean() - critic(made.detach()).mean() ** 2).backward()
    of_critic.step()
    of_maker.zero_grad()
    critic(made).mean().backward()
    of_maker.step()
"""


@pytest.mark.parametrize("cleared", ["of_critic", "of_maker", ""])
def test_each_optimizer_answers_for_its_own(verifier: Verifier, tmp_path: Path, cleared: str) -> None:
    text = GAME.replace(f"    {cleared}.zero_grad()\n", "") if cleared else GAME
    (tmp_path / "train.py").write_text(text)
    found = verifier.outcome(ProgramRecipe(name="train.py", copy_of=str(tmp_path)))
    left = [step.uncleared for step in found.first.steps]
    critic, maker = sum(left[0::2]), sum(left[1::2])
    assert (critic > 0, maker > 0) == (cleared == "of_critic", cleared == "of_maker"), left
