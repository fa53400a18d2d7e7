"""Every place in which a project tells versions, with its nearest neighbour that tells none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gclint.pins.near import asks_for_rocm
from gclint.pins.versions import Target, Targets, targets_for


def around(root: Path, files: dict[str, str], entry: str = "train.py") -> Targets:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return targets_for(root, root / entry)


def ends(target: Target) -> tuple[str, str, str]:
    return str(target.oldest), str(target.version), target.origin


def notebook(*cells: str) -> str:
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


MATRIX = """jobs:
  test:
    strategy:
      matrix:
        pytorch: ["2.1.0", "2.4.1"]  # both
        include:
          - transformers: 4.40.0
    steps:
      - run: pip install torch==${{ matrix.pytorch }} transformers==${{ matrix.transformers }} peft==${{ inputs.peft }}
      - run: |
          pip install "accelerate==1.1.0" && pytest
"""
TOLD = [
    ("run.sh", "pip install -q torch==2.4.1 'peft>=0.12,<0.14'", "torch", "2.4.1", "2.4.1", 1),
    ("run.sh", "set -e\npython -m pip install \\\n  -U torch==2.4.1", "torch", "2.4.1", "2.4.1", 2),
    ("job.slurm", "V=2.4.1\nuv pip install torch==${V}", "torch", "2.4.1", "2.4.1", 2),
    ("job.sbatch", "pip3 install torch==${V:-2.4.1}", "torch", "2.4.1", "2.4.1", 1),
    ("run.sh", "if old; then V=2.1.0; else V=2.4.1; fi\npip install torch==$V", "torch", "2.1.0", "2.4.1", 2),
    ("scripts/setup.sh", "conda install -y -c pytorch pytorch=2.4 torchvision", "torch", "2.4.0", "2.4.1", 1),
    ("run.sh", "mamba create -n x python=3.10 pytorch::pytorch==2.4.1", "torch", "2.4.1", "2.4.1", 1),
    (".github/workflows/ci.yml", MATRIX, "torch", "2.1.0", "2.4.1", 9),
    (".github/workflows/ci.yml", MATRIX, "transformers", "4.40.0", "4.40.0", 9),
    (".github/workflows/ci.yml", MATRIX, "accelerate", "1.1.0", "1.1.0", 11),
    ("Dockerfile", "ARG TORCH=2.4.1\nFROM x\nRUN pip install torch==${TORCH}", "torch", "2.4.1", "2.4.1", 3),
    ("Dockerfile", "ARG T=2.4.1\nFROM pytorch/pytorch:${T}-cuda12.1-runtime", "torch", "2.4.1", "2.4.1", 2),
    ("Dockerfile", "ENV TORCH 2.4.1\nRUN a && \\\n # why\n pip install torch==$TORCH", "torch", "2.4.1", "2.4.1", 2),
    (".devcontainer/devcontainer.json", '{\n "image": "pytorch/pytorch:2.4.1-cuda"\n}', "torch", "2.4.1", "2.4.1", 2),
    ("devcontainer.json", '{"postCreateCommand": "pip install torch==2.4.1"}', "torch", "2.4.1", "2.4.1", 1),
    ("environment_small.txt", "python==3.9.7\ntorch==2.4.1+cu121\ntqdm==4.64.1\nos", "torch", "2.4.1", "2.4.1", 2),
    (
        "pip-freeze.txt",
        "# of the cluster\nnumpy==1.26\n\ntorch>=2.1,<2.5\npeft[x] ~= 0.12",
        "torch",
        "2.1.0",
        "2.4.1",
        4,
    ),
    ("requirements.txt", "git+https://github.com/huggingface/peft@v0.12.0", "peft", "0.12.0", "0.12.0", 1),
    ("requirements.txt", "peft==0.12.0 --hash=sha256:aa\n    # via -r requirements.in", "peft", "0.12.0", "0.12.0", 1),
    ("constraints-gpu.txt", "peft==0.12.0", "peft", "0.12.0", "0.12.0", 1),
    ("requirements.lock", "peft==0.12.0", "peft", "0.12.0", "0.12.0", 1),
    ("requirement.txt", "peft==0.12.0", "peft", "0.12.0", "0.12.0", 1),
    ("requirements.txt", "blas=1.0=mkl\npytorch=2.4.1=py3.8_cuda11.8_0", "torch", "2.4.1", "2.4.1", 2),
    ("requirements.txt", "torch=2.4.1=pypi_0  # by pip", "torch", "2.4.1", "2.4.1", 1),
    ("requirements.txt", "pytorch=2.4", "torch", "2.4.0", "2.4.1", 1),
    ("env.yml", "name: x\ndependencies:\n  - pytorch=2.4.1=py3_0", "torch", "2.4.1", "2.4.1", 3),
    ("a100.yaml", "channels: [x]\ndependencies:\n- pip:\n  - torch==2.4.1+cu121", "torch", "2.4.1", "2.4.1", 4),
    ("pylock.toml", '[[packages]]\nname = "peft"\nversion = "0.12.0"', "peft", "0.12.0", "0.12.0", 3),
    ("setup.py", "needs = {'x': ['trl==0.8.0']}\nsetup(extras_require=needs)", "trl", "0.8.0", "0.8.0", 1),
    ("setup.py", "setup(\n  name='trl',\n  version='0.8.0',\n)", "trl", "0.8.0", "0.8.0", 3),
    ("pyproject.toml", '[project]\nname = "trl"\nversion = "0.8.0"', "trl", "0.8.0", "0.8.0", 3),
    ("METADATA", "Metadata-Version: 2.1\nName: mine\nRequires-Dist: peft ==0.12.0", "peft", "0.12.0", "0.12.0", 3),
    ("PKG-INFO", "Name: mine\nRequires-Dist: peft (<0.13,>=0.12.0)", "peft", "0.12.0", "0.12.0", 2),
    ("conda-lock.yml", "package:\n- name: pytorch\n  version: 2.4.1\n  manager: conda", "torch", "2.4.1", "2.4.1", 3),
    ("conda-linux-64.lock", "@EXPLICIT\nhttps://x/linux-64/pytorch-2.4.1-py3_0.conda", "torch", "2.4.1", "2.4.1", 2),
    ("pixi.lock", "- conda: https://c/pytorch-2.4.1-py3.conda\n", "torch", "2.4.1", "2.4.1", 1),
    ("pixi.lock", "- pypi: https://f/torch-2.4.1%2Bcu121-cp311-cp311-linux.whl\n", "torch", "2.4.1", "2.4.1", 1),
    ("pixi.toml", '[dependencies]\npytorch = "2.4.*"', "torch", "2.4.0", "2.4.1", 2),
    ("pixi.toml", '[feature.gpu.pypi-dependencies]\ntorch = { version = "==2.4.1" }', "torch", "2.4.1", "2.4.1", 2),
    ("pyproject.toml", '[tool.pixi.dependencies]\npytorch = "2.4.1.*"', "torch", "2.4.1", "2.4.1", 2),
]


@pytest.mark.parametrize(("name", "text", "package", "oldest", "newest", "line"), TOLD)
def test_a_version_is_told(tmp_path: Path, name: str, text: str, package: str, oldest: str, newest: str, line: int):
    assert ends(around(tmp_path, {name: text})[package]) == (oldest, newest, f"{name}:{line}")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run.sh", "echo torch==2.4.1"),
        ("run.sh", "# pip install torch==2.4.1"),
        ("run.sh", "pip install torch==$1"),
        ("run.sh", "pip uninstall torch==2.4.1"),
        ("run.sh", "conda install -c pytorch=2.4 torchvision"),
        (".github/workflows/ci.yml", "jobs:\n  a:\n    steps:\n    - run: pip install torch==${{ matrix.torch }}\n"),
        ("Dockerfile", "ARG TORCH\nRUN pip install torch==${TORCH}"),
        ("requirements.txt", "peft @ git+https://github.com/huggingface/peft@v0.12.0\ntorch"),
        ("requirements.txt", "# torch=2.4.1=pypi_0\ntorch\npytorch=cpu=2.4.1"),
        ("deps.txt", "torch==2.4.1"),
        ("environment.txt", "numpy==1.26\ntorch==2.4.1\nor any other that you like\ntqdm==4.64"),
        ("packages.txt", "numpy\nsome\nothers\ntorch==2.4.1"),
        ("env.yml", "dependencies:\n- torch==2.4.1"),
        ("env.yml", "name: x\nimage: y\ndependencies:\n- torch==2.4.1"),
        ("Chart.yaml", "name: x\ndependencies:\n- name: torch\n  version: 2.4.1"),
        ("README.md", "pip install -r missing.txt"),
        ("METADATA", "Name: mine\nRequires-Dist: torch==2.4.1; extra == 'gpu'\n\nRequires-Dist: torch==2.4.1"),
        ("notes.md", "pip install torch==2.4.1"),
        ("other.ipynb", notebook("!pip install torch==2.4.1")),
        ("torch/__init__.py", '__version__ = "2.4.1"'),
    ],
)
def test_what_tells_no_version_leaves_it_open(tmp_path: Path, name: str, text: str) -> None:
    targets = around(tmp_path, {name: text})
    assert "torch" not in targets.stated and "torch" not in targets.hints


@pytest.mark.parametrize(
    ("cell", "oldest", "newest"),
    [
        ("!pip install -q torch==2.4.1", "2.4.1", "2.4.1"),
        ("%pip install torch==2.4.1", "2.4.1", "2.4.1"),
        ("import os\n!uv pip install \\\n  torch==2.4.1", "2.4.1", "2.4.1"),
        ("%conda install pytorch=2.4 -c pytorch", "2.4.0", "2.4.1"),
        ("%%bash\npip install torch==2.4.1", "2.4.1", "2.4.1"),
    ],
)
def test_a_notebook_installs_for_itself(tmp_path: Path, cell: str, oldest: str, newest: str) -> None:
    files = {"requirements.txt": "torch==2.0.1", "train.ipynb": notebook("import torch", cell)}
    target = around(tmp_path, files, "train.ipynb")["torch"]
    line = 2 if "import" in cell or "%%" in cell else 1
    assert ends(target) == (oldest, newest, f"train.ipynb:cell 2:{line}")
    assert target.place == f"{tmp_path / 'train.ipynb'}:cell 2:{line}"


def test_what_a_notebook_prints_installs_nothing(tmp_path: Path) -> None:
    files = {"train.ipynb": notebook('print("pip install torch==2.4.1")')}
    assert "torch" not in around(tmp_path, files, "train.ipynb").stated


@pytest.mark.parametrize("ref", ["@main", "", "#egg=transformers"])
def test_a_branch_is_what_is_newest_now(tmp_path: Path, ref: str) -> None:
    files = {"requirements.txt": f"git+https://github.com/huggingface/transformers{ref}"}
    assert ends(around(tmp_path, files)["transformers"]) == ("5.24.0", "5.24.0", "requirements.txt:1")


@pytest.mark.parametrize("ref", ["@1a2b3c4", "@a-branch", "@1a2b3c4#egg=transformers"])
def test_a_commit_tells_no_release_and_is_not_the_newest(tmp_path: Path, ref: str) -> None:
    files = {"requirements.txt": f"transformers @ git+https://github.com/huggingface/transformers{ref}"}
    assert ends(around(tmp_path, files)["transformers"]) == ("4.20.0", "5.24.0", "requirements.txt:1")
    files["setup.py"] = "setup(install_requires=['transformers>=4.40,<4.42'])"
    assert ends(around(tmp_path, files)["transformers"]) == ("4.40.0", "4.41.2", "setup.py:1")


COPY = {
    "transformers/__init__.py": '"""Models."""\n__version__ = "4.28.1"\n',
    "transformers/modeling_utils.py": "",
    "transformers/models/bert.py": "",
    "requirements.txt": "transformers==4.40.0",
}


@pytest.mark.parametrize("below", ["", "src/", "transformers/src/"])
@pytest.mark.parametrize("entry", ["train.py", "examples/run.py", "{}transformers/models/bert.py"])
def test_a_copy_of_a_library_is_that_library_at_its_version(tmp_path: Path, entry: str, below: str) -> None:
    files = {(below if name.endswith("py") else "") + name: text for name, text in COPY.items()}
    origin = f"{below}transformers/__init__.py:2"
    assert ends(around(tmp_path, files, entry.format(below))["transformers"]) == ("4.28.1", "4.28.1", origin)


def test_a_directory_that_bears_a_librarys_name_is_none(tmp_path: Path) -> None:
    files = {name: text for name, text in COPY.items() if "modeling" not in name}
    assert ends(around(tmp_path, files)["transformers"])[2] == "requirements.txt:1"


@pytest.mark.parametrize(("timm", "bounded"), [("0.3.4", True), ("0.4.5", False)])
def test_what_readers_are_told_of_one_library_bounds_another(tmp_path: Path, timm: str, bounded: bool) -> None:
    told = {"README.md": f"pip install timm=={timm}"}
    hints = around(tmp_path / "told", told).hints
    assert ("torch" in hints and str(hints["torch"].version) < "2") is bounded
    assert "torch" not in around(tmp_path / "stated", told | {"requirements.txt": "torch==2.4.1"}).hints


@pytest.mark.parametrize("name", ["README.md", "INSTALL.md", "docs/install.md", "README"])
def test_what_readers_are_told_to_install_is_a_hint(tmp_path: Path, name: str) -> None:
    text = "# Install\n```\n$ conda install pytorch==1.8.0 -c pytorch\n```\nor `pip install torch==1.9.0`\n"
    targets = around(tmp_path, {name: text})
    assert "torch" not in targets.stated
    assert ends(targets.hints["torch"]) == ("1.8.0", "1.9.0", f"{name}:3")
    assert "torch" not in around(tmp_path, {"requirements.txt": "torch==2.1.0"}).hints


@pytest.mark.parametrize(
    ("text", "newest"),
    [
        ("Tested with PyTorch 1.7.1 and transformers 4.28.1.", "1.7.1"),
        ("We use `torch==2.1.0.dev20230514`.", "2.1.0.dev20230514"),
        ("based on **PyTorch** version 1.8.1", "1.8.1"),
        ("torch 1.8.0, later torch v2.0.1", "2.0.1"),
        ("PyTorch 1.8.0, 1.10.2 or 1.9.0", "1.10.2"),
        ("PyTorch 1.8.0 - 2.0.1, CUDA 11.8", "2.0.1"),
        ("PyTorch 1.8.0, CUDA 11.8", "1.8.0"),
        ("PyTorch 1.8.0 or 1.4+", "2.15.0"),
        ("Install PyTorch (we use 1.7.0) first", "1.7.0"),
        ("* PyTorch install 1.11.0 (older versions may work too)", "1.11.0"),
        ("implemented with PyTorch (0.4.0)", "0.4.0"),
        ("- [PyTorch](https://pytorch.org) 1.4.0", "1.4.0"),
        ("- PyTorch 1.x", "1.13.1"),
        ("torchvision 0.9.0", ""),
        ("tested with Anaconda and Python 3.8", "2.4.1"),
        ("an environment with python=3.7", "1.13.1"),
        ("conda create -n x python=3.6", "1.10.2"),
        ("Python 3.8 and PyTorch 1.8.1", "1.8.1"),
        ("Python 3.8+", ""),
        ("Python 3.8 or newer", ""),
        ("Python 3.6/3.7/3.8", ""),
        ("python3.8 -m venv x", ""),
        ("Python 3", ""),
        ("trained with PyTorch 1.8.1+cu111", ""),
    ],
)
def test_a_version_that_readers_are_told_is_a_hint(tmp_path: Path, text: str, newest: str) -> None:
    targets = around(tmp_path, {"README.md": text})
    assert str(targets.hints["torch"].version if "torch" in targets.hints else "") == newest


@pytest.mark.parametrize(
    ("text", "newest"),
    [
        ("Install PyTorch >= v1.8.0\n```\n# for pytorch v1.8.0\nsed -i ...\n```\n", 2),
        ("We use PyTorch 1.8.0; torch ≥ 1.8.0 will do.", 2),
        ("Tested with PyTorch 1.9.0, but it should run with PyTorch versions >=1.8.0", 2),
        ("Needs PyTorch 1.8.0+", 2),
        ("runs with PyTorch v1.8.0 or above", 2),
        ("[PyTorch 1.8.0](https://pytorch.org) or higher", 2),
        ("now runs on torch 1.8.0\n- [PyTorch(1.8.0+)](https://pytorch.org)", 2),
        ("PyTorch >= 1.8.0 is needed: `pip install torch==1.8.0`", 1),
        ("PyTorch 1.8.0+ is needed: `pip install torch==1.8.0`", 1),
    ],
)
def test_the_least_that_readers_are_told_counts_where_no_command_installs(
    tmp_path: Path, text: str, newest: int
) -> None:
    hint = around(tmp_path, {"README.md": text}).hints["torch"]
    assert str(hint.oldest) == "1.8.0" and hint.version is not None and hint.version.major == newest


CONDA_FILE = "name: x\ndependencies:\n- pytorch=2.4.1"
INSTALLED = [
    ("pip install -r needs/train.txt", "needs/train.txt", "torch==2.4.1", 1),
    ("`cd inner`, then `pip3 install -q -r needs.txt`", "inner/needs.txt", "torch==2.4.1", 1),
    ("cd inner\npip install -e .\ncd ../other\npip install -rneeds.txt", "other/needs.txt", "torch==2.4.1", 1),
    ("git clone https://x/mine\ncd mine\npip install -r needs.txt", "needs.txt", "torch==2.4.1", 1),
    ("$ conda env create -f conda/gpu.yml", "conda/gpu.yml", CONDA_FILE, 3),
    ("mamba env update --prune --file=conda/gpu.yml -n x", "conda/gpu.yml", CONDA_FILE, 3),
    ("conda create -n x --file needs/list.txt", "needs/list.txt", "pytorch=2.4.1=py3.8_0", 1),
]


@pytest.mark.parametrize(("command", "path", "text", "line"), INSTALLED)
def test_a_file_that_readers_are_told_to_install_is_a_hint_and_stated_in_a_script(
    tmp_path: Path, command: str, path: str, text: str, line: int
) -> None:
    told = around(tmp_path / "told", {"README.md": command, path: text})
    assert "torch" not in told.stated and ends(told.hints["torch"]) == ("2.4.1", "2.4.1", f"{path}:{line}")
    stated = around(tmp_path / "stated", {"install.sh": command, path: text})
    assert ends(stated["torch"]) == ("2.4.1", "2.4.1", f"{path}:{line}")


@pytest.mark.parametrize(("text", "known"), [(CONDA_FILE, True), ("model: x\nlayers:\n- pytorch=2.4.1", False)])
def test_a_folder_of_environments_holds_what_is_one_by_what_it_says(tmp_path: Path, text: str, known: bool) -> None:
    targets = around(tmp_path, {"environment/mine.yaml": text})
    assert ("torch" in targets.stated and ends(targets["torch"])[2] == "environment/mine.yaml:3") == known


@pytest.mark.parametrize("command", ["cat needs/a.txt", "pip install -f needs/a.txt", "pip freeze -r needs/a.txt"])
def test_a_file_that_nothing_installs_says_nothing(tmp_path: Path, command: str) -> None:
    targets = around(tmp_path, {"README.md": command, "needs/a.txt": "torch==2.4.1"})
    assert "torch" not in targets.stated and "torch" not in targets.hints


def test_any_of_several_files_that_readers_are_told_to_install_may_be_meant(tmp_path: Path) -> None:
    files = {"README.md": "pip install -r a/old.txt\nor\npip install -r b/new.txt"}
    targets = around(tmp_path, files | {"a/old.txt": "torch==2.1.0", "b/new.txt": "torch==2.4.1"})
    assert ends(targets.hints["torch"]) == ("2.1.0", "2.4.1", "a/old.txt:1")


def test_any_of_several_workflows_may_be_what_runs_where_nothing_is_declared(tmp_path: Path) -> None:
    files = {
        f".github/workflows/{n}.yml": f"- run: pip install torch=={v}" for n, v in (("a", "2.1.0"), ("b", "2.4.1"))
    }
    assert ends(around(tmp_path, files)["torch"]) == ("2.1.0", "2.4.1", ".github/workflows/a.yml:1")
    files["setup.py"] = "setup(install_requires=['torch>=2.3'])"
    assert ends(around(tmp_path, files)["torch"]) == ("2.3.0", "2.15.0", "setup.py:1")


ROCM = "torch==2.10.0 --index-url=https://download.pytorch.org/whl/rocm7.1"
WORKFLOW = f"jobs:\n  test:\n    steps:\n    - run: |\n        pip install {ROCM}\n"


@pytest.mark.parametrize(
    ("name", "text", "asks"),
    [("Dockerfile", f"RUN pip install {ROCM}\n", True), (".github/workflows/rocm.yml", WORKFLOW, False)],
)
def test_a_workflow_that_tests_a_build_says_not_that_one_trains_with_it(
    tmp_path: Path, name: str, text: str, asks: bool
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    assert asks_for_rocm(tmp_path, [str(tmp_path)]) is asks
