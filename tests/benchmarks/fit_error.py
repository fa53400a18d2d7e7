"""Holds the estimated memory of a training step against measured runs of models of 60 to 130 M parameters.

python tests/benchmarks/fit_error.py

Each case trains in a process of its own on the CPU. Measured is the growth of the process's peak
resident memory, with malloc told to give every tensor pages of its own, and what forward keeps for backward
(saved_tensors_hooks). The estimate is made before, from fake tensors.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

QWEN = {
    "hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": 12, "num_attention_heads": 12,
    "num_key_value_heads": 4, "vocab_size": 32000, "tie_word_embeddings": True,
}  # fmt: skip
GPT2 = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
T5 = {"dropout_rate": 0.0}
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "qwen2, all parameters": ("qwen2", QWEN, {}),
    "qwen2, checkpointed": ("qwen2", QWEN, {"checkpointing": True}),
    "qwen2, two passes a step": ("qwen2", QWEN, {"accumulate": 2}),
    "qwen2, LoRA": ("qwen2", QWEN, {"lora": True}),
    "qwen2, LoRA, checkpointed": ("qwen2", QWEN, {"lora": True, "checkpointing": True}),
    "qwen2, bfloat16 autocast": ("qwen2", QWEN, {"autocast": "bfloat16"}),
    "gpt2, all parameters": ("gpt2", GPT2, {}),
    "gpt2, checkpointed": ("gpt2", GPT2, {"checkpointing": True}),
    "t5, all parameters": ("t5", T5, {}),
}
SHAPE = (2, 512)


def estimate_and_measure(name: str) -> dict[str, Any]:
    """Return the estimate, the growth of peak resident memory, and what forward kept, in bytes."""
    from gclint.verify.footprint import Sizes
    from gclint.verify.moments import Adapter, Checkpointing, Load
    from gclint.verify.recipe import ModelSpec, Recipe
    from gclint.verify.worker import device
    from gclint.verify.worker.full import footprint

    model_type, overrides, way = CASES[name]
    moments: list[Any] = [Load()]
    moments += [Adapter(targets=("q_proj", "v_proj"), rank=16)] * bool(way.get("lora"))
    moments += [Checkpointing(reentrant=False)] * bool(way.get("checkpointing"))
    spec = ModelSpec("transformers", model_type=model_type, dtype="float32", config=overrides)
    recipe = Recipe(model=spec, moments=tuple(moments))
    sizes = Sizes(*SHAPE, 16, way.get("accumulate", 1), "adamw_torch_fused", way.get("autocast", ""))
    found = footprint(recipe, sizes, device.choose("cpu", 0, 1))
    assert not found.unknown, found.unknown
    return {"estimate": found.tensors, "parameters": found.parameters, **measured(recipe, sizes)}


def measured(recipe: Any, sizes: Any) -> dict[str, int]:
    """Train three steps and return what the last one needed at most, and what forward kept in the second."""
    import torch
    import transformers

    from gclint.verify.worker import limits
    from gclint.verify.worker.build import from_config
    from gclint.verify.worker.full import shaped
    from gclint.verify.worker.saved import SavedBytes
    from gclint.verify.worker.shrink import give_start_token

    config = transformers.CONFIG_MAPPING[recipe.model.model_type](**recipe.model.config)
    give_start_token(config)
    torch.manual_seed(0)
    base = limits.resident_bytes(os.getpid())
    model = shaped(recipe, sizes, from_config(recipe.model, config).float()).train()
    optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], fused=True)
    saved = SavedBytes(list(model.parameters()))
    for number in range(3):
        if number == 2:
            limits.reset_peak()
        with saved.measure() if number == 1 else torch.enable_grad():
            for _ in range(sizes.accumulate):
                tokens = torch.randint(0, 1000, SHAPE)
                with torch.autocast("cpu", torch.bfloat16, enabled=bool(sizes.autocast)):
                    loss = model(input_ids=tokens, attention_mask=torch.ones_like(tokens), labels=tokens).loss
                loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return {"resident": (limits.peak_bytes() or 0) - base, "kept": saved.total}


def main() -> None:
    """Print every case and the largest error."""
    if len(sys.argv) > 1:
        print(json.dumps(estimate_and_measure(sys.argv[1])))
        return
    environment = {
        **os.environ,
        "MALLOC_MMAP_THRESHOLD_": "65536",
        "OMP_NUM_THREADS": "2",
        "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "0",
    }
    worst = 0.0
    for name in CASES:
        made = subprocess.run([sys.executable, __file__, name], env=environment, capture_output=True, text=True)
        if made.returncode:
            raise SystemExit(f"{name}: {made.stderr}")
        found = json.loads(made.stdout.splitlines()[-1])
        error = found["estimate"] / found["resident"] - 1
        worst = max(worst, abs(error))
        mega = [f"{each / 2**20:.0f}" for each in (found["estimate"], found["resident"], found["kept"])]
        said = f"estimated {mega[0]} MiB, measured {mega[1]} MiB ({error:+.1%}), kept by forward {mega[2]} MiB"
        print(f"{name} ({found['parameters'] / 1e6:.0f} M parameters): {said}", flush=True)
    print(f"largest error {worst:.1%}")


if __name__ == "__main__":
    main()
