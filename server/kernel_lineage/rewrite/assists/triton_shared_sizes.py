"""A product whose tiles have one size along all axes, as one whose sizes are told apart.

`BLOCK` stays the depth; the tiles of each axis of the grid get a parameter of their own. Which uses of the name belong
to which axis is told by the numbers of programs that their statements come from, and those in shapes by trying: what
does not fit is refused when the tiles are looked at (`triton_block_choices`).
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from kernel_lineage.kernels.edits import edited
from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import data_of, fresh_name
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.triton_block_choices import BlockChoice, block_choices
from kernel_lineage.rewrite.assists.triton_places import (
    assignments,
    calls_of,
    function_of,
    parameter_added,
    sources,
    span_of,
)
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.launch_site import launch_edits

_AXES = ("0", "1")


def told_apart(kernel: Kernel) -> tuple[list[Edit], list[BlockChoice]]:
    """Edits of the kernel, and the sizes that it is tried with then. Refused where no size is shared by three axes."""
    function = function_of(kernel)
    shared = {ast.unparse(c.args[1]) for c in calls_of(function, "arange") if len(c.args) == 2}
    parameter = kernel.parameter(min(shared)) if len(shared) == 1 else None
    if parameter is None or not parameter.constexpr:
        raise Refusal(f"the tiles of {kernel.name} have several sizes")
    size, taken = parameter.name, names_in(function)
    names = {axis: fresh_name(f"{size}_{axis}", taken) for axis in _AXES}
    edits, shapes = list[Edit](), list[ast.Name]()
    for use, axis in _uses(function, size):
        if axis is None:
            shapes.append(use)
        elif axis in names:
            edits.append(Edit(span_of(kernel, use), names[axis]))
    edits += [parameter_added(kernel, function, name) for name in names.values()]
    present = {name: launch.options.get(size, "") for launch in kernel.launches for name in names.values()}
    launched = [e for launch in kernel.launches for e in launch_edits(kernel, launch, present)]
    for meant in itertools.product((*names.values(), size), repeat=min(len(shapes), 2)):
        own = [Edit(span_of(kernel, use), name) for use, name in zip(shapes, meant, strict=False)]
        made = read(edited(data_of(kernel), [*edits, *own, *launched]), kernel.language).kernel(kernel.name)
        choices = attempt(lambda: block_choices(made)) if made is not None else Refusal("")  # noqa: B023 - called here
        if not isinstance(choices, Refusal) and all(
            {size, *names.values()} <= c.options.keys() for c in choices
        ):
            return [*edits, *own], choices
    raise Refusal(f"which axis each use of {size} is for is not seen")


def _uses(function: ast.FunctionDef, size: str) -> Iterator[tuple[ast.Name, str | None]]:
    """Each use of a name, with the axis of the grid that its statement comes from: "" for none, None within a shape."""
    flow = assignments(function)
    for statement in ast.walk(function):
        match statement:
            case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.For(iter=value):
                shapes = {
                    id(n) for t in ast.walk(value) if isinstance(t, ast.Tuple | ast.List) for n in ast.walk(t)
                }
                calls = [c for e in sources(value, flow)[1] for c in calls_of(e, "program_id")]
                axes = {ast.unparse(a) for c in calls for a in (*c.args, *(k.value for k in c.keywords))}
                for node in ast.walk(value):
                    if isinstance(node, ast.Name) and node.id == size:
                        yield node, None if id(node) in shapes else ",".join(sorted(axes))
