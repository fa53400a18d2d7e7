"""Families whose sizes hang together in their own ways train a step scaled down; the whole count is a script's."""

from __future__ import annotations

import pytest

from gclint.verify.worker.shrink import shrink

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("model_type", "auto_class"),
    [
        ("dots3_note_text", "AutoModelForCausalLM"),
        ("falcon_h1", "AutoModelForCausalLM"),
        ("granitemoehybrid", "AutoModelForCausalLM"),
        ("zamba2", "AutoModelForCausalLM"),
        ("encoder-decoder", "AutoModelForSeq2SeqLM"),
    ],
)
def test_a_family_trains_a_step(model_type: str, auto_class: str) -> None:
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    import count_architectures

    if model_type not in transformers.CONFIG_MAPPING:
        pytest.skip(f"transformers {transformers.__version__} has no {model_type}")
    assert count_architectures.train(model_type, auto_class) == ""


@pytest.mark.parametrize("family", ["Dinov2Config", "BeitConfig", "SwinConfig", "ResNetConfig"])
def test_a_backbone_that_is_saved_scaled_down_is_read_again(family: str) -> None:
    pytest.importorskip("torch")
    config = shrink(getattr(pytest.importorskip("transformers"), family)())
    again = type(config).from_dict(config.to_dict())
    assert again.stage_names == config.stage_names and again.out_features == config.out_features
