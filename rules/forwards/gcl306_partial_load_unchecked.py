"""# partial-load-unchecked (GCL306)

## What it does
Finds weights that are loaded with `strict=False`, through a filter on the model's own names, or over the model's own
entries (`{**model.state_dict(), **saved}`), without anybody looking at what was left out.

## Why it breaks
Names that do not match are dropped in silence. Wrappers and replaced layers change names (`module.`,
`_orig_mod.`, a module that holds the layer), and then most of the model keeps its random weights: 4 of 16
tensors were loaded in the case that this rule comes from.

## Example
```python
saved = torch.load(path)
model.load_state_dict(saved, strict=False)
```

## Use instead
```python
loaded = model.load_state_dict(saved, strict=False)
if loaded.missing_keys:
    raise RuntimeError(f"{path} lacks {loaded.missing_keys}")
```

## When it is fine
The result, or more of the filtered dict than whether it is empty, is looked at, or the code itself works out which
names are missing, or counts or lists those that it takes, or leaves out, and reads that, also by an attribute or where
another function chooses what is loaded and gives the names that it left out; entries that were kept on the model
itself, its own state dict among them, or that of a model of which it is a copy; adapters or parts that are not trained;
entries that the code takes out by name, such as a head, and does not put back under another; files to which the program
itself, a function of it, or the model's class, saved a part; models that are made without values, as under
`init_empty_weights`; what distributed checkpoint read, which raises for names that the files lack; strictness that the
code decides, by an argument or by a strict load of the same file in the other branch; a second attempt in an `except`
that says the strict one failed; a function that no program of the project comes to, where it has some, nor may look up
under a name that nobody can tell.

## Evidence
torch 2.13.0: `strict=False` and a filter by `model.state_dict()` each loaded 4 of 16 tensors, or none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from gclint.finding import Edit, Finding, Fix
from gclint.ir.layout import gather, on_its_own, spelled, value_of
from gclint.ir.syntax import COMPOUND, DEFINITIONS, TRIES, Module, Site, arguments, dotted, nodes
from gclint.rule import Reproduction, Rule
from gclint.run import rewrite
from gclint.run.arithmetic import NAMES_COMPARED
from gclint.run.closures import calls_in, contains, enclosing_function, read_names
from gclint.run.elements import ANY
from gclint.run.events import Event, LibraryCall, RunEnded, StateDictLoaded
from gclint.run.guards import ALWAYS, Guard, conj
from gclint.run.pages import is_written
from gclint.run.run import Run, together
from gclint.run.values import Alternative, Object, root, sources, union

from .lacking import names_beside, works_out
from .merged import is_own, merged_files
from .printed import is_printed_never
from .purpose import by_membership, on_purpose
from .resumed import FILE
from .tallies import counts_beside

TELL = ("logging", "sys", "warnings")
COUNTS = ("builtins.len", "builtins.print")

rule = Rule(
    code="GCL306",
    name="partial-load-unchecked",
    docs=__doc__ or "",
    words=(
        ("load_state_dict", "save(", "save,", "save)", "import save", "save as"),
        ("load_state_dict",),
        ("strict", "False", ".state_dict"),
    ),
    certainty=("fragile",),
    fixable="unsafe",
    oracles=("keys",),
    reproduction=Reproduction("bad_other_names.py", "good_names_stripped.py", intent=("loaded",)),
)


@rule.on(RunEnded)
def unchecked(event: RunEnded, run: Run) -> Iterator[Finding]:
    """Were weights loaded of which some may be missing, and did nobody look?"""
    if run.beside_programs:
        return  # which file would be loaded decides
    for load in run.of_type(StateDictLoaded):
        if load.trains and any(_is_model(item) for item in load.target.objects()) and not on_purpose(load, run):
            yield from _unchecked(load, run)


def _unchecked(load: StateDictLoaded, run: Run) -> Iterator[Finding]:
    filtered = _filter(load)
    lenient = _lenient(load, filtered) or [guard for guard, _, _ in merged_files(load)]
    found = (together(load.guard, guard, way) for guard in lenient for way in load.trains)
    held = next((both for both in found if both is not None), None)
    if (
        held is None
        or _looked_at(load.site, run)
        or _worked_out(load, run)
        or _named_beside(load)
        or _counted(load, run)
        or _chosen(load, run)
    ):
        return
    if filtered is not None and _compared(load.site, filtered, run):
        return
    how = _how(load, filtered)
    yield rule.finding(
        run,
        load.site,
        f"{how}, and nobody looks at which weights were not loaded",
        guard=held,
        certainty="fragile",
        symptom="silent: tensors that are not loaded keep their initial values",
        related=[(filtered, "filtered here")] if filtered is not None else (),
        fixes=(_fix(load.site, filtered) if filtered is not None or load.strict.is_const(False) else None,),
    )


def _how(load: StateDictLoaded, filtered: Site | None) -> str:
    """Why a name that is missing is no error."""
    if filtered is not None:
        return "a filter drops other names"
    merged = not load.strict.possible(load.guard).is_const(False)
    return "the model's own weights stand in for missing ones" if merged else "strict=False ignores missing names"


def _named_beside(load: StateDictLoaded) -> bool:
    """Whether another function that made what is loaded names what it left out, and what it gives of that is read."""
    around = enclosing_function(load.site.module, load.site.node)
    made = [item.site for item in load.source.objects() if item.site is not None and not is_written(item.site)]
    named = any(enclosing_function(each.module, each.node) is not around and names_beside(each) for each in made)
    return named and not _drops_the_rest(load.site, around)


def _drops_the_rest(site: Site, around: ast.AST) -> bool:
    """Whether what is loaded was given together with something that nothing reads, as in `chosen, _ = choose(...)`."""
    given = arguments(site.node)[:1] if isinstance(site.node, ast.Call) else []
    loaded = {name for each in given for name in read_names(each)}
    for line in nodes(around):
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Call):
            names = {part.id for part in ast.walk(line.targets[0]) if isinstance(part, ast.Name)}
            if names & loaded and names - loaded:
                return not any(_looks(site, name) for name in names - loaded)
    return False


def _is_model(item: Object) -> bool:
    return item.kind in (
        "module",
        "model",
        "instance",
        "modules",
        "part",
        "unknown",
        "layer",
        "lightning_module",
        "diffusers_model",
        "vision_model",
        "ddp",
        "dp",
        "average",
        "fsdp",
        "fsdp2",
    )


def _chosen(load: StateDictLoaded, run: Run) -> bool:
    """Whether the other branch of the `if` around a load makes it a strict one, of the same file as far as is known:
    the code decides the strictness.
    """
    module, branch = load.site.module, _branch(load.site)
    return branch is not None and any(
        other.site.module is module
        and _branch(other.site) is branch
        and other.target.objects() == load.target.objects()
        and not other.strict.is_const(False)
        and conj(other.guard, load.guard) is None
        and _may_be_of_one_file(other, load)
        for other in run.of_type(StateDictLoaded)
    )


def _may_be_of_one_file(one: StateDictLoaded, other: StateDictLoaded) -> bool:
    paths, others = _paths(one), _paths(other)
    return not paths or not others or not paths.isdisjoint(others)


def _paths(load: StateDictLoaded) -> set[Alternative]:
    """From where it is read what is loaded, as it is or entry by entry."""
    entries = [item.attributes[ANY] for item in load.source.objects() if ANY in item.attributes]
    files = [item for item in sources(union([load.source, *entries])) if item.type == FILE]
    held = [item.attributes["path"] for item in files if "path" in item.attributes]
    return {part for path in held for _, part in path}


def _branch(site: Site) -> ast.If | None:
    statement = site.module.statement(site.node)
    outer = site.module.parents.get(statement) if statement is not None else None
    return outer if isinstance(outer, ast.If) else None


def _filter(load: StateDictLoaded) -> Site | None:
    """The comprehension that keeps the names which a model has; None when nothing is filtered by them."""
    for item in load.source.objects():
        for made in item.known("filtered").objects():
            if isinstance(made.site, Site) and isinstance(made.site.node, ast.DictComp) and by_membership(item):
                return made.site
    return None


def _lenient(load: StateDictLoaded, filtered: Site | None) -> list[Guard]:
    """The guards under which a name that is missing is no error: where it is not strict, except by a choice that the
    code makes or where reading the file raised already, and where a filtered dict went into the model's own, which
    has every name.
    """
    if filtered is not None and all(is_own(item, load) for item in load.source.objects()):
        return [ALWAYS]
    if load.demanded:
        return []
    return load.strict.is_const(False) if not load.strict.possible(load.guard).is_const(True) else []


def _looked_at(site: Site, run: Run) -> bool:
    """Whether the result of a load is read anywhere, as far as the code shows."""
    if works_out(site) or _told(site, run):
        return True
    only = site.module.statement(site.node)
    if isinstance(only, ast.Expr):
        return only.value is not site.node
    if isinstance(only, ast.Assign) and only.value is site.node and all(map(_is_plain, only.targets)):
        bound = [node.id for target in only.targets for node in ast.walk(target) if isinstance(node, ast.Name)]
        return any(_mentions(site, name, run) > 1 and not _overwritten(only, name, site.module) for name in bound)
    return True


def _worked_out(load: StateDictLoaded, run: Run) -> bool:
    """Whether the program works out, somewhere, which names the model has more or less than something that it reads."""
    return not run.facts.get(NAMES_COMPARED, set()).isdisjoint(map(root, load.target.objects()))


def _is_plain(target: ast.expr) -> bool:
    """Whether a target is a name or several."""
    inner = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return all(isinstance(node, ast.Name) for node in inner)


def _told(site: Site, run: Run) -> bool:
    """Whether a load is the second attempt of a handler that says so: the names that are missing raised before."""
    around = [*site.module.ancestors(site.node)]
    inner = next((index for index, node in enumerate(around) if isinstance(node, DEFINITIONS)), len(around))
    for handler, outer in pairwise(around[:inner]):
        if isinstance(handler, ast.ExceptHandler) and isinstance(outer, TRIES) and _tells(handler, site.module, run):
            return any(_within(outer.body, site.module, event) for event in run.of_type(StateDictLoaded))
    return False


def _tells(handler: ast.ExceptHandler, module: Module, run: Run) -> bool:
    """Whether a handler tells somebody, or calls something for its effect of which nobody knows what it does."""
    events = [event for event in run.of_type(LibraryCall) if _within(handler.body, module, event)]
    known = {site.node_id for event in events for site in (*event.moment.stack, event.site)}
    unknown = (call for call in gather(calls_in, handler.body) if id(call) not in known)
    return any(isinstance(module.parents.get(call), ast.Expr) for call in unknown) or any(
        event.name == "builtins.print" or event.name.partition(".")[0] in TELL for event in events
    )


def _within(block: list[ast.stmt], module: Module, event: Event) -> bool:
    """Whether one of the calls that led to an event stands in a block."""
    sites = [site for site in (*event.moment.stack, event.site) if site.module is module]
    return any(contains(statement, site.node, module) for statement in block for site in sites)


def _overwritten(line: ast.Assign, name: str, module: Module) -> bool:
    """Whether a name that a statement binds gets another value further down in its block before anything reads it."""
    block = module.block(line)
    for later in block[block.index(line) + 1 :]:
        named = [each for each in nodes(later) if isinstance(each, ast.Name) and each.id == name]
        if any(isinstance(each.ctx, ast.Load) for each in named):
            return False
        if isinstance(later, ast.Assign) and any(isinstance(to, ast.Name) and to.id == name for to in later.targets):
            return True
    return False


def _mentions(site: Site, name: str, run: Run) -> int:
    """How often a name stands in the function around a load, of one that belongs to the module in the module; not where
    it is only printed, and the run never comes to print it.
    """
    names = (each for each in nodes(_around(site, name)) if isinstance(each, ast.Name) and each.id == name)
    return sum(not is_printed_never(each, site.module, run) for each in names)


def _around(site: Site, name: str) -> ast.AST:
    around: ast.AST = enclosing_function(site.module, site.node)
    outside = any(isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names for node in nodes(around))
    return site.module.tree if outside else around


def _counted(load: StateDictLoaded, run: Run) -> bool:
    """Whether the code asks how many entries are loaded, or which, or counts them as it takes them."""
    held = load.source.objects()
    return any(item.site is not None and counts_beside(item.site, load.site, run) for item in held) or any(
        event.name in COUNTS and any(item in held for value in event.call.inputs() for item in value.objects())
        for event in run.of_type(LibraryCall)
    )


def _compared(site: Site, filtered: Site, run: Run) -> bool:
    """Whether the filtered dict is used for more than loading it: what was read under its name before was another."""
    name, around = _name_of(filtered), enclosing_function(site.module, site.node)
    beside = enclosing_function(filtered.module, filtered.node) is around
    made = filtered.location().end_line if beside else 0
    uses = _looks(site, name, made) if name else 0
    calls = calls_in(around)
    loading = {event.site.node_id for event in run.of_type(StateDictLoaded)}
    loading |= {event.site.node_id for event in run.of_type(LibraryCall) if event.name == "dict.update"}
    loads = sum(
        dotted(value_of(item)) == name and (spelled(site.module, item).startswith("**") or id(call) in loading)
        for call in calls
        if call.lineno > made
        for item in arguments(call)
    )
    return uses > loads


def _looks(site: Site, name: str, after: int = 0) -> int:
    """How often a name is read in the function around a load, after a line, where more is asked of it than whether it
    is empty.
    """
    read = [
        each for each in nodes(_around(site, name)) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    ]
    return sum(each.id == name and each.lineno > after and not _is_truth(each, site.module) for each in read)


def _is_truth(node: ast.AST, module: Module) -> bool:
    """Whether an expression is a condition by itself, also turned round or beside others."""
    outer = module.parents.get(node)
    if isinstance(outer, ast.BoolOp) or (isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.Not)):
        return _is_truth(outer, module)
    return isinstance(outer, (ast.If, ast.While, ast.IfExp, ast.Assert)) and outer.test is node


def _name_of(filtered: Site) -> str:
    only = filtered.module.statement(filtered.node)
    plain = isinstance(only, ast.Assign) and only.value is filtered.node and len(only.targets) == 1
    return dotted(only.targets[0]) if plain and isinstance(only, ast.Assign) else ""


def _fix(site: Site, filtered: Site | None) -> Fix | None:
    node = rewrite.call_node(site)
    model = dotted(node.func.value) if node is not None and isinstance(node.func, ast.Attribute) else ""
    only = on_its_own(site.module, site.node)
    if not model or only is None or isinstance(only, COMPOUND):
        return None
    edits: list[Edit | None] = list(rewrite.ensure_import(site.module, "import warnings"))
    name = _name_of(filtered) if filtered is not None else ""
    if name:
        missing = _free(site, "missing")
        edits.append(
            rewrite.insert_before(
                site,
                f"{missing} = {model}.state_dict().keys() - {name}.keys()",
                f"if {missing}:",
                f'    warnings.warn(f"not loaded: {{sorted({missing})}}", stacklevel=2)',
            )
        )
    elif filtered is None:
        target = only.targets[0] if isinstance(only, ast.Assign) else None
        missing = f"{dotted(target) if target is not None else _free(site, 'loaded')}.missing_keys"
        if isinstance(target, (ast.Tuple, ast.List)):
            missing = dotted(target.elts[0])
        elif target is None:
            edits.append(rewrite.put_before(site, f"{missing.partition('.')[0]} = "))
        warning = f'warnings.warn(f"not loaded: {{{missing}}}", stacklevel=2)'
        edits.append(rewrite.insert_after(site, f"if {missing}:", f"    {warning}"))
    made = tuple(edit for edit in edits if edit is not None)
    return Fix("warn", "Say which weights were not loaded", made, "unsafe") if name or filtered is None else None


def _free(site: Site, name: str) -> str:
    while name in read_names(_around(site, name)):
        name += "_"
    return name
