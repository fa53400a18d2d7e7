"""Declared signatures: a class of a library told by the parameters of its constructor, with no code about what it does.

An object of it has its arguments as attributes, by name however they were given, with the places where they stand.
"""

from __future__ import annotations

import ast

from ..run.calls import Call
from ..run.values import Value, const, of
from .registry import Framework


class Signature:
    """The parameters of a function, as they are written in its definition; a default that is no literal is unknown."""

    def __init__(self, parameters: str):
        function = ast.parse(f"def f({parameters}): ...").body[0]
        assert isinstance(function, ast.FunctionDef)
        args = function.args
        ordered = [param.arg for param in (*args.posonlyargs, *args.args)]
        late = ordered[len(ordered) - len(args.defaults) :]
        named = zip((param.arg for param in args.kwonlyargs), args.kw_defaults, strict=True)
        self.positions: dict[str, int | None] = {name: index for index, name in enumerate(ordered)}
        self.positions |= {param.arg: None for param in args.kwonlyargs}
        self.defaults = dict(zip(late, args.defaults, strict=True)) | {name: held for name, held in named if held}

    def given(self, call: Call) -> dict[str, Value]:
        """The arguments that the call gives, by name."""
        return {name: call.get(name, index) for name, index in self.positions.items() if call.gives(name, index)}

    def bound(self, call: Call) -> dict[str, Value]:
        """The arguments by name, with the defaults where the call gives none; what nobody can tell is left out."""
        held = {name: const(node.value) for name, node in self.defaults.items() if isinstance(node, ast.Constant)}
        every = {name: call.get(name, self.positions[name], default) for name, default in held.items()}
        return every | self.given(call)


def declare(framework: Framework, name: str, parameters: str, kind: str = "") -> None:
    """Declare a class by the parameters of its constructor: `declare(framework, "torch:DistributedSampler", "dataset,
    shuffle=True")`.

    `name` is a full name, or `package:last` wherever the package keeps it. Its objects are of `kind`, by default the
    package and the last part ("torch.DistributedSampler"), under which their methods are called in events.
    """
    signature = Signature(parameters)
    kind = kind or name.replace(":", ".")

    def construct(call: Call) -> Value:
        made = call.make(kind, call.name)
        made.attributes.update(signature.bound(call))
        made.sites.update(call.places)
        return of(made)

    framework.function(name)(construct)
