"""torch and transformers: learning rate schedules, each with how many steps it is made for.

The parameters are those of torch/optim/lr_scheduler.py, transformers/optimization.py and diffusers/optimization.py.
"""

from __future__ import annotations

from .registry import SOME_NAME, Framework
from .signature import declare

framework = Framework("torch.schedules", kinds={"schedule": "unknown"}, bases={"torch:LRScheduler": "schedule"})

TOTALS = {
    "CosineAnnealingLR": ("T_max", "optimizer, T_max, eta_min=0.0, last_epoch=-1"),
    "PolynomialLR": ("total_iters", "optimizer, total_iters=5, power=1.0, last_epoch=-1"),
    "LinearLR": ("total_iters", "optimizer, start_factor=0.333, end_factor=1.0, total_iters=5, last_epoch=-1"),
    "OneCycleLR": (
        "total_steps",
        "optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3, anneal_strategy='cos', "
        "cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0, final_div_factor=10000.0, "
        "three_phase=False, last_epoch=-1",
    ),
}
"""Schedules of torch with the argument that says after how many steps they end."""
WARMED_UP = {
    "get_linear_schedule_with_warmup": "last_epoch=-1",
    "get_cosine_schedule_with_warmup": "num_cycles=0.5, last_epoch=-1",
    "get_polynomial_decay_schedule_with_warmup": "lr_end=1e-07, power=1.0, last_epoch=-1",
    "get_cosine_with_hard_restarts_schedule_with_warmup": "num_cycles=1, last_epoch=-1",
}
"""Schedules of transformers and diffusers with what they take beside the numbers of steps."""
NAMED = "get_scheduler"
WITHOUT_WARMUP = ("constant", "reduce_lr_on_plateau", "greedy", "piecewise_constant")
"""The names of schedules that `get_scheduler` makes without the warmup that it is given: the last is of diffusers only,
"greedy" of transformers from 5.0 on.
"""
WITHOUT_END = {
    "StepLR": "optimizer, step_size, gamma=0.1, last_epoch=-1",
    "MultiStepLR": "optimizer, milestones, gamma=0.1, last_epoch=-1",
    "ExponentialLR": "optimizer, gamma, last_epoch=-1",
    "LambdaLR": "optimizer, lr_lambda, last_epoch=-1",
    "ConstantLR": "optimizer, factor=0.333, total_iters=5, last_epoch=-1",
    "CosineAnnealingWarmRestarts": "optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1",
    "MultiplicativeLR": "optimizer, lr_lambda, last_epoch=-1",
    "SequentialLR": "optimizer, schedulers, milestones, last_epoch=-1",
    "ReduceLROnPlateau": "optimizer, mode='min', factor=0.1, patience=10",
    "CyclicLR": "optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode='triangular', gamma=1.0",
    "ChainedScheduler": "schedulers, optimizer=None",
}
_CONSTANT = {
    "get_constant_schedule": "optimizer, last_epoch=-1",
    "get_constant_schedule_with_warmup": "optimizer, num_warmup_steps, last_epoch=-1",
}
_OF_TRANSFORMERS = {
    **_CONSTANT,
    "get_inverse_sqrt_schedule": "optimizer, num_warmup_steps, timescale=None, last_epoch=-1",
    "get_wsd_schedule": "optimizer, num_warmup_steps, num_decay_steps, num_training_steps=None, num_stable_steps=None",
    "get_cosine_with_min_lr_schedule_with_warmup": "optimizer, num_warmup_steps, num_training_steps, num_cycles=0.5",
    "get_reduce_on_plateau_schedule": "optimizer",
    "get_adafactor_schedule": "optimizer, initial_lr=0.0",
}
_OF_DIFFUSERS = {**_CONSTANT, "get_piecewise_constant_schedule": "optimizer, step_rules, last_epoch=-1"}
"""Further ones of these libraries, of which nothing is said of an end."""

declare(framework, f"torch.optim.lr_scheduler.{SOME_NAME}", "optimizer, last_epoch=-1", "schedule")
for _name, (_, _parameters) in TOTALS.items():
    declare(framework, f"torch:{_name}", _parameters, "schedule")
for _name, _parameters in WITHOUT_END.items():
    declare(framework, f"torch:{_name}", _parameters, "schedule")
for _package, _further in (("transformers", _OF_TRANSFORMERS), ("diffusers", _OF_DIFFUSERS)):
    for _name, _parameters in _further.items():
        declare(framework, f"{_package}:{_name}", _parameters, "schedule")
    for _name, _more in WARMED_UP.items():
        _given = f"optimizer, num_warmup_steps, num_training_steps, {_more}"
        declare(framework, f"{_package}:{_name}", _given, "schedule")
    declare(
        framework,
        f"{_package}:{NAMED}",
        "name, optimizer=None, num_warmup_steps=None, num_training_steps=None",
        "schedule",
    )
