"""What `accelerate launch` starts and puts into the environment is what gclint says of the same options."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gclint.launch import launches
from gclint.launch.accelerate import configured
from gclint.launch.commands import started

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


MULTI = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 3\n"
SINGLE = MULTI.replace("MULTI_GPU", "'NO'")


@pytest.mark.parametrize("devices", [0, 1, 2, 4])
@pytest.mark.parametrize("config", ["", MULTI, SINGLE], ids=["no configuration", "MULTI_GPU", "NO"])
@pytest.mark.parametrize(
    "options",
    [
        "",
        "--num_processes=4",
        "--num_processes=1",
        "--multi_gpu --num_processes=4",
        "--use_fsdp --num_processes=4",
        "--cpu --num_processes=4",
        "--use_megatron_lm --num_processes=4",
    ],
)
def test_the_number_of_processes_is_accelerate_s(
    options: str, config: str, devices: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "default_config_file", str(tmp_path / "default_config.yaml"))
    monkeypatch.setattr(
        "accelerate.commands.config.config_args.default_config_file", str(tmp_path / "default_config.yaml")
    )
    if config:
        (tmp_path / "default_config.yaml").write_text(config)
    monkeypatch.setattr("torch.cuda.is_available", lambda: devices > 0)
    monkeypatch.setattr("torch.cuda.device_count", lambda: devices)
    seen = []
    for name in ("simple_launcher", "multi_gpu_launcher", "deepspeed_launcher"):
        monkeypatch.setattr(launch, name, lambda args, name=name: seen.append((name, args.num_processes)))
    words = [*options.split(), "train.py"]
    launch.launch_command(launch.launch_command_parser().parse_args(words))
    ((launcher, asked),) = seen
    start = started(["accelerate", "launch", *words], {})
    assert start is not None
    text = "" if "--cpu" in words else config
    assert configured(start, text, devices).world_size == (1 if launcher == "simple_launcher" else asked)
