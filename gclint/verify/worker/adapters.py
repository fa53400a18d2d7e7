"""Adapters, k-bit preparation, frozen parts and input gradients."""

from __future__ import annotations

import fnmatch
from typing import Any

from gclint.verify.moments import Adapter, Freeze, InputGrads, Kbit
from gclint.verify.worker.forwards import enable_library
from gclint.verify.worker.stage import Stage


def adapt(stage: Stage, moment: Adapter) -> None:
    """Add adapters with peft; B is drawn at random so that every adapter tensor gets a gradient."""
    import peft
    import torch

    torch.manual_seed(stage.recipe.seed + 1)
    if moment.kind in ("prompt", "prefix"):
        kind = peft.PromptTuningConfig if moment.kind == "prompt" else peft.PrefixTuningConfig
        config = kind(task_type="CAUSAL_LM", num_virtual_tokens=4)
    else:
        config = _low_rank(stage, moment)
    stage.model = peft.get_peft_model(stage.model, config)
    if not moment.trainable:
        for parameter in stage.model.parameters():
            parameter.requires_grad_(False)
    stage.wrapped = stage.model


def _low_rank(stage: Stage, moment: Adapter) -> Any:
    import peft

    targets: Any = list(moment.targets)
    names = {name.rpartition(".")[2] for name, _ in stage.model.named_modules()}
    if moment.targets == ("all-linear",):
        targets = "all-linear"
    elif targets and not names & set(targets):
        stage.run.limits.append(f"adapter targets {', '.join(targets)} are not in this model: all linear layers")
        targets = "all-linear"
    common = {"target_modules": targets or None, "modules_to_save": list(moment.modules_to_save) or None}
    if stage.run.evidence == "stand-in" and not targets:
        common["target_modules"] = ["q_proj", "v_proj"]
    if moment.kind == "ia3":
        return peft.IA3Config(feedforward_modules=[], **common)
    return peft.LoraConfig(
        r=moment.rank,
        lora_dropout=moment.dropout,
        use_dora=moment.kind == "dora",
        init_lora_weights=False,
        **common,
    )


def prepare_kbit(stage: Stage, moment: Kbit) -> None:
    """`prepare_model_for_kbit_training` of a quantised model; of another one, what it would do besides."""
    import torch

    if getattr(stage.model, "is_quantized", False):
        import peft

        keywords = (
            {} if moment.reentrant is None else {"gradient_checkpointing_kwargs": {"use_reentrant": moment.reentrant}}
        )
        stage.model = peft.prepare_model_for_kbit_training(  # noqa: GCL602
            stage.model, use_gradient_checkpointing=moment.checkpointing, **keywords
        )
        return
    for parameter in stage.model.parameters():
        parameter.requires_grad_(False)
        if parameter.dtype in (torch.float16, torch.bfloat16):
            parameter.data = parameter.data.to(torch.float32)
    if moment.checkpointing:
        require_input_grads(stage, InputGrads())
        enable_library(stage, moment.reentrant, preserve=True)


def freeze(stage: Stage, moment: Freeze) -> None:
    """Set requires_grad on the named parts."""
    for part in moment.parts:
        for parameter in _part(stage.model, part):
            parameter.requires_grad_(moment.trainable)


def require_input_grads(stage: Stage, moment: InputGrads) -> None:
    """Enable or disable gradients at the embedding's output."""
    name = "enable_input_require_grads" if moment.on else "disable_input_require_grads"
    if hasattr(stage.model, name):
        getattr(stage.model, name)()


def _part(model: Any, part: str) -> list[Any]:
    if part == "all":
        return list(model.parameters())
    if part == "embeddings":
        return list(model.get_input_embeddings().parameters())
    if part == "head":
        head = getattr(model, "get_output_embeddings", lambda: getattr(model, "lm_head", None))()
        return [] if head is None else list(head.parameters())
    return [each for name, each in model.named_parameters() if fnmatch.fnmatch(name, f"*{part}*")]
