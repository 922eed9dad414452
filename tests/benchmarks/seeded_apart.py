"""Every seeded kernel beside the plainest program of the same function, `seeded/plain.cu`, whose text tells nothing.

A rewrite to another algorithm or language is localised so: by what both programs compute, not by what was changed.
"""

from __future__ import annotations

from functools import cache

from kernel_gate.program import LaunchSpec, Program
from kernel_gate.verdict import Verdict
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads.mutants.model import Mutant

from .seeded_cases import HERE, SeededKernel
from .seeded_lines import Distance, distance, lines_of

_LAUNCHES = {
    "add": ("N", "1"), "cross_entropy": ("N", "1"), "dropout": ("N", "1"), "embedding": ("N", "C"),
    "half_matmul": ("M", "N"), "histogram": ("1", "32"), "laplace": ("M", "N"), "layernorm": ("N", "1"),
    "layernorm_and_mean": ("N", "1"), "log_sum_exp": ("N", "1"), "matmul": ("M", "N"), "pipelined": ("N * T", "64"),
    "rmsnorm": ("N", "1"), "row_squares": ("N", "1"), "row_sum": ("N", "1"), "scan": ("N", "C"),
    "softmax": ("N", "1"), "stencil": ("N", "1"), "transpose": ("M", "N"), "vector_sum": ("1", "1"),
}  # fmt: skip
"""Plain kernel → blocks and threads of a block."""


@cache
def plain_program(seeded: SeededKernel) -> Program:
    """The plain program of the same function and arguments."""
    entry, arguments = seeded.oracle, None
    if seeded.kernel == "wmma_matmul":
        entry = "half_matmul"
    if entry in ("softmax", "softmax_of_inp"):
        out, input_name, *_ = (argument.name for argument in seeded.workload().args)
        entry, arguments = "softmax", (out, input_name, "C")
    grid, block = _LAUNCHES[entry]
    source = (HERE / "plain.cu").read_text()
    launch = LaunchSpec((grid,), (block,))
    return Program("cuda", source, entry, launch=launch, name="plain.cu", arguments=arguments)


def suspects_of(verdict: Verdict) -> list[int]:
    """The lines that a verdict calls likeliest at fault, in its order; else those that it names at all."""
    for stage in verdict.stages:
        lines = [r["line"] for r in stage.details.get("related", ()) if r["what"] == "likely at fault"]
        if lines:
            return lines
    return lines_of(verdict)


def apart(kernel: Kernel, mutant: Mutant, verdict: Verdict) -> tuple[tuple[int, ...], Distance, Distance]:
    """The lines that are named; how the first of them lies to what was changed, and how the best does."""
    named = suspects_of(verdict)
    return tuple(named), distance(kernel, mutant, named[:1]), distance(kernel, mutant, named)
