"""Choices made at compile time: template values, `if constexpr`, and branches on `tl.constexpr`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import seen, seen_in, seen_on
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_entry, in_units, joined, of_kernel


def _on_kernel(kernel: Kernel) -> Iterator[Site]:
    for parameter in kernel.template_parameters:
        if parameter.type is not None:
            yield seen_on(kernel, f"{parameter.name} is a compile-time {parameter.type}", by="parameter")


def _in_unit(unit: Unit) -> Iterator[Site]:
    for node in unit.of("if_statement"):
        if any(child.type == "constexpr" for child in node.children):
            yield seen(node, "if constexpr", by="branch")


def _in_entry(entry: TritonUnit) -> Iterator[Site]:
    constants = {p.name for p in entry.kernel.parameters if p.constexpr}
    names: set[str] = set()
    for test in (*entry.nodes.get(ast.If, ()), *entry.nodes.get(ast.IfExp, ())):
        if isinstance(test, ast.If | ast.IfExp):
            for name in sorted(entry.names_in(test.test) & constants - names):
                names.add(name)
                yield seen_in(entry, test.test, f"branches on the constant {name}", by="constant")


MECHANISM = Mechanism(
    title="Compile-time specialisation",
    direction=Direction.INSTRUCTION_THROUGHPUT,
    summary="Compiles one variant per case, so that branches vanish and loops have known lengths.",
    looks_for="Template parameters that are values, `if constexpr`, and branches on `tl.constexpr` parameters.",
    detect=joined(of_kernel(_on_kernel, *Language), in_units(_in_unit), in_entry(in_triton=_in_entry)),
    counted=True,
    conditions=(
        validity(
            "launch.block.x in (64, 128, 256, 512, 1024)",
            "shape",
            "Only the sizes that were compiled can be launched.",
        ),
        profit("kernel.spills == 0", "pipeline", "Fully unrolled variants need registers."),
    ),
)
