"""What each kind of file says about versions."""

from __future__ import annotations

import os

import pytest

from gclint.cli import main
from gclint.pins.environments import read_conda, read_dockerfile
from gclint.pins.locks import read_pipfile_lock, read_toml_lock
from gclint.pins.manifests import (
    poetry_specifier,
    read_pipfile,
    read_pyproject,
    read_script_header,
    read_setup_cfg,
    read_setup_py,
)
from gclint.pins.requirements_txt import read_requirements
from gclint.pins.versions import targets_for

READERS = [
    read_conda,
    read_dockerfile,
    read_pipfile,
    read_pipfile_lock,
    read_pyproject,
    read_requirements,
    read_script_header,
    read_setup_cfg,
    read_setup_py,
    read_toml_lock,
]


def said(pins) -> dict[str, tuple[str, int]]:
    return {pin.package: (pin.specifier, pin.line) for pin in pins.pins}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "text", ["", "\n\n", "\x00", "[[[", "{", "- \\\n", "RUN \\", '"' * 9, "dependencies:\n- -\n", "-r"]
)
def test_odd_text_says_nothing_and_raises_nothing(reader, text):
    assert reader(text).pins == ()


def test_requirements():
    text = """\
# torch==1.0
--index-url https://download.pytorch.org/whl/cu121
Torch == 2.4.0  # as the image
transformers[torch]>=4.40, \\
    <5
peft==0.12.0 ; python_version < "3"
accelerate==1.1.0; sys_platform != "win32"
triton-windows==3.0 ; sys_platform == "win32"
trl==0.9.6 --hash=sha256:abc
-e ./vendored
-c constraints.txt
git+https://github.com/huggingface/diffusers.git@v0.31.0
bitsandbytes @ git+https://github.com/bitsandbytes-foundation/bitsandbytes@main
"""
    pins = read_requirements(text)
    assert said(pins) == {
        "torch": ("==2.4.0", 3),
        "transformers": (">=4.40,<5", 4),
        "accelerate": ("==1.1.0", 7),
        "trl": ("==0.9.6", 9),
        "diffusers": ("==0.31.0", 12),
        "bitsandbytes": (">=0.50.2", 13),
    }
    assert pins.includes == ("constraints.txt",)
    assert pins.rocm_line == 0


@pytest.mark.parametrize(
    "text",
    [
        "--index-url https://download.pytorch.org/whl/rocm6.4",
        "--extra-index-url=https://download.pytorch.org/whl/nightly/rocm6.2",
        "-f https://repo.radeon.com/rocm/manylinux/rocm-rel-6.2/",
        "torch==2.9.1+rocm6.4",
        "pytorch-triton-rocm==3.0.0",
        "torch @ https://download.pytorch.org/whl/rocm6.4/torch-2.9.1%2Brocm6.4-cp311-cp311-manylinux_2_28_x86_64.whl",
    ],
)
def test_rocm_is_seen(text):
    assert read_requirements("numpy\n" + text).rocm_line == 2


def test_version_of_a_wheel_url_and_of_a_local_build():
    url = "https://download.pytorch.org/whl/rocm6.4/torch-2.9.1%2Brocm6.4-cp311-cp311-linux_x86_64.whl"
    assert said(read_requirements(f"torch @ {url}"))["torch"][0] == "==2.9.1"
    assert said(read_requirements("torch==2.4.0+cu121"))["torch"][0] == "==2.4.0"


@pytest.mark.parametrize("place", ["", "./", "/tmp/wheels/"])
def test_version_of_a_wheel_in_a_file(place):
    """`pip install` takes a wheel that lies beside as well, and its name says which release it is."""
    read = read_requirements(f"{place}torch-0.2.0.post3-cp27-cp27mu-manylinux1_x86_64.whl")
    assert said(read)["torch"][0] == "==0.2.0.post3"


def test_includes_are_followed_and_end(tmp_path):
    (tmp_path / "requirements.txt").write_text("-r requirements/base.txt\n-c lock.txt\ntorch==2.5.0\n")
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "base.txt").write_text("-r ../requirements.txt\ntransformers>=4\n")
    (tmp_path / "lock.txt").write_text("transformers==4.44.0\n")
    target = targets_for(tmp_path)["transformers"]
    assert (str(target.version), target.origin) == ("4.44.0", "lock.txt:1")


