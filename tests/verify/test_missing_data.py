from __future__ import annotations

from pathlib import Path

import pytest

from gclint.verify import ProgramRecipe, Verifier
from gclint.verify.worker.shims.queries import ends_without, hands_on, taken_for_granted

pytestmark = pytest.mark.slow

TRAINED = """
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(3):
    optimizer.zero_grad()
    model(torch.randn(2, 4)).sum().backward()
    optimizer.step()
"""

# what is there, what the program made itself and what it writes stays as it is
QUIET = """
import glob, os
import numpy as np
os.makedirs("pictures/new")
assert glob.glob("results/*.bin") == [] and os.listdir("pictures/new") == []
assert sorted(os.listdir("data")) == ["a.bin"] and glob.glob("data/*.txt") == []
assert np.memmap("data/a.bin", dtype=np.uint8, mode="r").tolist() == [1, 2, 3]
try:
    os.listdir("nowhere")
except FileNotFoundError:
    pass
else:
    raise AssertionError("a folder was made of a program that reads no pictures")
"""

MADE = """
import glob, wave
import numpy as np
tokens = np.memmap("data/train.bin", dtype=np.uint32, mode="r")
assert len(tokens) > 10000 and int(tokens.max()) < 64 and tokens.std() > 0
shards = sorted(glob.glob("shards/*.bin"))
assert len(shards) > 4 and np.memmap(shards[0], dtype=np.uint16, mode="r").max() < 64
sampling_rate = 22050
with wave.open("clips/a.wav") as sound:
    assert sound.getframerate() == sampling_rate and sound.getnframes() > 8192
"""

GIVEN = """
import os, sys
from pathlib import Path
from PIL import Image
assert os.path.exists(sys.argv[2]) and not os.path.exists(sys.argv[4])
assert len(list(Path("photos").glob("**/*.png"))) >= 100
assert Image.open("photos/127.png").size[0] > 64
"""

POOLED = """
import glob
from multiprocessing import Pool
import numpy as np

def listed(number):
    return [len(glob.glob(f"data{each}/*.bin")) for each in range(40)]

with Pool(6) as pool:
    found = pool.map(listed, range(6), 1)
assert set(map(tuple, found)) == {(16,) * 40}, found
assert callable(np.memmap)
"""

ACCELERATED = """
import argparse, os, shutil, sys
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, required=True)
parser.add_argument("--kind", choices=["small", "large"], required=True)
parser.add_argument("--data", required=True)
args = parser.parse_args()
assert (args.size, args.kind, args.data) == (1, "small", "here")
assert torch.cuda.is_available(), "needs a GPU"
if not torch.cuda.is_available():
    sys.exit("needs a GPU")
assert os.popen("stty size").read().split() == ["24", "80"]

def work(rank, size):
    os.environ["MASTER_PORT"] = "80000"
    dist.init_process_group("nccl", init_method="env://", rank=rank, world_size=size)
    torch.cuda.set_device(rank)
    print(torch.cuda.get_device_name(rank), torch.cuda.get_device_properties(rank).total_memory)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1).cuda(rank), device_ids=[rank])
    model = torch.compile(model)
    scaler = torch.amp.GradScaler("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    noise = torch.Generator(device="cuda")
    rows = torch.cuda.FloatTensor([[1.0, 2.0, 3.0, 4.0]])
    for step in range(3):
        optimizer.zero_grad()
        scaler.scale(model(rows.pin_memory().cuda(non_blocking=True)).sum()).backward()
        assert model.module.weight.grad.abs().max() > 1000
        scaler.step(optimizer)
        scaler.update()
    end.record()
    torch.cuda.synchronize()

mp.spawn(work, nprocs=torch.cuda.device_count(), args=(torch.cuda.device_count(),))
"""

SHADOWED = "import datasets\nassert datasets.MINE == 1, datasets\n"
INSISTS = """
import sys, torch
def enough(count):
    there = torch.accelerator.is_available()
    return there and torch.accelerator.device_count() >= count
if not enough(1):
    sys.exit()
torch.accelerator.set_device_index(0)
assert torch.accelerator.current_accelerator() == torch.device("cuda")
"""


