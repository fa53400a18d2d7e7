"""# torch-load-untrusted (GCL310)

## What it does
Finds files that a program downloads, or that an option names in a program that saves none, and then unpickles as they
are: `torch.load` with `weights_only=False` (or without it before torch 2.6), and `load_state_dict_from_url`, which does
so by default.

## Why it breaks
Unpickling calls whatever the file names. Who can change it, on a hub or on a server, runs code on the machine that
loads it, with all that its user may do; nothing is raised.

## Example
```python
path = hf_hub_download("someone/model", "pytorch_model.bin")
model.load_state_dict(torch.load(path, weights_only=False))
```

## Use instead
```python
model.load_state_dict(torch.load(path, weights_only=True))
```
Or weights in safetensors, which hold tensors and nothing else.

## When it is fine
`weights_only=True`, the default of `torch.load` since 2.6; files that the program itself saved or uploads; a server's
address that the code itself names; a download that a hash fixes (`check_hash=True`, a commit as `revision`).

## Evidence
torch 2.13.0: a file whose object sets a variable when it is unpickled sets it through `load_state_dict_from_url` and
`torch.load(..., weights_only=False)`; with `weights_only=True` both raise `UnpicklingError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Finding, Fix
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.events import LibraryCall, RunEnded
from gclint.run.guards import Guard
from gclint.run.run import Run, together
from gclint.run.saved import file_key, saves
from gclint.run.values import NOTHING, Const, Object, Value, ancestors, of, root, union

FROM_URL = "load_state_dict_from_url"
GIVES = {
    "huggingface_hub": ("hf_hub_download", "snapshot_download", "cached_download"),
    "transformers": ("cached_file", "cached_path"),
    "diffusers": ("hf_hub_download",),
    "gdown": ("download",),
    "wget": ("download",),
    "requests": ("get",),
    "urllib": ("urlopen", "urlretrieve"),
}
"""What gives a downloaded file, its place or what it holds."""
WRITES = {
    "torch.hub.download_url_to_file": ("dst", 1),
    "urllib.request.urlretrieve": ("filename", 1),
    "gdown.download": ("output", 1),
    "wget.download": ("out", 1),
}
"""What downloads to a place that it is given: which argument says where."""
COMMIT = re.compile(r"[0-9a-f]{7,40}")
SERVER = re.compile(r"https?://[^/{}%]+/")
NET = ("gdown", "wget", "requests.get", "urlopen", "urlretrieve", "download_url_to_file", FROM_URL)
SAFE_SINCE = Version("2.6")

rule = Rule(
    code="GCL310",
    name="torch-load-untrusted",
    docs=__doc__ or "",
    words=(
        ("hf_hub_download", "snapshot_download", "cached_download", "cached_file", "cached_path", *NET, "weights_only"),
        ("torch",),
        ("load(", FROM_URL),
    ),
    certainty=("fragile",),
    fixable="unsafe",
    holds="torch >= 1.13",
    oracles=(),
    preview=True,
    reproduction=Reproduction(
        "bad_runs_code.py",
        "bad_runs_code.fixed.py",
        raises="AssertionError: the downloaded file ran its code",
        intent=("loaded",),
    ),
)


@rule.on(RunEnded)
def unpickled(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Is a file unpickled as it was downloaded?"""
    made = {item: each for each in run.of_type(LibraryCall) for item in each.result.objects()}
    written = _written(run)
    for load in run.of_type(LibraryCall):
        call = load.call
        if call is None or call.open:
            continue
        if load.name == "torch.load" and _is_unsafe(call.get("weights_only"), _default(run)):
            source = next(_downloads(load, made, written), None) or _option(load, run)
        elif load.name.startswith("torch.") and load.name.endswith(FROM_URL):
            unsafe = _is_unsafe(call.get("weights_only", 6), True)
            source = (load, load.guard) if unsafe and not _is_vouched_for(load) else None
        else:
            continue
        guard = together(load.guard, source[1]) if source is not None else None
        if source is None or guard is None or _is_own(call.get("f", 0), load, run):
            continue
        yield rule.finding(
            run,
            load.site,
            f"{_what(source[0], load)} is unpickled as it is: it can run any code",
            guard=guard,
            certainty="fragile",
            symptom="silent: the file's code runs with the rights of the user",
            related=[(source[0].site, "downloaded here")] if source[0] is not load else [],
            fixes=(_weights_only(load),),
        )