def test_powershell_requirements_in_utf16(tmp_path):
    (tmp_path / "requirements.txt").write_bytes("torch==2.5.0\r\n".encode("utf-16"))
    assert str(targets_for(tmp_path).version("torch")) == "2.5.0"


def test_pyproject():
    text = """\
[project]
dependencies = [
  "torch>=2.4",
  "transformers==4.46.3",
]
[project.optional-dependencies]
qlora = ["bitsandbytes==0.45.5"]
[dependency-groups]
train = ["trl==0.12.0", {include-group = "x"}]
[tool.poetry.dependencies]
python = "^3.10"
peft = "^0.13.1"
accelerate = {version = "~1.1", optional = true}
[tool.uv.sources]
torch = { index = "pytorch-rocm" }
[[tool.uv.index]]
name = "pytorch-rocm"
url = "https://download.pytorch.org/whl/rocm6.4"
explicit = true
"""
    pins = read_pyproject(text)
    assert said(pins) == {
        "torch": (">=2.4", 3),
        "transformers": ("==4.46.3", 4),
        "bitsandbytes": ("==0.45.5", 7),
        "trl": ("==0.12.0", 9),
        "peft": (">=0.13.1,<0.14", 12),
        "accelerate": (">=1.1,<1.2", 13),
    }
    assert pins.rocm_line == 18
    assert read_pyproject(text.replace('"pytorch-rocm" }', '"other" }')).rocm_line == 0


@pytest.mark.parametrize(
    ("wanted", "specifier"),
    [
        ("^4.40", ">=4.40,<5"),
        ("^0.13.1", ">=0.13.1,<0.14"),
        ("~4.40", ">=4.40,<4.41"),
        ("4.40.1", "==4.40.1"),
        ("*", "*"),
        (">=4,<5", ">=4,<5"),
        ("^1 || ^2", ">=2,<3"),
        ("~=2.4", "~=2.4"),
        ("2.*", "==2.*"),
        ("", ""),
    ],
)
def test_poetry_constraints(wanted, specifier):
    assert poetry_specifier(wanted) == specifier


def test_setup_cfg_and_setup_py():
    cfg = "[options]\ninstall_requires =\n    torch>=2.1\n    peft==0.11.1\n"
    cfg += "[options.extras_require]\nds =\n    deepspeed<0.15\n"
    assert said(read_setup_cfg(cfg)) == {
        "torch": (">=2.1", 3),
        "peft": ("==0.11.1", 4),
        "deepspeed": ("<0.15", 7),
    }
    py = "from setuptools import setup\nsetup(\n  install_requires=['torch==2.3.0'],\n"
    py += "  extras_require={'x': ['trl>=0.9']},\n)\n"
    assert said(read_setup_py(py)) == {"torch": ("==2.3.0", 3), "trl": (">=0.9", 4)}


def test_script_header(tmp_path):
    text = '# /// script\n# requires-python = ">=3.11"\n# dependencies = [\n#   "transformers<5",\n'
    text += "# ]\n# ///\nimport transformers\n"
    assert said(read_script_header(text)) == {"transformers": ("<5", 4)}
    (tmp_path / "train.py").write_text(text)
    (tmp_path / "requirements.txt").write_text("transformers==5.1.0\n")
    assert targets_for(tmp_path, tmp_path / "train.py")["transformers"].origin == "train.py:4"
    assert targets_for(tmp_path)["transformers"].origin == "requirements.txt:1"


def test_locks():
    text = """\
version = 1
[[package]]
name = "torch"
version = "2.9.1+rocm6.4"
source = { registry = "https://download.pytorch.org/whl/rocm6.4" }
dependencies = [
    { name = "filelock" },
]

[[package]]
name = "transformers"
version = "4.57.3"
"""
    pins = read_toml_lock(text)
    assert said(pins) == {"torch": ("==2.9.1", 4), "transformers": ("==4.57.3", 12)}
    assert pins.rocm_line == 4
    lock = '{"default": {\n "torch": {"version": "==2.5.1"},\n "x": {"path": "."}}, "develop": {}}'
    assert said(read_pipfile_lock(lock)) == {"torch": ("==2.5.1", 2)}
    assert said(read_pipfile('[packages]\ntorch = ">=2.4"\npeft = "*"\n')) == {"torch": (">=2.4", 2)}


