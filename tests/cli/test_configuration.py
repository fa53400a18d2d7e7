from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import gclint as package
from gclint.check.selection import selected
from gclint.config import BadConfig, Settings, json_schema, keys
from gclint.config_files import load, nearest
from gclint.source.cache import prepare


def write(tmp_path, text, name="gclint.toml"):
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def test_an_empty_file_is_the_defaults(tmp_path):
    settings = load(write(tmp_path, ""))
    assert settings.select == ("ALL",) and settings.root == str(tmp_path)


def test_every_key(tmp_path):
    write(tmp_path, "", "base.toml")
    (tmp_path / "project").mkdir()
    settings = load(
        write(
            tmp_path / "project",
            """
[tool.gclint]
extend = "../base.toml"
select = ["GCL1"]
ignore = ["GCL102"]
extend-select = ["GCL2"]
fixable = ["ALL"]
unfixable = ["GCL3"]
exclude = ["a"]
extend-exclude = ["b"]
min-certainty = "fails"
unsafe-fixes = true
output-format = "concise"
force-exclude = true
preview = true
cache-dir = ".c"
respect-gitignore = false
[tool.gclint.per-file-ignores]
"tests/*" = ["GCL1"]
[tool.gclint.extend-per-file-ignores]
"docs/*" = ["GCL2"]
[tool.gclint.target]
torch = "2.5"
[tool.gclint.severity]
GCL1 = "note"
""",
            "pyproject.toml",
        )
    )
    assert settings.per_file_ignores == {"tests/*": ("GCL1",)} and settings.target == {"torch": "2.5"}
    changed = [name for name, item in keys().items() if getattr(settings, item.name) != getattr(Settings(), item.name)]
    assert set(keys()) - set(changed) == {"fixable"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nselct = []\n", "gclint.toml:2: unknown key `selct`; did you mean `select`?"),
        ('select = "GCL1"\n', "gclint.toml:1: `select` must be a list, not 'GCL1'"),
        ('select = [\n  "GCL1",\n  "x!",\n]\n', "gclint.toml:3: `select` has 'x!'"),
        ('min-certainty = "fail"\n', "did you mean `fails`?"),
        ("unsafe-fixes = 1\n", "gclint.toml:1: `unsafe-fixes` must be true or false, not 1"),
        (
            "\n[target]\npeft = '1'\ntorch = 2.5\n",
            "gclint.toml:4: `target` for 'torch' must hold strings, not 2.5",
        ),
        (
            "[severity]\nGCL1 = 'warn'\n",
            "gclint.toml:2: `severity` for 'GCL1' must be one of error, warning, note, not 'w",
        ),
        ("[per-file-ignores]\n'a' = 'GCL1'\n", "gclint.toml:2: `per-file-ignores` for 'a' must be a list"),
        ("select = [\n", "gclint.toml: not valid TOML"),
        ("cache-dir = '../../x'\n", "gclint.toml:1: `cache-dir` leads out of"),
        ("cache-dir = 'a/..'\n", "gclint.toml:1: `cache-dir` must name a directory of its own"),
        ("cache-dir = '/etc/x'\n", "gclint.toml:1: `cache-dir` leads out of"),
        (
            'select = [\n  "set-epoch-mising",\n]\n',
            "gclint.toml:2: `select` has 'set-epoch-mising', which is no code and no rule's name; did you mean "
            "`set-epoch-missing`?",
        ),
        ("[per-file-ignores]\n'a' = ['nothing-like-it']\n", "gclint.toml:2: `per-file-ignores` for 'a' has 'nothing-"),
        ("\nextend = 'nowhere.toml'\n", "nowhere.toml: cannot be read (No such file or directory)"),
        ("\nextend = '.'\n", "not a regular file"),
        ("\nextend = 'gclint.toml'\n", "gclint.toml extends itself, by way of "),
    ],
)
def test_mistakes_name_their_line(tmp_path, text, message):
    with pytest.raises(BadConfig) as caught:
        load(write(tmp_path, text))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_lines_in_pyproject_are_those_of_its_own_table(tmp_path):
    path = write(tmp_path, '[tool.ruff]\nselect = ["E"]\n[tool.gclint]\nselect = 1\n', "pyproject.toml")
    with pytest.raises(BadConfig, match=r"pyproject.toml:4: `select` must be a list"):
        load(path)


