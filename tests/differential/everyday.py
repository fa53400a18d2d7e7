"""More of what everyday programs do: each production takes one idiom of Python that training scripts are full of."""

from __future__ import annotations

from .grammar import Grammar, expression, indented, statement


@expression("text")
def _text(g: Grammar) -> str:
    number = g.one("number")
    return g.random.choice(
        (
            f'(f"{{a}}-{{{number}}}" == "{g.random.choice("xyz")}-{g.random.randint(1, 3)}")',
            '("%s" % a == "x")',
            '("{}.{}".format(a, 1) == "y.1")',
            '(a.replace("x", "y") == "y")',
            'a[0] == "z"',
            '("x" in a)',
            'int("3")',
            f'(str({number}) == "1")',
            '"on,off".split(",")[1]',
            '"  s ".strip()',
            '("s" + a == "sx")',
            '"model.x.weight".endswith(a + ".weight")',
        )
    )


@expression("arithmetic")
def _arithmetic(g: Grammar) -> str:
    number = g.one("number")
    made = g.random.choice(
        (
            "{} % 2 == 0",
            "{} ** 2",
            "{} // 2",
            "-{}",
            "0 < {} < 3",
            "max({}, 2)",
            "min({}, 2, 1)",
            "abs({} - 2)",
            "sum([{}, 1])",
            "divmod({}, 2)[1]",
            "round({} / 2)",
            "({} or 5)",
            "int({} > 1)",
        )
    )
    return f"({made.format(number)})"


@expression("sequence")
def _sequence(g: Grammar) -> str:
    held, literal = g.one("list"), g.literal()
    return g.random.choice(
        (
            f"{held}[1:][0]",
            f"{held}[::-1][0]",
            f"[*{held}, {literal}][-1]",
            f"(*{held}, {literal})[0]",
            f"list(reversed({held}))[0]",
            f"({held} == [True, {literal}])",
            f"({literal} in {held})",
            f"{held}.count({literal})",
            f"tuple({held})[0]",
            f"next(iter({held}))",
            f"next((v for v in {held} if v is not None), {literal})",
            f"sum(1 for v in {held} if v)",
            f"[v for v in {held} if v is not {g.random.choice(('None', 'True'))}][0:1]",
            f"[(v, i) for i, v in enumerate({held})][0][0]",
            f"list(map(lambda v: not v, {held}))[0]",
            f"len(list(filter(None, {held})))",
            f"list(zip({held}, [1, {literal}]))[0][1]",
            'sorted(["y", a, "w"])[0]',
            f"max([1, {g.one('number')}, 2])",
            f"any(v is None for v in {held})",
            f"all(v for v in {held})",
        )
    )


@expression("mapping")
def _mapping(g: Grammar) -> str:
    held, literal = g.one("dict"), g.literal()
    return g.random.choice(
        (
            f"list({held})[0]",
            f'("x" in {held}.keys())',
            f"({literal} in {held}.values())",
            f"{held}[{g.letter()}]",
            f'dict(zip(["x", "y"], [{literal}, {g.one("value")}])).get(a)',
            f'{{**{held}, "x": {literal}}}["x"]',
            f'({held} | {{"y": {literal}}})["y"]',
            f"len({held}.items())",
            f"sorted({held})[0]",
            f'{{"x": {{"y": {literal}}}}}["x"]["y"]',
            f'{{"x": {{"p": {literal}}}, "y": {{}}}}.get(a, {{}}).get("p")',
            f"next(iter({held}.values()))",
            f"{{k: not v for k, v in {held}.items()}}.get(a)",
            f"{{v: k for k, v in {held}.items()}}.get({literal})",
        )
    )


@expression("kind of value")
def _kind(g: Grammar) -> str:
    held = g.one("value")
    return g.random.choice(
        (
            f"isinstance({held}, bool)",
            f"isinstance({held}, (int, str))",
            f"isinstance({g.one('list')}, list)",
            f"callable({held})",
            f"({held} is not None)",
            f"({held} == 1)",
            f"({held} != {g.literal()})",
            f"({held} in (1, None))",
            f"type({held}).__name__",
        )
    )


