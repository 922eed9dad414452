"""The ways on which host code reaches a Triton launch: from tests, else from the module's functions.

Where a test reaches the launch only through objects that are not followed, the module's own functions are read with
tensors of the test's shapes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kernel_gate.expressions import Number
from kernel_lineage.kernels.source import Launch
from kernel_lineage.rewrite.drafting.triton.host import (
    Reader,
    bound,
)
from kernel_lineage.rewrite.drafting.triton.modules import HostModule, Modules
from kernel_lineage.rewrite.drafting.triton.objects import Names, Reached, Stopped
from kernel_lineage.rewrite.drafting.triton.usages import Usage
from kernel_lineage.rewrite.drafting.triton.values import (
    External,
    Open,
    Size,
    Tensor,
    text_of,
)

_MOST_EXAMPLES = 4


@dataclass(slots=True)
class Reading:
    """What is found on one way to the launch."""

    reader: Reader
    names: Names
    module: HostModule
    said: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    constants: set[str] = field(default_factory=set)
    """Constexpr parameters that the grid is a function of: known by their values, and no dims."""


def call_of(tree: ast.Module, launch: Launch) -> ast.Call | None:
    """The call that a launch was read from."""
    lines = (launch.span.first_line, launch.span.last_line)
    return next(
        (
            n
            for n in ast.walk(tree)
            if isinstance(n, ast.Call)
            and (n.lineno, n.end_lineno) == lines
            and (
                isinstance(n.func, ast.Subscript)
                or (isinstance(n.func, ast.Attribute) and n.func.attr == "run")
            )
        ),
        None,
    )


def readings_of(
    call: ast.Call, launch: Launch, own: HostModule, modules: Modules, usages: tuple[Usage, ...]
) -> Iterator[Reading]:
    """The ways to a launch: from tests that reach it, else from the module's functions with a test's tensors."""
    stems = [u for u in usages if own.path.stem in u.module.path.stem] or list(usages)
    examples: list[tuple[Usage, dict[str, Tensor], dict[str, Number]]] = []
    for usage in stems:
        reader = Reader(modules, call, {}, lambda _name, _asked: None, extents_are_dims=True)
        names = _parametrization(usage, reader)
        try:
            reader.run(usage.function, usage.module, names)
            reader.backward()
        except Reached as reached:
            yield Reading(reader, reached.names, reached.module, [f"sizes are those of {usage.name}"])
            continue
        except Stopped:
            pass
        tensors = {n: v for n, v in names.items() if isinstance(v, Tensor) and v.shape}
        if tensors:
            examples.append((usage, tensors, dict(reader.sizes)))
    if not examples:
        yield from _from_module(call, launch, own, modules, None, {}, {})
    for usage, tensors, sizes in examples[:_MOST_EXAMPLES]:
        yield from _from_module(call, launch, own, modules, usage, tensors, sizes)


def _parametrization(usage: Usage, reader: Reader) -> Names:
    """The parameters of a test: whole numbers are dims of their names."""
    names: Names = {}
    for argument in usage.function.args.args:
        name = argument.arg
        value = reader.evaluate(usage.given[name], usage.module, {}) if name in usage.given else Open(name)
        if type(value) is int and value > 0:
            reader.sizes[name] = value
            value = Size(name)
        names[name] = value
    return names


def _from_module(
    call: ast.Call,
    launch: Launch,
    own: HostModule,
    modules: Modules,
    usage: Usage | None,
    tensors: Mapping[str, Tensor],
    sizes: Mapping[str, Number],
) -> Iterator[Reading]:
    """The launch as the module's own functions reach it, their callers first, with tensors of a test's shapes."""
    launcher = launch.launcher or ""
    last = launcher.rpartition(".")[2]
    callers = [
        name
        for name, function in own.functions.items()
        if name != launcher
        and any(isinstance(n, ast.Call) and ast.unparse(n.func) == last for n in ast.walk(function))
    ]
    for start in (*callers, launcher):
        for main in dict.fromkeys(t.shape for t in tensors.values()) or (None,):
            if start not in own.functions:
                continue
            said: list[str] = []
            shaped: set[str] = set()

            def tensor_of(
                name: str, asked: bool, main: object = main, said: list[str] = said, shaped: set[str] = shaped
            ) -> Tensor:
                shaped.update([name] if asked else ())
                same = next(
                    (t for n, t in tensors.items() if n.lower().strip("_") == name.lower().strip("_")), None
                )
                shape = same.shape if same is not None else main if name in shaped else None
                if usage is not None and isinstance(shape, tuple):
                    extents = ", ".join(map(text_of, shape))
                    said.append(f"{name} is taken to have the shape ({extents}) of a tensor of {usage.name}")
                told = shape if isinstance(shape, tuple) else None
                return Tensor(
                    name, told, same.dtype if same is not None else None, same.values if same else ""
                )

            reader = Reader(modules, call, dict(sizes), tensor_of)
            function = own.functions[start]
            names = bound(function.args, [], {}, reader, own)
            for argument in function.args.args:
                if names[argument.arg] is None and argument.arg in tensors:
                    names[argument.arg] = Open(argument.arg)
            try:
                if "ctx" in names:
                    names["ctx"] = External("ctx")
                reader.run(function, own, names)
            except Reached as reached:
                yield Reading(reader, reached.names, reached.module, said)
            except Stopped:
                continue
