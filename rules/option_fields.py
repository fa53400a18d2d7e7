"""Options that are the fields of a dataclass, which a library fills from the command line."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gclint.ir.syntax import DEFINITIONS, FUNCTIONS, Module, Site
from gclint.run.events import LibraryCall
from gclint.run.run import Run
from gclint.run.values import NOTHING, Class, External, Object

from .annotations import keywords_in, named_in, read_in
from .filled_classes import filled_objects, records_in
from .option_names import (
    AS_A_DICT,
    BY_LAUNCHERS,
    OF_ALL,
    is_shown,
    last_name,
    takes_of_all,
)
from .options_given import Texts, is_handed_on, is_named, is_saved, taken_by
from .training_fields import OF_TRAINING_ARGUMENTS

OWN = "training_args."
"""How the names of TrainingArguments' own methods begin."""
KEPT_OUT = ("ClassVar", "InitVar", "SUPPRESS", "Suppress", "SuppressFixed", "Fixed", "Positional")
TRAINING_ARGUMENTS = ("TrainingArguments", "Seq2SeqTrainingArguments")


class Field(NamedTuple):
    """A field of a class that is filled from the command line, under an option, and the call that fills it."""

    option: str
    site: Site
    parsed: LibraryCall


def unread_fields(run: Run) -> Iterator[Field]:
    """The fields that the command line fills and that no code of the program names."""
    texts, told = Texts.of_all(), set[Site]()
    filled = list(filled_objects(run))
    taken = _taken_together(run) if filled else set[Object]()
    sent = {name for each in run.of_type(LibraryCall) for name in taken_by(each.name) or ()}
    for item, begins, chain, parsed in filled if taken is not None else ():
        if set(chain) & (taken or set()) or any(
            _may_be_read(each, run) for each in chain if isinstance(each.type, Class)
        ):
            continue
        if not isinstance(item.type, Class) or is_handed_on({*chain} - {item}, run):
            continue
        kept = is_saved({*chain}, run)
        for name, site in _fields(item.type):
            if site in told or name in sent or records_in(item.attributes.get(name, NOTHING)):
                continue
            if not is_named(name, site, kept, texts, run) and not _is_asked(name, site, run):
                told.add(site)
                yield Field(begins + name, site, parsed)


def _taken_together(run: Run) -> set[Object] | None:
    """The objects whose fields are taken all together; None where nobody can tell of which some code takes them."""
    nodes = {
        node
        for module in {module for word in (*AS_A_DICT, *OF_ALL) for module in run.modules_with(word)}
        for node in takes_of_all(module)
        if not _is_in_what_nobody_calls(node, module, run)
    }
    by_text = {node: held for node, held in run.taken_by_text.items() if node in nodes and held is not None}
    known, taken = {*by_text}, {item for held in by_text.values() for item in held}
    for each in run.of_type(LibraryCall) if nodes else ():
        if each.call is not None and each.site.node in nodes:
            given = [item for value in each.call.inputs() for _, item in value]
            if not given or any(not isinstance(item, Object) or item.kind == "unknown" for item in given):
                return None
            known.add(each.site.node)
            taken |= {item for item in given if isinstance(item, Object)}
    return taken if nodes == known else None


def _is_in_what_nobody_calls(node: ast.AST, module: Module, run: Run) -> bool:
    """Whether something stands in a function of a module whose name no other code of the program has."""
    outer = [each for each in module.ancestors(node) if isinstance(each, DEFINITIONS)]
    if not outer or not isinstance(outer[-1], FUNCTIONS) or outer[-1].decorator_list:
        return False
    name = outer[-1].name
    return not any(_names(each, name) for other in run.modules_with(name) for each in other.parents)


def _names(node: ast.AST, name: str) -> bool:
    """Whether something is a variable, an attribute, an import or a text of a name."""
    if isinstance(node, ast.alias):
        return node.name == name
    return last_name(node) == name or (isinstance(node, ast.Constant) and node.value == name)


def _may_be_read(item: Object, run: Run) -> bool:
    """Whether code of a library may read what a class of the project adds: it is given the object, or has the class
    that it inherits from. transformers itself reads the names that it knows.
    """
    owner = item.type
    if not isinstance(owner, Class):
        return True
    bases = [base for base in owner.ancestry() if isinstance(base, External) and base.name != "builtins.object"]
    known = [base for base in bases if base.name.startswith("transformers.") and base.name.endswith(TRAINING_ARGUMENTS)]
    if bases != known or any(map(_is_used, run.of_type(LibraryCall))):
        return True
    return is_handed_on({item}, run, ("transformers.", OWN) if known else (), written=True)


def _is_used(each: LibraryCall) -> bool:
    """Whether a method of TrainingArguments gives all fields, for something else than to show or to keep them."""
    name = each.name.removeprefix(OWN)
    return name != each.name and name.startswith("to_") and not is_shown(each.site.node, each.site.module)


def _fields(owner: Class) -> Iterator[tuple[str, Site]]:
    """The fields with the places where they are defined, but those that no argument fills or a library knows."""
    for one in owner.ancestry():
        for line in one.node.body if isinstance(one, Class) else ():
            if not isinstance(line, ast.AnnAssign) or not isinstance(line.target, ast.Name):
                continue
            known = line.target.id in (*BY_LAUNCHERS, *OF_TRAINING_ARGUMENTS)
            if isinstance(one, Class) and not known and not _is_kept_out(line, one.module):
                yield line.target.id, Site.at(one.module, line)


def _is_kept_out(line: ast.AnnAssign, module: Module) -> bool:
    """Whether a field is none of the command line's: `field(init=False)`, a ClassVar, one whose help is suppressed, or
    that tyro leaves out or at its default; or one that is an argument of `__post_init__`.
    """
    named = named_in(line.annotation, module) | read_in(line.value, module)
    asked = [each.value for each in keywords_in(line.value) if each.arg == "init"]
    return not named.isdisjoint(KEPT_OUT) or any(not isinstance(each, ast.Constant) or not each.value for each in asked)


def _is_asked(name: str, site: Site, run: Run) -> bool:
    """Whether any attribute of that name is read, be it of the object itself, in the program or beside it."""
    modules: list[Module] = [*run.modules_with(name), *run.beside_with(name, site.module)]
    return any(
        isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load)
        for module in modules
        for node in module.parents
    )
