"""The release of a package as programs read it: a text that knows whose it is."""

from __future__ import annotations

from packaging.version import Version


class Release(str):
    """The text of the release of a `package`."""

    package: str

    def __new__(cls, text: str, package: str) -> Release:
        """The text, and of which package it is the release."""
        made = super().__new__(cls, text)
        made.package = package
        return made


class TorchVersion(Release):
    """torch.__version__, which compares with texts as releases (torch/torch_version.py)."""

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
