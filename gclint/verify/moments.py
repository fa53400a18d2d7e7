"""The moments of a training run, in the order in which the run reaches them.

Each is a small frozen record; `do` is its name in JSON. A recipe lists them as the analysed text does, and
leaves out what the text leaves out: the worker loads the model first, builds an optimizer and trains where
no moment says so. Everything here is data: nothing imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, Union

from gclint.verify.codec import from_data

Offload = Literal["none", "some", "all"]
By = Literal["library", "patched-forward", "module-wrapper", "call"]
Style = Literal["partial", "lambda", "late-binding-lambda", "module", "stored-module"]


@dataclass(frozen=True)
class Load:
    """The model is made (from_pretrained, or its class is called).

    `offload` says how many layers end on `offload_to` when the map is applied on the user's machine: the
    analysis knows the map and its conditions, the scaled-down model does not fill a device. `offload_parts`
    names modules of the *full* model ("model.layers.20"); they are scaled to the layers that are left.
    `device_map` and `max_memory` are kept as written, for the report and for devices that can apply them.
    """

    do: ClassVar[str] = "load"
    device_map: str | dict[str, Any] | None = None
    max_memory: dict[str, Any] | None = None
    offload: Offload = "none"
    offload_to: Literal["cpu", "disk"] = "cpu"
    offload_parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Adapter:
    """Adapters are added to the model as it is now. `targets` empty: the library's default for the type.

    `trainable=False` is `PeftModel.from_pretrained` without `is_trainable` or `inference_mode=True`.
    """

    do: ClassVar[str] = "adapter"
    kind: Literal["lora", "dora", "prompt", "prefix", "ia3"] = "lora"
    targets: tuple[str, ...] = ()
    rank: int = 4
    dropout: float = 0.0
    modules_to_save: tuple[str, ...] = ()
    trainable: bool = True


@dataclass(frozen=True)
class Kbit:
    """`prepare_model_for_kbit_training`. `reentrant` None: nothing was passed, so torch's default (True)."""

    do: ClassVar[str] = "kbit"
    checkpointing: bool = True
    reentrant: bool | None = None


@dataclass(frozen=True)
class Freeze:
    """`requires_grad_` is set to `trainable` on `parts`.

    A part is "all", "embeddings", "head", or a piece of a parameter's name with `*` as wildcard.
    """

    do: ClassVar[str] = "freeze"
    parts: tuple[str, ...] = ("all",)
    trainable: bool = False


@dataclass(frozen=True)
class Checkpointing:
    """Activation checkpointing is turned on or off.

    `reentrant` is what the call means on the **target** versions; None is "torch decides" (with its warning).
    `by`: the library's own switch, forwards patched with functools.partial, layers replaced by a module or by
    torch's checkpoint_wrapper, or checkpoint calls in the model's own forward (stand-in models only).
    """

    do: ClassVar[str] = "checkpointing"
    on: bool = True
    reentrant: bool | None = None
    by: By = "library"
    preserve_rng_state: bool = True
    swallow_errors: bool = False


@dataclass(frozen=True)
class InputGrads:
    """`enable_input_require_grads()`, called by the code or by the library's target version."""

    do: ClassVar[str] = "input_grads"
    on: bool = True


@dataclass(frozen=True)
class PatchForward:
    """Every layer's forward is replaced by one that checkpoints the original.

    "partial": functools.partial(checkpoint, layer.forward); "lambda": bound by a default argument;
    "late-binding-lambda": the loop variable is free; "module": a module takes the layer's place;
    "stored-module": as partial, with a copy of the layer stored on it.
    """

    do: ClassVar[str] = "patch_forward"
    style: Style = "partial"
    reentrant: bool | None = None
    preserve_rng_state: bool = True
    swallow_errors: bool = False


@dataclass(frozen=True)
class RestoreForward:
    """The patched forwards (or replaced layers) are put back."""

    do: ClassVar[str] = "restore_forward"


