"""How long `gclint fix --verify` takes: each seed, and one project with ten fixes.

python tests/benchmarks/verify_speed.py [SEED ...]

Prints wall seconds, and the processor seconds of all processes that took part (on Linux this process adopts the
workers, so that theirs count); on a machine that does other work the latter say more. Wanted on two cores: a seed
within 20 s, ten fixes within 60 s.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER
SEEDS = Path(__file__).parents[2] / "fixtures" / "seeds"
TRAINING = """
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
name, room = "Qwen/Qwen2.5-1.5B", {0: "2GB", "cpu": "9GB"}
model = AutoModelForCausalLM.from_pretrained(name, device_map="auto", max_memory=room)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"]))
Trainer(model=model, args=TrainingArguments("out"), train_dataset=data).train()
"""


def ten_fixes(home: Path) -> None:
    """Write a project of ten programs with one defect each."""
    for number in range(10):
        (home / f"train{number}.py").write_text(TRAINING.replace("r=8", f"r={8 + number % 3}"), encoding="utf-8")


def measured(home: Path) -> tuple[float, float, list[str]]:
    """Return wall seconds, processor seconds and verdicts of one `gclint fix --verify`."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "gclint", "fix", ".", "--unsafe", "--verify", "--output-format", "json"]
    made = subprocess.run(command, cwd=home, capture_output=True, text=True, env={**os.environ})
    wall = time.perf_counter() - began
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if made.returncode == 2:
        raise SystemExit(made.stderr)
    return wall, spent, [item["verdict"] for item in json.loads(made.stdout)["verification"]]


def main() -> None:
    """Print every seed, then the ten fixes."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1)
    wanted = sys.argv[1:] or [*sorted(path.name for path in SEEDS.iterdir() if path.is_dir()), "ten-fixes"]
    for name in wanted:
        with tempfile.TemporaryDirectory() as directory:
            home = Path(directory) / "project"
            if name == "ten-fixes":
                home.mkdir()
                ten_fixes(home)
            else:
                shutil.copytree(SEEDS / name / "before", home)
            wall, spent, verdicts = measured(home)
        told = f"{wall:.1f} s wall, {spent:.1f} s of processor, {len(verdicts)} fixes: {', '.join(verdicts)}"
        print(f"{name}: {told}", flush=True)


if __name__ == "__main__":
    main()
