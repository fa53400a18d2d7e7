"""The table of public configurations, held to the published numbers of parameters."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers")

from gclint.verify.worker.published import NotPublished, build_config, full_config, part_heads, published

ENTRIES = {entry["names"][0]: entry for entry in published().values()}


def counted(config: object, auto: str) -> int:
    import torch
    import transformers

    with torch.device("meta"):
        model = part_heads(getattr(transformers, auto).from_config(config))
    return sum(each.numel() for each in model.parameters())


@pytest.mark.parametrize("name", ENTRIES)
def test_a_published_config_makes_the_published_number_of_parameters(name: str) -> None:
    entry = ENTRIES[name]
    assert counted(build_config(entry), entry["auto"]) == entry["parameters"]


def test_the_table_is_wide_and_every_entry_says_its_source() -> None:
    assert len(ENTRIES) >= 120
    assert all(entry["source"].startswith("https://huggingface.co/") for entry in ENTRIES.values())


@pytest.mark.parametrize(
    "name",
    ["gpt2-xl", "openai-community/gpt2-xl", "/models/GPT2-XL/", "NousResearch/Meta-Llama-3-8B-Instruct-bnb-4bit"],
)
def test_a_copy_has_the_sizes_of_its_original(name: str) -> None:
    config, how = full_config(name)
    assert how.startswith("published sizes of ") and config.num_hidden_layers in (48, 32)


@pytest.mark.parametrize("name", ["gpt2-xxl", "nobody/llama-new-9b", "my-bert", "gpt2-xl-finetuned-by-me"])
def test_another_name_is_never_its_familys_default(name: str) -> None:
    with pytest.raises(NotPublished, match=f"the sizes of {name} are not known.*--config"):
        full_config(name)


def test_a_given_config_decides(tmp_path: object) -> None:
    full_config("gpt2-medium")[0].save_pretrained(tmp_path)
    config, how = full_config("nobody/new", given=str(tmp_path))
    assert config.n_layer == 24 and how == f"config {tmp_path}"
