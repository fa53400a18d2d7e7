"""The parameters of a run: where they were made, what became of them, and in which module they live."""

from __future__ import annotations

import gc
from typing import Any

import torch

from gclint.rehearse.observe.watch import Known, Watch

PREFIXES = ("_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")
WRAPPERS = ("DistributedDataParallel", "PlainParallel", "FullyShardedDataParallel", "DataParallel", "DeepSpeedEngine")


def install(watch: Watch) -> None:
    """Note where modules are made and which weights are read from a file."""

    def made(original: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(module, *args, **kwargs)
        if module not in watch.made:
            watch.made[module] = watch.places.here()
        return result

    watch.patches.around(torch.nn.Module, "__init__", made)


def unwrapped(module: Any) -> Any:
    """The user's module inside data-parallel and compile wrappers."""
    while type(module).__name__ in WRAPPERS or hasattr(module, "_orig_mod"):
        module = module._orig_mod if hasattr(module, "_orig_mod") else module.module
    return module


def plain(name: str) -> str:
    """A parameter's name as the unwrapped model spells it."""
    for prefix in PREFIXES:
        name = name.replace(prefix, "")
    while name.startswith("module."):
        name = name[len("module.") :]
    return name


def note_living(watch: Watch) -> None:
    """Keep which parameters there are, when the first optimizer is built."""
    if watch.alive_at_first_optimizer is None:
        parameter = torch.nn.Parameter
        watch.alive_at_first_optimizer = {id(each) for each in gc.get_objects() if parameter in type(each).__mro__}


def tell(watch: Watch) -> None:
    """Write every parameter of the models that were called and of the optimizers, as the run leaves them."""
    named: dict[int, dict[str, Any]] = {}
    _note_loaded(watch)
    for index, root in enumerate(watch.roots):
        holders = _holders(root)
        for prefix, module in root.named_modules():
            for name, parameter in module.named_parameters(recurse=False):
                known = watch.know(parameter)
                if known is not None and known.number not in named:
                    full = plain(f"{prefix}.{name}" if prefix else name)
                    holder = holders.get(id(module), module)
                    named[known.number] = {"name": full, "root": index, **_module(watch, module, holder)}
    entries = [
        {**_told(each, watch.sharded), **named.get(each.number, {"name": "", "root": -1})}
        for each in watch.known.values()
    ]
    roots = [_root(watch, root) for root in watch.roots]
    watch.write("model", parameters=entries, roots=roots)


def _note_loaded(watch: Watch) -> None:
    """Models of transformers that have a name came with weights."""
    for root in watch.roots:
        for module in root.modules():
            if getattr(getattr(module, "config", None), "_name_or_path", ""):
                for parameter in module.parameters():
                    known = watch.know(parameter)
                    if known is not None:
                        known.loaded = True


def _begins(root: Any) -> list[int]:
    """The token with which the rows of a model of transformers begin, as its config says."""
    configs = [each.config for each in root.modules() if hasattr(each, "config")][:3]
    return sorted({int(n) for each in configs if isinstance(n := getattr(each, "bos_token_id", None), int)})


def _module(watch: Watch, module: Any, holder: Any) -> dict[str, Any]:
    kind = type(module).__name__
    return {
        "module": kind,
        "made": watch.made.get(module),
        "called": id(module) in watch.called,
        "keeper": _is_own(watch, type(holder)),
    }


def _holders(root: Any) -> dict[int, Any]:
    """By a module's id the first one that holds it."""
    found: dict[int, Any] = {}
    for each in root.modules():
        for child in each.children():
            found.setdefault(id(child), each)
    return found


def _is_own(watch: Watch, kind: type) -> bool:
    import sys

    if kind.__module__ == "__main__":
        return True
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return isinstance(file, str) and watch.places.own(file) is not None


def _told(known: Known, sharded: bool) -> dict[str, Any]:
    parameter = known.parameter
    return {
        "id": known.number,
        "shape": list(parameter.shape),
        "count": parameter.numel(),
        "dtype": str(parameter.dtype).removeprefix("torch."),
        "sharded": sharded or hasattr(parameter, "to_local"),
        "trainable": bool(parameter.requires_grad),
        "gradients": known.gradients,
        "nonzero": known.nonzero,
        "moves": known.moves if known.compared else 1,
        "steps": known.steps,
        "rates": known.moving_rates,
        "optimizers": sorted(known.optimizers),
        "later": known.later,
        "loaded": known.loaded,
        "broken": known.broken,
    }


def _root(watch: Watch, root: Any) -> dict[str, Any]:
    modules = list(root.modules())
    dropouts = [each for each in modules if isinstance(each, torch.nn.modules.dropout._DropoutNd) and each.p > 0]
    norms = [each for each in modules if isinstance(each, torch.nn.modules.batchnorm._BatchNorm)]
    return {
        "class": type(root).__name__,
        "begins": _begins(root),
        "made": watch.made.get(root),
        "dropouts": len(dropouts),
        "norms": len(norms),
        "norms_trained": sum(any(p.requires_grad for p in each.parameters()) for each in norms),
        "modules": [
            [
                plain(name),
                type(each).__name__,
                [k.number for p in each.parameters(recurse=False) if (k := watch.know(p))],
            ]
            for name, each in root.named_modules()
        ][:1500],
    }
