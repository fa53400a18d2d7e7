"""Parameter names without the parts that wrappers add."""

from __future__ import annotations

PREFIXES = ("_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")


def plain(name: str) -> str:
    """Return the name as the unwrapped model spells it."""
    for prefix in PREFIXES:
        name = name.replace(prefix, "")
    while name.startswith("module."):
        name = name[len("module.") :]
    return name
