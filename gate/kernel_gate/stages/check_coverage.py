"""Which lines of the candidate the check's cases executed, by what the cases are for.

Known of the emulated device only, by basic block: an instruction under a predicate of its own counts with its block.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel_gate.cases import Case
from kernel_gate.devices.emulated import EmulatedKernel
from kernel_gate.stages.check_state import CheckState

FAMILIES = ("values", "single row", "misaligned", "aliased")
_MOST_NAMED = 6


def family_of(case: Case) -> str:
    """What a case is for."""
    if case.memory.alias is not None:
        return "aliased"
    if case.memory.offsets:
        return "misaligned"
    return "single row" if 1 in case.dims.values() else "values"


def coverage_of(run: CheckState) -> dict[str, Any]:
    """Lines with instructions, those that no case executed, and by family those that its cases did not."""
    loaded = [one for key, one in run.loaded.items() if key.startswith("candidate")]
    kernels = [k for one in loaded for k in one.kernels if isinstance(k, EmulatedKernel)]
    if not kernels:
        return {}
    shift = run.candidate.program.first_line - 1
    lines = set().union(*(k.lines() for k in kernels))

    def missing(family: str | None) -> list[int]:
        return sorted(n + shift for n in lines.difference(*(k.executed_lines(family) for k in kernels)))

    never = missing(None)
    by_family = {family: [n for n in missing(family) if n not in never] for family in FAMILIES}
    return {
        "lines": len(lines),
        "never": never,
        "not_in": {f: found for f, found in by_family.items() if found},
    }


def not_executed(coverage: Mapping[str, Any]) -> str:
    """What to say of lines that nothing is known of; "" when there are none."""
    never = coverage.get("never", [])
    if not never:
        return ""
    named = ", ".join(map(str, never[:_MOST_NAMED])) + (" …" if len(never) > _MOST_NAMED else "")
    return f"; no case executed line{'s' if len(never) > 1 else ''} {named}"