@dataclass(frozen=True)
class SetAttribute:
    """An attribute is assigned on the model or its config, whether or not anything reads it."""

    do: ClassVar[str] = "set_attribute"
    name: str = "gradient_checkpointing"
    value: bool | int | float | str | None = False
    of: Literal["model", "config"] = "model"


@dataclass(frozen=True)
class OverrideCheckpoint:
    """`torch.utils.checkpoint.checkpoint` is replaced by a plain call after the libraries were imported."""

    do: ClassVar[str] = "override_checkpoint"


@dataclass(frozen=True)
class SaveState:
    """The state dict is taken, with the prefix that the code adds or forgets to strip ("module.")."""

    do: ClassVar[str] = "save_state"
    prefix: str = ""


@dataclass(frozen=True)
class LoadState:
    """`load_state_dict`. The state is the last `SaveState`, else one of an untouched model of the same kind.

    `filtered`: keys the model does not have are dropped first; `merged`: the filtered keys are written over
    the model's own state dict (`own.update(...)`), so that nothing ever looks missing.
    """

    do: ClassVar[str] = "load_state"
    strict: bool = True
    filtered: bool = False
    merged: bool = False
    prefix: str = ""


@dataclass(frozen=True)
class Optimizer:
    """The optimizer is built, here, of "all" parameters or those that are "trainable" now."""

    do: ClassVar[str] = "optimizer"
    of: Literal["all", "trainable"] = "trainable"
    name: str = "AdamW"
    learning_rate: float = 1e-2


@dataclass(frozen=True)
class Wrap:
    """The model is wrapped for data parallelism; `by_trainer`: a Trainer does it, its choices spelled out.

    "zero" is DeepSpeed's engine with the given ZeRO `stage`.
    """

    do: ClassVar[str] = "wrap"
    kind: Literal["ddp", "fsdp1", "fsdp2", "zero"] = "ddp"
    stage: int = 2
    find_unused_parameters: bool = False
    static_graph: bool = False
    by_trainer: bool = False


@dataclass(frozen=True)
class Train:
    """The loop, or a round of it: `steps` optimizer steps of `accumulate` backward calls.

    `no_sync`: all but the last of them run under `no_sync()`; `forwards_per_backward`: losses summed before a
    backward; `bypass_wrapper`: the forward goes through `wrapped.module`; `train_mode` None leaves the mode
    as it is (from_pretrained gives eval mode).
    """

    do: ClassVar[str] = "train"
    steps: int = 3
    accumulate: int = 1
    no_sync: bool = False
    forwards_per_backward: int = 1
    train_mode: bool | None = True
    bypass_wrapper: bool = False
    batch_size: int = 2
    sequence_length: int = 16


@dataclass(frozen=True)
class Evaluate:
    """An evaluation between two rounds of the loop: `eval()`, and a forward without gradients."""

    do: ClassVar[str] = "evaluate"


Moment: TypeAlias = Union[  # noqa: UP007
    Load, Adapter, Kbit, Freeze, Checkpointing, InputGrads, PatchForward, RestoreForward, SetAttribute,
    OverrideCheckpoint, SaveState, LoadState, Optimizer, Wrap, Train, Evaluate,
]  # fmt: skip

KINDS: dict[str, type[Any]] = {
    kind.do: kind
    for kind in (
        Load, Adapter, Kbit, Freeze, Checkpointing, InputGrads, PatchForward, RestoreForward, SetAttribute,
        OverrideCheckpoint, SaveState, LoadState, Optimizer, Wrap, Train, Evaluate,
    )
}  # fmt: skip


def moment_from(data: Mapping[str, Any]) -> Moment:
    """Return the moment that `data` describes; raise ValueError for an unknown `do` or field."""
    kind = KINDS.get(str(data.get("do")))
    if kind is None:
        raise ValueError(f"unknown moment {data.get('do')!r}; known: {', '.join(KINDS)}")
    moment: Moment = from_data(kind, data)
    return moment
