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
    """Lines with instructions, those that no case executed, loops without a second round, and lines by family."""
    kernels = _kernels(run)
    if not kernels:
        return {}
    shift = run.candidate.program.first_line - 1
    lines = set().union(*(k.lines() for k in kernels))

    def missing(family: str | None) -> list[int]:
        return sorted(n + shift for n in lines.difference(*(k.executed.lines(family) for k in kernels)))

    never = missing(None)
    loops = {line + shift: again for line, again in loops_of(run).items()}
    once = sorted(line for line, again in loops.items() if not again and line not in never)
    by_family = {family: [n for n in missing(family) if n not in never] for family in FAMILIES}
    return {
        "lines": len(lines),
        "never": never,
        "loops_once": once,
        "not_in": {f: misses for f, misses in by_family.items() if misses},
    }


def loops_of(run: CheckState, family: str | None = None) -> dict[int, bool]:
    """Line of each of the candidate's loops, as compiled → whether a case repeats it, one of that family; None: any."""
    loops: dict[int, bool] = {}
    for kernel in _kernels(run):
        for line, again in kernel.executed.loops(family).items():
            loops[line] = loops.get(line, False) or again
    return loops


def _kernels(run: CheckState) -> list[EmulatedKernel]:
    loaded = [one for key, one in run.loaded.items() if key.startswith("candidate")]
    return [k for one in loaded for k in one.kernels if isinstance(k, EmulatedKernel)]


def not_executed(coverage: Mapping[str, Any]) -> str:
    """What to say of lines that no case executed, and of loops that no case repeats; "" when there are none."""
    sentence = ""
    for what, lines in (
        ("executed", coverage.get("never", [])),
        ("repeats the loop of", coverage.get("loops_once", [])),
    ):
        if lines:
            shown = ", ".join(map(str, lines[:_MOST_NAMED])) + (" …" if len(lines) > _MOST_NAMED else "")
            sentence += f"; no case {what} line{'s' if len(lines) > 1 else ''} {shown}"
    return sentence
