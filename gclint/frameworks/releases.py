"""Releases: what a program reads of the versions it runs with, and the comparisons it makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from ..analysis.calls import Call
from ..analysis.values import Const, External, Value, const, of
from .registry import Framework

if TYPE_CHECKING:
    from ..analysis.interpreter import Interpreter

PACKAGES = ("torch", "transformers", "peft", "trl", "accelerate", "deepspeed", "lightning", "diffusers")

framework = Framework("releases")


class Release(str):
    """torch.__version__, which compares with texts as releases (torch/torch_version.py, TorchVersion)."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __lt__(self, other: str) -> bool:
        """Whether it is the older release."""
        return Version(self) < Version(other)

    def __le__(self, other: str) -> bool:
        """Whether it is the older release, or the same."""
        return Version(self) <= Version(other)

    def __gt__(self, other: str) -> bool:
        """Whether it is the newer release."""
        return Version(self) > Version(other)

    def __ge__(self, other: str) -> bool:
        """Whether it is the newer release, or the same."""
        return Version(self) >= Version(other)


def _version_of(package: str) -> Callable[[Interpreter], Value]:
    def read(it: Interpreter) -> Value:
        """The version that the run is judged for."""
        version = it.run.targets.version(package)
        if version is None:
            return of(External(f"{package}.__version__"))
        return const(Release(version) if package == "torch" else str(version))

    return read


for _package in PACKAGES:
    framework.constant(f"{_package}.__version__")(_version_of(_package))


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
