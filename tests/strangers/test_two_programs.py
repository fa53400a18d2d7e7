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


OPTIONS = """
    def add_options(parser):
        parser.add_argument("--steps", type=int, default=3)
        parser.add_argument("--clip", type=float, default=0.0)
"""
TRAINS = """
    import argparse
    import torch
    from torch import nn
    {imports}

    def parse():
        parser = argparse.ArgumentParser()
        {adds}
        return parser.parse_args()

    def train(args):
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(args.steps):
            loss = model(torch.ones(2, 4)).sum()
            optimizer.zero_grad()
            loss.backward()
            {clips}
            optimizer.step()

    def show(model):
        print(model)

    if __name__ == "__main__":
        train(parse())
"""
SHARED = {"imports": "from options import add_options", "adds": "add_options(parser)"}
OWN = {
    "imports": "from one import show",
    "adds": "parser.add_argument('--steps', type=int); parser.add_argument('--clip', type=float)",
}
CLIPS = "nn.utils.clip_grad_norm_(model.parameters(), args.clip)"


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        (SHARED | {"clips": ""}, SHARED | {"clips": CLIPS}, []),  # both make the option, and one reads it
        (SHARED | {"clips": ""}, SHARED | {"clips": ""}, ["options.py"]),
        # the other one imports the file, and makes an option of its own, which it reads
        (OWN | {"imports": "", "clips": ""}, OWN | {"clips": CLIPS}, ["one.py"]),
    ],
)
def test_an_option_is_shared_by_the_programs_that_make_it(
    one: dict[str, str],
    other: dict[str, str],
    told: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("options.py").write_text(dedent(OPTIONS))
    Path("one.py").write_text(dedent(TRAINS).format(**one))
    Path("other.py").write_text(dedent(TRAINS).format(**other))
    main(["check", "--no-cache", "--exit-zero", "--select", "GCL719", "--output-format", "concise", "."])
    lines = capfd.readouterr().out.splitlines()
    assert sorted({line.partition(":")[0] for line in lines if "GCL719" in line}) == told
