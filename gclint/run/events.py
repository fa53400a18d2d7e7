"""Events: the moments of a run that a rule can ask about."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..finding import Location
from ..ir.syntax import Site
from .guards import ALWAYS, Guard
from .values import NONE, NOTHING, Object, Value

if TYPE_CHECKING:
    from ..ir.configs import Document
    from ..source.source import Source
    from .calls import Call


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop that goes on, by its statement or comprehension, or by the call of what goes on in a library; another one
    each time that it is entered.
    """

    node: ast.AST


@dataclass
class Moment:
    """Where the run stands when something happens.

    `guard` is the condition of getting there, `stack` the calls that led there (outermost first), `loops` the
    loops around it (across calls), of which `vague` are walked once for all of their rounds, `contexts` the `with`
    blocks it is in, `handlers` the try statements whose handlers would catch what it raises, `forwards` the modules
    whose forward is running, outermost first.
    """

    site: Site
    guard: Guard = ALWAYS
    stack: tuple[Site, ...] = ()
    loops: tuple[Loop, ...] = ()
    contexts: tuple[Object, ...] = ()
    handlers: tuple[Site, ...] = ()
    forwards: tuple[Object, ...] = ()
    result_used: bool = True
    vague: int = 0

    def inside(self, *kinds: str) -> Object | None:
        """The innermost `with` block of one of these kinds."""
        return next((item for item in reversed(self.contexts) if item.is_a(*kinds)), None)

    def unrecorded(self) -> Object | None:
        """The block that keeps autograd from recording; enable_grad undoes no_grad, but not inference_mode, which
        `inference_mode(False)` ends.
        """
        around = [item for item in self.contexts if item.is_a("inference_mode")]
        if around and not _is_off(around[-1]):
            return around[-1]
        inner = self.contexts[self.contexts.index(around[-1]) + 1 :] if around else self.contexts
        modes = [item for item in inner if item.is_a("no_grad", "enable_grad", "set_grad_enabled")]
        return modes[-1] if modes and modes[-1].is_a("no_grad") else None


def _is_off(block: Object) -> bool:
    given = block.attributes.get("argument", block.attributes.get("mode", NOTHING))
    return given.constant() is False


@dataclass
class Event:
    """Something that happens in a run, at a moment."""

    moment: Moment

    @property
    def site(self) -> Site:
        """Where in the code it happens."""
        return self.moment.site

    @property
    def guard(self) -> Guard:
        """The condition of getting there."""
        return self.moment.guard


@dataclass
class Imported(Event):
    """A library module is imported for the first time in the process."""

    name: str = ""


@dataclass
class NameTaken(Event):
    """A library's name is imported out of its module, as `name`: there it stays what it was at that moment."""

    library_name: str = ""
    name: str = ""


@dataclass
class EnvSet(Event):
    """An environment variable is set by the code; `late` says that it happened earlier, when a module was imported
    that is only walked now.
    """

    name: str = ""
    value: Value = NOTHING
    late: bool = False


@dataclass
class EnvRead(Event):
    """An environment variable is read by the code."""

    name: str = ""


@dataclass
class ModelLoaded(Event):
    """A model comes into being: from_pretrained, from_config, a class of the project."""

    model: Object = field(default_factory=lambda: Object(0, "unknown"))


@dataclass
class Adapted(Event):
    """Adapters are added to a model."""

    model: Object = field(default_factory=lambda: Object(0, "unknown"))


@dataclass
class CheckpointingEnabled(Event):
    """A library model's checkpointing is turned on."""

    model: Object = field(default_factory=lambda: Object(0, "unknown"))
    checkpointing: Object = field(default_factory=lambda: Object(0, "checkpointing"))


@dataclass
class CheckpointCall(Event):
    """torch's checkpoint, or checkpoint_sequential, is called.

    `function` is what it recomputes, `arguments` what it is given besides, `reentrant` its use_reentrant
    (`NOTHING` when the code leaves it out), `stands_in` is True when the project supplies it elsewhere.
    """

    call: Call | None = None
    function: Value = NOTHING
    arguments: tuple[Value, ...] = ()
    reentrant: Value = NOTHING
    sequential: bool = False


@dataclass
class AttributeSet(Event):
    """An attribute of an object is assigned, or deleted: then its value is `MISSING`. `target` is None when a library's
    own name is replaced.
    """

    target: Object | None = None
    name: str = ""
    value: Value = NOTHING
    library_name: str = ""


