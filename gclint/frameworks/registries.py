"""Registries: classes and functions that libraries keep under a name, and build from a configuration.

mmengine and mmcv build a class by the `type` of a mapping, fvcore's registries give it by its name, detectron2's
build_model by that in the configuration, timm's create_model calls what was registered (mmengine 0.10.7, mmcv 1.7,
fvcore 0.1.5, detectron2 0.6, timm 1.0).
"""

from __future__ import annotations

from ..run import names
from ..run.calls import Call
from ..run.values import NONE, NOTHING, Class, Function, Object, Value, const, of, union
from .registry import Framework
from .vision import create_model

OPEN_MMLAB = ("mmengine", "mmcv", "mmdet", "mmdet3d", "mmseg", "mmpretrain", "mmcls", "mmpose", "mmaction", "mmocr")
DETECTRON = ("detectron2", "fvcore")

framework = Framework("registries", kinds={"registry": "unknown"}, in_part=(*OPEN_MMLAB, *DETECTRON))


@framework.function(*(f"{top}:Registry" for top in (*OPEN_MMLAB, *DETECTRON)))
def make_registry(call: Call) -> Value:
    """A registry of the project's own; what a parent has can be built from it."""
    made = call.make("registry", call.name)
    made.entries = {}
    parent = call.get("parent", None, NONE)
    made.attributes["parent"] = parent
    return of(made)


def _kept(call: Call) -> dict[str, Value]:
    """What the registry holds of which a method is called; a library's by its last name, whoever keeps it."""
    parents = [call.receiver] if call.receiver is not None else []
    while parents and (above := parents[-1].attributes.get("parent", NONE).objects()):
        parents.append(above[0])
    name = names.external_name(parents[-1].attributes.get("parent", NONE)) if parents else call.name.rpartition(".")[0]
    key = f"registry:{name.rpartition('.')[2] or parents[-1].id}"
    held: dict[str, Value] = call.run.facts.setdefault(key, {})
    return held


def _register(held: dict[str, Value], name: Value, registered: Value) -> None:
    own = next((item for _, item in registered if isinstance(item, (Class, Function))), None)
    listed = [part for item in name.objects() for part in item.items or []] or [name]
    for text in [text for value in listed if (text := names.const_text(value))] or [_own_name(own)]:
        held[text] = registered


def _own_name(item: Class | Function | None) -> str:
    return item.name if isinstance(item, Class) else getattr(item.node, "name", "") if item is not None else ""


@framework.function(*(f"{top}:register_module" for top in OPEN_MMLAB), *(f"{top}:register" for top in DETECTRON))
@framework.method("registry", "register_module", "register")
def register(call: Call) -> Value:
    """Keep a class under a name, or give what keeps the class that it decorates."""
    held = _kept(call)
    given = call.get("module", 2, call.get("obj", 0, NONE) if call.last == "register" else NONE)
    if any(isinstance(item, (Class, Function)) for _, item in given):
        _register(held, call.get("name", 0, NONE) if call.last != "register" else NONE, given)
        return given
    made = call.it.new("decorator", "gclint.registered", "", call.site)
    call.run.facts[f"registering:{made.id}"] = (held, call.get("name", 0, NONE))
    return of(made)


@framework.decorator("gclint.registered")
def registered(call: Call) -> Value:
    """The class itself, which is kept."""
    assert call.receiver is not None
    held, name = call.run.facts[f"registering:{call.receiver.id}"]
    _register(held, name, call.positional[0])
    return call.positional[0]


@framework.method("registry", "get")
@framework.function(*(f"{top}:get" for top in (*OPEN_MMLAB, *DETECTRON)))
def get(call: Call) -> Value:
    """What is kept under a name."""
    return _named(_kept(call), call.get("key", 0, call.get("name", 0))) or call.foreign()


def _named(held: dict[str, Value], name: Value) -> Value:
    text = names.const_text(name)
    if text is None:
        return name if any(isinstance(item, (Class, Function)) for _, item in name) else NOTHING
    return held.get(text) or held.get(text.rpartition(".")[2], NOTHING)


@framework.method("registry", "build")
@framework.function(*(f"{top}:build" for top in OPEN_MMLAB))
def build(call: Call) -> Value:
    """What the `type` of a mapping names, called with the other entries."""
    return _built(call, _kept(call), call.get("cfg", 0), call.get("default_args", None, NONE))


@framework.function(*(f"{top}:build_from_cfg" for top in OPEN_MMLAB))
def build_from(call: Call) -> Value:
    """The same of a registry that is given."""
    registry = call.get("registry", 1)
    inner = Call(
        call.it, call.site, f"{names.external_name(registry)}.build", receiver=next(iter(registry.objects()), None)
    )
    return _built(call, _kept(inner), call.get("cfg", 0), call.get("default_args", 2, NONE))


def _built(call: Call, held: dict[str, Value], cfg: Value, default: Value) -> Value:
    made = []
    for guard, item in cfg:
        entries = item.entries if isinstance(item, Object) else None
        function = _named(held, entries.get("type", NOTHING)) if entries is not None else NOTHING
        if not isinstance(item, Object) or entries is None or not function:
            return call.foreign()
        more = {str(key): value for part in default.objects() for key, value in (part.entries or {}).items()}
        given = more | {str(key): value for key, value in entries.items() if key != "type"}
        with call.it.under(guard) as possible:
            if possible:
                inner = Call(call.it, call.site, "build", [], given, item.open, dict(item.sites))
                made.append(call.it.call(function, inner).under(guard))
    return union(made) or call.foreign()


@framework.function("detectron2:build_model")
def build_model(call: Call) -> Value:
    """What META_ARCHITECTURE names, called with the configuration."""
    held: dict[str, Value] = call.run.facts.get("registry:META_ARCH_REGISTRY", {})
    for item in call.get("cfg", 0).objects():
        model = item.attributes.get("MODEL", NOTHING).objects()
        named = model[0].attributes.get("META_ARCHITECTURE", NOTHING) if model else NOTHING
        if function := _named(held, named):
            return call.it.call(function, Call(call.it, call.site, "build_model", [of(item)]))
    return call.foreign()


# timm


@framework.decorator("timm:register_model")
def register_model(call: Call) -> Value:
    """The function itself, which create_model calls by its name."""
    _register(call.run.facts.setdefault("registry:timm", {}), NONE, call.positional[0])
    return call.positional[0]


@framework.function("timm:create_model")
def create(call: Call) -> Value:
    """A model that the project registered, else one of timm's."""
    function = _named(call.run.facts.get("registry:timm", {}), call.get("model_name", 0))
    if not function:
        return create_model(call)
    given = {name: value for name, value in call.keywords.items() if name not in ("model_name", "checkpoint_path")}
    given.setdefault("pretrained", call.get("pretrained", 1, const(False)))
    return call.it.call(function, Call(call.it, call.site, call.name, [], given, call.open, call.places))