def test_nearest_wins_and_a_pyproject_without_a_table_is_passed_by(tmp_path):
    write(tmp_path, 'select = ["GCL1"]\n')
    (tmp_path / "a" / "b").mkdir(parents=True)
    write(tmp_path / "a", "[tool.other]\ngclint = 1\n", "pyproject.toml")
    assert nearest(str(tmp_path / "a" / "b"), {}).select == ("GCL1",)
    write(tmp_path / "a" / "b", "", ".gclint.toml")
    assert nearest(str(tmp_path / "a" / "b"), {}).select == ("ALL",)
    assert nearest("/", {}) is None


def test_command_line_over_file():
    file = Settings(select=("GCL1",), ignore=("GCL101",), extend_select=("GCL3",), target={"torch": "2.4"})
    assert file.merged() == file
    given = file.merged(select=("GCL2",), target={"peft": "1"})
    assert (given.select, given.ignore, given.extend_select) == (("GCL2",), (), ())
    assert given.target == {"torch": "2.4", "peft": "1"}
    assert file.merged(ignore=("GCL102",)).ignore == ("GCL101", "GCL102")
    assert file.merged(extend_select=("GCL4",)).extend_select == ("GCL3", "GCL4")
    assert file.merged(extend_select=("GCL101",)).ignore == ()
    assert Settings(exclude=("a",), extend_exclude=("b",)).merged(exclude=("c",)).in_force("exclude") == ("c",)
    assert Settings(extend_exclude=("b",)).merged(extend_exclude=("c",)).in_force("extend_exclude") == ("b", "c")


def extending(tmp_path, base, own, name="project"):
    """The settings of `project/gclint.toml`, which extends `base.toml` beside it."""
    write(tmp_path, base, "base.toml")
    (tmp_path / name).mkdir(exist_ok=True)
    return load(write(tmp_path / name, f'extend = "../base.toml"\n{own}'))


def on(settings):
    codes = ("GCL101", "GCL102", "GCL201", "GCL202")
    return [rule.code[3:] for rule in map(Coded, codes) if rule.code in selected(settings, map(Coded, codes))]


class Coded:
    def __init__(self, code):
        self.code = code


@pytest.mark.parametrize(
    ("base", "own", "expected"),
    [
        ('select = ["GCL1"]', "", "101 102"),
        ('select = ["GCL1"]', 'extend-select = ["GCL201"]', "101 102 201"),
        ('select = ["GCL1"]\nignore = ["GCL101"]', 'ignore = ["GCL102"]', ""),
        ('ignore = ["GCL101"]\nextend-select = ["GCL2"]', 'select = ["GCL1"]', "101 102"),
        ('ignore = ["GCL101"]', 'extend-select = ["GCL101"]', "101 102 201 202"),
        ('ignore = ["GCL101"]', 'extend-select = ["GCL1"]', "101 102 201 202"),
        ('ignore = ["GCL1"]', 'extend-select = ["GCL101"]', "101 201 202"),
        ('select = ["GCL101", "GCL2"]', 'ignore = ["GCL1"]', "201 202"),
        ('select = ["GCL1"]', 'ignore = ["GCL101"]', "102"),
        ('select = ["GCL2"]\nextend-select = ["GCL101"]', 'ignore = ["ALL"]\nextend-select = ["GCL102"]', "102"),
    ],
)
def test_the_selection_of_a_file_is_laid_over_that_which_it_extends(tmp_path, base, own, expected):
    """The outcomes are those of Ruff 0.17 for F401 and F841, E701 and E711 in these places."""
    assert on(extending(tmp_path, base, own)) == expected.split()


