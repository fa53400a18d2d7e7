"""Statements of random programs: control flow, collections, functions, classes, exceptions."""

from __future__ import annotations

from .grammar import LETTERS, Grammar, Names, indented, statement


@statement("call")
def _call(g: Grammar, depth: int) -> list[str]:
    return g.probe()


@statement("assign")
def _assign(g: Grammar, depth: int) -> list[str]:
    name, value = g.fresh("value"), g.value()
    g.names.values.append(name)
    return [f"{name} = {value}"]


@statement("rebind")
def _rebind(g: Grammar, depth: int) -> list[str]:
    return [f"{g.one('value')} = {g.value()}"]


@statement("count")
def _count(g: Grammar, depth: int) -> list[str]:
    return [f"{g.one('number')} {g.random.choice(('+=', '-=', '*='))} {g.random.randint(1, 3)}"]


@statement("if")
def _if(g: Grammar, depth: int) -> list[str] | None:
    if not depth:
        return None
    lines = [f"if {g.condition()}:", *g.block(depth)]
    if g.random.random() < 0.3:
        lines += [f"elif {g.condition()}:", *g.block(depth)]
    if g.random.random() < 0.4:
        lines += ["else:", *g.block(depth)]
    return lines


@statement("early end")
def _early(g: Grammar, depth: int) -> list[str] | None:
    if not depth:
        return None
    if g.loops:
        return [f"if {g.condition()}:", *g.block(0, 1), f"    {g.random.choice(('break', 'continue'))}"]
    if g.functions:
        return [f"if {g.condition()}:", f"    return {g.value()}"]
    g.imports.add("import sys")
    return [f"if {g.condition()}:", *g.block(0, 1), "    sys.exit()"] if g.random.random() < 0.3 else None


@statement("for")
def _for(g: Grammar, depth: int) -> list[str] | None:
    if not depth:
        return None
    name = g.fresh("value")
    over = g.random.choice(
        (
            f"{name} in {g.one('list')}",
            f"{name} in ({g.literal()}, {g.literal()})",
            f"{name} in range({g.random.randint(0, 5)})",
            f"{name} in list({g.one('dict')}.values())",
            f"{name} in [{g.literal()}, {g.literal()}, {g.literal()}][:{g.random.randint(1, 3)}]",
            f"{name}k, {name} in list({g.one('dict')}.items())",
            f"{name}i, {name} in enumerate([{g.literal()}, {g.literal()}])",
            f"{name}i, {name} in zip([1, 2], [{g.literal()}, {g.literal()}])",
        )
    )
    held = g.names
    g.names = g.names.copy()
    g.names.values.append(name)
    g.loops += 1
    lines = [f"for {over}:", *g.block(depth)]
    g.loops -= 1
    g.names = held
    if g.random.random() < 0.15:
        lines += ["else:", *g.block(depth, 1)]
    return lines


@statement("while")
def _while(g: Grammar, depth: int) -> list[str] | None:
    if not depth:
        return None
    name = g.fresh("number")
    start = g.random.choice(("0", "2", f"1 if {g.condition()} else 3"))
    g.loops += 1
    lines = [f"{name} = {start}", f"while {name} < 4:", f"    {name} += 1", *g.block(depth)]
    g.loops -= 1
    g.names.numbers.append(name)
    return lines


@statement("append")
def _append(g: Grammar, depth: int) -> list[str]:
    name = g.one("list")
    return [
        g.random.choice(
            (
                f"{name}.append({g.value()})",
                f"{name}.insert(0, {g.value()})",
                f"{name}.extend([{g.literal()}, {g.literal()}])",
                f"{name}[0] = {g.value()}",
                f"{name} += [{g.literal()}]",
            )
        )
    ]


@statement("pop")
def _pop(g: Grammar, depth: int) -> list[str]:
    name = g.one("list")
    return [f"if len({name}) > 1:", f"    {g.random.choice((f'{name}.pop()', f'{name}.pop(0)', f'del {name}[0]'))}"]


@statement("new list")
def _new_list(g: Grammar, depth: int) -> list[str]:
    name = g.fresh("list")
    made = g.random.choice(
        (
            f"[{g.value()}, {g.literal()}]",
            f"[{g.literal()}] * 2",
            f"[*{g.one('list')}, {g.literal()}]",
            f"{g.one('list')} + [{g.literal()}]",
            f"list({g.one('list')})",
            f"[v for v in {g.one('list')} if v] or [{g.literal()}]",
            f"[v is None for v in {g.one('list')}]",
            f"{g.one('list')}[:1]",
        )
    )
    g.names.lists.append(name)
    return [f"{name} = {made}"]


