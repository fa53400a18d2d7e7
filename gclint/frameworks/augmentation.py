"""torchvision and imgaug: transforms that are chained, and those that draw random numbers when they are called.

torchvision/transforms/transforms.py: `Compose` calls one after the other; what is random draws from torch, since 0.8.
imgaug 0.4.0: augmenters draw from a generator of imgaug's own (random.py, `get_global_rng`), which is made with the
first of them; only `imgaug.seed` and `imgaug.random.seed` seed it. A parameter draws where it is a range or a choice.
"""

from __future__ import annotations

from ..run import elements
from ..run.calls import Call
from ..run.events import LibraryCall
from ..run.values import NOTHING, TRUE, Const, Object, Value, of
from .registry import Framework
from .transformers import at_least

framework = Framework("augmentation")

AUGMENTER, TRANSFORM = "imgaug.augmenter", "torchvision.random"
DRAWS = {"torch.": f"{TRANSFORM}.draw", "imgaug.": f"{AUGMENTER}.draw"}
"""By the generator that it draws from: what a call of such an object is called in events."""

_ALWAYS = (
    *("Sometimes", "SomeOf", "OneOf", "Dropout", "CoarseDropout", "SaltAndPepper", "AdditiveGaussianNoise", "Crop"),
    *("CropToFixedSize", "ElasticTransformation", "PiecewiseAffine", "PerspectiveTransform", "RandAugment"),
)
"""Augmenters that draw whatever they are given."""
_CHAINS = ("Sequential",)
_FLIPS = ("Fliplr", "Flipud")


@framework.function("torchvision:Compose")
def compose(call: Call) -> Value:
    """`Compose([first, second])`."""
    made = call.make("torchvision.Compose", call.name)
    made.attributes["transforms"] = call.get("transforms", 0)
    return of(made)


@framework.calling("torchvision.Compose")
def call_each(call: Call) -> Value | None:
    """Each of them is called with what the last one gave."""
    assert call.receiver is not None
    given = elements.rounds(call.it, call.receiver.attributes["transforms"])
    if given is None or not call.positional:
        return None
    value = call.positional[0]
    for guard, transform in given:
        with call.it.under(guard) as possible:
            if possible:
                value = call.it.call(transform, Call(call.it, call.site, "transform", [value]))
    return value


@framework.family(r"torchvision:Random[A-Z]\w*|ColorJitter")
def random_transform(call: Call) -> Value | None:
    """`RandomCrop(32)`."""
    if not at_least(call.it, "torchvision", "0.8"):
        return None
    return of(call.make(TRANSFORM, call.name))


@framework.calling(TRANSFORM)
def transform(call: Call) -> Value:
    """It draws, and gives another picture."""
    return _drawn(call, DRAWS["torch."])


@framework.family(r"imgaug:[A-Z]\w*")
def augmenter(call: Call) -> Value | None:
    """`iaa.Fliplr(0.5)`; what is no augmenter is not known."""
    if ".augmenters." not in f"{call.name}.":
        return None
    made = call.make(AUGMENTER, call.name)
    if _draws(call):
        made.state["draws"] = TRUE
    return of(made)


def _draws(call: Call) -> bool:
    """Whether an augmenter draws: itself, or one that it holds."""
    given = [*call.positional, *call.keywords.values()]
    held = [part for value in given for item in value.objects() for part in (item, *_items(item))]
    if call.last in _ALWAYS or any("draws" in each.state for each in held):
        return True
    if call.last in _CHAINS:
        return False
    if call.last in _FLIPS:
        chance = call.get("p", 0, NOTHING).constant()
        return isinstance(chance, (int, float)) and 0 < chance < 1
    return any(_is_a_range(each) for each in held)


def _items(item: Object) -> list[Object]:
    return [part for value in item.items or () for part in value.objects()]


def _is_a_range(item: Object) -> bool:
    """Whether something is a range of two numbers that differ, or a choice of several."""
    ends = [value.only() for value in item.items or ()]
    return len(ends) > 1 and all(isinstance(end, Const) for end in ends) and len(set(ends)) > 1


@framework.method(AUGMENTER, "to_deterministic")
def deterministic(call: Call) -> Value:
    """It draws the same each time."""
    return of(call.make(AUGMENTER, call.name))


@framework.calling(AUGMENTER)
@framework.method(AUGMENTER, "augment", "augment_image", "augment_images", "augment_batch_")
def augment(call: Call) -> Value:
    """`augmenter(image=image)`."""
    assert call.receiver is not None
    return _drawn(call, DRAWS["imgaug."]) if "draws" in call.receiver.state else call.unknown()


def _drawn(call: Call, name: str) -> Value:
    result = call.unknown()
    call.it.emit(LibraryCall(call.it.moment(site=call.site), name, call, result))
    return result
