"""Where code names an option of the command line: as an attribute of what the parser gave, or by a text."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from gclint.frameworks.arguments import is_command_line
from gclint.ir.syntax import DEFINITIONS, FUNCTIONS, Module, Site, dotted, nodes
from gclint.run.calls import Call
from gclint.run.closures import calls_in, contains, enclosing_function
from gclint.run.values import NONE, Const

from .option_entries import entries_by_name, is_one_of_all

TELLS = (
    *("print", "str", "repr", "format", "len", "type", "id", "isinstance", "hasattr", "getattr", "setattr", "dir"),
    *("items", "keys", "values", "pprint", "pformat", "dump", "dumps", "safe_dump", "save", "info", "debug", "warning"),
    *("error", "critical", "log", "write", "log_params", "log_hyperparams", "add_text", "add_hparams", "add_config"),
    *("init", "init_trackers", "update", "join", "map", "zip", "enumerate", "sorted", "list", "dict", "iter"),
)
"""What is called to tell, keep or go through what it is given, and does nothing by it."""
PRINTS = (
    *("print", "str", "repr", "format", "pprint", "pformat", "dump", "dumps", "safe_dump", "save", "info", "debug"),
    *("warning", "log", "write", "log_params", "log_hyperparams", "add_hparams", "init", "init_trackers"),
)
"""Those of them that show or keep all that they are given."""
GIVES_A_TEXT = ("str", "repr", "format", "pformat", "dumps", "safe_dump", "join")
"""Those which give it back as a text, which may be read again."""
SAVES = ("save", "dump", "dumps", "safe_dump")
"""What keeps what it is given in a file."""
BY_LAUNCHERS = ("local_rank",)
"""What launchers give each process, whatever reads it."""
BY_TEXT = ("vars", "getattr", "eval", "exec")
OF_ALL = ("__dict__", "_get_kwargs", "__getattribute__")
AS_A_DICT = ("vars", "asdict", "astuple", "fields")
"""Functions that give all of them, or their names."""
PARSE = ("parse_args", "parse_known_args")
FILLED_IN = re.compile(r"%[sdi]|\{\w*\}")


def takes_the_command_line(parse: Call | None, place: int = 0) -> bool:
    """Whether the words that are parsed are not written in the call, which takes them by name or in a place."""
    given = parse.get("args", place, NONE).only() if parse is not None else None
    return given == Const(None) or is_command_line(given)


def reads_by_text(module: Module, others: set[ast.AST]) -> bool:
    """Whether a module takes attributes of something by a text: all of them as a dict, or one whose name it puts
    together. What is only printed or kept so is not taken, nor what is taken of `others`.
    """
    return any(node not in others and _takes_by_text(node, module) for node in module.parents)


def _takes_by_text(node: ast.AST, module: Module) -> bool:
    if isinstance(node, ast.Attribute) and node.attr in OF_ALL:
        return isinstance(node.ctx, ast.Load) and not (
            is_shown(node, module) or _is_no_option(node.value, module) or _is_stored_into(node, module)
        )
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BY_TEXT:
        return not _takes_no_option(node, node.func.id, module)
    return False


def takes_of_all(module: Module) -> Iterator[ast.AST]:
    """Where a module takes all attributes of something at once, other than to show them or to fill a namespace."""
    for node in module.parents:
        if isinstance(node, ast.Attribute) and node.attr in OF_ALL and _takes_by_text(node, module):
            yield node
        elif isinstance(node, ast.Call) and last_name(node.func) in AS_A_DICT and not is_shown(node, module):
            yield from () if _fills_a_namespace(node, module) else (node,)


def _fills_a_namespace(options: ast.Call, module: Module) -> bool:
    """Whether a dict of attributes becomes those of a namespace: `Namespace(**vars(options))`."""
    spread = module.parents.get(options)
    call = module.parents.get(spread) if isinstance(spread, ast.keyword) and spread.arg is None else None
    return isinstance(call, ast.Call) and last_name(call.func) in ("Namespace", "SimpleNamespace")


def _takes_no_option(node: ast.Call, called: str, module: Module) -> bool:
    """Whether such a call gives what is only printed or kept, is no option, or is called: options are data."""
    if called == "vars":
        return is_shown(node, module)
    if called == "getattr":
        return _takes_none_of_options(node, module) or _in_showing_loop(node, module)
    outer = module.parents.get(node)
    return called == "eval" and isinstance(outer, ast.Call) and outer.func is node


def is_shown(options: ast.AST, module: Module) -> bool:
    """Whether the dict of all options is only printed or kept: it is given to a call that does so, as it is or as a
    text that is made of it, or each round of a loop over it does nothing else.
    """
    for outer in module.ancestors(options):
        if isinstance(outer, ast.Call) and outer.func is not options:
            name = last_name(outer.func)
            if name in PRINTS and name not in GIVES_A_TEXT:
                return True
            if name not in TELLS or (name == "update" and not _is_of_a_follower(outer.func)):
                return False
        elif isinstance(outer, ast.For):
            return contains(outer.iter, options, module) and _is_showing(outer, module)
        elif isinstance(outer, ast.Expr):
            return True
        elif isinstance(outer, (ast.stmt, ast.Subscript, ast.Dict)) or (
            isinstance(outer, ast.keyword) and not outer.arg
        ):
            return False
    return False


def _is_of_a_follower(method: ast.expr) -> bool:
    """Whether a method is one of the configuration that what follows a run keeps, such as `wandb.config.update`."""
    return isinstance(method, ast.Attribute) and last_name(method.value) == "config"


def is_of_all(place: Site) -> bool:
    """Whether what is taken in a place is one of all options, to show it or to put it with the others."""
    node, module = place.node, place.module
    if _in_showing_loop(node, module) or is_one_of_all(node, module):
        return True
    return isinstance(node, ast.Call) and entries_by_name(node, module) is not None


def _in_showing_loop(node: ast.AST, module: Module) -> bool:
    """Whether something stands in a loop whose rounds only print something."""
    loop = next((each for each in module.ancestors(node) if isinstance(each, (ast.For, *DEFINITIONS))), None)
    return isinstance(loop, ast.For) and _is_showing(loop, module)


def _is_showing(loop: ast.For, module: Module) -> bool:
    """Whether the rounds of a loop only print something, or put together a text that is only printed."""
    added = {line: line.target for line in loop.body if isinstance(line, ast.AugAssign) and _only_tells(line.value)}
    if not all(line in added or _only_shows(line) for line in loop.body):
        return False
    texts, own = {each.id for each in added.values() if isinstance(each, ast.Name)}, enclosing_function(module, loop)
    read = (each for each in nodes(own) if isinstance(each, ast.Name) and each.id in texts) if texts else ()
    later = [each for each in read if isinstance(each.ctx, ast.Load) and loop not in module.ancestors(each)]
    return all(isinstance(each, ast.Name) for each in added.values()) and all(
        is_shown(each, module) or _is_given_back(each, own, module) for each in later
    )


def _is_given_back(text: ast.Name, own: ast.AST, module: Module) -> bool:
    """Whether a function gives back a text, and the calls of it, of which there are some, only print that."""
    line = module.statement(text)
    if not isinstance(line, ast.Return) or not _only_tells(line) or not isinstance(own, FUNCTIONS):
        return False
    uses = [each for each in module.parents if isinstance(each, ast.Name) and each.id == own.name]
    calls = [module.parents[each] for each in uses]
    return bool(calls) and all(
        isinstance(call, ast.Call) and call.func is use and is_shown(call, module)
        for call, use in zip(calls, uses, strict=True)
    )


def _only_shows(line: ast.stmt) -> bool:
    """Whether a statement prints something, or names what is printed, and does nothing with it besides."""
    if isinstance(line, ast.If):
        return _only_tells(line.test) and all(map(_only_shows, (*line.body, *line.orelse)))
    if isinstance(line, ast.Assign):
        return all(isinstance(each, ast.Name) for each in line.targets) and _only_tells(line.value)
    shown = line.value if isinstance(line, ast.Expr) else None
    if not isinstance(shown, ast.Call) or last_name(shown.func) not in PRINTS:
        return False
    return all(_only_tells(part) for part in (*shown.args, *shown.keywords))


def _only_tells(part: ast.AST) -> bool:
    return all(last_name(each.func) in TELLS for each in nodes(part) if isinstance(each, ast.Call))


def _takes_none_of_options(node: ast.Call, module: Module) -> bool:
    """Whether a `getattr` names what it takes, or takes it of a module or of the object whose method it stands in."""
    base, *names = node.args
    if names and isinstance(names[0], ast.Constant):
        return True
    return _is_no_option(base, module)


def _is_no_option(base: ast.expr, module: Module) -> bool:
    """Whether something is a module that is imported, or the object whose method it stands in."""
    return is_of_its_method(base, module) or _is_imported(base, module)


def is_of_its_method(base: ast.expr, module: Module) -> bool:
    """Whether something is the object whose method it stands in."""
    return class_of_method(base, module) is not None


def _is_stored_into(options: ast.expr, module: Module) -> bool:
    """Whether a dict of attributes only gets something under a key."""
    outer = module.parents.get(options)
    return isinstance(outer, ast.Subscript) and isinstance(outer.ctx, ast.Store)


def _is_imported(base: ast.expr, module: Module) -> bool:
    """Whether something is a module that is imported, or a part of one."""
    while isinstance(base, ast.Attribute):
        base = base.value
    imported = (each for each in module.parents if isinstance(each, ast.Import))
    return isinstance(base, ast.Name) and any(
        base.id == (each.asname or each.name.partition(".")[0]) for one in imported for each in one.names
    )


def class_of_method(node: ast.expr, module: Module) -> ast.ClassDef | None:
    """The class whose object a name is, as the first parameter of the method around it; none of argparse's own."""
    for outer in module.ancestors(node) if isinstance(node, ast.Name) else ():
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
            owner, parameters = module.parents.get(outer), outer.args.posonlyargs + outer.args.args
            if not isinstance(owner, ast.ClassDef) or not parameters or parameters[0].arg != last_name(node):
                return None
            return None if "Namespace" in map(last_name, owner.bases) else owner
    return None