@statement("new dict")
def _new_dict(g: Grammar, depth: int) -> list[str]:
    name = g.fresh("dict")
    made = g.random.choice(
        (
            f'{{"x": {g.value()}, "z": {g.literal()}}}',
            f"dict(x={g.value()})",
            f'{{**{g.one("dict")}, "y": {g.literal()}}}',
            f"dict({g.one('dict')})",
            f"{{k: v for k, v in {g.one('dict')}.items()}}",
        )
    )
    g.names.dicts.append(name)
    return [f"{name} = {made}"]


@statement("change dict")
def _change_dict(g: Grammar, depth: int) -> list[str]:
    name = g.one("dict")
    return [
        g.random.choice(
            (
                f"{name}[{g.letter()}] = {g.value()}",
                f"{name}[a] = {g.literal()}",
                f'{name}.update({{"x": {g.value()}}})',
                f"{name}.update(y={g.literal()})",
                f"{name}.setdefault({g.letter()}, {g.literal()})",
                f"{name}.pop({g.letter()}, None)",
            )
        )
    ]


@statement("unpack")
def _unpack(g: Grammar, depth: int) -> list[str]:
    first, second = g.fresh("value"), g.fresh("value")
    line = g.random.choice(
        (
            f"{first}, {second} = {g.value()}, {g.literal()}",
            f"{first}, *_, {second} = [{g.literal()}, {g.literal()}, {g.one('value')}]",
            f"({first}, {second}), _ = ({g.literal()}, {g.one('value')}), 1",
        )
    )
    g.names.values += [first, second]
    return [line]


@statement("swap")
def _swap(g: Grammar, depth: int) -> list[str]:
    one, other = g.one("value"), g.one("value")
    return [f"{one}, {other} = {other}, {one}"]


