"""Configurations written in Python come out as hydra itself puts them together."""

from __future__ import annotations

import copy
import runpy
from pathlib import Path
from typing import Any

import pytest
from both import printed, run_of

from gclint.run.values import Const, Object, Value, of

HEAD = """
from dataclasses import dataclass, field
from typing import Any
import hydra
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

@dataclass
class Net:
    name: str = "small"
    depth: int = 2
    width: Any = None

@dataclass
class Deep(Net):
    name: str = "deep"
    depth: int = 9

@dataclass
class Optim:
    lr: float = 0.1
    betas: list = field(default_factory=lambda: [0.9, 0.99])

store = ConfigStore.instance()
"""
GROUPS = """
store.store(group="net", name="small", node=Net)
store.store(group="net", name="deep", node=Deep(width=3))
store.store("wide", Net(width=8), "net")
"""
LISTED = """
@dataclass
class Settings:
    defaults: list = field(default_factory=lambda: [{"net": "small"}, "_self_"])
    net: Net = MISSING
    seed: int = 1
store.store(name="config", node=Settings)
"""
MODULE_LIST = """
defaults = ["_self_", {"net": MISSING}]
@dataclass
class Settings:
    defaults: list = field(default_factory=lambda: defaults)
    net: Any = MISSING
    rate: Any = "${optim.lr}"
    optim: Optim = field(default_factory=Optim)
store.store(name="config", node=Settings)
"""
PROGRAMS = {
    "a class": ('store.store(name="config", node=Optim)', None, ()),
    "an object": ('store.store(name="config", node=Optim(lr=1.5))', None, ()),
    "a dict": ('store.store(name="config.yaml", node={"a": {"b": 1}})', None, ("a.b=2", "+a.c=x")),
    "fields of their own": (
        "@dataclass\nclass Settings:\n    net: Net = field(default_factory=Deep)\n    optim: Optim = "
        'field(default_factory=lambda: Optim(lr=3.0))\nstore.store(name="config", node=Settings)',
        None,
        ("net.width=4",),
    ),
    "nothing by default": (GROUPS + LISTED, None, ()),
    "another option": (GROUPS + LISTED, None, ("net=deep", "net.depth=5")),
    "a positional group": (GROUPS + LISTED, None, ("net=wide",)),
    "an option that must be given": (GROUPS + MODULE_LIST, None, ("net=deep",)),
    "an option that is added": (GROUPS + 'store.store(name="config", node={"lr": 1})', None, ("+net=small",)),
    "a package": (
        'store.store(group="net", name="small", node=Net, package="model.body")\n'
        'store.store(name="config", node={"defaults": [{"net": "small"}, "_self_"], "seed": 1})',
        None,
        (),
    ),
    "all over": (
        'store.store(group="experiment", name="long", node={"seed": 7}, package="_global_")\n'
        'store.store(name="config", node={"defaults": ["_self_"], "seed": 1})',
        None,
        ("+experiment=long",),
    ),
    "a schema under a file": (
        GROUPS + 'store.store(name="schema", node=Deep)',
        {"config.yaml": "defaults:\n  - schema\n  - _self_\ndepth: 5\n"},
        (),
    ),
    "a schema under an option's file": (
        GROUPS,
        {
            "config.yaml": "defaults:\n  - net: mine\n  - _self_\nseed: 1\n",
            "net/mine.yaml": "defaults:\n  - deep\n  - _self_\nwidth: 11\n",
        },
        ("net.name=x",),
    ),
    "a file before what is stored": (
        'store.store(name="other", node={"a": 1})',
        {"config.yaml": "defaults:\n  - other\n  - _self_\n", "other.yaml": "a: 2\n"},
        (),
    ),
}


def data(value: Value) -> Any:
    """An abstract configuration as plain data, "???" for what is unknown."""
    item = value.only()
    if isinstance(item, Const):
        return item.value
    if isinstance(item, Object) and item.entries is not None:
        return {key: data(each) for key, each in item.entries.items()}
    if isinstance(item, Object) and item.items is not None:
        return [data(each) for each in item.items]
    return "???"


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_what_hydra_makes(name: str, tmp_path: Path) -> None:
    pytest.importorskip("hydra")
    from hydra.core.config_store import ConfigStore
    from hydra.core.plugins import Plugins
    from omegaconf import OmegaConf

    Plugins.instance()  # which stores hydra's own configurations, once
    body, files, words = PROGRAMS[name]
    for path, text in (files or {}).items():
        (tmp_path / "conf" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "conf" / path).write_text(text)
    place = '"conf"' if files else "None"
    text = f"{HEAD}{body}\nwith hydra.initialize(version_base=None, config_path={place}):\n"
    text += f'    made = hydra.compose("config", overrides={list(words)})\nprint(made)\n'
    told = data(of(printed(run_of(text, tmp_path))))
    held, ConfigStore.instance().repo = ConfigStore.instance().repo, copy.deepcopy(ConfigStore.instance().repo)
    try:
        made = runpy.run_path(str(tmp_path / "train.py"))["made"]
    finally:
        ConfigStore.instance().repo = held
    assert told == OmegaConf.to_container(made, resolve=True)
