"""Whether the code itself decided what is loaded into a model, so that what is not loaded was meant to be left out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gclint.frameworks.copies import COPY_OF
from gclint.ir.layout import by_place
from gclint.ir.syntax import FORS, FUNCTIONS, TRIES, Module, dotted, nodes
from gclint.run.closures import calls_in, enclosing_function, read_names
from gclint.run.events import Backward, Forward, StateDictLoaded, TrainerStarted
from gclint.run.guards import conj
from gclint.run.meaning import definition
from gclint.run.names import class_attribute
from gclint.run.run import Run
from gclint.run.saved import content_of, ending_in, ending_of, saves
from gclint.run.values import NOTHING, Class, External, Object, root

from .lacking import of_a_model
from .merged import file_held_whole, is_own, merged_files
from .resumed import FILE

SAVE = "torch.save"
EMPTY = "init_empty_weights"
"""The context in which layers get no values (accelerate/big_modeling.py), beside torch's device "meta"."""


def on_purpose(load: StateDictLoaded, run: Run) -> bool:
    """Whether the code itself decided what is loaded, entry by entry."""
    held = load.source.objects()
    return (
        _written_out(load)
        or _put_back(load)
        or _one_of_several_parts(load, run)
        or any("taken_out" in item.state or _left_out_by_name(item) or _chosen_of_its_own(item, load) for item in held)
        or any(_comes_in_part(item, load, run) for item in held)
        or any(
            _comes_in_part(item, load, run) or _saved_in_part_elsewhere(file, run, perhaps=True)
            for _, item, file in merged_files(load)
        )
        or (bool(held) and all(_of_a_copy(item, load) or _of_another_kind(item, load, run) for item in held))
        or (bool(held) and all(_may_be_of_the_same(item, load) for item in held))
        or _fills_another_whole(load, run)
        or any(
            _tells_its_state(model) or _made_of(model, held) or _has_no_values(model) for model in load.target.objects()
        )
    )


def _comes_in_part(item: Object, load: StateDictLoaded, run: Run) -> bool:
    """Whether what is read was saved in part."""
    elsewhere = _saved_in_part_elsewhere(file_held_whole(item) or item, run)
    return elsewhere or _saved_in_part(item, load, run) or _kept_in_part(item, run)


def _written_out(load: StateDictLoaded) -> bool:
    """Whether every name that is loaded is written in the code: the rest is left out on purpose."""
    held = [item for _, item in load.source]
    return bool(held) and all(isinstance(item, Object) and item.entries and not item.open for item in held)


def _put_back(load: StateDictLoaded) -> bool:
    """Whether the entries were kept on the model itself, or are its own state dict as it was: no name is missing."""
    held, models = load.source.objects(), load.target.objects()
    kept = [item for model in models for value in model.attributes.values() for item in value.objects()]
    as_it_was = bool(held) and all(is_own(item, load) and "filled" not in item.state for item in held)
    return as_it_was or any(item in kept or item.parent in models for item in held)


def _of_a_copy(item: Object, load: StateDictLoaded) -> bool:
    """Whether a dict is the state dict of a model of which this one is a copy, or the reverse: both have its names."""
    pairs = [(one, other) for one in _whose_names(item) for other in load.target.objects()]
    return bool(pairs) and all(one is not other and _first(one) is _first(other) for one, other in pairs)


def _of_another_kind(item: Object, load: StateDictLoaded, run: Run) -> bool:
    """Whether a dict is the state dict, as it is, of a model that the program made of another of its classes, or of a
    library's from which that of the other derives: what that one has no names for was left to the other on purpose.
    """
    own = item.attributes.get("of", NOTHING).objects() if item.type == "state_dict" else []
    classes = {root(each).type for each in own}
    targets = {root(each).type for each in load.target.objects()}
    known = bool(classes) and all(isinstance(each, Class) for each in targets)
    if known and all(isinstance(each, Class) for each in classes):
        return classes.isdisjoint(targets)
    return known and all(_is_base(root(each), target, run) for each in own for target in targets)


def _is_base(model: Object, derived: object, run: Run) -> bool:
    """Whether a model was made of a library's class, and a class of the project is another below it."""
    made = run.makers.get(model)
    above = derived.ancestry() if isinstance(derived, Class) else ()
    return made is not None and any(isinstance(each, External) and each.name == made.name for each in above)


def _may_be_of_the_same(item: Object, load: StateDictLoaded) -> bool:
    """Whether a dict has all the names of a model of which nobody knows where it comes from, as of the one that it goes
    into: they may be one, as where a class keeps an average and puts it back.
    """
    own = _whose_names(item)
    return bool(own) and all(root(each).kind == "unknown" for each in (*own, *load.target.objects()))