@statement("function")
def _define(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    name = g.fresh("function")
    held, loops = g.names, g.loops
    g.names, g.loops = Names(["v"], ["n"], held.lists[:1], held.dicts[:1]), 0
    g.functions += 1
    signature = g.random.choice(("v", "v, *rest", f"v, w={g.literal()}", "v, **rest"))
    lines = [f"def {name}({signature}):", "    n = 1", *g.block(depth), f"    return {g.value()}"]
    g.functions -= 1
    g.names, g.loops = held, loops
    g.names.functions.append(name)
    return lines


@statement("closure")
def _closure(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    name, out = g.fresh("function"), g.fresh("function")
    g.names.functions.append(out)
    return [
        f"def {name}(kept):",
        "    def inner(v):",
        f"        return kept if v else {g.literal()}",
        "",
        "    return inner",
        f"{out} = {name}({g.value()})",
    ]


@statement("nonlocal")
def _nonlocal(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    name, out = g.fresh("function"), g.fresh("value")
    g.names.values.append(out)
    return [
        f"def {name}():",
        f"    held = {g.literal()}",
        "",
        "    def change(v):",
        "        nonlocal held",
        "        held = v",
        f"    if {g.condition()}:",
        f"        change({g.literal()})",
        "    return held",
        f"{out} = {name}()",
    ]


@statement("global")
def _global(g: Grammar, depth: int) -> list[str] | None:
    if g.functions or depth < 2:
        return None
    name, changed = g.fresh("function"), "v0"
    return [f"def {name}(v):", f"    global {changed}", f"    {changed} = v", f"{name}({g.value()})"]


@statement("class")
def _class(g: Grammar, depth: int) -> list[str] | None:
    if g.functions or depth < 2:
        return None
    name, made = f"C{g.count}", g.fresh("object")
    g.names.objects.append(made)
    lines = [
        f"class Base{name}:",
        f"    q = {g.literal()}",
        "",
        "    def read(self):",
        "        return self.p",
        "",
        f"class {name}(Base{name}):",
        "    def __init__(self, p):",
        "        self.p = p",
        "",
        "    @property",
        "    def chosen(self):",
        f"        return self.q if self.p else {g.literal()}",
        "",
        "    def either(self, v):",
        f"        if {g.condition()}:",
        "            return v",
        "        return self.read()",
        f"{made} = {name}({g.value()})",
    ]
    return lines


@statement("set attribute")
def _set_attribute(g: Grammar, depth: int) -> list[str] | None:
    name = g.one("object")
    return name and [
        g.random.choice(
            (
                f"{name}.p = {g.value()}",
                f"{name}.q = {g.value()}",
                f'setattr({name}, "p", {g.value()})',
                f"type({name}).q = {g.literal()}",
            )
        )
    ]


@statement("try")
def _try(g: Grammar, depth: int) -> list[str] | None:
    if not depth:
        return None
    raised = g.random.choice(
        (
            f"if {g.condition()}:\n        raise ValueError",
            f"{g.one('dict')}[a]",
            f"{g.one('dict')}[{g.letter()}]",
            'int("x")',
            f"[{g.literal()}][1]",
            "pass",
        )
    )
    kind = g.random.choice(("ValueError", "KeyError", "Exception", "(KeyError, ValueError)"))
    lines = ["try:", *g.block(0, 1), f"    {raised}", *g.block(0, 1), f"except {kind}:", *g.block(depth, 1)]
    if kind != "Exception":
        lines += ["except Exception:", *g.block(0, 1)]
    if g.random.random() < 0.25:
        lines += ["else:", *g.block(0, 1)]
    if g.random.random() < 0.25:
        lines += ["finally:", *g.block(0, 1)]
    return "\n".join(lines).split("\n")


@statement("match")
def _match(g: Grammar, depth: int) -> list[str] | None:
    if not depth:
        return None
    lines = ["match a:"]
    first, second = g.random.sample(LETTERS, 2)
    lines += indented([f'case "{first}":', *g.block(depth, 1)])
    pattern = g.random.choice((f'"{second}"', f'"{second}" | "{first}"', f'"{second}" if {g.flag}'))
    lines += indented([f"case {pattern}:", *g.block(depth, 1)])
    if g.random.random() < 0.6:
        lines += indented([f"case {g.random.choice(('_', 'other'))}:", *g.block(depth, 1)])
    return lines


@statement("with")
def _with(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    name = g.fresh("manager")
    g.imports.add("from contextlib import contextmanager")
    changed = "v0"
    return [
        "@contextmanager",
        f"def {name}(v):",
        f"    global {changed}",
        f"    before, {changed} = {changed}, v",
        "    try:",
        "        yield",
        "    finally:",
        f"        {changed} = before",
        f"with {name}({g.literal()}):",
        *g.block(depth, 1),
    ]


@statement("with class")
def _with_class(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    name = f"M{g.count}"
    g.count += 1
    return [
        f"class {name}:",
        "    def __enter__(self):",
        f"        self.value = {g.literal()}",
        "        return self",
        "",
        "    def __exit__(self, *error):",
        f"        self.value = {g.literal()}",
        f"with {name}() as manager:",
        *g.block(depth, 1),
        "    checkpoint(block, 1, use_reentrant=manager.value)",
        "checkpoint(block, 1, use_reentrant=manager.value)",
    ]


@statement("generator")
def _generator(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    name, out = g.fresh("function"), g.fresh("value")
    g.loops += 1
    block = g.block(0, 1)
    g.loops -= 1
    return [
        f"def {name}():",
        f"    yield {g.literal()}",
        f"    if {g.condition()}:",
        f"        yield {g.literal()}",
        f"for {out} in {name}():",
        f"    checkpoint(block, 1, use_reentrant={out})",
        *block,
    ]


@statement("returned list")
def _returned_list(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    name, out = g.fresh("function"), g.fresh("value")
    return [
        f"def {name}():",
        f"    if {g.condition()}:",
        f"        return [{g.literal()}]",
        f"    return [{g.literal()}, {g.literal()}]",
        f"for {out} in {name}():",
        f"    checkpoint(block, 1, use_reentrant={out})",
    ]


@statement("star arguments")
def _stars(g: Grammar, depth: int) -> list[str]:
    return [
        g.random.choice(
            (
                f"checkpoint(block, *[1], use_reentrant={g.value()})",
                f'checkpoint(block, 1, **{{"use_reentrant": {g.value()}}})',
                f"checkpoint(*[block, 1], **dict(use_reentrant={g.value()}))",
            )
        )
    ]


@statement("partial")
def _partial(g: Grammar, depth: int) -> list[str]:
    name = g.fresh("partial")
    g.imports.add("from functools import partial")
    return [f"{name} = partial(checkpoint, use_reentrant={g.value()})", f"{name}(block, 1)"]


@statement("assert")
def _assert(g: Grammar, depth: int) -> list[str] | None:
    return None if g.random.random() < 0.7 else [f"assert {g.condition()} or True"]
