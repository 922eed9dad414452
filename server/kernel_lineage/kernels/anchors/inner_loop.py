"""An innermost loop of few rounds, or of known length, that is not asked to be unrolled."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_expressions import integer_of
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.units import in_entry

ID = "inner_loop"


def _find_in(unit: Unit) -> Iterator[Anchor]:
    pragmas = [node for directive, node in unit.directives if directive.startswith("unroll")]
    constants = {p.name for p in unit.kernel.template_parameters if p.type is not None}
    names = {p.name for p in unit.kernel.parameters} | {v.name for v in unit.variables}
    for loop in unit.loops:
        if (
            unit.has_loop_in(loop.node)
            or loop.node.type != "for_statement"
            or not loop.counter
            or loop.halves
        ):
            continue
        before = loop.node.prev_named_sibling
        while before is not None and before.type == "comment":
            before = before.prev_named_sibling
        if before is not None and any(pragma == before for pragma in pragmas):
            continue
        bound = text_of(loop.bound)
        constant = (
            integer_of(loop.bound) is not None
            or bound in constants
            or (bound.isupper() and bound not in names)
            or "::size" in bound
        )
        nested = bool(unit.loops_around(loop.node))
        if bound and loop.step == "1" and (constant or nested):
            note = "of known length" if constant else "within another"
            yield matched(
                ID, loop.node, f"the loop over {loop.counter}, {note}", {"index": loop.counter, "n": bound}
            )


PATTERN = AnchorPattern(
    id=ID,
    title="Inner loop that is not unrolled",
    names={"index": "the loop's counter", "n": "its bound"},
    find=in_entry(_find_in),
)