def _whose_names(item: Object) -> list[Object]:
    """The models whose state dict a dict is, or all of whose names a comprehension gives it."""
    if item.type == "state_dict":
        return item.attributes.get("of", NOTHING).objects()
    whole = item.site is not None and isinstance(item.site.node, ast.DictComp) and "filtered" not in item.state
    return item.known("keys_of").objects() if whole else []


def _fills_another_whole(load: StateDictLoaded, run: Run) -> bool:
    """Whether the same fills another model of its class later with nothing left out: what this one lacks is its own."""
    held, classes = set(load.source.objects()), {root(each).type for each in load.target.objects()}
    return any(
        bool(held & set(other.source.objects()))
        and other.strict.is_const(True)
        and not set(other.target.objects()) & set(load.target.objects())
        and classes == {root(each).type for each in other.target.objects()}
        and conj(other.guard, load.guard) is not None
        and not any(isinstance(each, TRIES) for each in other.site.module.ancestors(other.site.node))
        for other in run.of_type(StateDictLoaded, start=run.place(load))
    )


def _first(model: Object) -> Object:
    """What a copy, or a copy of one, was made of."""
    while (before := model.known(COPY_OF).only()) is not None and isinstance(before, Object):
        model = before
    return model


def _one_of_several_parts(load: StateDictLoaded, run: Run) -> bool:
    """Whether another load fills the same model, as leniently, from the same call, with nothing run in between, also
    where the program then trains: each brings a part.
    """
    place, trained = run.place(load), run.of_type(Backward, TrainerStarted)
    used = [run.place(event) for event in run.of_type(Forward, Backward, TrainerStarted)]
    return any(
        other.site != load.site
        and other.moment.stack == load.moment.stack
        and other.target.objects() == load.target.objects()
        and other.source.objects() != load.source.objects()
        and other.strict.is_const(False)
        and (both := conj(other.guard, load.guard)) is not None
        and (not trained or any(conj(both, each.guard) is not None for each in trained))
        and not any(min(place, at) < each < max(place, at) for at in [run.place(other)] for each in used)
        for other in run.of_type(StateDictLoaded)
    )


def _chosen_of_its_own(item: Object, load: StateDictLoaded) -> bool:
    """Whether a comprehension chooses among the names of the very model that it goes into."""
    models = [root(model) for model in load.target.objects()]
    made = item.site is not None and isinstance(item.site.node, ast.DictComp) and "filtered" in item.state
    return made and any(model in models for model in item.known("keys_of").objects())


def _left_out_by_name(item: Object) -> bool:
    """Whether a comprehension leaves entries out by what their names look like, such as a head's."""
    made = item.known("filtered").only()
    node = made.site.node if isinstance(made, Object) and made.site is not None else None
    if not isinstance(node, ast.DictComp) or by_membership(item):
        return False
    names, values = set(read_names(node.key)), set(read_names(node.value))
    return all(
        _denies(test) and names & (read := set(read_names(test))) and not read & (values - names)
        for test in node.generators[0].ifs
    )


def _denies(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp):
        return all(map(_denies, test.values))
    if isinstance(test, ast.Compare):
        return all(isinstance(operator, (ast.NotIn, ast.NotEq)) for operator in test.ops)
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def _saved_in_part(item: Object, load: StateDictLoaded, run: Run) -> bool:
    """Whether the program itself saved the file, or one that may be it by its name, with a choice of this model's
    entries.
    """
    models = [root(model) for model in load.target.objects()]
    contents = [content for _, content in content_of(run, item)]
    if item.type == FILE:
        name = _name_of(item)
        contents += [each.content for each in saves(run) if not name or each.ending.rpartition("/")[2] == name]
    return any(_is_choice(part, models) for content in contents for part in content.objects())


def _is_choice(part: Object, models: list[Object]) -> bool:
    """Whether a dict has some of the entries of one of these models, chosen at once or one by one."""
    held = part.known("chosen_of").objects() + (part.known("keys_of").objects() if "filtered" in part.state else [])
    return any(model in models for model in held)


def _name_of(file: Object) -> str:
    return ending_of(file.attributes.get("path", NOTHING)).rpartition("/")[2]


def _saved_in_part_elsewhere(item: Object, run: Run, *, perhaps: bool = False) -> bool:
    """Whether code that this program does not come to, or one beside it, saves a file of that name, with a choice of a
    model's entries; `perhaps`, one that may have the name for all that is known of both.
    """
    name = _name_of(item) if item.type == FILE else ""
    word = SAVE if perhaps else name

    def is_it(file: ast.expr) -> bool:
        written = file.value if isinstance(file, ast.Constant) else ending_in(file)
        ending = str(written).rpartition("/")[2]
        return not name or name.endswith(ending) if perhaps else ending == name

    return bool(word) and any(
        dotted(call.func) == SAVE and len(call.args) > 1 and is_it(call.args[1]) and _chooses(module, call.args[0])
        for module in (*run.modules_with(word), *run.beside_with(word))
        for call in calls_in(module.tree)
    )