def test_what_a_file_says_holds_and_else_what_it_extends(tmp_path):
    base = 'min-certainty = "fails"\ntarget = { torch = "2.5", peft = "0.12" }\npreview = true\nunfixable = ["GCL1"]\n'
    settings = extending(tmp_path, base, 'preview = false\ntarget = { peft = "0.13" }\nunfixable = ["GCL2"]')
    assert (settings.min_certainty, settings.preview, settings.unfixable) == ("fails", False, ("GCL1", "GCL2"))
    assert settings.target == {"torch": "2.5", "peft": "0.13"} and settings.root == str(tmp_path / "project")
    assert extending(tmp_path, base, 'fixable = ["GCL1"]').unfixable == ()


def test_files_extend_one_another_and_say_so_in_a_circle(tmp_path, monkeypatch):
    monkeypatch.setenv("TEAM", str(tmp_path))
    write(tmp_path, '[tool.gclint]\nselect = ["GCL1"]\n', "pyproject.toml")
    write(tmp_path, 'extend = "$TEAM/pyproject.toml"\nignore = ["GCL101"]\n', "base.toml")
    (tmp_path / "project").mkdir()
    assert on(load(write(tmp_path / "project", 'extend = "../base.toml"\n'))) == ["102"]
    write(tmp_path, '[tool.gclint]\nextend = "project/gclint.toml"\n', "pyproject.toml")
    with pytest.raises(BadConfig) as told:
        load(str(tmp_path / "project" / "gclint.toml"))
    place = tmp_path / "project" / "gclint.toml"
    way = f"by way of {tmp_path}/pyproject.toml; take one of the two away"
    assert str(told.value) == f"{place}:1: `extend`: {place} extends itself, {way}"


def test_a_mistake_in_what_is_extended_names_both_files(tmp_path):
    with pytest.raises(BadConfig) as told:
        extending(tmp_path, "\nselct = []\n", "")
    own = tmp_path / "project" / "gclint.toml"
    text = f"{own}:1: `extend`: {tmp_path}/base.toml:2: unknown key `selct`; did you mean `select`?"
    assert str(told.value) == text


def test_patterns_are_those_of_the_file_that_they_stand_in(gclint, project):
    (project / "base.toml").write_text(
        'extend-exclude = ["inner/gone.py", "also.py"]\n'
        'per-file-ignores = { "inner/quiet.py" = ["GCL1"], "named.py" = ["GCL1"] }\n'
    )
    inner = project / "inner"
    inner.mkdir()
    for name in ("gone", "also", "quiet", "named", "loud"):
        (inner / f"{name}.py").write_text("boom()\n")

    def found(own):
        (inner / "gclint.toml").write_text(f'extend = "../base.toml"\n{own}')
        return [
            line.split(":")[0][6:-3]
            for line in gclint("check", "inner", "--output-format", "concise", "-q")[1].split("\n")
        ]

    assert found("") == ["loud", ""]
    assert found('extend-exclude = ["loud.py"]') == [""]
    assert found('exclude = ["loud.py"]') == [""]
    assert found('per-file-ignores = { "loud.py" = ["GCL1"] }') == ["named", "quiet", ""]
    assert found('extend-per-file-ignores = { "loud.py" = ["GCL1"] }') == [""]
    settings = gclint("check", "--show-settings", "inner")[1]
    assert settings.startswith(f"# from: {project}/base.toml, extended by {inner}/gclint.toml\n")
    assert 'extend-exclude = ["inner/gone.py", "also.py"]\n' in settings


def test_an_unknown_code_in_what_is_extended_names_its_file(gclint, project):
    (project / "a.py").write_text("")
    (project / "base.toml").write_text('\nignore = ["GCL999"]\n')
    (project / "gclint.toml").write_text('extend = "base.toml"\nselect = ["GCL1"]\n')
    assert f"{project}/base.toml:2: unknown code `GCL999`" in gclint("check")[2]


