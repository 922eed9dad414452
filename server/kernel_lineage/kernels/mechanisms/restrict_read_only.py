"""Promises that pointers do not overlap, so that loads may be reordered and go through the read-only path."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import in_assembly, seen
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.units import in_units, joined, of_kernel


def _on_kernel(kernel: Kernel) -> Iterator[Site]:
    for parameter in kernel.parameters:
        if parameter.restrict:
            yield Site(parameter.span, f"{parameter.name} is __restrict__", parameter.name)


def _in_unit(unit: Unit) -> Iterator[Site]:
    for call in unit.calls_by_name.get("__ldg", ()):
        root = indexing(unit).place(call.arguments[0]).root if call.arguments else ""
        yield seen(call.node, "__ldg loads through the read-only path", root, by="__ldg")
    for _, node in in_assembly(unit, "ld.global.nc"):
        yield seen(node, "inline PTX loads through the read-only path", by="ld.global.nc")


MECHANISM = Mechanism(
    title="Restrict and read-only loads",
    direction=Direction.MEMORY_ACCESS,
    summary="Says that pointers do not alias, so that the compiler may keep, reorder and cache what they point to.",
    looks_for="`__restrict__` on parameters, and `__ldg`.",
    detect=joined(of_kernel(_on_kernel, Language.CUDA), in_units(_in_unit)),
    conditions=(
        validity("noalias(x, y)", "storage", "An in-place call breaks the promise."),
        profit(
            "device.compute_capability >= (3, 5)", "hardware", "The read-only path came with that generation."
        ),
    ),
)
