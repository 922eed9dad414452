"""A Triton load of data that no one reads again, without a word to the cache."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched_in
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of
from kernel_lineage.kernels.units import in_entry


def _find(unit: TritonUnit) -> Iterator[Anchor]:
    loads = [(call, unit.form(call.node.args[0])) for call in unit.loads()]
    pointers = [pointer_of(form) for _, form in loads]
    for (call, form), pointer in zip(loads, pointers, strict=True):
        hinted = call.keyword("eviction_policy") is not None or call.keyword("cache_modifier") is not None
        # What no program id moves is read by every program; what is loaded twice is wanted in the cache.
        own = "program" in form and any(axis.startswith("arange") for axis in form)
        if pointer and own and not hinted and pointers.count(pointer) == 1:
            yield matched_in(unit, call.node, f"{pointer} is read once", {"x": pointer})


PATTERN = AnchorPattern(
    title="Streaming load without a hint",
    names={"x": "the pointer parameter that is read"},
    find=in_entry(in_triton=_find),
)
