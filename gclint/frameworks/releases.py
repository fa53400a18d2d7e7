"""Releases: what a program reads of the versions it runs with, and the comparisons it makes of them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from ..run.calls import Call
from ..run.guards import ANY_PACKAGE
from ..run.release import Release, TorchVersion
from ..run.values import Const, Value, const, of
from .registry import Framework

if TYPE_CHECKING:
    from ..run.interpreter import Interpreter

PACKAGES = ("torch", "transformers", "peft", "trl", "accelerate", "deepspeed", "lightning", "diffusers", "torchvision")

COMPARISONS: dict[str, Callable[[Version, Version], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    "<": operator.lt,
}

framework = Framework("releases")


def version_of(package: str) -> Callable[[Interpreter], Value]:
    """What reads a package's `__version__`: a release of one that nobody judges for is known where it is pinned."""

    def read(it: Interpreter) -> Value:
        """The version that the run is judged for."""
        target = it.run.targets[package]
        version = target.version if package in PACKAGES or target.exact else None
        if version is None:
            made = it.unknown(f"{package}.__version__")
            made.state["release"] = const(package)
            return of(made)
        return const((TorchVersion if package == "torch" else Release)(str(version), package))

    return read


for _package in PACKAGES:
    framework.constant(f"{_package}.__version__")(version_of(_package))


@framework.function("packaging.version.Version", "packaging.version.parse")
def version(call: Call) -> Value | None:
    """A version compares as packaging orders it (PEP 440)."""
    text = call.get("version", 0).only()
    if not isinstance(text, Const) or not isinstance(text.value, str):
        return None
    try:
        return const(Version(text.value))
    except InvalidVersion:
        return None


@framework.function("importlib.metadata.version")
def installed(call: Call) -> Value | None:
    """The text of the release of a distribution."""
    package = call.get("distribution_name", 0).constant()
    found = call.run.targets.version(str(package)) if package in PACKAGES else None
    return const(Release(str(found), str(package))) if found is not None else None


@framework.function("inspect.signature", "inspect.getfullargspec", "inspect.getargspec")
def parameters(call: Call) -> Value:
    """What a function takes is asked where releases differ in it."""
    made = call.it.derived(call.site, call.inputs())
    made.state["release"] = const(ANY_PACKAGE)
    return of(made)


@framework.function(
    "accelerate:is_torch_version",
    *(f"diffusers:is_{package}_version" for package in ("torch", "transformers", "accelerate", "peft")),
)
def compared(call: Call) -> Value | None:
    """is_torch_version(">=", "2.3") and its like (accelerate/utils/versions.py, diffusers/utils/import_utils.py)."""
    sign = call.get("operation", 0).only()
    return _decided(call, sign.value if isinstance(sign, Const) else None, call.get("version", 1))


@framework.function(*(f"transformers:is_{name}_or_equal" for name in ("torch_greater", "torch_less", "peft_greater")))
def bounded(call: Call) -> Value | None:
    """is_torch_greater_or_equal("2.4") and its like (transformers/utils/import_utils.py)."""
    return _decided(call, "<=" if "less" in call.last else ">=", call.get("library_version", 0))


def _decided(call: Call, sign: object, bound: Value) -> Value | None:
    """What comparing the release of the package in the function's name gives."""
    target, given = call.run.targets.version(call.last.split("_")[1]), bound.only()
    if target is None or sign not in COMPARISONS or not isinstance(given, Const):
        return None
    try:
        return const(COMPARISONS[str(sign)](target, Version(str(given.value))))
    except InvalidVersion:
        return None
