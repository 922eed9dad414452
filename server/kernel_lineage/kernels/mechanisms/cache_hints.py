"""Loads and stores that say how long their data will be needed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import in_assembly, seen, seen_in
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of
from kernel_lineage.kernels.units import in_units

_CALLS = (
    "__ldcs", "__ldcg", "__ldca", "__ldlu", "__ldcv", "__stcs", "__stcg", "__stwb", "__stwt",
    "__prefetch_global_l1", "__prefetch_global_l2", "__nv_prefetch", "__builtin_prefetch", "apply_access_property",
    "associate_access_property", "discard_memory",
)  # fmt: skip
_PTX = re.compile(
    r"(?:ld|st)\.global[\w.:]*\.(?:c[sgv]|lu|wt)\b|\bL[12]::\w+|\bprefetch\.|\bapplypriority|\bcreatepolicy"
)
_NAMES = ("eviction_policy", "cache_modifier")


def _detect_cuda(unit: Unit) -> Iterator[Site]:
    for call in unit.calls:
        if call.name in _CALLS:
            root = indexing(unit).place(call.arguments[0]).root if call.arguments else ""
            yield seen(call.node, f"{call.name} gives a cache hint", root, hint=call.name)
    for hint, node in in_assembly(unit, _PTX):
        yield seen(node, "inline PTX gives a cache hint", hint=hint[0])


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    for call in unit.called("load", "store"):
        for name in _NAMES:
            value = call.keyword(name)
            if call.of_language and value is not None and not _is_nothing(value):
                root = pointer_of(unit.form(call.node.args[0])) if call.node.args else ""
                word = value.value if isinstance(value, ast.Constant) else "set"
                yield seen_in(unit, call.node, f"{call.qualified} gives {name}", root, hint=word)


def _is_nothing(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value in ("", None)


MECHANISM = Mechanism(
    title="Cache hints",
    direction=Direction.MEMORY_ACCESS,
    summary="Marks data that is read or written once as streaming, so that it does not push out what is reused.",
    looks_for="`__ldcs`, `__stcs` and the like, inline PTX with a cache operator, `eviction_policy`, `cache_modifier`.",
    detect=in_units(_detect_cuda, _detect_triton),
    conditions=(
        profit('profile.bound == "bandwidth"', "pipeline", "Only where the caches are contended."),
        validity("device.compute_capability >= (3, 2)", "hardware", "The intrinsics need it."),
    ),
)
