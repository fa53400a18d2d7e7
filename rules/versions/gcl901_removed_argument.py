"""# removed-argument (GCL901)

## What it does
Finds arguments that the target versions of transformers and trl, and torch's schedules and samplers, no longer take.

## Why it breaks
The call raises `TypeError: ... got an unexpected keyword argument`, often after the model was loaded.

## Example
```python
TrainingArguments("out", evaluation_strategy="steps")
Trainer(model, args, tokenizer=tokenizer)
AutoModelForCausalLM.from_pretrained(name, load_in_4bit=True)
ReduceLROnPlateau(optimizer, verbose=True)
```

## Use instead
```python
TrainingArguments("out", eval_strategy="steps")
Trainer(model, args, processing_class=tokenizer)
AutoModelForCausalLM.from_pretrained(name, quantization_config=BitsAndBytesConfig(load_in_4bit=True))
ReduceLROnPlateau(optimizer)  # it printed nothing since torch 2.2: `schedule.get_last_lr()` has the rate
```

## When it is fine
Versions that still take it; a class of the project that defines the argument itself; a `try` that falls back from
one spelling on the other; a condition on a release, or on the signature of what is called.

## Evidence
The signatures of transformers 4.46.3, 4.57.6, 5.0.0, 5.10.1 and 5.23.0, trl 0.24.0 and 1.16.0; torch 2.6, 2.9.1,
2.13 and 2.15 (pytorch/pytorch#147301, pytorch/pytorch#163134). Of transformers 4.48.3 to 5.0.0 what `from_pretrained`
does with `use_flash_attention_2` (modeling_utils.py: read up to 4.52.4); 5.23.0 raises.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from packaging.version import Version

from gclint.finding import Edit, Finding, Fix
from gclint.ir.syntax import Site
from gclint.rule import Reproduction, Rule
from gclint.run import invocation, rewrite
from gclint.run.calls import Call
from gclint.run.events import LibraryCall
from gclint.run.parts_of_guards import compares_release
from gclint.run.run import Run
from gclint.run.values import Class

from ..words import LIBRARIES
from .attempts import attempted
from .by_place import SAMPLERS, SCHEDULE, SUBCLASSED, left_out, one_too_many
from .removed import ARGUMENTS

ALL_TAKEN = {"return_remaining_strings": False, "allow_extra_keys": False, "fail_with_unknown_args": True}
"""The options of parsers that decide whether all has to be taken, and with what it has to (hf_argparser.py, trl)."""
QUANTISED = ("load_in_4bit", "load_in_8bit")
FLASH, FLASH_NOW = "use_flash_attention_2", 'attn_implementation="flash_attention_2"'
LOADING = dict.fromkeys(QUANTISED, "5.0.0") | {FLASH: "4.53.0"}
"""What `from_pretrained` of a model took, and the release from which on it hands it to the model's `__init__`."""
TAKERS = ("transformers.", "trl.", SCHEDULE, *SAMPLERS)
OWNERS = tuple(sorted({owner for owner, _ in ARGUMENTS}))
NAMES = tuple(sorted({name for _, name in ARGUMENTS}))
QUOTED = re.compile(r"[^\W\d]*(\"{3}|'{3}|\"|').*", re.DOTALL)

rule = Rule(
    code="GCL901",
    name="removed-argument",
    docs=__doc__ or "",
    words=(
        (*LIBRARIES, "lr_scheduler", *SUBCLASSED),
        (*NAMES, *LOADING, *SUBCLASSED),
        (*OWNERS, "from_pretrained", *SUBCLASSED),
        (*NAMES, "from_pretrained", *SUBCLASSED),
        (*OWNERS, *LOADING, *SUBCLASSED),
    ),
    certainty=("fails",),
    fixable="unsafe",
    reproduction=Reproduction(
        "bad_trainer.py",
        "bad_trainer.fixed.py",
        raises="TypeError: TrainingArguments.__init__() got an unexpected keyword argument",
    ),
)


@rule.on(LibraryCall)
def not_taken(event: LibraryCall, run: Run) -> Iterator[Finding]:
    """Is an argument given that the target version does not take?"""
    found = list(_given(event, run))
    if found and not attempted(event.site):
        yield from found


def _given(event: LibraryCall, run: Run) -> Iterator[Finding]:
    call = event.call
    if call is None or not call.name.startswith(TAKERS):
        return
    yield from _by_place(event, call, run)
    for name in call.keywords:
        row, guard = ARGUMENTS.get((call.last, name)), call.given_under(name, event.guard)
        if row is None or guard is None or compares_release(guard, row.package):
            continue
        symptom = _refused(event, call.last, name)
        if symptom and _reaches(run, row.package, row.gone) and not _own(call, name):
            yield rule.finding(
                run,
                call.place(name),
                f"{call.last} takes no `{name}` any more",
                guard=guard,
                symptom=symptom,
                fixes=(_edited(event, call, name, row.instead),),
                versions=(row.package,),
            )
    if call.last == "from_pretrained" and any(item.kind == "model" for item in event.result.objects()):
        yield from _loading(event, call, run)


def _loading(event: LibraryCall, call: Call, run: Run) -> Iterator[Finding]:
    """Is one given that a model is loaded with?"""
    for name, gone in LOADING.items():
        guard = call.given_under(name, event.guard) if _reaches(run, "transformers", gone) else None
        if guard is None or compares_release(guard, "transformers") or not call.name.startswith("transformers."):
            continue
        yield rule.finding(
            run,
            call.place(name),
            f"from_pretrained takes no `{name}` any more",
            guard=guard,
            symptom=f"TypeError: __init__() got an unexpected keyword argument '{name}'",
            fixes=(_quantised(event.site, call, name) if name in QUANTISED else _flash(event.site, call),),
            versions=("transformers",),
        )