def test_schema_is_valid_and_agrees_with_the_checking():
    schema = json_schema()
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate({"select": ["GCL1"], "target": {"torch": "2.5"}}, schema)
    for bad in ({"selct": []}, {"select": "GCL1"}, {"target": {"torch": 2.5}}, {"min-certainty": "x"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)


def test_config_and_clean_commands(gclint, project):
    assert json.loads(gclint("config", "--schema")[1])["title"] == "gclint"
    assert gclint("config", "target")[1].startswith("target: The library versions")
    assert "did you mean `target`" in gclint("config", "taget")[2]
    assert gclint("clean") == (0, f"No cache at {project / '.gclint_cache'}\n", "")


def test_clean_says_what_it_could_not_remove(gclint, project):
    cache = project / ".gclint_cache"
    cache.mkdir()
    (cache / "notes.txt").write_text("mine")
    status, out, err = gclint("clean")
    assert (status, out) == (2, "") and err.startswith(f"gclint: error: {cache}: not removed: ")
    assert err.count("\n") == 1 and (cache / "notes.txt").read_text() == "mine"


def test_clean_says_that_other_files_in_the_cache_stay(gclint, project):
    cache = project / ".gclint_cache"
    prepare(str(cache))
    (cache / "notes.txt").write_text("mine")
    assert gclint("clean") == (0, f"Removed gclint's files from {cache}; others are in it\n", "")
    assert [file.name for file in cache.iterdir()] == ["notes.txt"]


def test_clean_of_what_may_not_be_deleted_is_status_2(gclint, project, monkeypatch):
    cache = project / ".gclint_cache"
    prepare(str(cache))

    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.unlink", refused)
    status, out, err = gclint("clean")
    assert (status, out, err.count("\n")) == (2, "", 1) and f"{cache}: cannot be removed" in err


def test_a_mistake_in_the_configuration_is_status_2(gclint, project):
    (project / "a.py").write_text("")
    (project / "gclint.toml").write_text('select = ["GCL999"]\n')
    status, _, err = gclint("check")
    assert status == 2 and "gclint.toml:1: unknown code `GCL999`" in err


PUBLISHED = Path(package.__file__).with_name("config.schema.json")
WHOLE = """\
extend = "base.toml"
select = ["GCL", "set-epoch-missing"]
min-certainty = "fragile"
target = { torch = "2.5", transformers = "4.44" }
per-file-ignores = { "tests/*" = ["GCL3", "set-epoch-missing"] }
extend-per-file-ignores = { "docs/*" = ["ALL"] }
severity = { GCL501 = "note", set-epoch-missing = "warning" }
"""


def test_the_published_schema_is_as_the_schema_store_asks():
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    schema = json.loads(PUBLISHED.read_text())
    assert schema["$id"] == "https://json.schemastore.org/gclint.json" and "draft-07" in schema["$schema"]
    assert all(key["description"] for key in schema["properties"].values())
    command = [sys.executable, "-m", "check_jsonschema", "--check-metaschema", str(PUBLISHED)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_the_published_schema_is_the_one_in_force():
    assert json.loads(PUBLISHED.read_text()) == json_schema(), "gclint config --schema > gclint/config.schema.json"


@pytest.mark.parametrize(
    ("text", "name", "complaint"),
    [
        (WHOLE, "gclint.toml", ""),
        ("[tool.ruff]\nx = 1\n[tool.gclint]\n" + WHOLE, "pyproject.toml", ""),
        ("selct = []\n", "gclint.toml", "selct"),
        ("[tool.gclint]\ntarget = { torch = 2.5 }\n", "pyproject.toml", "torch"),
        ("select = ['Set-Epoch']\n", "gclint.toml", "Set-Epoch"),
        ("severity = { GCL501 = 'off' }\n", "gclint.toml", "off"),
        ("severity = { Set-Epoch = 'note' }\n", "gclint.toml", "Set-Epoch"),
    ],
)
def test_check_jsonschema_agrees_with_gclint(tmp_path, text, name, complaint):
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    file = write(tmp_path, text, name)
    write(tmp_path, "", "base.toml")
    table = {"properties": {"gclint": {"$ref": PUBLISHED.as_uri()}}}
    whole = tmp_path / "pyproject.schema.json"
    whole.write_text(json.dumps({"properties": {"tool": table}}))
    schema = whole if name == "pyproject.toml" else PUBLISHED
    command = [sys.executable, "-m", "check_jsonschema", "--no-cache", "--schemafile", str(schema), file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == bool(complaint) and complaint in done.stdout, done.stdout + done.stderr
    if complaint:
        with pytest.raises(BadConfig, match=complaint):
            load(file)
    else:
        load(file)
