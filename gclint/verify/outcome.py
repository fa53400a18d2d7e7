"""What one run showed: per rank as measured, and merged over the ranks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from gclint.verify.footprint import Footprint

Status = Literal["finished", "raised", "hung", "killed", "timeout", "not-run"]
Evidence = Literal["program", "architecture", "stand-in"]


@dataclass(frozen=True)
class Raised:
    """An exception: its class, its text, and the innermost lines of its traceback (innermost last).

    `secondary` is true for the text that a rank gets when another rank left a collective.
    """

    kind: str
    text: str
    where: tuple[str, ...] = ()
    secondary: bool = False

    @property
    def line(self) -> str:
        """The class and the first line of the text, of a long one the first sentence."""
        first = next((each.strip() for each in self.text.splitlines() if each.strip()), "")
        if len(first) > 160:
            first = first.partition(". ")[0][:300]
        return f"{self.kind}: {first}" if first else self.kind


@dataclass(frozen=True)
class Step:
    """The state right before one optimizer step.

    `gradients` maps a trainable parameter's name to its sketch (`worker/sketch.py`), or None where it has no
    gradient; `losses` are the values given to backward since the last step, `recomputed` the regions recomputed in
    them; `seconds` is the time since the step before.
    """

    losses: tuple[float, ...] = ()
    gradients: dict[str, list[float] | None] = field(default_factory=dict)
    seconds: float = 0.0
    recomputed: int = 0


@dataclass(frozen=True)
class KeysLoaded:
    """One `load_state_dict`: keys whose tensors came from outside, keys given, keys the module has."""

    loaded: int
    given: int
    present: int
    strict: bool = True


@dataclass(frozen=True)
class RankReport:
    """Everything one rank measured; the fields of `Outcome` say what they mean."""

    status: Status = "finished"
    raised: Raised | None = None
    reason: str = ""
    evidence: Evidence = "stand-in"
    model: str = ""
    device: str = "cpu"
    versions: dict[str, str] = field(default_factory=dict)
    limits: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    step_count: int = 0
    trainable: int = 0
    frozen: int = 0
    changed: int = 0
    on_meta: int = 0
    unchanged: tuple[str, ...] = ()
    final_losses: tuple[float, ...] = ()
    keys: tuple[KeysLoaded, ...] = ()
    buffers: dict[str, list[float]] = field(default_factory=dict)
    recomputed: int = 0
    saved_bytes: int | None = None
    peak_bytes: int | None = None
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    environment: dict[str, Any] = field(default_factory=dict)
    precision: str = "float32"
    sources: tuple[str, ...] = ()
    executed: dict[str, list[int]] = field(default_factory=dict)
    output: str = ""
    footprint: Footprint | None = None


@dataclass(frozen=True)
class Outcome:
    """One run, merged over its ranks.

    `status`: "finished", "raised" (see `raised`), "hung" (a rank waited for another in a collective),
    "killed" (memory or a signal), "timeout", "not-run" (the machinery could not run it; see `reason`).
    `peak_bytes` and `saved_bytes` are the largest over the ranks, `seconds_per_step` the median of the
    steps after the first (of all when there is one only). `limits` are the parts of the recipe that were
    not run here, `replaced` what a program was given in place of hub models, data and devices.
    """

    status: Status
    reason: str = ""
    raised: Raised | None = None
    evidence: Evidence = "stand-in"
    model: str = ""
    device: str = ""
    world_size: int = 1
    versions: dict[str, str] = field(default_factory=dict)
    limits: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    ranks: tuple[RankReport, ...] = ()
    peak_bytes: int | None = None
    saved_bytes: int | None = None
    seconds_per_step: float | None = None
    seconds: float = 0.0

    @property
    def first(self) -> RankReport:
        """The report of rank 0, or an empty one."""
        return self.ranks[0] if self.ranks else RankReport(status="not-run")

    @property
    def losses(self) -> tuple[float, ...]:
        """The losses given to backward on rank 0, in order."""
        return tuple(each for step in self.first.steps for each in step.losses) + self.first.final_losses

    @property
    def summary(self) -> str:
        """One line for a table: the exception, the reason, or losses and what changed."""
        if self.raised is not None:
            return self.raised.line
        if self.status != "finished":
            return self.reason or self.status
        rank = self.first
        losses = ", ".join(f"{each:.4g}" for each in self.losses[:3])
        return f"loss {losses or 'none'}; {rank.changed} of {rank.trainable} trainable tensors changed"
