"""The environment variables that libraries set in the process that imports them, and launchers for those they start."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gclint.frameworks.registry import load_library
from gclint.launch.commands import started

SETS = re.compile(
    r"^(?! *(?:>>>|\.\.\.))[^#\n\"']*\bos\.environ(?:\[[\"'](\w+)[\"']\] = |\.setdefault\([\"'](\w+)[\"'])",
    re.MULTILINE,
)
PACKAGES = ("accelerate", "datasets", "lightning", "torch", "transformers", "trl")
# other processes than the one that trains: tests, commands, and what is started for a compilation or a save
ELSEWHERE = re.compile(
    r"test|/commands/|/scripts/|/cli\.py|launch\.py|xeon|_async|async_|_process|_preload|collect_env|/run\.py"
)
WORKERS = {"torch": {"MKL_SERVICE_FORCE_INTEL", "FR_TRACE_VERBOSE_OUTPUT", "JAX_PLATFORMS", "CUBLAS_WORKSPACE_CONFIG"}}


def variables(package: str) -> Iterator[str]:
    """The names of the variables that a package's modules set."""
    place = Path(importlib.util.find_spec(package).origin).parent
    for path in place.rglob("*.py"):
        if not ELSEWHERE.search(path.relative_to(place.parent).as_posix()):
            for found in SETS.findall(path.read_text(encoding="utf-8", errors="replace")):
                yield found[0] or found[1]


@pytest.mark.parametrize("package", PACKAGES)
def test_what_a_library_sets_is_open_once_it_is_imported(package: str) -> None:
    pytest.importorskip(package)
    library = load_library()
    assert not library.may_set([package], "MY_OWN_VARIABLE")
    said = set(variables(package)) - WORKERS.get(package, set())
    assert said
    assert [name for name in sorted(said) if not library.may_set([package], name)] == []


def test_what_torchrun_sets_for_its_processes_is_open() -> None:
    agent = pytest.importorskip("torch.distributed.elastic.agent.server.local_elastic_agent")
    text = Path(agent.__file__).read_text(encoding="utf-8")
    made = text[text.index("worker_env = {") :]
    names = re.findall(r'"([A-Z_]+)": ', made[: made.index("}")])
    said = opened("torchrun --nproc_per_node=2 train.py")
    assert len(names) > 10 and [name for name in names if not said(name)] == []
    assert not said("MY_OWN_VARIABLE")


def test_what_accelerate_sets_for_its_processes_is_open() -> None:
    utilities = pytest.importorskip("accelerate.utils.launch")
    command = pytest.importorskip("accelerate.commands.launch")
    text = "".join(Path(module.__file__).read_text(encoding="utf-8") for module in (utilities, command))
    names = set(re.findall(r'current_env\["([A-Z_]+)"\] = ', text))
    said = opened("accelerate launch train.py")
    assert len(names) > 40 and [name for name in sorted(names) if not said(name)] == []
    assert not said("MY_OWN_VARIABLE")


def opened(command: str):
    """Whether a command leaves a variable open."""
    from fnmatch import fnmatchcase

    start = started(command.split(), {})
    assert start is not None and start.undecided is not None
    return lambda name: any(fnmatchcase(name, pattern) for pattern in start.undecided)
