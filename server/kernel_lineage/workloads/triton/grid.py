"""The grid of a Triton launch, and its warps and stages."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from kernel_lineage.workloads.triton.arguments import is_expression, why_unknown
from kernel_lineage.workloads.triton.calls import called
from kernel_lineage.workloads.triton.objects import Function, Instance, Method, Stopped
from kernel_lineage.workloads.triton.values import Size, Unknown, text_of, value_at
from kernel_lineage.workloads.triton.ways import Reading

_NOT_NUMBERS = ("'", '"', "None", "tl.")


def grid_of(
    reading: Reading, constexpr: Mapping[str, str], arguments: Mapping[str, object]
) -> tuple[str, ...]:
    """The grid, a function of what the kernel is given where the launch has one."""
    reader, call = reading.reader, reading.call
    node = call.func.slice if isinstance(call.func, ast.Subscript) else None
    node = node or next((k.value for k in call.keywords if k.arg == "grid"), None)
    value = reading.frame.evaluate(node) if node is not None else Unknown("the grid")
    if isinstance(value, (Function, Method)) or (isinstance(value, Instance) and value.of == "partial"):
        meta = dict(arguments)
        for name, text in constexpr.items():
            meta[name] = ast.literal_eval(text) if text.startswith(_NOT_NUMBERS[:3]) else Size(name)
            if name in reader.sizes and isinstance(meta[name], Size):
                # A dim has this name as well, and is meant by it.
                meta[name] = Size(text)
            number = None if text.startswith(_NOT_NUMBERS) else value_at(Size(text), reader.sizes)
            if number is not None and name not in reader.sizes:
                reader.sizes[name] = number
                reading.constants.add(name)
        try:
            value = called(reader, value, [meta], {})
        except Stopped:
            value = Unknown("the grid")
    items = reader.items_of(value) if not isinstance(value, str) else None
    extents = items if items is not None else [value]
    for extent in extents:
        if not is_expression(extent):
            reading.missing.append(f"the grid: {why_unknown(extent)}")
    return tuple(text_of(e) for e in extents) if all(map(is_expression, extents)) else ()


def option_of(value: object, name: str, reading: Reading) -> int | str:
    """`num_warps` or `num_stages`: a number, or an expression over dims."""
    number = value_at(value, reading.reader.sizes)
    if number is None:
        reading.missing.append(f"{name}: {why_unknown(value)}")
        return 1
    return value.text if isinstance(value, Size) else int(number)
