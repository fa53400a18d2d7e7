"""The table of torch's functions that are gone or warn, called one by one with the torch that is installed."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch
from gclint.rules.versions import legacy_reductions
from gclint.rules.versions.torch_names import GONE_ERRORS, MODULES, NAMES
from packaging.version import Version
from torch.distributed.fsdp import StateDictType

RELEASE = Version(Version(torch.__version__).public)
A = torch.eye(3)
IMAGE = torch.ones(1, 1, 2, 2)
LAYER = torch.nn.Linear(2, 2)
GIVEN: dict[str, tuple[Any, ...]] = {
    **{f"torch.{name}": (A, 1) for name in ("fft", "ifft", "rfft", "irfft")},
    **{f"torch.{name}": (A, A) for name in ("solve", "lstsq", "gels", "chain_matmul", "triangular_solve")},
    "torch.range": (0, 3),
    "torch.lu_solve": (A, *torch.linalg.lu_factor(A)),
    "torch.set_default_tensor_type": (torch.FloatTensor,),
    "torch.ByteStorage.from_buffer": (b"numbers",),
    **{
        f"torch.distributed.fsdp.FullyShardedDataParallel.{name}": (LAYER, StateDictType.FULL_STATE_DICT)
        for name in ("state_dict_type", "set_state_dict_type")
    },
    "torch.testing.assert_allclose": (A, A),
    "torch.backends.cuda.sdp_kernel": (),
    "torch.nn.utils.weight_norm": (torch.nn.Linear(2, 2),),
    "torch.nn.utils.clip_grad_norm": ([torch.nn.Parameter(A)], 1.0),
    "torch.nn.utils.stateless.functional_call": (LAYER, {}, torch.ones(2)),
    **dict.fromkeys(("torch.nn.NLLLoss2d", "torch.cuda.memory_cached", "torch.cuda.max_memory_cached"), ()),
    "torch.nn.functional.upsample": (IMAGE, None, 2),
    "torch.utils._pytree._register_pytree_node": (type("Node", (), {}), lambda x: ((), None), lambda x, y: None),
    "functorch.make_functional": (LAYER,),
    "functorch.make_functional_with_buffers": (LAYER,),
    "functorch.combine_state_for_ensemble": ([LAYER],),
    "functorch.jvp": (torch.sin, (A,), (A,)),
    "functorch.vjp": (torch.sin, A),
    "torch.nn.init.constant": (torch.empty(3, 3), 0.0),
    "torch.nn.init.sparse": (torch.empty(3, 3), 0.1),
    "torch.nn.init.dirac": (torch.empty(3, 3, 3),),
}
FUNCTION = ("custom_fwd", "custom_bwd", *("vmap", "grad", "jacrev", "jacfwd", "hessian", "functionalize"))


def call_of(name: str) -> Callable[[], object]:
    """A call of the function with arguments that it takes, where it is there."""
    owner, _, last = name.rpartition(".")
    given = (torch.sin,) if last in FUNCTION else GIVEN.get(name, (A.clone(),))
    return lambda: getattr(pkgutil.resolve_name(owner), last)(*given)


@pytest.mark.parametrize("name", [name for name, row in NAMES.items() if row.gone])
def test_what_is_gone_raises(name: str) -> None:
    if Version(NAMES[name].gone) > RELEASE:
        pytest.skip("not gone yet")
    with pytest.raises((RuntimeError, AttributeError, TypeError)) as caught:
        call_of(name)()
    shown = f"{caught.type.__name__}: {caught.value}"
    assert shown.startswith(GONE_ERRORS[name.rpartition(".")[2]])


@pytest.mark.parametrize("name", [name for name, row in NAMES.items() if row.since])
def test_what_is_deprecated_warns(name: str) -> None:
    if Version(NAMES[name].since) > RELEASE or (NAMES[name].gone and Version(NAMES[name].gone) <= RELEASE):
        pytest.skip("not deprecated yet, or gone")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        if isinstance(made := call_of(name)(), AbstractContextManager):
            made.__enter__()
    assert [each for each in told if "deprecated" in str(each.message) or "renamed" in str(each.message)]


@pytest.mark.parametrize("name", MODULES)
def test_modules_that_are_gone_cannot_be_imported(name: str) -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)


@pytest.mark.parametrize("name", sorted(legacy_reductions.NAMES))
@pytest.mark.parametrize("given", [{"size_average": False}, {"reduce": False}, {"size_average": True, "reduce": True}])
def test_losses_warn_of_their_old_arguments(name: str, given: dict[str, bool]) -> None:
    """What each says to write instead is what the rule says."""
    made = pkgutil.resolve_name(name)
    numbers = tuple(torch.zeros(2, 3) for _ in range(6))
    call = made if isinstance(made, type) else lambda **options: made(*numbers[: inputs_of(made)], **options)
    meant = "none" if given.get("reduce") is False else "mean" if given.get("size_average", True) else "sum"
    with warnings.catch_warnings(record=True) as told, contextlib.suppress(RuntimeError, ValueError, IndexError):
        warnings.simplefilter("always")
        call(**given)
    assert any(f"reduction='{meant}' instead" in str(each.message) for each in told)


def inputs_of(function: Callable[..., Any]) -> int:
    """How many tensors a loss takes."""
    return sum(each.default is each.empty for each in inspect.signature(function).parameters.values())