@dataclass
class ForwardPatched(Event):
    """An object's forward is replaced on the instance; with no value, it is that of its class again."""

    target: Object = field(default_factory=lambda: Object(0, "unknown"))
    value: Value = NOTHING


@dataclass
class LoopNameRebound(Event):
    """The variable of a `for` loop is assigned in the loop: what was iterated over stays as it was."""

    name: str = ""
    old: Value = NOTHING
    value: Value = NOTHING


@dataclass
class ItemSet(Event):
    """An element of a container or module list is assigned."""

    target: Object = field(default_factory=lambda: Object(0, "unknown"))
    index: Value = NOTHING
    value: Value = NOTHING


@dataclass
class Wrapped(Event):
    """A model is wrapped: DDP, FSDP, compile, DeepSpeed."""

    model: Object = field(default_factory=lambda: Object(0, "unknown"))
    wrapper: Object = field(default_factory=lambda: Object(0, "unknown"))


@dataclass
class OptimizerBuilt(Event):
    """An optimizer takes hold of parameters."""

    optimizer: Object = field(default_factory=lambda: Object(0, "optimizer"))
    parameters: Value = NOTHING


@dataclass
class StateFilled(Event):
    """A state goes into something, be it name by name, by copies into the tensors that its `state_dict` gave."""

    target: Value = NOTHING
    source: Value = NOTHING


@dataclass
class StateDictLoaded(StateFilled):
    """load_state_dict is called on something, whose names have a `prefix` in front.

    `trains` are the guards under which all of it trains at that moment: it is not frozen, nor do adapters train in its
    place.
    `demanded` says that reading the source raised for every name that it lacks.
    """

    strict: Value = NONE
    prefix: str = ""
    trains: tuple[Guard, ...] = (ALWAYS,)
    demanded: bool = False


@dataclass
class StateDictSaved(Event):
    """state_dict is taken, or something is saved; `made` is the dict that was taken."""

    target: Value = NOTHING
    made: Object | None = None


@dataclass
class Forward(Event):
    """A module is called; `activation` is what its result is known by, `through` the wrapper it went through."""

    model: Object = field(default_factory=lambda: Object(0, "unknown"))
    called: Object = field(default_factory=lambda: Object(0, "unknown"))
    activation: Object | None = None
    through: Object | None = None
    call: Call | None = None


@dataclass
class ModuleCalled(Event):
    """A module's forward is about to run, be it the outermost or one inside another's forward."""

    module: Object = field(default_factory=lambda: Object(0, "unknown"))
    call: Call | None = None


@dataclass
class Backward(Event):
    """Gradients are computed. `forwards` are the activations of the models that the loss came from, `cut_off`
    those that it came from only by way of tensors without a gradient.
    """

    loss: Value = NOTHING
    forwards: tuple[Object, ...] = ()
    cut_off: tuple[Object, ...] = ()
    keywords: dict[str, Value] = field(default_factory=dict)


@dataclass
class LossComputed(Event):
    """A loss of torch is computed: `name` as in torch.nn.functional, with the `settings` of the call, or of the
    `criterion` that is called.
    """

    name: str = ""
    given: Value = NOTHING
    target: Value = NOTHING
    settings: dict[str, Value] = field(default_factory=dict)
    result: Object = field(default_factory=lambda: Object(0, "unknown"))
    criterion: Object | None = None
    call: Call | None = None


@dataclass
class Asserted(Event):
    """The program goes on from an assertion: where it `fails`, it does not."""

    fails: Guard = ALWAYS


@dataclass
class Added(Event):
    """Two things are added of which one was computed from what a model gave, while autograd records: `left + right`, or
    `left += right`, at the place of what is added to.
    """

    left: Value = NOTHING
    right: Value = NOTHING
    result: Object = field(default_factory=lambda: Object(0, "unknown"))


@dataclass
class InferenceTensorCombined(Event):
    """`left sign right`, outside of inference mode, where one of the two was made in it."""

    sign: ast.operator = field(default_factory=ast.Add)
    left: Value = NOTHING
    right: Value = NOTHING


@dataclass
class Compared(Event):
    """In a loop it is asked which of two things is the greater one, or if they are equal, and nobody knows the answer;
    or something that the code binds there or keeps is asked whether it is None, and is.
    """

    left: Value = NOTHING
    right: Value = NOTHING


