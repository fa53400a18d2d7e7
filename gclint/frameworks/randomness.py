"""What seeds random numbers and what draws them, by the generator that is shared by a whole process.

`set_seed` of transformers and accelerate (accelerate 1.15, utils/random.py), Lightning's `seed_everything`, a Fabric's
among them (2.6), and lhotse's `fix_random_seed` (lhotse 1.31, utils.py) seed Python's, NumPy's and torch's; all
processes alike, unless accelerate is told `device_specific=True`.
"""

from __future__ import annotations

from ..run.events import LibraryCall

GENERATORS = ("numpy.random.", "random.", "torch.")
"""The generators of a process, each by what stands before the names of its functions."""
_SEEDS = {
    "numpy.random.seed": ("numpy.random.",),
    "random.seed": ("random.",),
    "imgaug.seed": ("imgaug.",),
    "imgaug.random.seed": ("imgaug.",),
    "torch.manual_seed": ("torch.",),
    "torch.random.manual_seed": ("torch.",),
    "torch.cuda.manual_seed": ("torch.",),
    "torch.cuda.manual_seed_all": ("torch.",),
}
_SEEDS_ALL = {
    "transformers": "set_seed",
    "accelerate": "set_seed",
    "lhotse": "fix_random_seed",
    "fabric": "seed_everything",
    "lightning": "seed_everything",
    "lightning_fabric": "seed_everything",
    "pytorch_lightning": "seed_everything",
}
_TORCH_DRAWS = ("rand", "randn", "randint", "randperm", "normal", "multinomial", "bernoulli", "rand_like", "randn_like")
DRAWN_IN_PLACE = (
    *("normal_", "uniform_", "random_", "bernoulli_", "exponential_", "cauchy_", "geometric_", "log_normal_"),
)
"""Methods of a tensor that put random numbers into it (torch.Tensor's docs)."""
NO_DRAWS = ("seed", "get_state", "set_state", "getstate", "setstate", "default_rng", "SystemRandom", "SeedSequence")


def seeded_by(event: LibraryCall) -> tuple[str, ...]:
    """The generators that a call seeds; none for any other call."""
    top, last = event.name.partition(".")[0], event.name.rpartition(".")[2]
    return GENERATORS if _SEEDS_ALL.get(top) == last else _SEEDS.get(event.name, ())


def draws(event: LibraryCall, generator: str) -> bool:
    """Whether a call draws from one of the process's generators, and not from one that it is given."""
    call, last = event.call, event.name[len(generator) :]
    if call is not None and call.receiver is not None and event.name.rpartition(".")[2] in DRAWN_IN_PLACE:
        return generator == "torch." and not call.gives("generator")
    own = call is not None and call.receiver is None and event.name.startswith(generator)
    in_torch = last in _TORCH_DRAWS or last == "randint_like"
    drawn = in_torch if generator == "torch." else last.islower() and last not in NO_DRAWS
    return own and drawn and "." not in last and call is not None and not call.gives("generator")