def test_conda():
    text = """\
name: train
channels:
  - pytorch
dependencies:
  - python=3.11
  - pytorch=2.5
  - conda-forge::accelerate=1.1.0=pyhd8ed1ab_0
  - peft>=0.12,<0.14
  - pip
  - pip:
      - transformers==4.46.3  # pinned
      - --extra-index-url https://download.pytorch.org/whl/rocm6.2
prefix: /opt/conda
"""
    pins = read_conda(text)
    assert said(pins) == {
        "python": ("==3.11.*", 5),
        "torch": ("==2.5.*", 6),
        "accelerate": ("==1.1.0", 7),
        "peft": (">=0.12,<0.14", 8),
        "transformers": ("==4.46.3", 11),
    }
    assert pins.rocm_line == 12


def test_dockerfile(tmp_path):
    text = """\
FROM rocm/pytorch:rocm6.4_ubuntu22.04_py3.10_pytorch_release_2.6.0 AS base
# RUN pip install trl==0.1
RUN apt-get update && pip3 install --no-cache-dir \\
    "transformers>=4.40,<5" peft==0.13.2 -r extra.txt
RUN python -m pip install trl==0.12.0; uv pip install accelerate==1.2.0
"""
    pins = read_dockerfile(text)
    assert said(pins) == {
        "torch": ("==2.6.0", 1),
        "transformers": (">=4.40,<5", 3),
        "peft": ("==0.13.2", 3),
        "trl": ("==0.12.0", 5),
        "accelerate": ("==1.2.0", 5),
    }
    assert (pins.rocm_line, pins.includes) == (1, ("extra.txt",))
    cuda = read_dockerfile("FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\nRUN echo 'unclosed\n")
    assert said(cuda) == {"torch": ("==2.5.1", 1)} and not cuda.rocm_line
    (tmp_path / "docker").mkdir()
    (tmp_path / "docker" / "train.Dockerfile").write_text(text)
    targets = targets_for(tmp_path)
    assert targets.rocm and targets.rocm_place
    assert targets.rocm_place.path == str(tmp_path / "docker" / "train.Dockerfile")
    assert targets["peft"].origin == "docker/train.Dockerfile:3"


def test_rocm_can_be_stated(tmp_path):
    assert targets_for(tmp_path, flag={"rocm": "6.4"}).rocm


def test_what_a_repository_states_holds_for_a_project_within_it_that_states_nothing(tmp_path, monkeypatch, capfd):
    """A copy of another project, with a setup.py of its own, runs with what the repository around it installs."""
    (tmp_path / "requirements.txt").write_text("torch==1.13.1\n")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "setup.py").write_text("from setuptools import setup\n\nsetup(name='inner')\n")
    (tmp_path / "inner" / "load.py").write_text(
        "import torch\nmodel = torch.nn.Linear(1, 1)\nmodel.load_state_dict(torch.load('a.pt'), strict=False)\n"
    )
    monkeypatch.chdir(tmp_path)
    main(["check", ".", "--no-cache", "--output-format", "concise"])
    assert "torch 1.13.1 (requirements.txt:1)" in capfd.readouterr().out
    (tmp_path / "inner" / "requirements.txt").write_text("torch==2.4.1\n")
    main(["check", ".", "--no-cache", "--output-format", "concise"])
    assert "torch 2.4.1 (inner/requirements.txt:1)" in capfd.readouterr().out


def test_a_repositorys_releases_hold_wherever_the_check_starts_and_no_answer_outlives_them(
    tmp_path, monkeypatch, capfd
):
    """What lies around a project is part of what its last report depends on."""
    inner, stated = tmp_path / "inner", tmp_path / "requirements" / "train.txt"
    for directory in (tmp_path / ".git", inner, stated.parent):
        directory.mkdir()
    (inner / "setup.py").write_text("from setuptools import setup\n\nsetup(name='inner')\n")
    (inner / "load.py").write_text(
        "import torch\nmodel = torch.nn.Linear(1, 1)\nmodel.load_state_dict(torch.load('a.pt'), strict=False)\n"
    )
    for place in (inner / "load.py", inner / "setup.py"):
        os.utime(place, (1_700_000_000, 1_700_000_000))  # a report is kept of files that lie still
    for release in ("1.13.1", "2.4.1"):
        stated.write_text(f"torch=={release}\n")
        for here in (tmp_path, inner, inner):
            monkeypatch.chdir(here)
            main(["check", str(inner), "--output-format", "concise"])
            assert f"torch {release}" in capfd.readouterr().out, here
