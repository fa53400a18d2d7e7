"""Functions and modules of torch that are gone, or that warn that they will go: by name.

What each does was measured on torch 2.13.0 and 2.15.0: those gone raise, the others warn. `gone` and `since` are
releases from which on that surely holds: what went or warned earlier is put at 2.0, but for what the source of 0.4.0
and 0.4.1 shows to warn (torch/nn/init.py, nn/functional.py, nn/utils/clip_grad.py). Below them nothing is said.
`tests/test_torch_names.py` holds the table to the torch that is installed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FULL = re.compile(r"\b[a-z]\w*(?:\.\w+)+")


@dataclass(frozen=True)
class Name:
    """One name: the release from which on it raises (`gone`) or warns (`since`), and what does the same now.

    Of its arguments the first `same` mean the same under the `new` name.
    """

    new: str
    gone: str = ""
    since: str = ""
    same: int = 0

    @property
    def now(self) -> tuple[str, ...]:
        """The full names of what does the same now, that of a module with a dot behind it."""
        end = "." if self.new.startswith("in ") else ""
        return tuple(name + end for name in _FULL.findall(self.new))


ALL = 99
_NO_NAME = "AttributeError: module 'torch' has no attribute"
GONE_ERRORS = {
    **dict.fromkeys(
        ("symeig", "solve", "eig", "lstsq", "matrix_rank", "qr", "cholesky"),
        "RuntimeError: This function was deprecated",
    ),
    **{name: f"{_NO_NAME} '{name}'" for name in ("rfft", "irfft", "ifft", "gels", "btrifact")},
    **{name: f"{_NO_NAME} '{name}'" for name in ("set_deterministic", "is_deterministic")},
    "_accumulate": "AttributeError: module 'torch._utils' has no attribute '_accumulate'",
    "fft": "TypeError: 'module' object is not callable",
}
MODULES = {"torch._six": "ModuleNotFoundError: No module named 'torch._six'"}

NAMES: dict[str, Name] = {
    "torch.symeig": Name("torch.linalg.eigh", gone="2.0"),
    "torch.solve": Name("torch.linalg.solve, with its arguments in the other order", gone="2.0"),
    "torch.eig": Name("torch.linalg.eig, which gives complex numbers", gone="2.0"),
    "torch.lstsq": Name("torch.linalg.lstsq, with its arguments in the other order", gone="2.0"),
    "torch.matrix_rank": Name("torch.linalg.matrix_rank", gone="2.0", same=1),
    "torch.gels": Name("torch.linalg.lstsq, with its arguments in the other order", gone="2.0"),
    "torch.btrifact": Name("torch.linalg.lu_factor", gone="2.0"),
    **{f"torch.{name}": Name("in torch.fft, with complex tensors", gone="2.0") for name in ("fft", "ifft")},
    **{f"torch.{name}": Name("in torch.fft, with complex tensors", gone="2.0") for name in ("rfft", "irfft")},
    "torch.set_deterministic": Name("torch.use_deterministic_algorithms", gone="2.0", same=1),
    "torch.is_deterministic": Name("torch.are_deterministic_algorithms_enabled", gone="2.0", same=ALL),
    "torch._utils._accumulate": Name("itertools.accumulate", gone="2.13"),
    "torch.qr": Name("torch.linalg.qr", since="2.0", gone="2.14", same=1),
    "torch.cholesky": Name("torch.linalg.cholesky", since="2.0", gone="2.14", same=1),
    "torch.range": Name("torch.arange, which leaves out the end", since="2.0"),
    "torch.chain_matmul": Name("torch.linalg.multi_dot", since="2.0"),
    "torch.lu": Name("torch.linalg.lu_factor", since="2.0"),
    "torch.lu_solve": Name("torch.linalg.lu_solve, with its arguments in another order", since="2.13"),
    "torch.triangular_solve": Name("torch.linalg.solve_triangular, with its arguments in the other order", since="2.0"),
    "torch.set_default_tensor_type": Name("torch.set_default_dtype and torch.set_default_device", since="2.1"),
    "torch.ByteStorage.from_buffer": Name("torch.frombuffer, which gives a tensor", since="2.0"),
    "torch.testing.assert_allclose": Name("torch.testing.assert_close", since="2.0"),
    "torch.backends.cuda.sdp_kernel": Name("torch.nn.attention.sdpa_kernel", since="2.3"),
    "torch.nn.utils.weight_norm": Name("torch.nn.utils.parametrizations.weight_norm", since="2.1"),
    "torch.nn.utils.clip_grad_norm": Name("torch.nn.utils.clip_grad_norm_", since="0.4.0", same=ALL),
    "torch.nn.utils.stateless.functional_call": Name("torch.func.functional_call", since="2.0", same=3),
    "torch.nn.NLLLoss2d": Name("torch.nn.NLLLoss", since="0.4.0", same=ALL),
    "torch.nn.functional.upsample": Name("torch.nn.functional.interpolate", since="0.4.1", same=ALL),
    "torch.cuda.memory_cached": Name("torch.cuda.memory_reserved", since="2.0", same=ALL),
    "torch.cuda.max_memory_cached": Name("torch.cuda.max_memory_reserved", since="2.0", same=ALL),
    "torch.cuda.amp.custom_fwd": Name("torch.amp.custom_fwd, with device_type", since="2.4"),
    "torch.cuda.amp.custom_bwd": Name("torch.amp.custom_bwd, with device_type", since="2.4"),
    "torch.utils._pytree._register_pytree_node": Name(
        "torch.utils._pytree.register_pytree_node", since="2.3", same=ALL
    ),
    **{
        f"torch.distributed.fsdp.FullyShardedDataParallel.{name}": Name(
            "torch.distributed.checkpoint.state_dict.get_state_dict and set_state_dict", since="2.4"
        )
        for name in ("state_dict_type", "set_state_dict_type")
    },
    "functorch.make_functional": Name("torch.func.functional_call", since="2.0"),
    "functorch.make_functional_with_buffers": Name("torch.func.functional_call", since="2.0"),
    "functorch.combine_state_for_ensemble": Name("torch.func.stack_module_state", since="2.0"),
}
for _last in ("vmap", "grad", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "functionalize"):
    NAMES[f"functorch.{_last}"] = Name(f"torch.func.{_last}", since="2.0", same=ALL)
for _last in ("uniform", "normal", "constant", "eye", "dirac", "orthogonal", "sparse"):
    NAMES[f"torch.nn.init.{_last}"] = Name(f"torch.nn.init.{_last}_", since="0.4.0", same=ALL)
for _last in ("xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal"):
    NAMES[f"torch.nn.init.{_last}"] = Name(f"torch.nn.init.{_last}_", since="0.4.0", same=ALL)
