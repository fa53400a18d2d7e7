"""A setting that a file gives is found there and edited there; the rest of the file stays byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.check.engine import check_paths
from gclint.check.request import Request
from gclint.fix.job import Outcome, fix

TRAIN = """import json, tomllib, yaml
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
from trl import TrlParser

args = {given}
model = get_peft_model(AutoModelForCausalLM.from_pretrained("gpt2"), LoraConfig(task_type="CAUSAL_LM"))
Trainer(model, args, train_dataset=[]).train()
"""
LAUNCH = "torchrun --nproc_per_node=2 train.py\n"
YAML = 'TrainingArguments(**yaml.safe_load(open("conf.yaml")){keys})'
READ = {
    "conf.yaml": YAML,
    "conf.json": 'TrainingArguments(**json.load(open("conf.json")){keys})',
    "conf.toml": 'TrainingArguments(**tomllib.load(open("conf.toml", "rb")){keys})',
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("transformers==4.40\n")
    (tmp_path / "run.sh").write_text(LAUNCH)
    return tmp_path


def written(root: Path, given: str, **files: str) -> None:
    (root / "train.py").write_text(TRAIN.format(given=given))
    for name, text in files.items():
        (root / name.replace("_", ".")).write_bytes(text.encode())


def made(**options: object) -> Outcome:
    return fix(Request(["."], {}, isolated=True, cache=False), **options)  # type: ignore[arg-type]


def places() -> list[tuple[str, str, int, int, int]]:
    found = check_paths(["."]).findings
    return [
        (each.code, each.location.path, each.location.line, each.location.column, each.location.end_column)
        for each in found
    ]


REPLACED = [
    pytest.param(
        "conf.yaml", "",
        "# how\noutput_dir: out\ngradient_checkpointing: true   # saves memory\n\n"
        "gradient_checkpointing_kwargs:\n    # why\n    use_reentrant: yes   # as before\n# the end\n",
        ("yes ", "no "), (3, 1, 29), id="block",
    ),
    pytest.param(
        "conf.yaml", '["runs"][1]["args"]',
        "runs:\n- args: {}\n- name: b\n  args:\n    output_dir: out\n    gradient_checkpointing: True\n"
        "    gradient_checkpointing_kwargs: {use_reentrant: True}\n",
        ("reentrant: True", "reentrant: False"), (6, 5, 33), id="flow, nested in a list",
    ),
    pytest.param(
        "conf.yaml", "",
        "'output_dir': \"a # b\"\r\n'gradient_checkpointing': on\r\n"
        "'gradient_checkpointing_kwargs': {'use_reentrant': on, }\r\n",
        ("nt': on,", "nt': off,"), (2, 1, 29), id="quotes, CRLF",
    ),
    pytest.param(
        "conf.yaml", "",
        "here: &here true\noutput_dir: out\ngradient_checkpointing: *here\n"
        "gradient_checkpointing_kwargs:\n  use_reentrant: *here\n",
        ("nt: *here", "nt: false"), (3, 1, 30), id="an alias is replaced where it stands",
    ),
    pytest.param(
        "conf.json", "",
        '{\n\t"output_dir": "é",\n\t"gradient_checkpointing": true,\n'
        '\t"gradient_checkpointing_kwargs": {"use_reentrant": true}\n}',
        ("nt\": true}", "nt\": false}"), (3, 2, 32), id="JSON with tabs and no end of line",
    ),
    pytest.param(
        "conf.toml", '["train"]',
        '# t\n[other]\nx = """\nuse_reentrant = true\n"""\n\n[train] # here\noutput_dir = "out"\n'
        "gradient_checkpointing = true\n[train.gradient_checkpointing_kwargs]\nuse_reentrant = true # why\n",
        ("true # why", "false # why"), (9, 1, 30), id="TOML table",
    ),
]  # fmt: skip

ADDED = [
    pytest.param(
        "conf.yaml", "",
        "output_dir: out\ntop:\n    x: 1\ngradient_checkpointing: true # on\n\n# the end\n",
        ("true # on\n", "true # on\ngradient_checkpointing_kwargs:\n    use_reentrant: false\n"),
        (4, 1, 29), id="block",
    ),
    pytest.param(
        "conf.yaml", '["runs"][0]',
        "runs:\n- output_dir: out\n  \"gradient_checkpointing\": true\n- x: 1",
        ("true\n", 'true\n  "gradient_checkpointing_kwargs":\n    use_reentrant: false\n'),
        (3, 3, 33), id="item of a list",
    ),
    pytest.param(
        "conf.yaml", "",
        "{output_dir: out,  # one\ngradient_checkpointing: true  # two\n}",
        ("true ", "true,\ngradient_checkpointing_kwargs: {use_reentrant: false} "),
        (2, 1, 29), id="flow on several lines",
    ),
    pytest.param(
        "conf.yaml", "",
        "output_dir: out\ngradient_checkpointing: true\ngradient_checkpointing_kwargs:  # none\nbf16: true",
        ("kwargs:", "kwargs: {use_reentrant: false}"), (2, 1, 29), id="an empty value",
    ),
    pytest.param(
        "conf.json", "",
        '{"output_dir":"out","gradient_checkpointing":true}',
        ("true}", 'true,"gradient_checkpointing_kwargs":{"use_reentrant": false}}'), (1, 21, 50), id="JSON on one line",
    ),
    pytest.param(
        "conf.json", '["a"]',
        '{\n  "a": {\n    "output_dir": "out",\n    "gradient_checkpointing": true\n  }\n}\n',
        ("true\n", 'true,\n    "gradient_checkpointing_kwargs": {"use_reentrant": false}\n'),
        (4, 5, 35), id="JSON in lines",
    ),
    pytest.param(
        "conf.toml", '["a"]',
        '[a]\n  output_dir = "out"\n  gradient_checkpointing=true # on\n\n[b]\nx = 1\n',
        ("# on\n", "# on\n  gradient_checkpointing_kwargs={ use_reentrant = false }\n"), (3, 3, 30), id="TOML table",
    ),
    pytest.param(
        "conf.toml", '["a"]',
        'a = { output_dir = "out", gradient_checkpointing = true }\n',
        ("true }", "true, gradient_checkpointing_kwargs = { use_reentrant = false } }"),
        (1, 27, 56), id="TOML inline table",
    ),
    pytest.param(
        "conf.toml", '["a"]',
        'a.output_dir = "out"\na.gradient_checkpointing = true\n',
        ("= true\n", "= true\na.gradient_checkpointing_kwargs = { use_reentrant = false }\n"),
        (2, 1, 32), id="TOML dotted keys",
    ),
]  # fmt: skip


def check_change(root: Path, given: str, name: str, text: str, after: str, place: tuple[int, ...] = ()) -> None:
    """A finding lies in the file, at a line from a column to a column; the fix edits that alone and is final."""
    written(root, given, **{name.replace(".", "_"): text})
    found = places()
    assert {path for _, path, *_ in found} == {name}
    assert not place or ("GCL201", name, *place) in found
    outcome = made()
    assert [before.path for before, _ in outcome.changes] == [name] and not outcome.refused
    assert (root / name).read_bytes() == after.encode()
    assert places() == [] and made().changes == ()


@pytest.mark.parametrize(("name", "keys", "text", "change", "place"), REPLACED + ADDED)
def test_a_value_is_replaced_and_a_key_added_beside_its_siblings(
    project: Path, name: str, keys: str, text: str, change: tuple[str, str], place: tuple[int, int, int]
) -> None:
    assert text.count(change[0]) == 1
    check_change(project, READ[name].format(keys=keys), name, text, text.replace(*change), place)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param(
            "gradient_checkpointing: true\ngradient_checkpointing_kwargs: &k\n  use_reentrant: true\nother: *k\n",
            "`gradient_checkpointing_kwargs.use_reentrant` is written together with `other.use_reentrant`",
            id="anchor",
        ),
        pytest.param(
            "base: &b {use_reentrant: true}\ngradient_checkpointing: true\n"
            "gradient_checkpointing_kwargs:\n  <<: *b\n",
            "written together with `gradient_checkpointing_kwargs.use_reentrant`", id="merge key",
        ),
        pytest.param(
            "# Generated by make, DO NOT EDIT\ngradient_checkpointing: true\n"
            "gradient_checkpointing_kwargs: {use_reentrant: true}\n",
            "it says that it is generated", id="generated",
        ),
    ],
)  # fmt: skip
def test_a_place_that_cannot_be_edited_is_left_with_a_word(project: Path, text: str, why: str) -> None:
    written(project, YAML.format(keys=""), conf_yaml=text)
    other = "import torch\nimport os\nos.environ['OMP_NUM_THREADS'] = '1'\n"
    (project / "other.py").write_text(other)
    outcome = made()
    assert why in next(each.why for each in outcome.refused if each.chosen.finding.code == "GCL201")
    assert (project / "conf.yaml").read_text() == text
    assert [before.path for before, _ in outcome.changes if before.path == "other.py"] == ["other.py"]


@pytest.mark.parametrize(
    "given", [YAML.format(keys=""), 'HfArgumentParser(TrainingArguments).parse_yaml_file("conf.yaml")[0]']
)
def test_nothing_is_found_where_the_file_says_so(project: Path, given: str) -> None:
    written(
        project, given, conf_yaml="gradient_checkpointing: true\ngradient_checkpointing_kwargs: {use_reentrant: no}\n"
    )
    assert places() == [] and made().changes == ()


def test_a_single_value_keeps_its_place_on_its_way(project: Path) -> None:
    given = 'build(yaml.safe_load(open("conf.yaml"))["train"])'
    helper = (
        "def build(c):\n    on = c['gc']\n    return TrainingArguments(output_dir='o', gradient_checkpointing=on)\n\n\n"
    )
    written(project, given, conf_yaml="train:\n  gc: true\n")
    (project / "train.py").write_text((project / "train.py").read_text().replace("args = ", helper + "args = "))
    assert ("GCL201", "conf.yaml", 2, 3, 11) in places()


@pytest.mark.parametrize(
    ("given", "launch", "name", "text", "after"),
    [
        pytest.param(
            'HfArgumentParser(TrainingArguments).parse_yaml_file("conf.yaml")[0]', LAUNCH, "conf.yaml",
            "gradient_checkpointing: true\n",
            "gradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  use_reentrant: false\n", id="YAML",
        ),
        pytest.param(
            'HfArgumentParser(TrainingArguments).parse_json_file("conf.json")[0]', LAUNCH, "conf.json",
            '{"gradient_checkpointing": true}',
            '{"gradient_checkpointing": true, "gradient_checkpointing_kwargs": {"use_reentrant": false}}',
            id="parse_json_file",
        ),
        pytest.param(
            "TrlParser(TrainingArguments).parse_args_and_config()[0]",
            LAUNCH.replace(".py", ".py --config conf.yaml --bf16 True"), "conf.yaml",
            "gradient_checkpointing: true # on\n",
            "gradient_checkpointing: true # on\ngradient_checkpointing_kwargs:\n  use_reentrant: false\n", id="trl",
        ),
    ],
)  # fmt: skip
def test_parsers_that_read_a_file(project: Path, given: str, launch: str, name: str, text: str, after: str) -> None:
    (project / "run.sh").write_text(launch)
    check_change(project, given, name, text, after)
    assert (project / "run.sh").read_text() == launch
