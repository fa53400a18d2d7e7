"""No network: the hub, trackers and uploads are off, and connections to other machines are refused."""

from __future__ import annotations

import importlib
import importlib.machinery
import re
import socket
import sys
from types import ModuleType
from typing import Any, cast

from gclint.verify.worker.refusal import NO_NETWORK
from gclint.verify.worker.shims import Replacements

HERE = re.compile(r"localhost|127\.[\d.]+|::1|0\.0\.0\.0|::|")
TRACKERS = (
    "wandb", "mlflow", "comet_ml", "neptune", "swanlab", "clearml", "aim", "trackio", "tensorboardX",
    "torch.utils.tensorboard",
)  # fmt: skip
UPLOADS = (
    "login", "notebook_login", "interpreter_login", "create_repo", "create_branch", "create_tag", "upload_file",
    "upload_folder", "upload_large_folder", "create_commit", "delete_repo", "update_repo_visibility",
)  # fmt: skip


def install(found: Replacements) -> None:
    """Refuse connections; put silent trackers and uploads in place where the program's text names them."""
    _refuse_connections(found)
    for name in TRACKERS:
        if re.search(rf"\b{re.escape(name)}\b", found.text):
            sys.modules[name] = _tracker(name, found)
            found.note(f"{name}: off")
    if "huggingface_hub" in found.text or "push_to_hub" in found.text:
        _refuse_uploads(found)


def _refuse_connections(found: Replacements) -> None:
    own = {socket.gethostname()}

    def guard(host: Any) -> None:
        name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "")
        if not HERE.fullmatch(name) and name not in own:
            found.note(f"connections to {name}: refused")
            raise ConnectionRefusedError(f"{NO_NETWORK}: {name}")

    connect, find = socket.socket.connect, socket.getaddrinfo

    def connect_here(self: Any, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            guard(address[0])
        return connect(self, address)

    def find_here(host: Any, *args: Any, **kwargs: Any) -> Any:
        guard(host)
        return find(host, *args, **kwargs)

    socket.socket.connect = connect_here  # type: ignore[method-assign]
    socket.getaddrinfo = find_here


def _refuse_uploads(found: Replacements) -> None:
    try:
        hub: Any = importlib.import_module("huggingface_hub")
    except ImportError:
        return

    def silent(name: str) -> Any:
        def nothing(*args: Any, **kwargs: Any) -> Silent:
            found.note(f"huggingface_hub.{name}: off")
            return Silent()

        return nothing

    for name in UPLOADS:
        for owner in (hub, hub.HfApi):
            if hasattr(owner, name):
                setattr(owner, name, silent(name))


class Silent:
    """Takes every call, attribute and index, and gives itself back."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return itself."""
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: Any) -> Any:
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        return None

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *ignored: Any) -> None:
        return None

    def __iter__(self) -> Any:
        return iter(())


class _Settings(dict[str, Any]):
    """What a tracker was given as configuration, by key and by attribute."""

    __getattr__ = dict.get
    __setattr__ = dict.__setitem__


def _tracker(name: str, found: Replacements) -> ModuleType:
    """A module that takes every call of a tracker, and keeps the configuration that programs read back from it."""
    module: Any = ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    module.__path__ = []
    module.config = _Settings()
    silent = Silent()

    def init(*args: Any, **kwargs: Any) -> Any:
        given = kwargs.get("config") or {}
        module.config.update(given if isinstance(given, dict) else vars(given))
        silent.__dict__["config"] = module.config
        return silent

    module.init = init
    module.__getattr__ = lambda attribute: _missing(attribute, silent)
    return cast(ModuleType, module)


def _missing(attribute: str, silent: Silent) -> Any:
    if attribute.startswith("__"):
        raise AttributeError(attribute)
    return silent
