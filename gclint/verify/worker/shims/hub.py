"""torch's hub without the network: no lists of models, and weights that are not downloaded stay random."""

from __future__ import annotations

import functools
from typing import Any

import torch

from gclint.verify.worker.refusal import NO_NETWORK
from gclint.verify.worker.shims import Replacements


class Unread(dict[str, Any]):
    """Weights that nobody has downloaded: the module that loads them keeps its own."""


def install(found: Replacements) -> None:
    """Answer what torch.hub is asked."""

    def weights(url: str, *args: Any, **kwargs: Any) -> Unread:
        found.note(f"weights of {url.rpartition('/')[2]}: not downloaded, random")
        return Unread()

    def listed(name: str, *args: Any, **kwargs: Any) -> list[str]:
        found.note(f"models of the hub's {name}: none")
        return []

    def refused(name: Any, *args: Any, **kwargs: Any) -> Any:
        raise ConnectionRefusedError(f"{NO_NETWORK}: the hub's {name}")

    torch.hub.load_state_dict_from_url = weights
    torch.hub.list = listed
    torch.hub.load = torch.hub.download_url_to_file = refused
    load = torch.nn.Module.load_state_dict

    @functools.wraps(load)
    def load_here(self: Any, given: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(given, Unread):
            return None
        return load(self, given, *args, **kwargs)

    torch.nn.Module.load_state_dict = load_here
