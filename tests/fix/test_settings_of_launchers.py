"""An option that a command gives is found in the command and edited there; the rest of the file stays byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gclint.check.engine import check_paths
from gclint.check.request import Request
from gclint.cli import main
from gclint.fix.job import Outcome, fix
from gclint.report.formats import FORMATS, render

HEAD = """from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
"""
TAIL = """
model = get_peft_model(AutoModelForCausalLM.from_pretrained("gpt2"), LoraConfig(task_type="CAUSAL_LM"))
Trainer(model, args, train_dataset=[]).train()
"""
PARSED = f"{HEAD}(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(){TAIL}"
ARGPARSE = f"""import argparse
{HEAD}
parser = argparse.ArgumentParser()
parser.add_argument("--gc", ADD)
given = parser.parse_args()
args = TrainingArguments(output_dir="o", gradient_checkpointing=given.gc){TAIL}"""
LAUNCH = "torchrun --nproc_per_node=2 train.py"
FLAG = "--gradient_checkpointing"
NEW = """--gradient_checkpointing_kwargs '{"use_reentrant": false}'"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("transformers==4.40\n")
    (tmp_path / "train.py").write_text(PARSED)
    return tmp_path


def made(**options: object) -> Outcome:
    return fix(Request(["."], {}, isolated=True, cache=False), **options)  # type: ignore[arg-type]


def found(code: str = "GCL201") -> list[tuple[str, int, int, int]]:
    places = [each.location for each in check_paths(["."]).findings if each.code == code]
    return [(each.path, each.line, each.column, each.end_column) for each in places]


@pytest.mark.parametrize(
    ("name", "text", "place", "change"),
    [
        pytest.param(
            "run.sh", f"#!/bin/bash\n# go\n{LAUNCH} --output_dir o --gradient_checkpointing > log # on\necho\n",
            (3, 53, 77), ("checkpointing >", f"checkpointing {NEW} >"), id="one line",
        ),
        pytest.param(
            "run.sh", f"{LAUNCH} \\\n    --output_dir $OUT \\\n    {FLAG} True \\\n    --bf16  2>&1 | tee log\n",
            (3, 5, 34), ("--bf16 ", f"--bf16 \\\n    {NEW} "), id="lines that go on",
        ),
        pytest.param(
            "run.sh", f"""{LAUNCH} {FLAG} {FLAG}_kwargs '{{"use_reentrant": true}}'\n""",
            (1, 38, 62), (": true", ": false"), id="JSON in single quotes",
        ),
        pytest.param(
            "run.sh", f'{LAUNCH} {FLAG} {FLAG}_kwargs="{{\\"use_reentrant\\": true}}"\n',
            (1, 38, 62), ('"{\\"use_reentrant\\": true}"', """'{"use_reentrant": false}'"""), id="JSON in double ones",
        ),
        pytest.param(
            "job.slurm", f"#!/bin/bash\n#SBATCH -N 1\nsrun {LAUNCH} --gradient_checkpointing true\n",
            (3, 43, 72), ("ing true", f"ing true {NEW}"), id="SLURM",
        ),
        pytest.param(
            "Makefile", f"train:\n\t@echo go\n\t{LAUNCH} \\\n\t  --gradient_checkpointing\n",
            (4, 4, 28), ("checkpointing\n", f"checkpointing \\\n\t  {NEW}\n"), id="Makefile",
        ),
        pytest.param(
            "ci.yml", f"jobs:\n  t:\n    steps:\n      - run: |\n          {LAUNCH} {FLAG}\n      - run: echo\n",
            (5, 48, 72), ("checkpointing\n", f"checkpointing {NEW}\n"), id="workflow",
        ),
    ],
)  # fmt: skip
def test_options(project: Path, name: str, text: str, place: tuple[int, int, int], change: tuple[str, str]) -> None:
    (project / name).write_text(text)
    assert found() == [(name, *place)]
    outcome = made()
    assert [before.path for before, _ in outcome.changes] == [name] and not outcome.refused
    assert text.count(change[0]) == 1
    assert (project / name).read_text() == text.replace(*change)
    assert found() == found("GCL601") == [] and made().changes == ()


@pytest.mark.parametrize(
    ("add", "word", "after"),
    [
        pytest.param("type=lambda word: word == 'True'", " --gc True", " --gc False", id="a value"),
        pytest.param("action='store_true'", " --gc", "", id="a switch is taken out"),
        pytest.param("type=int, default=0", " --gc=1", " --gc=0", id="a number"),
    ],
)
def test_options_of_argparse(project: Path, add: str, word: str, after: str) -> None:
    (project / "train.py").write_text(ARGPARSE.replace("ADD", add))
    (project / "run.sh").write_text(f"{LAUNCH}{word}  # go\n")
    assert found() == [("run.sh", 1, 38, 37 + len(word))]
    outcome = made(chosen={"GCL201": "checkpointing-off"})
    assert not outcome.refused
    assert (project / "run.sh").read_text() == f"{LAUNCH}{after}  # go\n"
    assert found() == [] and made().changes == ()


def test_what_the_shell_puts_in_is_left_with_a_word(project: Path) -> None:
    text = (
        f"""KW='{{"use_reentrant": true}}'\n{LAUNCH} --gradient_checkpointing --gradient_checkpointing_kwargs "$KW"\n"""
    )
    (project / "run.sh").write_text(text)
    assert found() == [("run.sh", 2, 38, 62)]
    outcome = made()
    assert {each.why for each in outcome.refused} == {'run.sh: `"$KW"` is put in by the shell: set it there'}
    assert (project / "run.sh").read_text() == text


