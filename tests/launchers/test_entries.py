"""How often a program is walked: once where its script and its installed command are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.ir.entries import Entries
from gclint.ir.project import Project
from gclint.source.source import read

PYPROJECT = '[project]\nname = "x"\n[project.scripts]\nfit = "pkg.cli:main"\n'
MAIN = "def main():\n    pass\n\n\n"
GUARD = 'if __name__ == "__main__":\n'


@pytest.mark.parametrize(
    ("end", "functions"),
    [
        ("", ["main"]),
        (f"{GUARD}    main()\n", [""]),
        (f"{GUARD}    sys.exit(main())\n", [""]),
        (f"{GUARD}    main(1)\n", ["", "main"]),
        (f"{GUARD}    prepare()\n    main()\n", ["", "main"]),
        (f"{GUARD}    main()\n    report()\n", ["", "main"]),
        (f"{GUARD}    other()\n", ["", "main"]),
    ],
)
def test_the_script_and_the_command_of_one_function(tmp_path: Path, end: str, functions: list[str]) -> None:
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    file = tmp_path / "pkg" / "cli.py"
    file.parent.mkdir()
    (file.parent / "__init__.py").touch()
    file.write_text(f"import sys\n\n\n{MAIN}{end}")
    entries = Entries(Project(tmp_path, [read(file)]))
    assert [entry.function for entry in entries.of(str(file))] == functions
