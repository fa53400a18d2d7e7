"""Hydra configurations come out as hydra itself puts them together."""

from __future__ import annotations

from pathlib import Path

import pytest

from gclint.run.hydra_configs import composed

FILES = {
    "config.yaml": "defaults:\n  - model: small\n  - optional data: absent\n  - base\n  - _self_\nlr: 0.1\n"
    "name: ${model.name}\nwhole: ${model}\n",
    "last.yaml": "defaults:\n  - model: small\nmodel:\n  depth: 9\n",
    "given.yaml": "defaults:\n  - base\n  - _self_\nlr: ???\n",
    "tried.yaml": "defaults:\n  - model: small\n  - experiment: null\n  - _self_\nlr: 0.1\n",
    "base.yaml": "seed: 1\nlr: 5\n",
    "model/small.yaml": "name: small\ndepth: 2\n",
    "model/large.yaml": "defaults:\n  - small\n  - head: wide\nname: large\n",
    "model/head/wide.yaml": "width: 8\n",
    "model/head/thin.yaml": "width: 2\n",
    "experiment/deep.yaml": "# @package _global_\ndefaults:\n  - override /model: large\nlr: 3\nextra: {a: 1}\n",
    "parts.yaml": "defaults:\n  - data: whole\n  - experiment: null\n  - _self_\n",
    "data/whole.yaml": "defaults:\n  - sets@first: one\n  - sets@second: two\nkind: pair\n",
    "data/sets/one.yaml": "one: {size: 1}\n",
    "data/sets/two.yaml": "two: {size: 2}\n",
    "data/sets/three.yaml": "three: {size: 3}\n",
    "experiment/thirds.yaml": "# @package _global_\ndefaults:\n  - override /data/sets@data.first: three\n",
    "elsewhere.yaml": "defaults:\n  - model@net.body: small\n  - _self_\nnet:\n  body:\n    depth: 4\n",
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_what_is_not_there(directory: Path) -> None:
    assert composed(directory, "absent") is None
    assert composed(directory / "nowhere", "config") is None


def test_what_a_user_copies_stands_for_what_is_not_there(directory: Path) -> None:
    (directory / "own.example.yaml").write_text("defaults:\n  - model: mine\n  - _self_\nlr: 2\n")
    (directory / "model" / "mine.template.yaml").write_text("name: mine\n")
    assert composed(directory, "own") == {"model": {"name": "mine"}, "lr": 2}
    (directory / "own.yaml").write_text("lr: 3\n")
    assert composed(directory, "own") == {"lr": 3}


def test_links_are_followed_within_the_project(directory: Path) -> None:
    place = directory / "program" / "configs"
    place.mkdir(parents=True)
    (place / "config.yaml").write_text("defaults:\n  - model: small\n")
    (place / "model").symlink_to(directory / "model")
    assert composed(place, "config", root=directory) == {"model": {"name": "small", "depth": 2}}
    assert composed(place, "config", root=directory / "program") == {}
    assert composed(place, "../../base", root=directory) is None


def test_of_a_choice_that_only_the_shell_knows_the_default_stands_for_any(directory: Path) -> None:
    assert composed(directory, "config", ["model=${MODEL}"]) == composed(directory, "config")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("config", ()),
        ("config", ("lr=0.5", "model.depth=3")),
        ("config", ("model=large",)),
        ("config", ("model=large", "model/head=thin")),
        ("config", ("+added.key=true", "++lr=1e-3")),
        ("config", ("+experiment=deep",)),
        ("last", ()),
        ("given", ()),
        ("tried", ()),
        ("tried", ("experiment=deep",)),
        ("elsewhere", ()),
        ("parts", ()),
        ("parts", ("data/sets@data.second=three",)),
        ("parts", ("experiment=thirds",)),
        ("parts", ("experiment=thirds", "data/sets@data.first=two")),
        ("parts", ("+data/sets@third=one",)),
    ],
)
def test_it_is_what_hydra_makes(directory: Path, name: str, words: tuple[str, ...]) -> None:
    hydra = pytest.importorskip("hydra")
    from omegaconf import OmegaConf

    with hydra.initialize_config_dir(str(directory), version_base=None):
        made = hydra.compose(name, overrides=list(words))
    assert composed(directory, name, words) == OmegaConf.to_container(made, resolve=True)
