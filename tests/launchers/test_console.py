"""Commands that a project installs, read from its manifests and found in its launchers."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.launch import console_scripts, launches

PYPROJECT = '[project]\nname = "x"\n[project.scripts]\nfit = "pkg.cli:main"\n'


def project(root: Path, **files: str) -> Path:
    for name, text in {"src/pkg/cli.py": "", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", ""),
        ("pyproject.toml", "[project.scripts"),
        ("pyproject.toml", '[project]\nscripts = "no table"\n'),
        ("pyproject.toml", "[project.scripts]\nfit = 3\n"),
        ("pyproject.toml", '[project.scripts]\nfit = "pkg.absent:main"\n'),
        ("pyproject.toml", '[project.scripts]\nfit = "json:loads"\n'),
        ("setup.cfg", "[options.entry_points\n"),
        ("setup.cfg", "[options.entry_points]\npytest11 =\n    fit = pkg.cli:main\n"),
        ("setup.py", "setup(entry_points="),
        ("setup.py", 'setup(entry_points={"console_scripts": NAMES})'),
    ],
)
def test_what_installs_no_command_of_the_project(tmp_path: Path, name: str, text: str) -> None:
    assert console_scripts(project(tmp_path, **{name: text})) == ()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", PYPROJECT),
        ("pyproject.toml", '[project.gui-scripts]\nfit = "pkg.cli:main"\n'),
        ("pyproject.toml", '[tool.poetry.scripts]\nfit = { reference = "pkg.cli:main", type = "console" }\n'),
        ("setup.cfg", "[options.entry_points]\nconsole_scripts =\n    fit = pkg.cli:main [extra]\n"),
        ("setup.py", 'import x\nx.setup(entry_points={"console_scripts": ["fit=pkg.cli:main"]})\n'),
    ],
)
def test_an_installed_command(tmp_path: Path, name: str, text: str) -> None:
    (found,) = console_scripts(project(tmp_path, **{name: text}))
    assert (found.name, found.function, found.program) == ("fit", "main", tmp_path / "src/pkg/cli.py")


@pytest.mark.parametrize(
    "line", ["fit --lr 1", "uv run fit --lr 1", "X=1 poetry run fit --lr 1", "/opt/bin/fit --lr 1"]
)
def test_a_command_in_a_shell_script(tmp_path: Path, line: str) -> None:
    (launch,) = launches(project(tmp_path, **{"pyproject.toml": PYPROJECT, "run.sh": f"{line}\n"}))
    assert (launch.function, launch.arguments, launch.world_size) == ("main", ("--lr", "1"), 1)
    assert launch.program.name == "cli.py"


@pytest.mark.parametrize("line", ["echo fit", "git commit -m fit", "fitness", "# fit"])
def test_another_command_in_a_shell_script(tmp_path: Path, line: str) -> None:
    assert launches(project(tmp_path, **{"pyproject.toml": PYPROJECT, "run.sh": f"{line}\n"})) == []
