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
class Group:
    """One parameter group of an optimizer at its step: the optimizer's class, tensors in it, and its numbers."""

    optimizer: str
    tensors: int
    settings: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """What training did since the optimizer step before, and the state right before this one.

    `losses` are the values given to backward. `gradients` maps a trainable parameter's name to its sketch
    (`worker/sketch.py`), None where it has no gradient; `moves` the parameters that the step changed to the sketch of
    what it added (None where parameters lie in shards). Both are kept by name for the first steps; `total_gradient`
    and `total_move` sketch all of them together in every step. `forwards` counts the outermost calls that train, that
    evaluate (mode), and that keep no gradient. `evaluating` names the topmost modules in evaluation mode in a training
    forward, `dtypes` says of what parameters, autocast and losses are. `random` has a digest of each generator's
    state, `collectives` how often each kind of communication was asked for. `uncleared` counts the gradients that the
    step before left in place, `clipped` has the norm that each clipping found, `probabilities` counts the losses
    of raw numbers that were given probabilities. `seconds` is the time since the step before, `recomputed` the regions
    recomputed.
    """

    losses: tuple[float, ...] = ()
    gradients: dict[str, list[float] | None] = field(default_factory=dict)
    seconds: float = 0.0
    recomputed: int = 0
    moves: dict[str, list[float]] | None = field(default_factory=dict)
    total_gradient: list[float] = field(default_factory=list)
    total_move: list[float] = field(default_factory=list)
    backwards: int = 0
    forwards: tuple[int, int, int] = (0, 0, 0)
    evaluating: tuple[str, ...] = ()
    dtypes: dict[str, int] = field(default_factory=dict)
    groups: tuple[Group, ...] = ()
    random: dict[str, str] = field(default_factory=dict)
    collectives: dict[str, int] = field(default_factory=dict)
    uncleared: int = 0
    clipped: tuple[float, ...] = ()
    clipped_scaled: bool = False
    probabilities: int = 0


@dataclass(frozen=True)
class KeysLoaded:
    """One `load_state_dict`: keys whose tensors came from outside, keys given, keys the module has."""

    loaded: int
    given: int
    present: int
    strict: bool = True


@dataclass(frozen=True)
class Saved:
    """One file of tensors that was saved: its name, the names of all values in it, and a sketch of them together."""

    name: str
    keys: tuple[str, ...] = ()
    values: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Order:
    """A whole pass of a loader over its data: the loader's number, how many batches it drew, a digest of their order,
    and whether a DistributedSampler shuffled them for training.
    """

    loader: int
    batches: int
    digest: str
    divided: bool = False


@dataclass(frozen=True)
class RankReport:
    """Everything one rank measured; the fields of `Outcome` say what they mean.

    `cut` is true where the run was ended after its steps, and false where the program came to its own end; `rest` is
    what happened after the last optimizer step, `forged` says what the program did to its own measurement, `absent`
    names the packages that stand-ins were given for, `made_up` what of the data is not the program's own, `planned`
    has what a trainer was asked for before it was cut.
    """

    status: Status = "finished"
    raised: Raised | None = None
    reason: str = ""
    evidence: Evidence = "stand-in"
    model: str = ""
    device: str = "cpu"
    versions: dict[str, str] = field(default_factory=dict)
    limits: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    made_up: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    step_count: int = 0
    trainable: int = 0
    frozen: int = 0
    changed: int = 0
    on_meta: int = 0
    unchanged: tuple[str, ...] = ()
    final_losses: tuple[float, ...] = ()
    keys: tuple[KeysLoaded, ...] = ()
    optimizers_loaded: int = 0
    saves: tuple[Saved, ...] = ()
    orders: tuple[Order, ...] = ()
    cut: bool = False
    forged: str = ""
    absent: tuple[str, ...] = ()
    planned: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    rest: Step = Step()
    buffers: dict[str, list[float]] = field(default_factory=dict)
    recomputed: int = 0
    saved_bytes: int | None = None
    peak_bytes: int | None = None
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    environment: dict[str, Any] = field(default_factory=dict)
    precision: str = "float32"
    sources: tuple[str, ...] = ()
    missed: dict[str, list[int]] = field(default_factory=dict)
    output: str = ""
    footprint: Footprint | None = None


@dataclass(frozen=True)
class Outcome:
    """One run, merged over its ranks.

    `status`: "finished", "raised" (see `raised`), "hung" (a rank waited for another in a collective),
    "killed" (memory or a signal), "timeout", "not-run" (the machinery could not run it; see `reason`).
    `peak_bytes` and `saved_bytes` are the largest over the ranks, `seconds_per_step` the median of the
    steps after the first (of all when there is one only). `files` has a digest of each file that the run wrote in its
    directory, by relative path. `limits` are the parts of the recipe that were
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
    files: dict[str, str] = field(default_factory=dict)

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
