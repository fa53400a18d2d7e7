"""What a package that is not installed gives in its stand-in: objects that take every use and have no value."""

from __future__ import annotations

from typing import Any, NoReturn

# what a training step asks of a loss, an optimizer, a scheduler or a model
TRAINING = frozenset(
    {"backward", "step", "zero_grad", "parameters", "named_parameters", "state_dict", "load_state_dict", "grad_fn"}
)  # fmt: skip
OPERATORS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift",
)  # fmt: skip
COMPARED = ("eq", "ne", "lt", "le", "gt", "ge")
VALUES = {
    "bool": "decides by its value", "float": "takes a number from it", "int": "takes a number from it",
    "index": "takes a number from it", "complex": "takes a number from it", "len": "takes a number from it",
    "iter": "reads what it gives", "array": "takes an array from it", "contains": "decides by its value",
}  # fmt: skip


STANDS_FOR = "_stands_for"


class Watched:
    """Whoever is told what is done with stand-ins."""

    def use(self, name: str) -> None:
        """Note a use."""

    def take(self, name: str, what: str) -> None:
        """Note that a part of the training was given to a stand-in."""

    def refuse(self, name: str, why: str) -> Exception:
        """Return the error that ends a run."""
        raise NotImplementedError


class Recorded:
    """One name of a package that is not there, or what came of using it: `_name` says of which use it is."""

    def __init__(self, name: str, watched: Watched):
        self.__dict__.update(_name=name, _watched=watched)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Note the call; a function that is handed in alone comes back, as from a decorator."""
        name = f"{self._name}()"
        self._watched.use(name)
        for each in (*args, *kwargs.values()):
            if what := _of_training(each):
                self._watched.take(name, what)
        if len(args) == 1 and not kwargs and _is_program(args[0]):
            return args[0]
        return Recorded(name, self._watched)

    def __getattr__(self, name: str) -> Any:
        if name in TRAINING:
            raise self._watched.refuse(f"{self._name}.{name}", "trains with it")
        if name.startswith("__"):
            raise AttributeError(name)
        return Recorded(f"{self._name}.{name}", self._watched)

    def __setattr__(self, name: str, value: Any) -> None:
        self._watched.use(f"{self._name}.{name}")

    def __getitem__(self, key: Any) -> Any:
        return Recorded(f"{self._name}[{key!r}]", self._watched)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._watched.use(self._name)

    def __enter__(self) -> Any:
        return Recorded(self._name, self._watched)

    def __exit__(self, *ignored: Any) -> None:
        return None

    def __format__(self, form: str) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<{self._name} of a stand-in>"

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self) -> Any:
        return str, (str(self),)

    def __instancecheck__(self, instance: Any) -> bool:
        """Whether a class of the program derives from this name, or a layer stands for one of its kind."""
        if self._name == getattr(instance, STANDS_FOR, ""):
            return True
        return self._name in getattr(type(instance), "_bases_not_here", ())

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        """A class that the program derives from one of the package's gets a base that takes every use."""
        self._watched.use(self._name)
        return (type("StandIn", (_Base,), {"_watched": self._watched, "_bases_not_here": (self._name,)}),)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> NoReturn:
        held = next(each for each in _flat((*args, *(kwargs or {}).values())) if isinstance(each, Recorded))
        raise held._watched.refuse(held._name, "computes with it")


class _Base:
    """The base of a program's class whose own base is not there."""

    _watched: Watched
    _bases_not_here: tuple[str, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._watched.use(f"{self._bases_not_here[0]}()")

    def __init_subclass__(cls, **ignored: Any) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        whole = f"{self._bases_not_here[0]}().{name}"
        if name in TRAINING:
            raise self._watched.refuse(whole, "trains with it")
        if name.startswith("__"):
            raise AttributeError(name)
        return Recorded(whole, self._watched)


def _operator(self: Recorded, *others: Any) -> Recorded:
    return Recorded(self._name, self._watched)


def _refusing(why: str) -> Any:
    def refused(self: Recorded, *args: Any, **kwargs: Any) -> NoReturn:
        raise self._watched.refuse(self._name, why)

    return refused


def _truth(self: Recorded) -> bool:
    """A name of a package is there; what a call gave could be either."""
    if "(" in self._name or "[" in self._name:
        raise self._watched.refuse(self._name, VALUES["bool"])
    return True


for _each in OPERATORS:
    setattr(Recorded, f"__{_each}__", _operator)
    setattr(Recorded, f"__r{_each}__", _operator)
for _each in (*COMPARED, "neg", "pos", "abs", "invert", "round"):
    setattr(Recorded, f"__{_each}__", _operator)
for _each, _why in VALUES.items():
    setattr(Recorded, f"__{_each}__", _refusing(_why))
Recorded.__bool__ = _truth  # type: ignore[attr-defined]


def _is_program(value: Any) -> bool:
    return isinstance(value, type) or type(value).__name__ == "function"


def _flat(values: Any) -> list[Any]:
    found: list[Any] = []
    for each in values:
        found.extend(_flat(each) if isinstance(each, (list, tuple)) else [each])
    return found


def _of_training(value: Any) -> str:
    """What of a training a value is, in words; "" for what only reports it."""
    import torch

    if isinstance(value, torch.nn.Module):
        return "a model"
    if isinstance(value, torch.optim.Optimizer):
        return "an optimizer"
    return "a tensor with a gradient" if isinstance(value, torch.Tensor) and value.requires_grad else ""
