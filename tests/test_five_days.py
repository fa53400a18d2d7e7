"""The five reported days: what check says and where, what fix makes of it, and what verify sees."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gclint.report.verification import schema

SEEDS = Path(__file__).parent.parent / "fixtures" / "seeds"

# seed, file, a piece of the line, code, certainty
EXPECTED = [
    ("abel", "src/baseline_sft/train_sft_abel.py", "gradient_checkpointing=True", "GCL201", "fails"),
    ("abel", "src/baseline_sft/train_sft_abel.py", "model.gradient_checkpointing = False", "GCL701", "fails"),
    ("abel", "src/baseline_sft/train_sft_abel.py", "checkpoint.checkpoint = no_checkpoint", "GCL702", "fails"),
    ("abel", "check_single_gpu.py", "gradient_checkpointing_enable()", "GCL601", "fails"),
    ("chatgot", "chatgot/memory.py", "return torch_checkpoint(", "GCL501", "fragile"),
    ("chatgot", "chatgot/memory.py", "return torch_checkpoint(", "GCL512", "fragile"),
    ("chatgot", "scripts/train_with_samples.py", "model.load_state_dict(", "GCL301", "fragile"),
    ("chatgot", "scripts/train_with_samples.py", "model.load_state_dict(", "GCL306", "fragile"),
    ("visempar", "train_baseline.py", "max_memory=MAX_MEMORY", "GCL101", "fails"),
    ("unsloth-ddp", "train.py", "use_gradient_checkpointing=", "GCL201", "fails"),
    ("dorothy", "train_dorothy.py", "use_gradient_checkpointing=True", "GCL401", "fragile"),
]
NAMES = sorted({seed for seed, *_ in EXPECTED})


def gclint(directory: Path, *arguments: str, status: int) -> str:
    command = [sys.executable, "-m", "gclint", *arguments]
    made = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=300, check=False)
    assert made.returncode == status, made.stdout + made.stderr
    return made.stdout


def copied(seed: str, state: str, directory: Path) -> Path:
    return Path(shutil.copytree(SEEDS / seed / state, directory / seed))


@pytest.mark.parametrize("seed", NAMES)
def test_check_says_what_the_day_was_and_nothing_else(seed: str, tmp_path: Path) -> None:
    project = copied(seed, "before", tmp_path)
    said = json.loads(gclint(project, "check", ".", "--output-format", "json", status=1))
    found = sorted(
        (
            Path(item["filename"]).relative_to(project).as_posix()
            if Path(item["filename"]).is_absolute()
            else item["filename"],
            item["location"]["row"],
            item["code"],
            item["certainty"],
        )
        for item in said
    )
    wanted = []
    for name, file, piece, code, certainty in EXPECTED:
        if name == seed:
            lines = (project / file).read_text().splitlines()
            (row,) = [number for number, line in enumerate(lines, 1) if piece in line]
            wanted.append((file, row, code, certainty))
    assert found == sorted(wanted)


@pytest.mark.parametrize("seed", NAMES)
def test_the_cured_projects_are_clean(seed: str, tmp_path: Path) -> None:
    gclint(copied(seed, "after", tmp_path), "check", ".", status=0)


@pytest.mark.parametrize("seed", NAMES)
def test_fixing_twice_changes_nothing(seed: str, tmp_path: Path) -> None:
    project = copied(seed, "before", tmp_path)
    gclint(project, "fix", ".", "--unsafe", "--exit-zero", status=0)
    once = {path: path.read_bytes() for path in sorted(project.rglob("*.py"))}
    said = gclint(project, "fix", ".", "--unsafe", "--exit-zero", status=0)
    assert {path: path.read_bytes() for path in sorted(project.rglob("*.py"))} == once
    assert '"fails"' not in gclint(project, "check", ".", "--exit-zero", "--output-format", "json", status=0), said


def test_a_named_alternative_is_taken(tmp_path: Path) -> None:
    project = copied("dorothy", "before", tmp_path)
    gclint(project, "fix", ".", "--choose", "GCL401=checkpointing-off", status=0)
    text = (project / "train_dorothy.py").read_text()
    assert "use_gradient_checkpointing=False" in text and "HIP_LAUNCH_BLOCKING" not in text


VERDICTS = [
    ("abel", "GCL201", "confirmed", "mark a variable ready only once"),
    ("abel", "GCL601", "confirmed", "element 0 of tensors does not require grad"),
    ("visempar", "GCL101", "confirmed", "expected device meta"),
    ("unsloth-ddp", "GCL201", "confirmed", "mark a variable ready only once"),
    ("dorothy", "GCL401", "unverified", ""),
]


@pytest.mark.slow
@pytest.mark.parametrize("seed", sorted({seed for seed, *_ in VERDICTS}))
def test_verify_runs_both_sides(seed: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    jsonschema = pytest.importorskip("jsonschema")
    project = copied(seed, "before", tmp_path)
    asked = ("fix", ".", "--unsafe", "--verify", "--gpu-memory", "24GiB", "--exit-zero", "--output-format", "json")
    said = json.loads(gclint(project, *asked, status=0))
    jsonschema.validate(said, schema())
    seen = {item["code"]: item for item in said["verification"]}
    for name, code, verdict, symptom in VERDICTS:
        if name == seed:
            assert seen[code]["verdict"] == verdict, seen[code]
            assert symptom in seen[code]["before"]
    assert all(item["verdict"] != "rejected" for item in said["verification"])
    if seed == "visempar":
        sized = seen["GCL101"]["fit"]
        assert (sized["sequence_length"], sized["fits"]) == (2048, True)
        assert sized["parameters"] - sized["trainable"] == 7615616512


@pytest.mark.slow
def test_the_state_round_trip_is_counted(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    project = copied("chatgot", "before", tmp_path)
    said = json.loads(
        gclint(project, "fix", ".", "--unsafe", "--verify", "--write-unverified", "--output-format", "json", status=0)
    )
    assert {item["code"] for item in said["verification"]} == {"GCL301", "GCL306", "GCL501", "GCL512"}
    for item in said["verification"]:
        before, after = item["recomputations"]
        assert item["verdict"] in ("passes", "unverified") and before > 0 and after > 0
        assert all(keys["loaded"] == keys["present"] > 0 for loads in item["keys_loaded"] for keys in loads)
        assert (item["gradient_error"] or 0.0) < 1e-3


@pytest.mark.slow
def test_the_order_of_environment_and_import_is_seen_in_a_real_process(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    project = copied("dorothy", "before", tmp_path)
    said = json.loads(gclint(project, "fix", ".", "--verify", "--exit-zero", "--output-format", "json", status=0))
    (item,) = said["verification"]
    assert "ROCm" in item["reason"] and "after the edit HIP_LAUNCH_BLOCKING is set in time" in item["reason"]


def test_check_imports_no_training_library(tmp_path: Path) -> None:
    project = copied("abel", "before", tmp_path)
    program = (
        "import sys; from gclint.check.engine import check_paths; assert check_paths(['.']).findings;"
        "print(sorted({'torch', 'transformers', 'peft', 'accelerate', 'numpy'} & set(sys.modules)))"
    )
    made = subprocess.run([sys.executable, "-c", program], cwd=project, capture_output=True, text=True, check=True)
    assert made.stdout.strip() == "[]"
