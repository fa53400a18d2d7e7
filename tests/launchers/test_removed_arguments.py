"""A script gives a setting that the library took once, to a parser of the project's own settings classes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """from dataclasses import dataclass, field

from transformers import HfArgumentParser, Trainer, TrainingArguments


@dataclass
class Data:
    path: str = field(default="")
{data}

@dataclass
class Settings(TrainingArguments):
    folder: str = field(default="")
{own}

def main():
    parser = HfArgumentParser((Data, Settings))
    {objects} = parser.parse_args_into_dataclasses({options})
    Trainer(model=build(data), args=settings, train_dataset=data.path).train()


if __name__ == "__main__":
    main()
"""
SCRIPT = 'torchrun --nproc_per_node=8 train.py \\\n  --output_dir out \\\n  --evaluation_strategy "no" --folder x\n'
FIELD = '    evaluation_strategy: str = field(default="no")\n'
PLAIN = {"data": "", "own": "", "objects": "data, settings", "options": ""}


def _found(project: Path, **parts: str) -> list[tuple[str, int, str]]:
    (project / "train.py").write_text(PROGRAM.format(**{**PLAIN, **parts}))
    (project / "run.sh").write_text(SCRIPT)
    (project / "requirements.txt").write_text("transformers==4.57.6\n")
    asked = [
        sys.executable,
        "-m",
        "gclint",
        "check",
        "--no-cache",
        "--output-format",
        "json",
        "--select",
        "GCL901",
        ".",
    ]
    done = subprocess.run(asked, cwd=project, capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)
    assert not done.stderr
    return [(Path(each["filename"]).name, each["location"]["row"], each["symptom"]) for each in told]


@pytest.mark.parametrize(
    "parts",
    [
        {"own": FIELD},
        {"data": FIELD},
        {"objects": "data, settings, left", "options": "return_remaining_strings=True"},
    ],
)
def test_what_a_class_of_the_project_takes_or_the_parser_leaves_over_is_fine(
    tmp_path: Path, parts: dict[str, str]
) -> None:
    assert _found(tmp_path, **parts) == []


@pytest.mark.parametrize("options", ["", "return_remaining_strings=False"])
def test_it_is_told_where_the_script_gives_it_and_what_the_parser_raises(tmp_path: Path, options: str) -> None:
    told = _found(tmp_path, options=options)
    assert told == [("run.sh", 3, "ValueError: evaluation_strategy is not used by the HfArgumentParser")]


@pytest.mark.slow
def test_the_installed_parser_raises_so() -> None:
    transformers = pytest.importorskip("transformers")
    parser = transformers.HfArgumentParser((transformers.TrainingArguments,))
    with pytest.raises(ValueError, match=r"not used by the HfArgumentParser: .*evaluation_strategy"):
        parser.parse_args_into_dataclasses(["--output_dir", "out", "--evaluation_strategy", "no"])