@expression("lambda arguments")
def _lambda_arguments(g: Grammar) -> str:
    return g.random.choice(
        (
            f"(lambda *v: v[0])({g.literal()}, {g.one('value')})",
            f"(lambda v={g.one('value')}: v)()",
            f"(lambda **v: v.get('p'))(p={g.one('value')})",
            f"(lambda v, /, w, *, u=1: w)(1, w={g.one('value')})",
            f"(lambda v: lambda: v)({g.one('value')})()",
        )
    )


@expression("named")
def _named(g: Grammar) -> str:
    name = g.one("value")
    return f"(({name} := {g.literal()}) or {g.literal()})"


@statement("decorated")
def _decorated(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    around, name = g.fresh("function"), g.fresh("function")
    g.imports.add("import functools")
    g.names.functions.append(name)
    return [
        f"def {around}(f):",
        "    @functools.wraps(f)",
        "    def wrapper(*args, **kwargs):",
        f"        if {g.condition()}:",
        f"            return {g.literal()}",
        "        return f(*args, **kwargs)",
        "",
        "    return wrapper",
        f"@{around}",
        f"def {name}(v, w={g.literal()}):",
        f"    return v if {g.condition()} else w",
    ]


@statement("recursion")
def _recursion(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    name, made = g.fresh("function"), g.fresh("value")
    g.names.values.append(made)
    return [
        f"def {name}(v, n):",
        "    if n <= 0:",
        "        return v",
        f"    return {name}({g.random.choice(('v', 'not v', g.literal()))}, n - 1)",
        f"{made} = {name}({g.value()}, {g.random.randint(0, 3)})",
    ]


@statement("forwarded arguments")
def _forwarded(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    inner, name = g.fresh("function"), g.fresh("function")
    g.names.functions.append(name)
    ways = (
        f"*args, w={g.literal()}",
        f"*args, **{{'w': {g.literal()}}}",
        "*args, **kwargs",
        f"*args, **(dict(w={g.literal()}) if {g.condition()} else {{}})",
    )
    return [
        f"def {inner}(v, w={g.literal()}, *rest, **more):",
        "    return w if v else v",
        f"def {name}(*args, **kwargs):",
        f"    return {inner}({g.random.choice(ways)})",
    ]


@statement("chosen arguments")
def _chosen(g: Grammar, depth: int) -> list[str]:
    one, other = g.fresh("mapping"), g.fresh("mapping")
    return [
        f"{one} = [block, 1] if {g.condition()} else [block, 2]",
        f"{other} = dict(use_reentrant={g.value()})",
        f"if {g.condition()}:",
        f'    {other}["use_reentrant"] = {g.literal()}',
        f"checkpoint(*{one}, **{other})",
    ]


@statement("data class")
def _data_class(g: Grammar, depth: int) -> list[str] | None:
    if g.functions or depth < 2:
        return None
    name, made = f"D{g.count}", g.fresh("object")
    g.imports.add("from dataclasses import dataclass, field")
    lines = [
        "@dataclass",
        f"class {name}:",
        f"    p: object = {g.literal()}",
        f"    q: object = {g.literal()}",
        "    held: list = field(default_factory=list)",
        "",
        "    def read(self):",
        "        return self.p if not self.held else self.held[0]",
        "",
        "    @property",
        "    def chosen(self):",
        "        return self.q or self.p",
        "",
        "    @chosen.setter",
        "    def chosen(self, v):",
        "        self.q = v",
        "",
        "    def either(self, v):",
        "        self.held.append(v)",
        "        return len(self.held)",
    ]
    given = g.random.choice(("", f"{g.value()}", f"q={g.value()}", f"p={g.value()}, q={g.literal()}"))
    g.names.objects.append(made)
    return [*lines, f"{made} = {name}({given})"]


@statement("inheritance")
def _inheritance(g: Grammar, depth: int) -> list[str] | None:
    if g.functions or depth < 2:
        return None
    name, made = f"E{g.count}", g.fresh("object")
    lines = [
        f"class Base{name}:",
        "    made = 0",
        "",
        f"    def __init__(self, p, q={g.literal()}):",
        "        self.p, self.q = p, q",
        "        type(self).made += 1",
        "",
        "    def read(self):",
        "        return self.either(self.p)",
        "",
        "    def either(self, v):",
        "        return v or self.q",
        "",
        "    @classmethod",
        "    def build(cls, p):",
        f"        return cls(p, {g.literal()})",
        "",
        "    @staticmethod",
        "    def turned(v):",
        "        return not v",
        "",
        f"class {name}(Base{name}):",
        "    def __init__(self, *args, **kwargs):",
        "        super().__init__(*args, **kwargs)",
        f"        if {g.condition()}:",
        f"            self.p = {g.literal()}",
        "",
        "    def either(self, v):",
        "        return self.turned(super().either(v))",
        "",
        "    @property",
        "    def chosen(self):",
        "        return self.made",
    ]
    g.names.objects.append(made)
    return [*lines, f"{made} = {g.random.choice((f'{name}({g.value()})', f'{name}.build({g.value()})'))}"]


@statement("dispatch")
def _dispatch(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    one, other, made = g.fresh("function"), g.fresh("function"), g.fresh("value")
    g.names.values.append(made)
    call = g.random.choice(
        (
            f'{{"x": {one}, "y": {other}}}.get(a, {one})({g.value()})',
            f"[f(1) for f in ({one}, {other})][{g.random.choice((0, 1))}]",
            f"({one} if {g.condition()} else {other})({g.value()})",
            f"[{one}, {other}][{g.flag}]({g.value()})",
        )
    )
    return [
        f"def {one}(v):",
        "    return v",
        f"def {other}(v):",
        f"    return {g.literal()}",
        f"{made} = {call}",
    ]


@statement("try in a function")
def _try_in_function(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    name, made = g.fresh("function"), g.fresh("value")
    g.names.values.append(made)
    return [
        f"class Error{name}(Exception):",
        "    pass",
        f"def {name}(v):",
        "    try:",
        f"        if {g.condition()}:",
        f"            raise Error{name}(v)",
        f"        return {g.literal()}",
        f"    except Error{name} as error:",
        f"        {g.random.choice(('return error.args[0]', 'pass', f'return {g.literal()}'))}",
        "    finally:",
        *indented(indented(g.probe())),
        "    return v",
        f"{made} = {name}({g.value()})",
    ]


@statement("error passed on")
def _passed_on(g: Grammar, depth: int) -> list[str] | None:
    if not depth:
        return None
    return [
        "try:",
        "    try:",
        f"        {g.one('dict')}[{g.random.choice(('a', g.letter()))}]",
        *indented(indented(g.probe())),
        "    except KeyError as error:",
        *indented(indented(g.probe())),
        f"        {g.random.choice(('raise', 'raise ValueError from error', 'pass'))}",
        "except (ValueError, KeyError):",
        *indented(g.probe()),
    ]


@statement("suppress")
def _suppress(g: Grammar, depth: int) -> list[str] | None:
    if not depth:
        return None
    g.imports.add("from contextlib import suppress")
    kinds = g.random.choice(("KeyError", "KeyError, ValueError", "Exception"))
    return [
        f"with suppress({kinds}):",
        *g.block(0, 1),
        f"    {g.one('dict')}[{g.random.choice(('a', g.letter()))}]",
        *g.block(0, 1),
    ]


@statement("nested loops")
def _nested_loops(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.loops:
        return None
    one, other = g.fresh("value"), g.fresh("value")
    return [
        f"for {one} in ({g.literal()}, {g.literal()}):",
        f"    for {other} in {g.one('list')}:",
        f"        if {g.random.choice((f'{one} == {other}', g.condition(), f'{other} is None'))}:",
        f"            {g.random.choice(('break', 'continue'))}",
        f"        checkpoint(block, 1, use_reentrant={g.random.choice((one, other))})",
        *(["    else:", *indented(indented(g.probe()))] if g.random.random() < 0.5 else []),
    ]


@statement("loop over places")
def _over_places(g: Grammar, depth: int) -> list[str] | None:
    if not depth:
        return None
    held, place, key = g.one("list"), g.fresh("place"), g.fresh("key")
    ways = (
        [f"for {place} in range(len({held})):", f"    checkpoint(block, 1, use_reentrant={held}[{place}])"],
        [f"for {place} in range(len({held})):", f"    {held}[{place}] = not {held}[{place}]"],
        [f"for {place}, {key} in enumerate({held}, 1):", f"    checkpoint(block, 1, use_reentrant={place})"],
        [
            f"for {key} in {g.one('dict')}:",
            f'    if {key} == "y":',
            "        continue",
            f"    checkpoint(block, 1, use_reentrant={key})",
        ],
        [f"for {key} in sorted({g.one('dict')}):", f"    checkpoint(block, 1, use_reentrant={key})"],
        [f"for {key} in reversed({held}):", f"    checkpoint(block, 1, use_reentrant={key})"],
        [f"for {place}, {key} in zip({held}, {g.one('list')}):", f"    checkpoint(block, 1, use_reentrant={key})"],
        [f"for {key} in [*{held}]:", f"    if not {key}:", f"        {held}.append(None)"],
        ['for letter in "xy":', "    checkpoint(block, 1, use_reentrant=letter == a)"],
    )
    return g.random.choice(ways)


@statement("gone through once")
def _once(g: Grammar, depth: int) -> list[str] | None:
    if not depth:
        return None
    held, name, value = g.one("list"), g.fresh("once"), g.fresh("value")
    made = g.random.choice(
        (
            f"(v for v in {held})",
            f"(v for v in {held} if v is not None)",
            f"iter({held})",
            f"reversed({held})",
            f"map(lambda v: not v, {held})",
            f"filter(None, {held})",
            f"itertools.chain({held}, [{g.literal()}])",
            f"({value} for _, {value} in enumerate({held}))",
        )
    )
    uses = (
        [f"checkpoint(block, 1, use_reentrant=len(list({name})))"],
        [f"for {value} in {name}:", f"    checkpoint(block, 1, use_reentrant={value})"],
        [f"for {value} in {name}:", f"    if {value} == {g.literal()}:", "        break"],
        [f"checkpoint(block, 1, use_reentrant=len([v for v in {name} if v]))"],
        [f"checkpoint(block, 1, use_reentrant=next({name}, {g.literal()}))"],
        [f"if {g.condition()}:", f"    {value} = list({name})"],
        [f"checkpoint(block, 1, use_reentrant=len([*{name}, 1]))"],
        [f"{value} = [None]", f"{value}.extend({name})", f"checkpoint(block, 1, use_reentrant=len({value}))"],
        [f"checkpoint(block, 1, use_reentrant=iter({name}) is {name})"],
        [f"for {value}, _ in zip({name}, [1]):", f"    checkpoint(block, 1, use_reentrant={value})"],
    )
    return [f"{name} = {made}", *g.random.choice(uses), *g.random.choice(uses), *g.random.choice(uses[:4])]


@statement("until empty")
def _until_empty(g: Grammar, depth: int) -> list[str] | None:
    if not depth:
        return None
    held, taken = g.fresh("stack"), g.fresh("taken")
    return [
        f"{held} = list({g.one('list')})",
        f"while {held}:",
        f"    {taken} = {held}.pop({g.random.choice(('', '0'))})",
        f"    if {g.random.choice((f'{taken} is None', g.condition()))}:",
        f"        {g.random.choice(('continue', 'break'))}",
        f"    checkpoint(block, 1, use_reentrant={taken})",
    ]


@statement("change list")
def _change_list(g: Grammar, depth: int) -> list[str]:
    held, literal = g.one("list"), g.literal()
    change = g.random.choice(
        (
            f"{held}.insert(1, {literal})",
            f"{held}.reverse()",
            f"if {literal} in {held}:\n    {held}.remove({literal})",
            f"if {g.condition()}:\n    {held}.insert(0, {literal})",
            f"if {g.condition()}:\n    {held}.clear()",
            f"if {g.condition()} and len({held}) > 1:\n    del {held}[-1]",
            f"{held}[:] = [{literal}]",
            f"{held}[:1] = [{literal}, {literal}]",
            f"{held}.copy().append({literal})",
            f"if len({held}) < 4:\n    {held} *= 2",
        )
    )
    return change.split("\n")


@statement("take apart")
def _take_apart(g: Grammar, depth: int) -> list[str]:
    held, first, rest = g.one("list"), g.fresh("value"), g.fresh("list")
    g.names.values.append(first)
    return [
        f"if not {held}:",
        f"    {held}.append({g.literal()})",
        g.random.choice((f"{first}, *{rest} = {held}", f"*{rest}, {first} = {held}")),
        f"if {g.condition()}:",
        f"    {rest}.append({first})",
        f"checkpoint(block, 1, use_reentrant=len({rest}))",
    ]


@statement("nested settings")
def _nested(g: Grammar, depth: int) -> list[str]:
    held = g.fresh("settings")
    return [
        f'{held} = {{"model": {{"p": {g.value()}, "layers": [1, {g.literal()}]}}, "debug": {g.literal()}}}',
        f"if {g.condition()}:",
        g.random.choice(
            (
                f'    {held}["model"]["p"] = {g.literal()}',
                f'    {held}["model"].update(p={g.literal()})',
                f'    {held}["model"] = {{"p": {g.literal()}, "layers": [{g.literal()}]}}',
                f'    {held}["model"]["layers"].append({g.literal()})',
                f'    del {held}["debug"]',
            )
        ),
        f'checkpoint(block, 1, use_reentrant={held}["model"]["p"])',
        f'checkpoint(block, 1, use_reentrant={held}["model"]["layers"][-1])',
        f'checkpoint(block, 1, use_reentrant={held}.get("debug"))',
    ]


@statement("library collections")
def _collections(g: Grammar, depth: int) -> list[str]:
    name = g.fresh("held")
    g.imports.add("import collections")
    ways = (
        [f"{name} = collections.defaultdict(list)", f"{name}[a].append({g.value()})", f"{name} = len({name}[a])"],
        [f"{name} = collections.OrderedDict(x={g.value()})", f'{name} = {name}["x"]'],
        [f"{name} = collections.deque([{g.literal()}])", f"{name}.append({g.value()})", f"{name} = {name}[-1]"],
        [f'{name} = collections.namedtuple("P", "p q")({g.value()}, 1)', f"{name} = {name}.p"],
    )
    return [*g.random.choice(ways), f"checkpoint(block, 1, use_reentrant={name})"]


@statement("simple namespace")
def _namespace(g: Grammar, depth: int) -> list[str]:
    name = g.fresh("held")
    g.imports.add("from types import SimpleNamespace")
    return [
        f"{name} = SimpleNamespace(p={g.value()}, q={g.literal()})",
        f"if {g.condition()}:",
        f"    {name}.p = {name}.q",
        f'checkpoint(block, 1, use_reentrant=getattr({name}, "{g.random.choice("pqr")}", {g.literal()}))',
    ]


@statement("mutable default")
def _mutable_default(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    name = g.fresh("function")
    return [
        f"def {name}(v, held=[]):",
        "    held.append(v)",
        "    return len(held)",
        f"{name}({g.literal()})",
        f"checkpoint(block, 1, use_reentrant={name}({g.literal()}))",
    ]


@statement("main")
def _main(g: Grammar, depth: int) -> list[str] | None:
    if not depth or g.functions:
        return None
    name = g.fresh("function")
    held, loops = g.names.copy(), g.loops
    g.functions, g.loops = 1, 0
    g.names.values, g.names.numbers = ["v"], ["n"]
    body = g.block(depth)
    g.functions, g.loops, g.names = 0, loops, held
    return [
        f"def {name}(v, n=2):",
        *body,
        *indented(g.random.choice(([], [f"if {g.condition()}:", f"    return {g.literal()}"]))),
        "    checkpoint(block, 1, use_reentrant=n)",
        'if __name__ == "__main__":',
        f"    {name}({g.value()})",
    ]


@statement("several targets")
def _several(g: Grammar, depth: int) -> list[str]:
    one, other = g.fresh("value"), g.fresh("value")
    g.names.values += [one, other]
    return [f"{one} = {other} = {g.value()}"]


@statement("delete")
def _delete(g: Grammar, depth: int) -> list[str]:
    name, key = g.one("dict"), g.letter()
    return [f"if {key} in {name} and {g.condition()}:", f"    del {name}[{key}]"]
