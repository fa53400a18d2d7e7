"""What `accelerate launch` puts into the environment is what gclint says of the same options."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gclint.launch import launches

launch = pytest.importorskip("accelerate.commands.launch")
utilities = pytest.importorskip("accelerate.utils.launch")

CASES = {
    "plain": ("--num_processes=1 --mixed_precision=fp16", "prepare_simple_launcher_cmd_env"),
    "ddp": ("--multi_gpu --num_processes=2 --mixed_precision=bf16", "prepare_multi_gpu_env"),
    "fsdp": (
        "--use_fsdp --num_processes=2 --fsdp_version=2 --fsdp_activation_checkpointing=true --mixed_precision=bf16",
        "prepare_multi_gpu_env",
    ),
    "deepspeed": (
        "--use_deepspeed --num_processes=2 --zero_stage=3 --gradient_accumulation_steps=4 --mixed_precision=bf16",
        "prepare_deepspeed_cmd_env",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_environment_is_accelerate_s(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options, function = CASES[name]
    (tmp_path / "train.py").write_text("")
    (tmp_path / "run.sh").write_text(f"accelerate launch {options} train.py\n")
    (told,) = launches(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    args = launch.launch_command_parser().parse_args([*options.split(), "train.py"])
    args, *_ = launch._validate_launch_command(args)
    args.use_cpu = getattr(args, "use_cpu", False)
    args.deepspeed_fields_from_accelerate_config = ""
    made = getattr(utilities, function)(args)
    made = made[1] if isinstance(made, tuple) else made
    said = {item.name: item.value for item in told.environment}
    assert said
    assert {key: made[key] for key in said} == said
    set_now = {key for key, value in made.items() if os.environ.get(key) != value}
    assert {key for key in set_now if key.startswith("ACCELERATE_USE_") and made[key] == "true"} == {
        key for key in said if key.startswith("ACCELERATE_USE_")
    }
