from __future__ import annotations

import os
import shutil
import time

import pytest
import trainings

pytest.importorskip("flake8", reason="flake8 is not installed")


@pytest.fixture
def flake8(run):
    def call(*arguments, **options):
        return run("flake8", "--isolated", "--select", "GCL", *arguments, **options)

    return call


@pytest.fixture
def seed(project):
    shutil.copytree(trainings.SEED, project, dirs_exist_ok=True)
    return project


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_every_finding_of_a_project_at_its_place(flake8, seed, jobs):
    done = flake8("-j", jobs, ".")
    places = [line.split(" ")[:2] for line in done.stdout.splitlines()]
    assert done.returncode == 1 and done.stderr == ""
    assert places == [
        ["./check_single_gpu.py:15:1:", "GCL601"],
        ["./src/baseline_sft/train_sft_abel.py:25:1:", "GCL702"],
        ["./src/baseline_sft/train_sft_abel.py:31:5:", "GCL701"],
        ["./src/baseline_sft/train_sft_abel.py:48:32:", "GCL201"],
    ]


def test_a_second_run_reads_what_the_first_kept(flake8, seed):
    first = flake8(".")
    start = time.perf_counter()
    assert flake8(".").stdout == first.stdout
    assert time.perf_counter() - start < 3
    assert (seed / ".gclint_cache" / "CACHEDIR.TAG").exists()
    (seed / "run_8gpu.sh").unlink()
    assert "started on more than one process" in flake8(".").stdout != first.stdout


def test_what_was_fresh_in_the_first_run_is_not_looked_at_anew_in_the_second(flake8, seed):
    changed = time.time() + 1  # fresh also where flake8 itself takes a while to start
    os.utime(seed / "run_8gpu.sh", (changed, changed))
    flake8(".")
    kept = {path: path.stat().st_mtime_ns for path in (seed / ".gclint_cache").glob("flake8-*")}
    time.sleep(3.1)
    flake8(".")
    assert kept and {path: path.stat().st_mtime_ns for path in kept} == kept
    status = (seed / "run_8gpu.sh").stat()
    text = (seed / "run_8gpu.sh").read_text()
    (seed / "run_8gpu.sh").write_text(text.replace("torchrun", "echo    "))
    os.utime(seed / "run_8gpu.sh", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (seed / "run_8gpu.sh").stat().st_size == status.st_size
    assert "started on more than one process" in flake8(".").stdout


def test_only_the_nearest_project_is_analysed(flake8, project):
    (project / "inner").mkdir()
    (project / "inner" / "pyproject.toml").write_text("")
    (project / "inner" / "train.py").write_text(trainings.BAD)
    (project / "broken.py").write_bytes(b"\0checkpoint")
    done = flake8("inner/train.py")
    assert done.stdout.startswith("inner/train.py:11:16: GCL501") and done.stderr == ""
    assert (project / "inner" / ".gclint_cache").exists() and not (project / ".gclint_cache").exists()


def test_the_release_is_said_to_be_known(flake8, project):
    (project / "train.py").write_text(trainings.BAD)
    (project / "requirements.txt").write_text("torch==2.8.0\n")
    assert "[torch 2.8.0 (requirements.txt:1)]" in flake8("train.py").stdout


def test_an_unknown_target_is_an_error(flake8, project):
    (project / "train.py").write_text(trainings.BAD)
    done = flake8("--gclint-target", "pytorch=2.0", "train.py")
    assert done.returncode == 1 and "unknown library `pytorch`; did you mean `torch`?" in done.stdout + done.stderr


PART = """from torch.utils.checkpoint import checkpoint


def through(block, batch):
    return checkpoint(block, batch, use_reentrant=True)
"""
WHOLE = """import torch
from torch.nn.parallel import DistributedDataParallel

from part import through


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = torch.nn.Linear(4, 4)

    def forward(self, batch):
        return through(self.block, batch)


torch.distributed.init_process_group("gloo")
model = DistributedDataParallel(Net(), find_unused_parameters=True)
model(torch.randn(2, 4, requires_grad=True)).sum().backward()
"""


def test_a_large_project_is_judged_as_check_judges_it(flake8, run, project):
    (project / "part.py").write_text(PART)
    (project / "train.py").write_text(WHOLE)
    for number in range(300):
        (project / f"module_{number}.py").write_text("")
    checked = run("gclint", "check", "--output-format", "concise", "-q", ".").stdout
    found = flake8("part.py", "module_1.py").stdout
    assert found.startswith("part.py:5:12: GCL201") and checked.startswith("part.py:5:12: GCL201")
    assert flake8("part.py").stdout == found
    (project / "train.py").write_text(
        WHOLE.replace("DistributedDataParallel(Net(), find_unused_parameters=True)", "Net()")
    )
    assert flake8("part.py").stdout == "" == flake8(".").stdout


def test_of_a_directory_that_nothing_marks_no_more_than_the_file_is_looked_at(flake8, project):
    """It may be somebody's home."""
    (project / "requirements.txt").unlink()
    (project / "part.py").write_text(PART)
    (project / "train.py").write_text(WHOLE)
    assert "GCL201" in flake8("part.py").stdout
    for number in range(300):
        (project / f"module_{number}.py").write_text("")
    assert flake8("train.py", "part.py").stdout == ""
    (project / "__init__.py").write_text("")  # a package is nobody's home
    assert "GCL201" in flake8("part.py").stdout


def test_flake8_applies_its_own_noqa_select_and_per_file_ignores(flake8, run, project):
    (project / "a.py").write_text(trainings.BAD)
    (project / "b.py").write_text(trainings.BAD.replace("inner, x)", "inner, x)  # noqa: GCL501"))
    assert [line[:7] for line in flake8(".").stdout.splitlines()] == ["./a.py:"]
    assert len(flake8("--disable-noqa", ".").stdout.splitlines()) == 2
    assert flake8("--per-file-ignores", "a.py:GCL5", ".").stdout == ""
    assert flake8("--extend-ignore", "GCL501", ".").stdout == ""
    assert "GCL" not in run("flake8", "--isolated", "--select", "F,E5", ".").stdout
    assert "GCL501" in run("flake8", "--isolated", "--select", "F,G", ".").stdout
    assert "GCL501" in run("flake8", "--isolated", ".").stdout


def test_own_comments_hold_in_flake8_too(flake8, project):
    (project / "a.py").write_text(trainings.BAD.replace("inner, x)", "inner, x)  # gclint: ignore[GCL501] known"))
    assert flake8(".").stdout == ""


def test_stdin_is_judged_as_the_file_it_stands_for(flake8, project):
    (project / "x.py").write_text("")
    done = flake8("-", "--stdin-display-name", "x.py", input=trainings.BAD)
    assert done.stdout.startswith("x.py:11:16: GCL501") and done.stdout.count("\n") == 1
    assert flake8("-", input=trainings.BAD).stdout.startswith("stdin:11:16: GCL501")
    assert flake8("-", "--stdin-display-name", "x.py", input=trainings.GOOD).stdout == ""


def test_target_versions_and_file_only(flake8, seed):
    assert "GCL201" in flake8("--gclint-file-only", "src/baseline_sft/train_sft_abel.py").stdout
    found = flake8("--gclint-target", "transformers=5.1,torch=2.9", ".")
    assert found.stderr == "" and found.stdout != flake8(".").stdout


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(trainings.BAD.replace("\n", "\r\n").encode(), id="CRLF"),
        pytest.param(b"\xef\xbb\xbf" + trainings.BAD.encode(), id="BOM"),
        pytest.param(b"# -*- coding: latin-1 -*- \xe9\n" + trainings.BAD[13:].encode(), id="latin-1"),
    ],
)
def test_encodings(flake8, project, data):
    (project / "a.py").write_bytes(data)
    assert ":16: GCL501" in flake8("a.py").stdout


