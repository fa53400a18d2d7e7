"""Parts and wholes: a module is a part of one other, and others may have a share in it."""

from __future__ import annotations

from .values import Object, of, root, union

SHARED = "shared"  # of an object's state: the parts that it has in common with another whole, whose parts they are


def adopt(whole: Object, part: Object) -> None:
    """Something is a part of something else from now on, unless it is around that itself; of what has a whole already,
    the other one has a share.
    """
    if root(whole) is part:
        return
    if part.parent is None:
        part.parent = whole
    elif part.parent is not whole:
        whole.state[SHARED] = union([whole.known(SHARED), of(part)])
