"""Counts the transformers types whose scaled-down model trains a step, and prints those that do not.

python tests/verify/count_architectures.py [TYPE ...]
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

import torch
import transformers
from transformers.models.auto import modeling_auto

from gclint.verify.recipe import ModelSpec
from gclint.verify.worker.build import build
from gclint.verify.worker.loop import make_batch

TIME_LIMIT = 180.0


def wanted() -> list[tuple[str, str]]:
    """Return (type, auto class) of every causal and sequence-to-sequence language model."""
    causal = modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    pairs = [(each, "AutoModelForCausalLM") for each in causal]
    for each in modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES:
        if each not in causal:
            pairs.append((each, "AutoModelForSeq2SeqLM"))
    return pairs


def train(model_type: str, auto_class: str) -> str:
    """Return "" when a step of the scaled-down model gives gradients, else what went wrong."""
    spec = ModelSpec("transformers", auto_class, model_type=model_type, dtype="float32")
    built = build(spec, {}, 0, Path(tempfile.gettempdir()))
    if built.evidence != "architecture":
        return built.name
    model = built.model.train()
    size = sum(each.numel() for each in model.parameters())
    loss = model(**make_batch(model, spec, (2, 16), 0, torch.device("cpu"))).loss
    loss.backward()
    grads = sum(each.grad is not None for each in model.parameters())
    if not torch.isfinite(loss) or not grads:
        return f"loss {float(loss)}, {grads} gradients"
    return "" if size < 30_000_000 else f"{size} parameters"


def in_a_process(model_type: str, auto_class: str) -> str:
    """As `train`, in a fork that is ended after the time limit."""
    path = Path(tempfile.mkstemp()[1])
    child = os.fork()
    if child == 0:
        try:
            text = train(model_type, auto_class)
        except BaseException as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {str(error)[:150]} ({Path(frame.filename).name}:{frame.lineno})"
        path.write_text(json.dumps(text))
        os._exit(0)
    deadline = time.monotonic() + TIME_LIMIT
    while not os.waitpid(child, os.WNOHANG)[0]:
        if time.monotonic() > deadline:
            os.kill(child, 9)
            os.waitpid(child, 0)
            break
        time.sleep(0.02)
    text = path.read_text()
    path.unlink()
    return str(json.loads(text)) if text else "no answer in time"


def main() -> None:
    """Count and print."""
    torch.set_num_threads(1)
    chosen = [pair for pair in wanted() if not sys.argv[1:] or pair[0] in sys.argv[1:]]
    failed = 0
    for model_type, auto_class in chosen:
        text = in_a_process(model_type, auto_class)
        failed += bool(text)
        if text:
            print(f"{model_type}: {text}", flush=True)
    good = len(chosen) - failed
    print(f"{good} of {len(chosen)} types train a step ({good / len(chosen):.0%}), {transformers.__version__}")


if __name__ == "__main__":
    main()
