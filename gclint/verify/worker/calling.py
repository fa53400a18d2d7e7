"""How a model of the project wants to be called: tried out once, with tokens or numbers, with targets or without."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import torch

from gclint.verify.worker.own import CannotBuild

TARGETS = re.compile(r"labels?|targets?|y|tgt|gold|y_true")
BATCH, LENGTH, IMAGE = 2, 16, 32
Shape = tuple[str, tuple[int, ...]]


class Calling:
    """The arguments that a model takes, by kind and shape, and how its loss is read from what it returns."""

    def __init__(self, arguments: dict[str, Shape], tokens: int):
        self.arguments, self.tokens = arguments, tokens
        self.loss = "its own"

    def batch(self, seed: int, device: Any) -> dict[str, Any]:
        """Random arguments, the same for the same seed."""
        generator = torch.Generator().manual_seed(seed)
        return {name: self._tensor(*shape, generator).to(device) for name, shape in self.arguments.items()}

    def _tensor(self, kind: str, shape: tuple[int, ...], generator: Any) -> Any:
        if kind == "tokens":
            return torch.randint(0, self.tokens, shape, generator=generator)
        return torch.randn(shape, generator=generator)

    def loss_of(self, output: Any) -> Any:
        """The scalar that the model returns as its loss, else the mean square of its first output."""
        found = _scalar(output)
        if found is None:
            self.loss = "the mean square of its output"
            found = _first_tensor(output).float().pow(2).mean()
        return found


def calling_of(model: Any) -> Calling:
    """Try out how a model can be called; raises CannotBuild when nothing fits."""
    last: Exception | None = None
    training = model.training
    state = torch.random.get_rng_state()
    for calling in _candidates(model):
        try:
            with torch.no_grad():
                calling.loss_of(model.eval()(**calling.batch(0, next(model.parameters()).device)))
        except Exception as error:
            last = error
            continue
        finally:
            model.train(training)
            torch.random.set_rng_state(state)
        return calling
    why = "it has no embedding, linear or convolution" if last is None else f"{type(last).__name__}: {last}"
    raise CannotBuild(f"its forward takes neither tokens nor numbers: {why}")


def _candidates(model: Any) -> Iterator[Calling]:
    parameters = [
        each
        for each in inspect.signature(model.forward).parameters.values()
        if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    ]
    targets = [each.name for each in parameters if TARGETS.fullmatch(each.name)]
    inputs = [each.name for each in parameters if each.default is each.empty and each.name not in targets]
    tokens = min((each.num_embeddings for each in model.modules() if isinstance(each, torch.nn.Embedding)), default=2)
    for shape in _shapes(model):
        for target in (("tokens", (BATCH, LENGTH)), ("tokens", (BATCH,)), shape, None):
            if (target is None) == bool(targets):
                continue
            wanted = dict.fromkeys(targets, target) if target is not None else {}
            yield Calling({**dict.fromkeys(inputs, shape), **wanted}, tokens)
        if targets:
            yield Calling(dict.fromkeys(inputs, shape), tokens)


def _shapes(model: Any) -> Iterator[Shape]:
    """Kinds and shapes of the input, the likeliest first, by the first module that has weights."""
    first = next((each for each in model.modules() if hasattr(each, "weight") and each.weight is not None), None)
    if any(isinstance(each, torch.nn.Embedding) for each in model.modules()):
        yield "tokens", (BATCH, LENGTH)
    if isinstance(first, torch.nn.Conv2d):
        yield "numbers", (BATCH, first.in_channels, IMAGE, IMAGE)
    if isinstance(first, torch.nn.Conv1d):
        yield "numbers", (BATCH, first.in_channels, LENGTH)
    linear = next((each for each in model.modules() if isinstance(each, torch.nn.Linear)), None)
    if linear is not None:
        yield "numbers", (BATCH, linear.in_features)
        yield "numbers", (BATCH, LENGTH, linear.in_features)


def _scalar(output: Any) -> Any:
    if torch.is_tensor(output):
        return output if output.numel() == 1 else None
    if getattr(output, "loss", None) is not None and torch.is_tensor(output.loss):
        return output.loss
    held = output.values() if isinstance(output, dict) else output if isinstance(output, (list, tuple)) else ()
    return next((each for each in held if torch.is_tensor(each) and each.numel() == 1), None)


def _first_tensor(output: Any) -> Any:
    if torch.is_tensor(output):
        return output
    held = output.values() if isinstance(output, dict) else output
    return next(each for each in held if torch.is_tensor(each))
