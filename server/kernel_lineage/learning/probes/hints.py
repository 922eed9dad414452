"""What the difference of two states suggests about conditions: widths, tiles and block sizes new in the code."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from kernel_gate.program import WARP
from kernel_lineage.kernels.mechanisms.registry import mechanisms
from kernel_lineage.learning.probes.setting import launch_of
from kernel_lineage.learning.steps import Step
from kernel_lineage.skills.conditions.parse import ConditionError, parse
from kernel_lineage.skills.conditions.tree import facts_in

_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+")
_VECTOR = re.compile(
    r"(?:u?(?:char|short|int|long|longlong)|float|double|half|bfloat16)_?(\d)|__half2|__nv_bfloat162"
)
_WARP_WORDS = re.compile(r"__shfl|warp|tiled_partition|__reduce_", re.IGNORECASE)
_PACK_WORDS = re.compile(r"128|int4|uint4|float4|128b", re.IGNORECASE)
_LARGEST = 1 << 16


@dataclass(frozen=True, slots=True)
class Hints:
    """Hypotheses, cheap to believe when probes agree."""

    numbers: tuple[int, ...] = ()
    """Widths, tiles, block sizes: where behaviour may change."""
    typical: tuple[str, ...] = ()
    """Typical conditions of the mechanisms that the step adds, in all ways of binding their names to the step's."""


NO_HINTS = Hints()


def hints_of(step: Step) -> Hints:
    """What the later state's code has that the earlier one's has not, and what its mechanisms are known for."""
    return Hints(tuple(sorted(_numbers(step))), tuple(sorted(_typical(step))))


def _numbers(step: Step) -> set[int]:
    fresh = Counter(_TOKEN.findall(_code(step.after.source))) - Counter(
        _TOKEN.findall(_code(step.before.source))
    )
    numbers = {int(token) for token in fresh if token.isdigit()}
    for token in fresh:
        if match := _VECTOR.fullmatch(token):
            numbers.add(int(match[1] or 2))
        if _PACK_WORDS.search(token):
            numbers |= {4, 8}
        if _WARP_WORDS.search(token):
            numbers.add(WARP)
    for program in (step.before, step.after):
        launch = launch_of(program, step.workload)
        if launch is not None:
            texts = (*launch.block, *launch.constexpr.values(), *launch.grid)
            numbers |= {int(n) for text in texts for n in re.findall(r"\b\d+\b", text)}
    return {n for n in numbers if 1 < n <= _LARGEST}


def _code(source: str) -> str:
    """Without comments, so that prose suggests nothing."""
    return re.sub(r"//[^\n]*|/\*.*?\*/|#(?!include|define|if|endif)[^\n]*", " ", source, flags=re.DOTALL)


def _typical(step: Step) -> set[str]:
    by_id = mechanisms()
    dims = list(step.workload.dims)
    buffers = [a.name for a in step.workload.args if a.is_pointer]
    exprs = set()
    for mechanism in (by_id[m] for m in step.mechanisms if m in by_id):
        for condition in mechanism.conditions:
            try:
                plain = sorted(
                    {ref.name for ref in facts_in(parse(condition.expr)) if ref.name.isidentifier()}
                )
            except ConditionError:
                continue
            if len(plain) == 1:
                exprs |= {re.sub(rf"\b{plain[0]}\b", dim, condition.expr) for dim in dims}
            elif not plain:
                exprs |= {re.sub(r"\((x)\)", f"({buffer})", condition.expr) for buffer in buffers}
    return exprs