@pytest.mark.parametrize(
    "text", [f"{LAUNCH} --bf16\n", f"{LAUNCH} --gradient_checkpointing {NEW}\n", "echo --gradient_checkpointing\n"]
)
def test_nothing_is_found_where_the_command_says_so(project: Path, text: str) -> None:
    (project / "run.sh").write_text(text)
    assert found() == [] and made().changes == ()


def test_each_launcher_has_a_finding_of_its_own(project: Path) -> None:
    for name in ("a.sh", "b.sh"):
        (project / name).write_text(f"{LAUNCH} --gradient_checkpointing\n")
    assert [path for path, *_ in found()] == ["a.sh", "b.sh"]
    assert [before.path for before, _ in made().changes] == ["a.sh", "b.sh"]
    assert found() == []


def notebook(*cells: str) -> str:
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell.splitlines(True)} for cell in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4}, indent=1)


def cells(path: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]


def test_a_command_in_a_notebook(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "run.ipynb").write_text(
        notebook("!nvidia-smi", f"x = 1\n!{LAUNCH} \\\n   --gradient_checkpointing\nprint(x)")
    )
    assert main(["check", "--no-cache", "--output-format", "concise", "."]) == 1
    assert "run.ipynb:cell 2:3:4: GCL201" in capsys.readouterr().out
    made()
    assert cells(project / "run.ipynb") == [
        "!nvidia-smi",
        f"x = 1\n!{LAUNCH} \\\n   --gradient_checkpointing {NEW}\nprint(x)",
    ]
    assert found() == [] and made().changes == ()


def test_a_variable_of_a_notebook(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work = "model = torch.nn.Linear(4, 1)\nmodel(torch.ones(2, 4)).sum().backward()"
    (project / "run.ipynb").write_text(notebook("import torch", f"%env OMP_NUM_THREADS=3\n{work}"))
    assert main(["check", "--no-cache", "run.ipynb"]) == 1
    shown = capsys.readouterr().out
    assert "run.ipynb:cell 2:1:1" in shown and "1 | %env OMP_NUM_THREADS=3\n  | ^^^^^^^^^^^^^^^^^^^^^^\n" in shown
    made()
    assert cells(project / "run.ipynb") == ["%env OMP_NUM_THREADS=3\n\nimport torch", work]
    assert found("GCL402") == [] and made().changes == ()


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_names_the_place(project: Path, name: str) -> None:
    (project / "conf").mkdir()
    (project / "run.sh").write_text(f"{LAUNCH} --config conf/my.yaml\n")
    (project / "train.py").write_text(
        f"{HEAD}from trl import TrlParser\nargs = TrlParser(TrainingArguments).parse_args_and_config()[0]{TAIL}"
    )
    (project / "conf" / "my.yaml").write_text("# mine\n\ngradient_checkpointing: true\n")
    text = render(check_paths(["."]), name)
    assert "conf/my.yaml" in text
    line = {
        "json": '"row": 3',
        "json-lines": '"row": 3',
        "sarif": '"startLine": 3',
        "gitlab": '"line": 3',
        "github": "line=3,col=1",
        "junit": 'line="3"',
    }
    assert line.get(name, "conf/my.yaml:3:1") in text


VARIABLE = f"""import os
{HEAD}args = TrainingArguments(output_dir="o", gradient_checkpointing=bool(int(os.environ["GC"]))){TAIL}"""


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        pytest.param("run.sh", f"# GC=1\nexport GC=1  # on\nGC10=2\n{LAUNCH}\n", (2, 8, 12), id="exported"),
        pytest.param("run.sh", f"A=2 GC='1' {LAUNCH}\n", (1, 5, 10), id="in front of the command"),
        pytest.param("Makefile", f"export GC := 1\ntrain:\n\t{LAUNCH}\n", (1, 8, 15), id="Makefile"),
        pytest.param(
            "ci.yml", f'jobs:\n  t:\n    env:\n      GC: "1"\n    steps:\n      - run: {LAUNCH}\n', (4, 7, 13),
            id="workflow",
        ),
        pytest.param("Dockerfile", f"FROM x\nENV GC=1\nCMD {LAUNCH}\n", (2, 5, 9), id="image"),
    ],
)  # fmt: skip
def test_a_variable_that_the_launcher_sets(project: Path, name: str, text: str, place: tuple[int, int, int]) -> None:
    (project / "train.py").write_text(VARIABLE)
    (project / name).write_text(text)
    assert found() == [(name, *place)]
    outcome = made(chosen={"GCL201": "checkpointing-off"})
    assert not outcome.refused
    line = text.splitlines()[place[0] - 1]
    assert (project / name).read_text() == text.replace(line, line.replace("1", "0"))
    assert found() == [] and made().changes == ()


def test_a_variable_of_a_notebook_that_starts_a_program(project: Path) -> None:
    (project / "train.py").write_text(VARIABLE)
    (project / "run.ipynb").write_text(notebook("x = 1\n%env GC=1", f"!{LAUNCH}"))
    assert len(found()) == 1 and found()[0][0] == "run.ipynb"
    made(chosen={"GCL201": "checkpointing-off"})
    assert cells(project / "run.ipynb") == ["x = 1\n%env GC=0", f"!{LAUNCH}"]
    assert found() == [] and made().changes == ()
