"""Families whose sizes hang together in their own ways train a step scaled down; the whole count is a script's."""

from __future__ import annotations

import pytest

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
