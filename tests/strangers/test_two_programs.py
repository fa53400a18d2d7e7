"""What one program of a project saves and another one loads."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from gclint.cli import main

SAVES = """
    import argparse
    import torch
    from torch import nn

    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="")
    args = parser.parse_args()
    net, words = nn.Linear(8, 2), {"a": 0}
    torch.save({"net": net, "words": words}, args.out)
"""

LOADS = """
    import argparse
    import torch
    from torch import nn

    parser = argparse.ArgumentParser()
    parser.add_argument("--net", default="")
    parser.add_argument("--rows", default="rows")
    args = parser.parse_args()
    kept = torch.load(args.net, map_location="cpu")
    net, words = kept["net"], kept["words"]
    rows = {args.rows: torch.zeros(4, 8)}
    torch.save({"train": rows, "made": net(rows[args.rows])}, "cache.bin")
"""


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ('{"train": rows, "made": net(rows[args.rows])}', ["load.py"]),  # dicts with other keys
        ("rows", []),  # a dict with keys that nobody knows
        ('{"net": {**net}, "words": words}', []),  # may be the file itself
        ('{"net": net.state_dict(), "words": words}', ["load.py"]),  # is none: what it loads is a module
    ],
)
def test_a_program_that_saves_other_files_loads_what_another_one_saved(
    tmp_path: Path, made: str, told: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("save.py").write_text(dedent(SAVES))
    Path("load.py").write_text(dedent(LOADS.replace('{"train": rows, "made": net(rows[args.rows])}', made)))
    main(["check", "--no-cache", "--exit-zero", "--select", "GCL307", "--output-format", "concise", "."])
    lines = capfd.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines if "GCL307" in line] == told
