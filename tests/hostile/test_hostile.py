"""A stranger's project: nothing of it is executed, nothing outside it is read, and nothing in it stops gclint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DEFECT = """\
import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import Trainer, TrainingArguments, AutoModelForCausalLM, HfArgumentParser
from omegaconf import OmegaConf
import yaml, json

model = AutoModelForCausalLM.from_pretrained("x")
optimizer = torch.optim.AdamW(model.parameters())
for batch in loader:
    model(batch).mean().backward()
    optimizer.step()
"""
OUTSIDE = "../outside"


def checked(project: Path, *options: str, seconds: float = 20) -> dict[str, Any]:
    """What gclint did and said of a project."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    made = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "watched.py"), str(project), *options],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return dict(json.loads(made.stdout))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (made / "pyproject.toml").write_text("[project]\nname = 'x'\nversion = '1'\n")
    (made / "train.py").write_text(DEFECT)
    return made


def test_an_ordinary_project_is_read_and_judged(project: Path) -> None:
    made = checked(project)
    assert made["status"] == 1 and "GCL" in made["out"]
    assert str(project / "train.py") in made["opened"] and made["started"] == []


def test_nothing_of_the_project_is_executed(project: Path) -> None:
    mark = project.parent / "mark"
    act = f"open({str(mark)!r}, 'w').close()\n"
    names = ("train.py", "setup.py", "conftest.py", "sitecustomize.py", "torch.py", "yaml.py", "gclint.py")
    for name in (*names, "transformers/__init__.py", "package/__init__.py", "rules/gcl999.py", "conf.py"):
        path = project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(act + DEFECT + "import package\n")
    (project / "run.sh").write_text(f"touch {mark}\ntorchrun --nproc_per_node=$(touch {mark}; echo 2) train.py\n")
    (project / "c.yaml").write_text(f"a: !!python/object/apply:os.system ['touch {mark}']\n")
    made = checked(project)
    assert not mark.exists() and made["started"] == []
    assert [path for path in made["executed"] if path.startswith(str(project))] == []


LEADS = {
    "requirements.txt": f"-r {OUTSIDE}/requirements.txt\n-c {OUTSIDE}/constraints.txt\n",
    "run.sh": f"source {OUTSIDE}/env.sh\n. {OUTSIDE}/env.sh\nbash {OUTSIDE}/run.sh\n"
    f"accelerate launch --config_file {OUTSIDE}/accelerate.yaml train.py --config {OUTSIDE}/c.yaml\n"
    f"deepspeed train.py --deepspeed {OUTSIDE}/zero.json\n"
    f"cd {OUTSIDE} && torchrun --nproc_per_node=2 other.py\ntorchrun {OUTSIDE}/other.py\n",
    "Makefile": f"include {OUTSIDE}/other.mk\ntrain:\n\tcd {OUTSIDE} && torchrun other.py --config {OUTSIDE}/c.yaml\n",
    "Dockerfile": f"FROM x\nWORKDIR {OUTSIDE}\nENV A=1\nCMD torchrun {OUTSIDE}/other.py\n",
    "axolotl.yaml": f"base_model: x\ndeepspeed: {OUTSIDE}/zero.json\nfsdp_config: {OUTSIDE}/c.yaml\n",
    "conf/config.yaml": f"defaults:\n  - {OUTSIDE}/../outside/c\n  - /../../outside/c\n",
    "train.py": DEFECT
    + "import sys, os, importlib, hydra\n"
    + f"sys.path.insert(0, '{OUTSIDE}')\nsys.path.append('ABSOLUTE')\n"
    + "import other\nfrom .. import outside\nfrom ...outside import other as third\n"
    + f"config = OmegaConf.load('{OUTSIDE}/c.yaml')\nmore = yaml.safe_load(open('ABSOLUTE/c.yaml'))\n"
    + f"ds = json.load(open('{OUTSIDE}/zero.json'))\n"
    + f"args = TrainingArguments('out', deepspeed='{OUTSIDE}/zero.json')\n"
    + f"parsed = HfArgumentParser(TrainingArguments).parse_yaml_file('{OUTSIDE}/c.yaml')\n"
    + f"@hydra.main(config_path='{OUTSIDE}', config_name='c')\ndef main(cfg):\n    print(cfg.x)\nmain()\n",
}
TARGETS = (
    *("requirements.txt", "constraints.txt", "env.sh", "run.sh", "accelerate.yaml", "c.yaml", "zero.json", "other.py"),
    *("other.mk", "uv.lock", "gclint.toml", "__init__.py"),
)


def test_no_path_leads_out_of_the_project(project: Path) -> None:
    outside = project.parent / "outside"
    outside.mkdir()
    for name in TARGETS:
        (outside / name).write_text('{"a": 1}' if name.endswith(("json", "yaml")) else "torch = 1\n")
    for name, text in LEADS.items():
        path = project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace("ABSOLUTE", str(outside)))
    for name in ("uv.lock", "other.py", "linked.yaml", "linked.ipynb", "train.sh", "setup.cfg", "environment.yml"):
        os.symlink(outside / (name if name in TARGETS else "c.yaml"), project / name)
    os.symlink(outside, project / "package")
    made = checked(project)
    assert made["status"] in (1, 2) and "internal error" not in made["err"], made["err"]
    assert [path for path in made["opened"] if path.startswith(str(outside))] == []


