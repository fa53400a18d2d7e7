"""torch.distributed.checkpoint raises for a name that the files lack, unless its planner is told otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner
from torch.distributed.checkpoint.stateful import Stateful

from gclint.frameworks.distributed_checkpoint import STATEFUL

pytestmark = pytest.mark.filterwarnings("ignore")


class Kept(Stateful):
    """Hands out a state of these names, and keeps what it is handed."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.handed: dict[str, Any] = {}

    def state_dict(self) -> dict[str, Any]:
        return {name: torch.zeros(2) for name in self.names}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.handed = state_dict


@pytest.fixture
def files(tmp_path: Path) -> Path:
    dcp.save({"net": {"a": torch.ones(2), "b": torch.ones(2)}}, checkpoint_id=tmp_path)
    return tmp_path


def test_a_name_less_than_the_files_have(files: Path) -> None:
    state = {"net": {"a": torch.zeros(2)}}
    dcp.load(state, checkpoint_id=files)
    assert state["net"]["a"].tolist() == [1, 1]


def test_a_name_that_the_files_lack(files: Path) -> None:
    with pytest.raises(CheckpointException, match=r"net\.c"):
        dcp.load({"net": {"a": torch.zeros(2), "c": torch.zeros(2)}}, checkpoint_id=files)


def test_a_planner_that_lets_names_be_missing(files: Path) -> None:
    state = {"net": {"a": torch.zeros(2), "c": torch.zeros(2)}}
    dcp.load(state, checkpoint_id=files, planner=DefaultLoadPlanner(allow_partial_load=True))
    assert state["net"]["c"].tolist() == [0, 0]


def test_what_an_object_with_a_state_is_handed(files: Path) -> None:
    kept = Kept("a")
    dcp.load({"net": kept}, checkpoint_id=files)
    assert {name: value.tolist() for name, value in kept.handed.items()} == {"a": [1, 1]}
    with pytest.raises(CheckpointException, match=r"net\.c"):
        dcp.load({"net": Kept("a", "c")}, checkpoint_id=files)


def test_the_class_is_found_under_its_name() -> None:
    assert f"{Stateful.__module__}.{Stateful.__qualname__}" == STATEFUL