def _by_place(event: LibraryCall, call: Call, run: Run) -> Iterator[Finding]:
    """Is one handed over by place?"""
    row = one_too_many(call)
    if row is None or not _reaches(run, "torch", row.since) or compares_release(event.guard, "torch"):
        return
    takes = f"takes {row.kept} positional arguments but {len(call.positional)} were given"
    yield rule.finding(
        run,
        event.site,
        f"{call.last} takes no `{row.name}` any more",
        guard=event.guard,
        symptom=row.symptom or f"TypeError: {call.last}.__init__() {takes}",
        fixes=(left_out(event.site, row.kept),),
    )


def _refused(event: LibraryCall, owner: str, name: str) -> str:
    """What is raised: by the parser of a command line or a file, which wants all that it reads to be taken, or by the
    constructor; "" where a parser is told to leave over what nothing takes.
    """
    made = event.site.node
    if isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr.startswith("parse_"):
        given = {each.arg: each.value for each in made.keywords if each.arg in ALL_TAKEN}
        strict = all(isinstance(each, ast.Constant) and each.value is ALL_TAKEN[name] for name, each in given.items())
        return "" if not strict else f"ValueError: {name} is not used by the HfArgumentParser"
    return f"TypeError: {owner}.__init__() got an unexpected keyword argument '{name}'"


def _reaches(run: Run, package: str, gone: str) -> bool:
    version = run.targets.version(package)
    return version is not None and version >= Version(gone)


def _own(call: Call, name: str) -> bool:
    """Whether a class of the project defines the argument itself."""
    owner = call.instance.type if call.instance is not None else None
    return isinstance(owner, Class) and name in invocation.fields(owner)


def _edited(event: LibraryCall, call: Call, name: str, instead: str) -> Fix | None:
    """Give it its new name, spell it anew, or drop it."""
    place = call.places.get(name)
    holder = place.module.parents.get(place.node) if place is not None else None
    if place is None or holder is None:
        return None
    new, _, text = instead.partition("=")
    if new and new in call.keywords:
        return None
    if new and text:
        if call.keywords[name].constant() is not True or not isinstance(holder, ast.keyword):
            return None
        edit = Edit(place.module.path, *place.module.span(holder)[:2], *place.module.span(holder.value)[2:], instead)
        return Fix("respell", f"Write {instead}", (edit,))
    if new:
        edits = _renamed(place, holder, new)
        return Fix("rename", f"Call it {new}", tuple(edits)) if edits else None
    outer = place.module.parents.get(holder)
    if isinstance(holder, ast.keyword) and isinstance(outer, ast.Call):
        edits = rewrite.remove_arguments(Site.at(place.module, outer), name)
        return Fix("drop", f"Drop {name}", tuple(edits), "unsafe") if edits else None
    return None


def _renamed(place: Site, holder: ast.AST, new: str) -> list[Edit]:
    if isinstance(holder, ast.keyword) and holder.arg is not None:
        return [rewrite.replace_name(Site.at(place.module, holder), new)]
    key = holder.keys[holder.values.index(place.node)] if isinstance(holder, ast.Dict) else None  # type: ignore[arg-type]
    quote = QUOTED.fullmatch(place.module.source(key)) if key is not None else None
    return [rewrite.replace(Site.at(place.module, key), f"{quote[1]}{new}{quote[1]}")] if key and quote else []


def _flash(site: Site, call: Call) -> Fix | None:
    """Name the attention, or leave out that it is another one."""
    held, value = rewrite.argument(site, FLASH), call.keywords[FLASH].constant()
    written = isinstance(held.value, ast.Constant) if held is not None else False
    if held is None or not written or FLASH_NOW.partition("=")[0] in call.keywords or not isinstance(value, bool):
        return None
    if not value:
        edits = rewrite.remove_arguments(site, FLASH)
        return Fix("drop", f"Drop {FLASH}", tuple(edits)) if edits else None
    module = site.module
    edit = Edit(module.path, *module.span(held)[:2], *module.span(held.value)[2:], FLASH_NOW)
    return Fix("respell", f"Write {FLASH_NOW}", (edit,))


def _quantised(site: Site, call: Call, name: str) -> Fix | None:
    """Hand the flag over in a BitsAndBytesConfig."""
    held = rewrite.argument(site, name)
    written = isinstance(held.value, ast.Constant) if held is not None else False
    others = "quantization_config" in call.keywords or sum(item in call.keywords for item in QUANTISED) > 1
    if held is None or not written or others:
        return None
    module = site.module
    if call.keywords[name].constant() is not True:
        edits = rewrite.remove_arguments(site, name)
        return Fix("drop", f"Drop {name}", tuple(edits)) if call.keywords[name].constant() is False else None
    text = f"quantization_config=BitsAndBytesConfig({name}=True)"
    edit = Edit(module.path, *module.span(held)[:2], *module.span(held.value)[2:], text)
    imports = rewrite.ensure_import(module, "from transformers import BitsAndBytesConfig")
    bound = any("BitsAndBytesConfig" in line and "import" in line for line in module.lines)
    return Fix("quantization-config", "Hand it over in a BitsAndBytesConfig", (*(() if bound else imports), edit))