def _kept_in_part(item: Object, run: Run) -> bool:
    """Whether the program, or what it imports, makes dicts that hold a choice of a state dict's entries under the same
    key.
    """
    around = item.parent.attributes if item.parent is not None else {}
    keys = [key for key, value in around.items() if item in value.objects() and key[1:2] in ("'", '"')]
    return any(
        _chooses(module, value)
        for key in keys
        for module in _modules_with_key(run, key.strip("[]'\""))
        for value in module.once(_under_keys, module).get(key, ())
    )


def _under_keys(module: Module) -> dict[str, list[ast.expr]]:
    """What the dicts that a module spells out hold, by the key as it is written in brackets."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes(module.tree):
        for key, value in zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ():
            if isinstance(key, ast.Constant):
                found.setdefault(f"[{key.value!r}]", []).append(value)
    return found


def _modules_with_key(run: Run, key: str) -> Iterator[Module]:
    """The modules whose text has a dict's key; most that have the word are not worth parsing to the last body."""
    spelled = re.compile(rf"['\"]{re.escape(key)}['\"]+\s*:")
    return (module for module in run.modules_with(key) if spelled.search(module.text))


def _chooses(module: Module, node: ast.expr) -> bool:
    """Whether an expression makes a dict of some of a model's entries, at once or in a loop over them, or by taking
    others out.
    """
    made = definition(module, node)
    if isinstance(made, ast.DictComp):
        return bool(made.generators[0].ifs) and of_a_model(module, made.generators[0].iter)
    if isinstance(made, ast.Call) and _is_given_by_choice(module, made):
        return True
    if not isinstance(node, ast.Name):
        return False
    parts = list(nodes(enclosing_function(module, node)))
    if of_a_model(module, node) and any(_takes_out(part, node.id) for part in parts):
        return True
    return any(
        isinstance(loop, FORS) and of_a_model(module, loop.iter) and any(_fills(part, node.id) for part in nodes(loop))
        for loop in parts
    )


def _is_given_by_choice(module: Module, call: ast.Call) -> bool:
    """Whether a function of the same file chooses among the entries of a model that it is given."""
    functions = (each for each in module.tree.body if isinstance(each, FUNCTIONS) and each.name == dotted(call.func))
    chosen = any(
        isinstance(part, ast.DictComp) and part.generators[0].ifs and dotted(part.generators[0].iter) in by_place(each)
        for each in functions
        for part in nodes(each)
    )
    return chosen and any(of_a_model(module, each) for each in call.args)


def _takes_out(node: ast.AST, name: str) -> bool:
    """Whether something takes an entry out of a dict of a name."""
    if isinstance(node, ast.Call):
        return dotted(node.func) == f"{name}.pop"
    return isinstance(node, ast.Delete) and any(
        isinstance(each, ast.Subscript) and dotted(each.value) == name for each in node.targets
    )


def _fills(node: ast.AST, name: str) -> bool:
    """Whether an `if` without an `else` puts something into a dict of a name."""
    return (
        isinstance(node, ast.If)
        and not node.orelse
        and any(
            isinstance(part, ast.Assign)
            and any(isinstance(each, ast.Subscript) and dotted(each.value) == name for each in part.targets)
            for part in node.body
        )
    )


def _tells_its_state(model: Object) -> bool:
    """Whether the model's class says itself which entries are its state: not all of them are in a file of it."""
    return isinstance(model.type, Class) and class_attribute(model.type, "state_dict") is not None


def _has_no_values(model: Object) -> bool:
    """Whether the model is made without values: what is not loaded raises an error once it is used or saved."""
    site = model.site
    around = site.module.ancestors(site.node) if site is not None else ()
    held = (item.context_expr for each in around if isinstance(each, ast.With) for item in each.items)
    return any(isinstance(each, ast.Call) and _makes_no_values(each) for each in held)


def _makes_no_values(context: ast.Call) -> bool:
    last = dotted(context.func).rpartition(".")[2]
    return last == EMPTY or any(isinstance(each, ast.Constant) and each.value == "meta" for each in nodes(context))


def _made_of(model: Object, held: list[Object]) -> bool:
    """Whether the model was built around parts of the one whose state dict it is given."""
    sources = [source for item in held for source in item.attributes.get("of", NOTHING).objects()]
    positional, keywords = model.built or ([], {})
    parts = [part for value in (*positional, *keywords.values()) for part in value.objects()]
    return any(part.parent in sources for part in parts if part.parent is not None)


def by_membership(item: Object) -> bool:
    """Whether entries were chosen by being among the names of a model."""
    return any("keys_of" in held.state or "names_of" in held.state for held in item.known("filtered_by").objects())