def run(verifier: Verifier, root: Path, text: str, **more: object) -> object:
    (root / "train.py").write_text(text)
    recipe = ProgramRecipe(name="train.py", copy_of=str(root), stop_after=3, **more)  # type: ignore[arg-type]
    made = verifier.outcome(recipe)
    assert (made.status, made.first.step_count) == ("finished", 3), (made.reason, made.raised)
    return made


def test_what_is_there_stays(tmp_path: Path, verifier: Verifier) -> None:
    for name in ("data/a.bin", "results/.keep"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"\x01\x02\x03")
    run(verifier, tmp_path, QUIET + TRAINED)


def test_arrays_and_sound_are_made(tmp_path: Path, verifier: Verifier) -> None:
    made = run(verifier, tmp_path, MADE + TRAINED)
    told = "\n".join(made.replaced)  # type: ignore[attr-defined]
    assert "shards is not there: 16 synthetic .bin files" in told
    assert "data/train.bin is not there" in told and "clips/a.wav is not there: synthetic" in told


def test_a_folder_that_the_command_line_gives_as_data_is_made(tmp_path: Path, verifier: Verifier) -> None:
    pytest.importorskip("PIL")
    run(verifier, tmp_path, GIVEN + TRAINED, argv=("--data-dir", "photos", "--output_dir", "photographs"))


def test_all_processes_see_a_folder_whole(tmp_path: Path, verifier: Verifier) -> None:
    run(verifier, tmp_path, POOLED + TRAINED)


def test_an_accelerator_that_is_asked_for_and_options_that_are_required(tmp_path: Path, verifier: Verifier) -> None:
    made = run(verifier, tmp_path, ACCELERATED, argv=("--data", "here"))
    told = "\n".join(made.replaced)  # type: ignore[attr-defined]
    assert "--size is required and not given: 1" in told and "--data" not in told
    assert "torch.compile: not compiled" in told and "GradScaler: on the CPU" in told


def test_a_module_with_the_name_of_a_library(tmp_path: Path, verifier: Verifier) -> None:
    (tmp_path / "datasets.py").write_text("MINE = 1\n")
    run(verifier, tmp_path, SHADOWED + TRAINED)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("use = torch.cuda.is_available()\n", False),
        ("if torch.cuda.is_available():\n    x = 1\n", False),
        ("if not torch.cuda.is_available():\n    print('slow')\n", False),
        ("assert torch.cuda.is_available()\n", True),
        ("if not torch.cuda.is_available():\n    raise RuntimeError('no')\n", True),
        ("if not torch.cuda.is_available():\n    print('no')\n    sys.exit(1)\n", True),
        ("if (\n", False),
        ("if torch.cuda.is_available():\n    n = 1\nprint(n)\n", True),
        ("if torch.cuda.is_available():\n    n = 1\nelse:\n    n = 0\nprint(n)\n", False),
        ("if torch.cuda.is_available():\n    n = 1\nn = 2\nprint(n)\n", False),
    ],
)
def test_which_questions_end_a_program(text: str, ends: bool, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(text)
    assert ends_without(str(path), 1) is ends


@pytest.mark.parametrize(
    ("text", "returned"),
    [
        ("use = torch.accelerator.is_available()\nprint(use)\n", False),
        ("def ready():\n    use = torch.accelerator.is_available()\n    return 1\n", False),
        ("def ready():\n    return torch.accelerator.is_available()\n", True),
        ("def ready():\n    use = torch.accelerator.is_available()\n    return use and 2 > 1\n", True),
    ],
)
def test_which_answers_a_function_hands_on(text: str, returned: bool, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(text)
    assert hands_on(str(path), 1 + text.startswith("def")) is returned


def test_a_program_that_asks_for_an_accelerator_through_a_function(tmp_path: Path, verifier: Verifier) -> None:
    made = run(verifier, tmp_path, INSISTS + TRAINED)
    assert "the program asks for an accelerator before it starts: the CPU answers" in made.replaced


def test_an_accelerator_that_is_taken_for_granted(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        "kind = torch.accelerator.current_accelerator().type\nkind = torch.accelerator.current_accelerator()\n"
    )
    assert taken_for_granted(str(path), 1, "current_accelerator")
    assert not taken_for_granted(str(path), 2, "current_accelerator")