def test_a_failure_inside_costs_one_line(flake8, project):
    (project / "a.py").write_text(trainings.BAD)
    (project / "gclint.toml").write_text("selct = []\n")
    done = flake8("--select", "GCL,E9,W2", ".")
    assert done.stdout == "" and done.returncode == 0
    assert done.stderr.count("\n") == 1 and "a.py: not checked, BadConfig:" in done.stderr


def test_a_cache_that_cannot_be_written_changes_no_finding(flake8, project):
    (project / "a.py").write_text(trainings.BAD)
    (project / ".gclint_cache").write_text("in the way")
    assert "GCL501" in flake8(".").stdout


def test_in_pylsp(project):
    pylsp = pytest.importorskip("pylsp.plugins.flake8_lint", reason="python-lsp-server is not installed")
    from pylsp import uris
    from pylsp.config.config import Config
    from pylsp.workspace import Workspace

    (project / "a.py").write_text(trainings.BAD)
    uri = uris.from_fs_path(os.fspath(project / "a.py"))

    class Endpoint:
        def notify(self, *arguments, **options):
            return None

    workspace = Workspace(uris.from_fs_path(os.fspath(project)), Endpoint())
    workspace._config = Config(uris.from_fs_path(os.fspath(project)), {}, 0, {})
    workspace._config.update({"plugins": {"flake8": {"enabled": True, "select": ["GCL"]}}})
    workspace.put_document(uri, trainings.BAD)
    found = pylsp.pylsp_lint(workspace, workspace.get_document(uri))
    assert [(item["code"], item["range"]["start"]) for item in found] == [("GCL501", {"line": 10, "character": 15})]