def _what(source: LibraryCall, load: LibraryCall) -> str:
    return "the file of an option" if source is load and load.name == "torch.load" else "a downloaded file"


def _option(load: LibraryCall, run: Run) -> tuple[LibraryCall, Guard] | None:
    """The load itself where nothing but an option says what file that is, and the program saves none."""
    assert load.call is not None
    if any(True for _ in run.modules_with("save")) or not load.call.gives("weights_only"):
        return None
    for guard, item in load.call.get("f", 0).possible(load.guard):
        if isinstance(item, Object) and item.kind == "option":
            return load, guard
    return None


def _default(run: Run) -> bool:
    """Whether torch.load unpickles everything where it is not told."""
    version = run.targets.version("torch")
    return version is not None and version < SAFE_SINCE


def _is_unsafe(told: Value, default: bool) -> bool:
    return told.constant() is False if told.alternatives else default


def _downloads(
    load: LibraryCall, made: dict[Object, LibraryCall], written: dict[str, LibraryCall]
) -> Iterator[tuple[LibraryCall, Guard]]:
    """The downloads that a file comes from: it is computed from what one gives, or another one writes to its place."""
    assert load.call is not None
    given = load.call.get("f", 0)
    opened = union(item.attributes["path"] for item in given.objects() if item.kind == "file")
    parts = ancestors(opened or given)
    wholes = ({root(item)} | ancestors(of(root(item))) for item in parts if isinstance(item, Object))
    for item in parts.union(*wholes):
        source = made.get(item) if isinstance(item, Object) else None
        if source is not None and _gives(source.name) and not _is_vouched_for(source):
            yield source, source.guard
    source = written.get(file_key(given, load.site, 0))
    if source is not None:
        yield source, source.guard


def _gives(name: str) -> bool:
    return name.rpartition(".")[2] in GIVES.get(name.partition(".")[0], ())


def _written(run: Run) -> dict[str, LibraryCall]:
    """The downloads by the place that they write to."""
    found: dict[str, LibraryCall] = {}
    for each in run.of_type(LibraryCall):
        name, index = WRITES.get(each.name, ("", 0))
        place = each.call.get(name, index) if name and each.call is not None else NOTHING
        key = file_key(place, each.site, index) if place else ""
        if key and not _is_vouched_for(each):
            found.setdefault(key, each)
    return found


def _is_vouched_for(download: LibraryCall) -> bool:
    """Whether the program itself says what is downloaded: it names the server's address, a hash or a commit."""
    call = download.call
    if call is None:
        return True
    named = _names_a_server(call.get("url", 0))
    hashed = bool(call.get("check_hash", 4).is_const(True)) or call.gives("hash_prefix")
    given = [str(item.value) for _, item in call.get("revision") if isinstance(item, Const)]
    return named or hashed or any(COMMIT.fullmatch(each) for each in given)


def _names_a_server(address: Value, depth: int = 4) -> bool:
    """Whether an address begins with a server that the code names, whatever follows it."""
    firsts = [item.made_of[0] for item in address.objects() if item.made_of] if depth else []
    literal = [item for _, item in address if isinstance(item, Const) and SERVER.match(str(item.value))]
    known = len(literal) + len(firsts)
    return 0 < known == len(address.alternatives) and all(_names_a_server(first, depth - 1) for first in firsts)


def _is_own(file: Value, load: LibraryCall, run: Run) -> bool:
    """Whether the program itself saves such a file, or uploads what it loads."""
    key = file_key(file, load.site, 0)
    uploads = ("push_to_hub", "upload_file", "upload_folder")
    return any(each.file == key for each in saves(run)) or any(
        each.name.rpartition(".")[2] in uploads for each in run.of_type(LibraryCall)
    )


def _weights_only(load: LibraryCall) -> Fix | None:
    """Load tensors and plain data only."""
    edit = rewrite.set_argument(load.site, "weights_only", "True")
    if edit is None:
        return None
    cost = "a file with more than tensors and plain data raises UnpicklingError"
    return Fix("weights-only", "Load weights only", (edit,), "unsafe", cost, intent=("loaded",))
