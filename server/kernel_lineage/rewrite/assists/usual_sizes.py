"""The numbers that the callers of a kernel's file give to its integers, and to the fields of its structures."""

from __future__ import annotations

from kernel_gate.expressions import ExpressionError, evaluate_int
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.blocks_at_launch import launches_of
from kernel_lineage.skills.kernel_facts import constant
from kernel_lineage.workloads.constants import constants_of
from kernel_lineage.workloads.following.draft import followed_drafts
from kernel_lineage.workloads.following.unit import unit_of
from kernel_lineage.workloads.model import Draft


def passed_by_launches(kernel: Kernel) -> dict[str, int]:
    """Parameters to which all launches are written to give one number, and the number."""
    sizes = dict[str, int]()
    for position, parameter in enumerate(kernel.parameters):
        numbers = set[int | None]()
        for launch in launches_of(kernel):
            passed = launch.arguments[position] if position < len(launch.arguments) else ""
            constants = {**constants_of(kernel), **launch.definitions}
            numbers.add(constant(passed, constants) if passed not in launch.unsettled else None)
        (number,) = numbers if len(numbers) == 1 else (None,)
        if number is not None and not parameter.pointer:
            sizes[parameter.name] = number
    return sizes


def passed_by_callers(kernel: Kernel) -> dict[str, int]:
    """Integer parameters and fields, `p_stride` of `p.stride`, with what the first caller in the file passes that tells
    all that the launch needs.
    """
    unit = unit_of(kernel.source.data.decode("utf-8", "replace")) if kernel.source is not None else None
    drafts = followed_drafts(kernel, unit, "", kernel) if unit is not None else iter(())
    whole = next((draft for draft in drafts if not draft.missing), None)
    return _numbers(whole) if whole is not None else {}


def _numbers(draft: Draft) -> dict[str, int]:
    sizes = {name: size for name, size in draft.dims.items() if name not in draft.chosen}
    numbers = dict[str, int]()
    for argument in draft.arguments:
        if argument.kind == "scalar" and argument.value and "int" in (argument.dtype or ""):
            try:
                numbers[argument.name] = evaluate_int(argument.value, sizes)
            except ExpressionError:
                continue  # the callers do not tell
    return numbers
