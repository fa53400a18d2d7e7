"""What a build system's sandbox leaves: files by name, links in their place, nothing to write to, no network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
import trainings

CODES = ["GCL201", "GCL601", "GCL701", "GCL702"]
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec "$@"'


@pytest.fixture
def tree(project):
    shutil.copytree(trainings.SEED, project, dirs_exist_ok=True)
    return project


@pytest.fixture
def linked(tree, tmp_path):
    """The same as Bazel lays it out: a directory of its own, each file in it a link to the one in the tree."""
    forest = tmp_path / "sandbox"
    for file in tree.rglob("*"):
        if file.is_file():
            place = forest / file.relative_to(tree)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(file)
    return forest


def sandboxed(directory, *arguments):
    """Run a module of this Python in a directory that cannot be written, without network, home and variables."""
    command = ["unshare", "--map-root-user", "--net", "--mount", "sh", "-c", READ_ONLY, str(directory)]
    probe = subprocess.run([*command, "true"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip(f"no namespaces here: {probe.stderr.decode().strip()}")
    places = {"PATH": os.defpath, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    return subprocess.run(
        [*command, sys.executable, "-m", *arguments], capture_output=True, text=True, env=places, check=False
    )


pytestmark = pytest.mark.skipif(not shutil.which("unshare"), reason="unshare is not here")


def codes(text):
    return sorted(line.split(" ")[1] for line in text.splitlines() if ": GCL" in line)


def test_a_tree_that_cannot_be_written(tree):
    made = sandboxed(tree, "gclint", "check", "--output-format", "concise", ".")
    assert (made.returncode, made.stderr, codes(made.stdout)) == (1, "", CODES)
    shown = sandboxed(tree, "gclint", "fix", "--diff", ".")
    assert (shown.returncode, shown.stderr) == (1, "Would apply 2 fixes in 2 files.\n")
    assert "use_reentrant" in shown.stdout
    assert codes(sandboxed(tree, "flake8", "--isolated", "--select", "GCL", "-j", "1", ".").stdout) == CODES
    refused = sandboxed(tree, "gclint", "fix", ".")
    assert refused.returncode == 2 and "Traceback" not in refused.stderr and refused.stderr.startswith("gclint: error:")


def test_a_list_of_files_that_are_links(linked):
    named = [str(file.relative_to(linked)) for file in sorted(linked.rglob("*")) if file.is_file()]
    made = sandboxed(linked, "gclint", "check", "--output-format", "concise", *named)
    assert (made.returncode, made.stderr, codes(made.stdout)) == (1, "", CODES)
    python = [name for name in named if name.endswith(".py")]
    assert codes(sandboxed(linked, "flake8", "--isolated", "--select", "GCL", "-j", "1", *python).stdout) == CODES