def test_a_configuration_does_not_lead_out_of_the_project(project: Path) -> None:
    outside = project.parent / "outside"
    outside.mkdir()
    (outside / "gclint.toml").write_text("select = ['ALL']\n")
    (project / "pyproject.toml").write_text("[tool.gclint]\ncache-dir = '../outside/cache'\n")
    made = checked(project)
    assert sorted(os.listdir(outside)) == ["gclint.toml"]
    assert str(outside / "gclint.toml") not in made["opened"]


READ_BESIDE = (
    *("requirements.txt", "setup.cfg", "setup.py", "environment.yml", "uv.lock", "poetry.lock", "Pipfile.lock"),
    *("run.sh", "Makefile", "Dockerfile", "job.slurm", "config.yaml", "c.json", "c.toml", ".gitignore", ".env"),
    *(
        "other.py",
        "n.ipynb",
        ".vscode/launch.json",
        ".github/workflows/ci.yml",
        "conf/config.yaml",
        "a_package/__init__.py",
    ),
)


def test_pipes_in_place_of_files_stop_nothing(project: Path) -> None:
    for name in READ_BESIDE:
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(path)
    reads = "import other, a_package\nOmegaConf.load('config.yaml')\njson.load(open('c.json'))\nopen('c.toml')\n"
    (project / "train.py").write_text(
        DEFECT + reads + "HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()"
    )
    made = checked(project)
    assert made["status"] in (1, 2) and "train.py" in made["out"]


@pytest.mark.parametrize("name", ["pyproject.toml", "gclint.toml", ".gclint.toml"])
def test_a_pipe_in_place_of_the_configuration_stops_nothing(project: Path, name: str) -> None:
    (project / "pyproject.toml").unlink()
    os.mkfifo(project / name)
    assert checked(project)["status"] in (1, 2)


def test_links_that_go_round_stop_nothing(project: Path) -> None:
    for name in READ_BESIDE:
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        os.symlink(path.name, path)
    os.symlink(".", project / "round")
    made = checked(project)
    assert made["status"] in (1, 2) and "train.py" in made["out"] and "internal error" not in made["err"]


DOCUMENTS = {
    "a number of 10,000 digits": ("c.json", '{"a": ' + "9" * 10_000 + "}"),
    "the same in YAML": ("c.yaml", "a: " + "9" * 10_000),
    "the same in TOML": ("c.toml", "a = " + "9" * 10_000),
    "a hexadecimal number": ("c.yaml", "a: 0x" + "f" * 100_000),
    "a sexagesimal number": ("c.yaml", "a: " + ":".join(["1"] * 5_000)),
    "a day that is none": ("c.yaml", "a: 2024-99-99\n"),
    "a key that cannot be one": ("c.yaml", "? [a, {b: c}]\n: 1\n? {d: e}\n: 2\n"),
    "a map of itself": ("c.yaml", "a: &a\n  <<: *a\n"),
    "a bomb of aliases": (
        "c.yaml",
        "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)),
    ),
    "a bomb of merges": (
        "c.yaml",
        "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)),
    ),
    "tags": ("c.yaml", "a: !!python/name:os.system\nb: !!binary '???'\nc: !!int x\nd: !!float {}\ne: !!set [1]\n"),
    "deep JSON": ("c.json", "[" * 30_000 + "]" * 30_000),
    "wide JSON": ("c.json", '{"a": [' + "1," * 900_000 + "1]}"),
    "no text": ("c.yaml", "\ud800\x00\x01"),
    "lone surrogates": ("c.json", '{"\\ud800": "\\udfff"}'),
    "infinity": ("c.json", '{"per_device_train_batch_size": Infinity, "deepspeed": NaN, "fp16": -1e999}'),
}


@pytest.mark.parametrize("what", DOCUMENTS)
def test_a_document_that_a_program_reads_stops_nothing(project: Path, what: str) -> None:
    name, text = DOCUMENTS[what]
    (project / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    reads = f"given = OmegaConf.load('{name}')\nmore = json.load(open('{name}'))\nprint(given.a, more['a'])\n"
    args = (
        f"HfArgumentParser(TrainingArguments).parse_json_file('{name}')\nTrainingArguments('o', deepspeed='{name}')\n"
    )
    (project / "train.py").write_text(DEFECT + reads + args)
    made = checked(project)
    assert made["status"] == 1 and "train.py" in made["out"], made["err"]


def test_a_notebook_with_enormous_outputs(project: Path) -> None:
    output = {"output_type": "stream", "name": "stdout", "text": ["y" * 1000 + "\n"] * 30_000}
    cell = {"cell_type": "code", "metadata": {}, "execution_count": 1, "outputs": [output], "source": DEFECT}
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (project / "n.ipynb").write_text(json.dumps(book))
    (project / "huge.ipynb").touch()
    os.truncate(project / "huge.ipynb", 2_000_000_000)
    made = checked(project)
    assert "n.ipynb" in made["out"] and "huge.ipynb" in made["out"] and "larger than" in made["out"]


FORMATS = ("full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit", "markdown", "agent")


@pytest.mark.parametrize("name", FORMATS)
def test_names_and_texts_of_strangers_are_escaped(project: Path, name: str) -> None:
    directory = project / "a\x1b[31m\n::error::b\r\u202e<script>alert(1)</script>"[:200].replace("/", "")
    directory.mkdir()
    (directory / "train.py").write_text(DEFECT.replace('"x"', "'\x1b]0;x\x07</script><img src=x>|`'"))
    made = checked(project, "--output-format", name)
    text = made["out"] + made["err"]
    assert made["status"] == 1 and "\x1b" not in text and "\u202e" not in text and "\x07" not in text
    assert "\n::error::b" not in text
    if name == "markdown":
        assert "<script>alert" not in text and "<img" not in text
