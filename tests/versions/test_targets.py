"""Which version a program is judged for, and where that was read."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from packaging.version import Version

from gclint.pins import versions
from gclint.pins.versions import TargetError, targets_for


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def decided(root: Path, package: str, entry: str | None = None) -> tuple[str, str]:
    target = targets_for(root, root / entry if entry else None)[package]
    return str(target.version), target.origin


def test_nothing_pinned_gives_what_is_installed_else_the_newest(tmp_path, monkeypatch):
    versions._without_pin.cache_clear()
    monkeypatch.setattr(versions, "_installed", lambda package, environment: None)
    targets = targets_for(tmp_path)
    assert (str(targets["transformers"].version), targets["transformers"].origin) == ("5.24.0", "newest")
    assert (targets["nobody-knows-it"].version, targets["nobody-knows-it"].origin) == (None, "unknown")
    assert not targets.rocm and targets.rocm_place is None
    versions._without_pin.cache_clear()


def test_installed_package_is_used_without_a_pin(tmp_path):
    assert targets_for(tmp_path)["packaging"].origin == "installed"


def test_bare_requirement_is_no_pin(tmp_path):
    write(tmp_path, {"requirements.txt": "packaging\n"})
    assert targets_for(tmp_path)["packaging"].origin == "installed"


def test_missing_root_and_unreadable_files_say_nothing(tmp_path):
    assert targets_for(tmp_path / "absent").stated == {}
    (tmp_path / "requirements.txt").write_bytes(b"\x00\xff\xfe torch==2.5\n\x80")
    (tmp_path / "pyproject.toml").write_text("[project\n")
    (tmp_path / "setup.py").write_text("def (")
    (tmp_path / "Pipfile.lock").write_text("[1, 2")
    (tmp_path / "environment.yml").mkdir()
    targets_for(tmp_path)


def test_flag_before_configuration_before_pins(tmp_path):
    write(tmp_path, {"requirements.txt": "torch==2.3.0\npeft==0.12.0\ntrl==0.9.6\n"})
    targets = targets_for(tmp_path, None, {"torch": "2.5"}, {"torch": "2.4.0", "Peft": "0.18"})
    assert (str(targets["torch"].version), targets["torch"].origin) == ("2.5.1", "flag")
    assert (str(targets["peft"].version), targets["peft"].origin) == ("0.18.1", "config")
    assert (str(targets["trl"].version), targets["trl"].origin) == ("0.9.6", "requirements.txt:3")


@pytest.mark.parametrize(
    ("asked", "version"),
    [
        ("4", "4.57.6"),
        ("4.44", "4.44.2"),
        ("4.44.0", "4.44.0"),
        (">=4.40,<5", "4.57.6"),
        ("6.1", "6.1"),
        ("v5", "5.24.0"),
    ],
)
def test_spellings_of_an_asked_version(tmp_path, asked, version):
    assert str(targets_for(tmp_path, flag={"transformers": asked}).version("transformers")) == version


@pytest.mark.parametrize("asked", ["new", "", ">=", "1..2"])
def test_unreadable_flag_is_one_clear_line(tmp_path, asked):
    with pytest.raises(TargetError, match=r"--target torch=.*not a version") as caught:
        targets_for(tmp_path, flag={"torch": asked})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("specifier", "version", "oldest"),
    [
        ("transformers<5", "4.57.6", "4.20.0"),
        ("transformers>=4.40", "5.24.0", "4.40.0"),
        ("transformers~=4.44.0", "4.44.2", "4.44.0"),
        ("transformers==4.44.*", "4.44.2", "4.44.0"),
        ("transformers[torch] >= 4.40.1, != 4.57.6, < 5.0", "4.57.5", "4.40.1"),
        ("deepspeed<0.19.3", "0.19.2", "0.9.0"),
        ("transformers==4.99.7", "4.99.7", "4.99.7"),
    ],
)
def test_range_is_decided_by_its_newest_known_release(tmp_path, specifier, version, oldest):
    write(tmp_path, {"requirements.txt": specifier})
    target = targets_for(tmp_path)[specifier.split("[")[0].split("=")[0].split("~")[0].split("<")[0].split(">")[0]]
    assert (str(target.version), str(target.oldest)) == (version, oldest)
    assert target.exact is (version == oldest)


def test_a_range_says_whether_the_answer_differs_inside_it(tmp_path):
    write(tmp_path, {"requirements.txt": "transformers>=4.40\ntorch==2.5.1\n"})
    targets = targets_for(tmp_path)
    assert targets.differs("transformers", "5")
    assert not targets.differs("transformers", "4.40")
    assert not targets.differs("transformers", "9")
    assert not targets.differs("torch", "2.5")
    assert not targets.differs("nobody-knows-it", "1")


def test_range_of_an_unknown_package_decides_nothing(tmp_path):
    write(tmp_path, {"requirements.txt": "mylib>=3\nother==3.1\n"})
    targets = targets_for(tmp_path)
    assert targets.version("mylib") is None and str(targets["mylib"].range) == ">=3"
    assert str(targets.version("other")) == "3.1"


@pytest.mark.parametrize(("asked", "version"), [("0.15.0", "0.15.0"), ("0.15", "None"), (">=0.15.0", "None")])
def test_conda_asks_for_one_release_of_an_unknown_package(tmp_path, asked, version):
    (tmp_path / "environment.yml").write_text(f"dependencies:\n  - torchvision{'' if '>' in asked else '='}{asked}\n")
    assert str(targets_for(tmp_path)["torchvision"].version) == version


def test_nearest_directory_first_and_exact_before_range(tmp_path):
    write(
        tmp_path,
        {
            "requirements.txt": "torch==2.2.0\npeft==0.5.0\n",
            "sft/requirements.txt": "torch>=2.4\n",
            "sft/uv.lock": '[[package]]\nname = "torch"\nversion = "2.4.1"\n',
            "sft/train.py": "",
            "rl/requirements.txt": "torch==1.13.1\n",
        },
    )
    assert decided(tmp_path, "torch", "sft/train.py") == ("2.4.1", "sft/uv.lock:3")
    assert decided(tmp_path, "peft", "sft/train.py") == ("0.5.0", "requirements.txt:2")
    assert decided(tmp_path, "torch") == ("2.2.0", "requirements.txt:1")


def test_development_requirements_come_last(tmp_path):
    write(tmp_path, {"requirements-dev.txt": "torch==2.0.0\n", "requirements-gpu.txt": "torch==2.6.0\n"})
    assert decided(tmp_path, "torch") == ("2.6.0", "requirements-gpu.txt:1")


def test_what_pages_are_built_with_is_not_what_one_trains_with(tmp_path):
    write(tmp_path, {"docs/requirements.txt": "sphinx\nzzz==1.0\n"})
    assert decided(tmp_path, "zzz") == ("None", "unknown")
    write(tmp_path, {"requirements/train.txt": "zzz==1.0\n"})
    assert decided(tmp_path, "zzz") == ("1.0", "requirements/train.txt:1")


def test_nothing_above_the_root_is_read(tmp_path):
    write(tmp_path, {"requirements.txt": "zzz==1.0\n", "project/requirements.txt": "-r ../requirements.txt\n"})
    assert decided(tmp_path / "project", "zzz") == ("None", "unknown")


def test_a_file_or_nothing_as_root_does_not_climb(tmp_path):
    write(tmp_path, {"requirements.txt": "zzz==1.0\n", "train.py": ""})
    assert decided(tmp_path / "train.py", "zzz") == ("None", "unknown")
    assert decided(tmp_path / "absent", "zzz") == ("None", "unknown")


def test_entry_outside_the_root_starts_at_the_root(tmp_path):
    write(tmp_path, {"project/requirements.txt": "torch==2.5.0\n", "x.py": ""})
    assert targets_for(tmp_path / "project", tmp_path / "x.py")["torch"].origin == "requirements.txt:1"


def test_a_changed_file_is_read_again(tmp_path):
    write(tmp_path, {"requirements.txt": "torch==2.5.0\n"})
    assert decided(tmp_path, "torch")[0] == "2.5.0"
    write(tmp_path, {"requirements.txt": "torch==2.6.0 \n"})
    assert decided(tmp_path, "torch")[0] == "2.6.0"


def test_fast_when_there_is_nothing(tmp_path):
    deep = tmp_path / "a" / "b" / "c" / "d"
    deep.mkdir(parents=True)
    (deep / "train.py").write_text("")
    targets_for(tmp_path, deep / "train.py")
    start = time.perf_counter()
    for _ in range(100):
        targets_for(tmp_path, deep / "train.py")
    assert time.perf_counter() - start < 0.5


def test_importing_it_imports_neither_packaging_nor_yaml():
    code = (
        "import sys, gclint.pins.versions, pathlib;"
        "gclint.pins.versions.targets_for(pathlib.Path('.nowhere'));"
        "print([m for m in ('packaging', 'yaml', 'torch', 'transformers') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_target_has_a_range_only_where_more_than_one_release_is_allowed(tmp_path):
    targets = targets_for(tmp_path, flag={"torch": "==2.5.1", "transformers": ">=4.40"})
    assert targets["torch"].range is None
    assert str(targets["transformers"].range) == ">=4.40"


COMPANIONS = [
    ("transformers>=4.37.2\ntokenizers==0.15.1\n", "transformers", "4.39.3"),
    ("transformers>=4.37.2\ntokenizers>=0.15.1\n", "transformers", "5.24.0"),
    ("transformers\nhuggingface-hub==0.25.0\n", "transformers", "4.48.3"),
    ("transformers==4.37.2\ntrl\n", "trl", "0.10.1"),
    ("transformers==4.56.2\ntrl>=0.8\n", "trl", "1.16.0"),
    ("trl==0.29.0\ntransformers>=4.40\n", "transformers", "4.57.6"),
    ("torchvision==0.15.2\ntorch>=1.13\n", "torch", "2.0.1"),
    ("torchvision==0.15.2\ntorch==2.4.0\n", "torch", "2.4.0"),
    ("tokenizers==0.9.0\ntransformers>=4.37.2\n", "transformers", "5.24.0"),
]


@pytest.mark.parametrize(("requirements", "package", "version"), COMPANIONS)
def test_a_release_that_the_pins_beside_it_exclude_is_not_what_runs(tmp_path, requirements, package, version):
    write(tmp_path, {"requirements.txt": requirements})
    assert decided(tmp_path, package)[0] == version


def test_a_range_beside_a_pin_has_both_of_its_ends_there(tmp_path):
    write(tmp_path, {"requirements.txt": "transformers>=4.37.2\ntokenizers==0.19.1\n"})
    target = targets_for(tmp_path)["transformers"]
    assert (str(target.oldest), str(target.version), target.line) == ("4.40.0", "4.44.2", 1)


def test_an_installed_release_that_a_pin_excludes_is_not_what_runs(tmp_path, monkeypatch):
    versions._without_pin.cache_clear()
    monkeypatch.setattr(
        versions, "_installed", lambda package, environment: Version("1.16.0") if package == "trl" else None
    )
    write(tmp_path, {"requirements.txt": "transformers==4.37.2\n"})
    assert decided(tmp_path, "trl") == ("0.10.1", "newest")
    versions._without_pin.cache_clear()
