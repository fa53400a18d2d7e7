"""Companions: the releases of one package that another, pinned beside it, leaves possible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

# what each release, from the one named on, requires of a package that projects pin: the requirements on PyPI, of
# transformers and diffusers those of their extra "torch", without which nothing trains; of timm what it imports; of
# torch the Pythons that its wheels are for
REQUIRES: Mapping[str, Mapping[str, tuple[tuple[str, str], ...]]] = {
    "transformers": {
        "tokenizers": (
            ("4.20.0", ">=0.11.1,<0.13"),
            ("4.23.0", ">=0.11.1,<0.14"),
            ("4.34.0", ">=0.14,<0.15"),
            ("4.35.2", ">=0.14,<0.19"),
            ("4.40.0", ">=0.19,<0.20"),
            ("4.45.0", ">=0.20,<0.21"),
            ("4.47.0", ">=0.21,<0.22"),
            ("4.56.0", ">=0.22.0,<=0.23.0"),
            ("5.16.0", ">=0.23.1,<0.24"),
        ),
        "huggingface-hub": (
            ("4.20.0", "<1.0"),
            ("4.28.1", ">=0.11.0,<1.0"),
            ("4.33.0", ">=0.15.1,<1.0"),
            ("4.34.0", ">=0.16.4,<1.0"),
            ("4.36.0", ">=0.19.3,<1.0"),
            ("4.44.0", ">=0.23.2,<1.0"),
            ("4.47.0", ">=0.24.0,<1.0"),
            ("4.49.0", ">=0.26.0,<1.0"),
            ("4.51.0", ">=0.30.0,<1.0"),
            ("4.54.0", ">=0.34.0,<1.0"),
            ("5.0.0", ">=1.3.0,<2.0"),
            ("5.4.0", ">=1.5.0,<2.0"),
            ("5.11.0", ">=1.5.0"),
            ("5.23.0", ">=1.31.0,<3.0"),
        ),
        "torch": (
            ("4.48.0", ">=2.0"),
            ("4.52.1", ">=2.1"),
            ("4.56.0", ">=2.2"),
            ("5.4.0", ">=2.4"),
            ("5.16.1", ">=2.5"),
            ("5.23.0", ">=2.6"),
        ),
        "accelerate": (("4.40.2", ">=0.21.0"), ("4.46.3", ">=0.26.0"), ("5.0.0", ">=1.1.0")),
        "python": (("4.20.0", ">=3.7"), ("4.31.0", ">=3.8"), ("4.47.0", ">=3.9"), ("5.0.0", ">=3.10")),
    },
    "torch": {
        "python": (
            ("1.8.0", ">=3.6"),
            ("1.11.0", ">=3.7"),
            ("2.0.0", ">=3.8"),
            ("2.5.0", ">=3.9"),
            ("2.9.0", ">=3.10"),
        ),
    },
    "trl": {
        "transformers": (
            ("0.7.5", ">=4.31.0"),
            ("0.11.0", ">=4.40.0"),
            ("0.12.0", ">=4.46.0"),
            ("0.12.2", ">=4.46.0,<4.47.0"),
            ("0.13.0", ">=4.46.0"),
            ("0.18.0", ">=4.50.0"),
            ("0.19.0", ">=4.51.0"),
            ("0.20.0", ">=4.53.2"),
            ("0.21.0", ">=4.55.0"),
            ("0.23.0", ">=4.56.1"),
            ("0.27.0", ">=4.56.2"),
            ("0.28.0", ">=4.56.2,<5.0.0"),
            ("1.1.0", ">=4.56.2"),
        ),
        "accelerate": (("0.12.2", ">=0.34.0"), ("0.20.0", ">=1.4.0"), ("1.16.0", ">=1.10.1")),
    },
    "accelerate": {"torch": (("0.15.0", ">=1.4.0"), ("0.24.1", ">=1.10.0"), ("1.3.0", ">=2.0.0"))},
    "peft": {"torch": (("0.3.0", ">=1.13.0"),), "accelerate": (("0.10.0", ">=0.21.0"),)},
    "lightning": {"torch": (("2.0.9", ">=1.11.0"), ("2.4.0", ">=2.1.0"))},
    "bitsandbytes": {"torch": (("0.46.1", ">=2.2"), ("0.49.2", ">=2.3"), ("0.50.2", ">=2.4"))},
    "diffusers": {"torch": (("0.42.1", ">=2.6"),), "accelerate": (("0.42.1", ">=0.31.0"),)},
    "timm": {"torch": (("0.1.0", "<2.0"), ("0.4.5", ""))},  # timm/models/layers/helpers.py imports torch._six
    "torchvision": {
        "torch": tuple((f"0.{minor}.0", f"==2.{minor - 15}.*") for minor in range(15, 26)),
    },
}


def possible(package: str, versions: Iterable[Version], pinned: Mapping[str, Version]) -> list[Version]:
    """The versions of a package that can be installed beside the pinned ones, in the order given.

    What pip would refuse to install together is left out; nothing is said of packages that are not in the table.
    """
    limit = _limit(package, pinned)
    wanted = [(name, pinned[name]) for name in REQUIRES.get(package, {}) if name in pinned]
    return [
        version
        for version in versions
        if (limit is None or limit.contains(version, prereleases=True))
        and all(_allows(package, version, name, companion) for name, companion in wanted)
    ]


def concerns(package: str, names: Iterable[str]) -> bool:
    """Whether a package and one of the named ones require each other, as far as the table knows."""
    return any(name in REQUIRES.get(package, {}) or package in REQUIRES.get(name, {}) for name in names)


def _limit(package: str, pinned: Mapping[str, Version]) -> SpecifierSet | None:
    """What the pinned packages themselves require of a package; None when nothing."""
    from packaging.specifiers import SpecifierSet

    texts = [
        found
        for name, version in pinned.items()
        if package in REQUIRES.get(name, {}) and (found := _required(REQUIRES[name][package], version))
    ]
    return SpecifierSet(",".join(texts)) if texts else None


@lru_cache(maxsize=16_384)
def _allows(package: str, version: Version, name: str, companion: Version) -> bool:
    """Whether a version of a package requires nothing that a version of another one does not meet."""
    from packaging.specifiers import SpecifierSet

    required = _required(REQUIRES[package][name], version)
    return not required or SpecifierSet(required).contains(companion, prereleases=True)


@lru_cache(maxsize=1024)
def _required(rows: tuple[tuple[str, str], ...], version: Version) -> str:
    """What the row of a version says, "" for a version before the first."""
    from packaging.version import Version

    held = [text for first, text in rows if Version(first) <= version]
    return held[-1] if held else ""