@dataclass
class ScalarIndexed(Event):
    """A tensor that is known to have no dimension is indexed by a number."""

    tensor: Object = field(default_factory=lambda: Object(0, "unknown"))


@dataclass
class WrappingMistaken(Event):
    """A model's wrapper is asked for what the model has (`target` is the wrapper), or a model that nothing wraps for
    `module`: neither has it. `of_alternative` is the guard under which what is asked is this one.
    """

    target: Object = field(default_factory=lambda: Object(0, "unknown"))
    name: str = ""
    of_alternative: Guard = ALWAYS


@dataclass
class OptimizerStep(Event):
    """An optimizer changes its parameters, by itself or through a gradient scaler."""

    optimizer: Object = field(default_factory=lambda: Object(0, "optimizer"))
    scaler: Object | None = None


@dataclass
class ScalerUsed(Event):
    """A gradient scaler is asked for something: scale, unscale_, step, update. `given` is what it is given."""

    scaler: Object = field(default_factory=lambda: Object(0, "scaler"))
    operation: str = ""
    given: Value = NOTHING


@dataclass
class GradientsClipped(Event):
    """The gradients of parameters are clipped, by norm or by value: by a `call` of torch's own functions, or, without
    one, by a function of the project that multiplies them by what was computed from them.
    """

    parameters: Value = NOTHING
    call: Call | None = None


@dataclass
class GradientsCleared(Event):
    """Gradients are set to nothing: of an optimizer's parameters, or of a module's."""

    target: Object = field(default_factory=lambda: Object(0, "unknown"))


@dataclass
class Converted(Event):
    """A module goes to another dtype or place. `dtype` is the new one (`NOTHING` for none), `before` the old."""

    module: Object = field(default_factory=lambda: Object(0, "unknown"))
    dtype: Value = NOTHING
    before: Value = NOTHING
    call: Call | None = None


@dataclass
class TrainableChanged(Event):
    """A module is frozen or unfrozen; `before` and `after` say which of its parameters train."""

    module: Object = field(default_factory=lambda: Object(0, "unknown"))
    before: str = ""
    after: str = ""


@dataclass
class TrainerStarted(Event):
    """A library's trainer runs its loop."""

    trainer: Object = field(default_factory=lambda: Object(0, "trainer"))
    models: tuple[Object, ...] = ()


@dataclass
class Generated(Event):
    """A model's generate is called."""

    model: Object = field(default_factory=lambda: Object(0, "unknown"))
    call: Call | None = None


@dataclass
class LibraryCall(Event):
    """Any call of a library's function or of a library method; for rules about signatures.

    `name` is qualified as far as the analysis knows it, with the canonical class for methods.
    """

    name: str = ""
    call: Call | None = None
    result: Value = NOTHING


@dataclass
class Iterated(Event):
    """Something is iterated over: a loader, a sampler, anything but what is held element by element.

    The loop itself is not among the moment's loops: those that are go around all of its rounds.
    """

    item: Object = field(default_factory=lambda: Object(0, "unknown"))


@dataclass
class Restarted(Iterated):
    """A loader that is begun anew, by `iter` or by a loop of a generator, where what trains takes the batches with
    `next`; `taken` are the loops around that.
    """

    taken: tuple[Loop, ...] = ()

    def around(self) -> set[Loop]:
        """The loops around what begins it, and around what takes of it."""
        return {*self.moment.loops, *self.taken}


@dataclass
class RunEnded(Event):
    """The program, or an entry of it, has been walked.

    Where it is not `whole`, a bound was reached on the way: what never happened cannot be told.
    """

    whole: bool = True


@dataclass
class ConfigurationRead(Event):
    """A configuration file of the project, which some program or tool is given."""

    document: Document | None = None
    source: Source | None = None

    def place(self, *keys: str | int) -> FileSite:
        """Where a key stands in the file."""
        assert self.document is not None and self.source is not None
        return FileSite(self.source.path, *self.document.place(*keys), len(str(keys[-1])) if keys else 0)


@dataclass(frozen=True)
class FileSite:
    """A place in a file that is no Python."""

    path: str
    line: int
    column: int
    width: int = 0

    def location(self, message: str = "") -> Location:
        """Where it stands, lines and columns from 1."""
        return Location(self.path, self.line, self.column, self.line, self.column + self.width, message)
