"""Pointer parameters that could say more: `const` where nothing is written, `__restrict__` where nothing overlaps."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.units import in_entry

_READING_CALLS = (
    "__ldg",
    "__ldcs",
    "__ldca",
    "__ldcg",
    "__ldlu",
    "__ldcv",
    "load128",
    "load128cs",
    "load128cg",
)


def _may_be_written(unit: Unit) -> set[str]:
    """The parameters that are written, or whose address goes where that cannot be seen."""
    reach = indexing(unit)
    written = {access.root for access in reach.accesses if access.writes}
    written |= {access.root for access in reach.model.accesses if access.writes}
    for call in unit.calls:
        if call.name in _READING_CALLS or call.name in ("reinterpret_cast", "static_cast", "const_cast"):
            continue
        for argument in call.arguments:
            written.add(reach.place(argument).root if argument.type != "subscript_expression" else "")
    return written


def _find(unit: Unit) -> Iterator[Anchor]:
    written = _may_be_written(unit)
    used = {access.root for access in indexing(unit).accesses}
    for parameter in unit.kernel.parameters:
        if not parameter.pointer or "*" not in parameter.type or parameter.type.count("*") > 1:
            continue
        missing = [] if parameter.restrict else ["__restrict__"]
        if not parameter.const and parameter.name in used - written:
            missing.append("const")
        if missing:
            detail = f"{parameter.name} could be {' and '.join(missing)}"
            yield Anchor(parameter.span, detail, {"x": parameter.name, "missing": " ".join(missing)})


PATTERN = AnchorPattern(
    title="Pointer parameters without qualifiers",
    names={
        "x": "the parameter",
        "missing": "the qualifiers that it could have: `__restrict__`, `const`, or both",
    },
    find=in_entry(_find),
)
