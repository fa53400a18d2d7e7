"""Cures that several rules share: checkpointing made non-reentrant, or turned off; a static graph."""

from __future__ import annotations

import ast

from ..finding import Edit, Fix
from ..ir.layout import end_of
from ..ir.syntax import Site
from . import rewrite
from .pages import is_written
from .run import Run
from .values import FALSE, NOTHING, Const, Object

NON_REENTRANT = "use-reentrant-false"
OFF = "checkpointing-off"
COST_OFF = "activations stay in memory until backward"
OWN_WAY = ("unsloth", "diffusers", "vision", "fairscale")
KWARGS = '{"use_reentrant": False}'


def non_reentrant(checkpointing: Object) -> Fix | None:
    """Pass use_reentrant=False where this checkpointing is turned on; None where no call can take it."""
    if checkpointing.type == "wrapper":
        return None
    edit = _kwargs_edit(checkpointing) if checkpointing.type != "call" else _call_edit(checkpointing)
    if edit is None:
        return None
    return Fix(NON_REENTRANT, "Use non-reentrant checkpointing (use_reentrant=False)", (edit,), "safe")


def _call_edit(checkpointing: Object) -> Edit | None:
    if checkpointing.site is None or "takes_no_options" in checkpointing.state:
        return None
    return rewrite.set_argument(checkpointing.site, "use_reentrant", "False")


def _kwargs_edit(checkpointing: Object) -> Edit | None:
    if checkpointing.type in OWN_WAY:
        return None
    for item in checkpointing.attributes.get("kwargs", NOTHING).objects():
        place = item.sites.get("use_reentrant")
        if place is not None:
            return rewrite.set_value(place, "False")
        if item.entries is not None and not item.open and item.site is not None:
            return add_entry(item.site, "use_reentrant", "False")
    args = checkpointing.attributes.get("args", NOTHING).objects()
    site = args[0].site if args else checkpointing.site
    if site is None or (args and args[0].open):
        return None
    name = kwargs_name(site)
    return rewrite.set_setting(args[0], name, KWARGS) if args else rewrite.set_argument(site, name, KWARGS)


def kwargs_name(site: Site) -> str:
    """The name of the kwargs argument in a call, in the spelling that the call uses already."""
    return (
        "activation_checkpointing_kwargs"
        if "activation_checkpointing" in site.text
        else "gradient_checkpointing_kwargs"
    )


def add_entry(site: Site, key: str, text: str) -> Edit | None:
    """Add an entry to a dict that is written as `{...}` or `dict(...)`, or in a document."""
    if is_written(site):
        return rewrite.set_argument(site, key, text)
    if isinstance(site.node, ast.Call):
        return rewrite.add_argument(site, f"{key}={text}")
    if not isinstance(site.node, ast.Dict):
        return None
    if not site.node.values:
        return rewrite.replace(site, f'{{"{key}": {text}}}')
    end = end_of(site.module, site.node.values[-1], site.node)
    return Edit(site.module.path, *end, *end, f', "{key}": {text}')


def checkpointing_off(model: Object) -> Fix | None:
    """Turn a model's checkpointing off wherever the program turns it on; None where one place has no edit."""
    edits: list[Edit] = []
    for region in model.known("checkpointing").objects():
        made = _off_edits(region)
        if not made:
            return None
        edits += [edit for edit in made if edit not in edits]
    return Fix(
        OFF,
        "Turn gradient checkpointing off",
        tuple(edits),
        "unsafe",
        COST_OFF,
        automatic=False,
        intent=("checkpointing",),
    )


def _off_edits(checkpointing: Object) -> list[Edit]:
    site = checkpointing.site
    if site is None:
        return []
    if checkpointing.type == "arguments":
        edit = rewrite.set_value(site, "False") if not isinstance(site.node, ast.Call) else None
        return [edit] if edit is not None else []
    if checkpointing.type == "unsloth":
        if not isinstance(site.node, ast.Call):
            edit = rewrite.set_value(site, "False")
            return [edit] if edit is not None else []
        edit = rewrite.set_argument(site, "use_gradient_checkpointing", "False")
        return [edit] if edit is not None else []
    if checkpointing.type == "kbit":
        edit = rewrite.set_argument(site, "use_gradient_checkpointing", "False")
        return [edit] if edit is not None else []
    if checkpointing.type == "method":
        edit = rewrite.remove_statement(site)
        return [edit] if edit is not None else []
    return []


def accumulates(run: Run, ddp: Object) -> bool:
    """Whether the run may skip synchronisation between steps: accumulation above one, or no_sync anywhere."""
    steps = ddp.state.get("accumulation")
    if steps is not None and steps.where(lambda item: item != Const(1)):
        return True
    from .events import Backward

    return any(event.moment.inside("no_sync", "accumulate") for event in run.of_type(Backward))


def static_graph(run: Run, ddp: Object) -> Fix | None:
    """Declare DDP's graph static; None where the code accumulates gradients, or nothing can take the flag."""
    from packaging.version import Version

    if accumulates(run, ddp):
        return None
    title = "Declare DDP's graph static"
    args = ddp.attributes.get("args", NOTHING).objects()
    version = run.targets.version("transformers")
    if args and args[0].site is not None and not args[0].open and version and version >= Version("5.10"):
        edits = [rewrite.set_setting(args[0], "ddp_static_graph", "True")]
        if ddp.state.get("find_unused", FALSE).constant() is not False:
            edits.append(rewrite.set_setting(args[0], "ddp_find_unused_parameters", "False"))
        made = tuple(edit for edit in edits if edit is not None)
        return Fix("static-graph", title, _joined(made), "unsafe")
    if not args and ddp.site is not None and isinstance(ddp.site.node, ast.Call) and ddp.label == "":
        edit = rewrite.set_argument(ddp.site, "static_graph", "True")
        return Fix("static-graph", title, (edit,), "unsafe") if edit is not None else None
    return None


def _joined(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Insertions at one place as one edit, in order."""
    made: list[Edit] = []
    for edit in edits:
        held = next(
            (
                item
                for item in made
                if (item.line, item.column) == (edit.line, edit.column) == (edit.end_line, edit.end_column)
            ),
            None,
        )
        if held is None:
            made.append(edit)
        else:
            made[made.index(held)] = Edit(
                held.path, held.line, held.column, held.end_line, held.end_column, held.text + edit.text
            )
    return tuple(made)


def find_unused_off(ddp: Object) -> Fix | None:
    """Do not let Trainer pick find_unused_parameters."""
    args = ddp.attributes.get("args", NOTHING).objects()
    if not args or args[0].site is None or args[0].open:
        return None
    edit = rewrite.set_setting(args[0], "ddp_find_unused_parameters", "False")
    if edit is None:
        return None
    return Fix(
        "find-unused-off",
        "Set ddp_find_unused_parameters=False: every adapter is used in every step",
        (edit,),
        "unsafe",
    )


def find_unused_on(ddp: Object) -> Edit | None:
    """Let a DDP that the code makes look for unused parameters."""
    if ddp.site is None:
        return None
    place = ddp.sites.get("find_unused_parameters")
    if place is not None:
        return rewrite.replace(place, "True")
    return rewrite.set_argument(ddp.site, "find_unused_parameters", "True")