def sets_itself(node: ast.Attribute, module: Module) -> bool:
    """Whether an attribute is one of the object whose method reads it, and which has set it itself."""
    owner = class_of_method(node.value, module)
    return owner is not None and any(
        isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and each.attr == node.attr
        for each in nodes(owner)
    )


def last_name(node: ast.AST) -> str:
    """The last of the names that something is spelt with; "" for what is no name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def names_option(
    module: Module,
    name: str,
    made: ast.AST,
    texts: bool,
    others: set[ast.AST],
    given: Collection[ast.AST] = (),
) -> bool:
    """Whether a module has a name where it may be that of an option: as an attribute that is not one of `others`, or
    that the class sets itself and nothing else was `given`, in `getattr` and its like, or in any text where those are
    the names of options.
    """
    for node in module.parents:
        named = ""
        if isinstance(node, ast.Attribute):
            read = isinstance(node.ctx, ast.Load) and node.attr == name and node not in others
            read = read and (node in given or not sets_itself(node, module)) and not _is_imported(node.value, module)
            read = read and not is_called(node, module)
            named = name if read else ""
        elif isinstance(node, ast.Call) and last_name(node.func) in ("getattr", "attrgetter"):
            texts_given = {each.value for each in node.args if isinstance(each, ast.Constant)}
            named = name if name in texts_given else ""
        elif not texts:
            continue
        elif isinstance(node, (ast.arg, ast.keyword)):
            named = node.arg or ""
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = node.value
        if named == name and made not in module.ancestors(node):
            return True
    return False


def is_called(node: ast.Attribute, module: Module) -> bool:
    """Whether an attribute is called, as a method of something: options are data."""
    call = module.parents.get(node)
    return isinstance(call, ast.Call) and call.func is node


def reads_of_own_option(module: Module, name: str) -> set[ast.AST]:
    """The attributes of a name that a module which makes such an option itself takes of what its own parser gave: of a
    variable that gets nothing else.
    """
    made = (part for call in calls_in(module.tree) if last_name(call.func) == "add_argument" for part in call.args)
    flags = (part.value for part in made if isinstance(part, ast.Constant) and isinstance(part.value, str))
    if not any(flag.lstrip("-").replace("-", "_") == name for flag in flags):
        return set()
    given: dict[str, list[ast.expr]] = {}
    for node in module.parents:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                given.setdefault(dotted(target), []).append(node.value)
    reads = (node for node in module.parents if isinstance(node, ast.Attribute) and node.attr == name)
    return {each for each in reads if _is_what_was_parsed(dotted(each.value), given)}


def _is_what_was_parsed(variable: str, given: dict[str, list[ast.expr]]) -> bool:
    """Whether a variable gets what a parser gives, and before that the parser itself at most."""
    parsed = [each for each in given.get(variable, ()) if isinstance(each, ast.Call) and last_name(each.func) in PARSE]
    rest = [each for each in given.get(variable, ()) if each not in parsed]
    parser = any(isinstance(each.func, ast.Attribute) and dotted(each.func.value) == variable for each in parsed)
    return bool(parsed) and all(parser and isinstance(each, ast.Call) for each in rest)


def names_put_together(module: Module) -> list[re.Pattern[str]]:
    """What the names look like that a module puts together, as `stage%s_lr`, `f"stage{n}_lr"` or `"stage_" + name`, or
    that it chooses by how they begin or end: `name.startswith("stage_")`.
    """
    found = set[str]()
    for node in module.parents:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            found.add(_with_places(node.values))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            found.add(_with_places([node.left, node.right]))
        elif isinstance(node, ast.Call) and last_name(node.func) in ("startswith", "endswith"):
            begins = last_name(node.func) == "startswith"
            found |= {f"{text}{{}}" if begins else f"{{}}{text}" for text in _texts_of(node.args[:1], module)}
    texts = [text for text in found if FILLED_IN.search(text) and FILLED_IN.sub("", text).isidentifier()]
    return [re.compile(FILLED_IN.sub(_anything_for, text)) for text in texts]


def _texts_of(given: list[ast.expr], module: Module) -> set[str]:
    """The texts that an argument may be: itself, its parts, or what a variable of its name is set to in the module."""
    held = [part for each in given for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
    names = {each.id for each in held if isinstance(each, ast.Name)}
    for node in module.parents if names else ():
        if isinstance(node, ast.Assign) and any(getattr(each, "id", "") in names for each in node.targets):
            held.append(node.value)
    return {each.value for each in held if isinstance(each, ast.Constant) and isinstance(each.value, str)}


def _anything_for(place: re.Match[str]) -> str:
    """What may stand in a place of a text: a number where it says so."""
    return r"\d*" if place[0] in ("%d", "%i") else r"\w*"


def _with_places(parts: list[ast.expr]) -> str:
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
