"""What a loss of raw numbers is given: probabilities are told by their numbers, and only where they train."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.verify import ProgramRecipe, Verifier
from gclint.verify.oracles import failures

pytestmark = pytest.mark.slow

TRAINING = """
import torch
from torch.nn.functional import softmax
torch.manual_seed(0)
net = torch.nn.Linear(4, 5)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    with torch.no_grad():
        torch.nn.CrossEntropyLoss()(net(torch.randn(8, 4)).softmax(1), torch.arange(8) % 5)
    out = net(torch.randn(8, 4))
    loss = LOSS
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("loss", "times"),
    [
        ("torch.nn.CrossEntropyLoss()(out.softmax(1), torch.arange(8) % 5)", 1),
        ("torch.nn.functional.cross_entropy(input=out.sigmoid(), target=torch.arange(8) % 5)", 1),
        ("torch.nn.BCEWithLogitsLoss()(out.sigmoid(), torch.ones(8, 5))", 1),
        ("torch.nn.CrossEntropyLoss()(out, torch.arange(8) % 5)", 0),
        ("torch.nn.CrossEntropyLoss()(out.relu(), torch.arange(8) % 5)", 0),
        ("torch.nn.CrossEntropyLoss()(out, out.detach().softmax(1))", 0),
        ("torch.nn.BCELoss()(out.sigmoid(), torch.ones(8, 5))", 0),
    ],
)
def test_probabilities_given_to_a_loss(verifier: Verifier, tmp_path: Path, loss: str, times: int) -> None:
    (tmp_path / "train.py").write_text(TRAINING.replace("LOSS", loss))
    found = verifier.outcome(ProgramRecipe(name="train.py", copy_of=str(tmp_path)))
    assert [step.probabilities for step in found.first.steps] == [times] * 3
    told = [each.text for each in failures(found, None, ["probabilities"])]
    assert told == (["step 1 gives a loss of raw numbers probabilities, once"] if times else [])
