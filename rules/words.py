"""Words that the gates of several rules share: without one of each set the state they stand for cannot arise.

A word is any piece of text, so that `.forward =` tells an assignment from the thousands of methods of this name.
"""

from __future__ import annotations

from gclint.frameworks.trl import CHECKPOINT_BY_DEFAULT
from gclint.ir.gate import unless, where

SCALERS = ("NativeScaler", "ApexScaler")
"""timm's, which go backward and step."""
BACKWARD = (".backward", "import backward", '"backward"', "'backward'", *SCALERS)
STEP = (".step", *SCALERS)
TRAINS = (*BACKWARD, "Trainer", "LightningCLI")
LEARNS = (*TRAINS, "training_step", "compute_loss")
"""What trains, and what frameworks call to do so."""
USES_A_MODEL = (*TRAINS, "no_grad", "inference_mode", ".eval()", "load_state_dict", ".generate(", "pipeline(")
"""What trains a model, or evaluates it."""
STEPS = (*STEP, "Trainer", "LightningCLI")
LOSSES = (
    *(
        "CrossEntropyLoss",
        "cross_entropy",
        "NLLLoss",
        "nll_loss",
        "BCELoss",
        "BCEWithLogitsLoss",
        "KLDivLoss",
        "kl_div",
    ),
    *("MSELoss", "mse_loss", "L1Loss", "l1_loss", "HuberLoss", "huber_loss"),
)
CHECKPOINTS = (
    "utils.checkpoint",
    "torch.utils import",
    "torch.utils as",
    "import torch.utils\n",
    "torch import utils",
    ", utils",
    "checkpoint_wrapper",
    "checkpoint_sequential",
    "apply_activation_checkpointing",
)
TURNS_ON = (
    "checkpoint",
    "checkpoint_sequential",
    "checkpoint_wrapper",
    "apply_activation_checkpointing",
    "gradient_checkpointing",
    "gradient_checkpointing_enable",
    "activation_checkpointing",
    "activation_checkpointing_enable",
    "enable_gradient_checkpointing",
    "use_gradient_checkpointing",
    "set_grad_checkpointing",
    "prepare_model_for_kbit_training",
    *CHECKPOINT_BY_DEFAULT,
)
LIBRARIES = (
    "from transformers",
    "import transformers",
    "from trl",
    "import trl",
    "from peft",
    "import peft",
    "unsloth",
    "diffusers",
)


def assigned(name: str, *but: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ways in which an attribute `name` is written to: by assignment but of these texts, or by its name in
    quotes, which `setattr` takes.
    """
    plain = (
        *(unless(f".{name}{end}", "=", *but) for end in (" =", "=")),
        unless(f".{name}:", "\n"),
        f".{name},",
        f".{name})",
    )
    return (*plain, f'"{name}"', f"'{name}'"), (*plain, "setattr")


def as_statement(method: str) -> str:
    """The call of a method with which a statement begins: what it gives is not kept, unless the text goes on."""
    steps = r"(?:\.\w+|\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\]|\((?:[^()\n]|\([^()\n]*\))*\))*"
    return where(f".{method}(", rf"(?:.*[;:])?[ \t]*\(*[^\W\d]\w*{steps}\.{method}\(")
