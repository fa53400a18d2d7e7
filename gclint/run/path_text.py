"""A path as programs put it together with pathlib: its text, which knows that it is a path's."""

from __future__ import annotations

from pathlib import PurePosixPath

CLASSES = frozenset({"Path", "PosixPath", "PurePath", "PurePosixPath", "PathLike"})
LEADS_TO = "leads to"
"""The fact of an unknown path that it leads where this one does, as that of `os.path.abspath("configs/a.yaml")`."""
LIKE = "like"
"""The fact of a list of files that nobody knows: the pattern that their paths fit."""
_PARTS = ("parent", "name", "stem", "suffix")


class PathText(str):
    """The text of a `pathlib.Path`; equal to another path's only, as there."""

    __hash__ = str.__hash__

    def __new__(cls, *parts: str) -> PathText:
        """The path that these parts make, in pathlib's spelling."""
        return super().__new__(cls, str(PurePosixPath(*parts)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PathText) and str(self) == str(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __truediv__(self, other: str) -> PathText:
        """`path / other`."""
        return PathText(self, other)

    def __rtruediv__(self, other: str) -> PathText:
        """`other / path`."""
        return PathText(other, self)

    def part(self, name: str) -> str | None:
        """What an attribute says that is a text, or a path; None of any other."""
        if name not in _PARTS:
            return None
        made = getattr(PurePosixPath(self), name)
        return PathText(str(made)) if isinstance(made, PurePosixPath) else str(made)
