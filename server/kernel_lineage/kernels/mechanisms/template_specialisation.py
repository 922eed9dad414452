"""Choices made at compile time: template values, `if constexpr`, and branches on `tl.constexpr`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_syntax import cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, TypicalCondition
from kernel_lineage.kernels.mechanisms.seeing import BOTH, cuda, seen, seen_in, seen_on, triton
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_syntax import triton_syntax

ID = "template_specialisation"


def _detect(kernel: Kernel) -> Iterator[Site]:
    for parameter in kernel.template_parameters:
        if parameter.type is not None:
            yield seen_on(ID, kernel, f"{parameter.name} is a compile-time {parameter.type}", by="parameter")
    syntax = cuda_syntax(kernel)
    for unit in syntax.units if syntax is not None else ():
        for node in unit.of("if_statement"):
            if any(child.type == "constexpr" for child in node.children):
                yield seen(ID, node, "if constexpr", by="branch")
    python = triton_syntax(kernel)
    if python is not None:
        constants = {p.name for p in kernel.parameters if p.constexpr}
        entry = python.entry
        told: set[str] = set()
        for test in (*entry.nodes.get(ast.If, ()), *entry.nodes.get(ast.IfExp, ())):
            if isinstance(test, ast.If | ast.IfExp):
                for name in sorted(
                    {n.id for n in ast.walk(test.test) if isinstance(n, ast.Name)} & constants - told
                ):
                    told.add(name)
                    yield seen_in(ID, entry, test.test, f"branches on the constant {name}", by="constant")


MECHANISM = Mechanism(
    id=ID,
    title="Compile-time specialisation",
    direction=Direction.INSTRUCTION_THROUGHPUT,
    summary="Compiles one variant per case, so that branches vanish and loops have known lengths.",
    looks_for="Template parameters that are values, `if constexpr`, and branches on `tl.constexpr` parameters.",
    detect=_detect,
    languages=BOTH,
    counted=True,
    conditions=(
        TypicalCondition(
            "launch.block.x in (64, 128, 256, 512, 1024)",
            "validity",
            "shape",
            "Only the sizes that were compiled can be launched.",
        ),
        TypicalCondition(
            "kernel.spills == 0", "profit", "pipeline", "Fully unrolled variants need registers."
        ),
    ),
    present=(
        cuda("""
            template <int ITEMS>
            __global__ void fill(float* out) {
                for (int k = 0; k < ITEMS; k++) { out[threadIdx.x * ITEMS + k] = 1.0f; }
            }
            """),
        triton("""
            @triton.jit
            def norm(X, W, Y, HAS_WEIGHT: tl.constexpr, BLOCK: tl.constexpr):
                offs = tl.arange(0, BLOCK)
                x = tl.load(X + offs)
                if HAS_WEIGHT:
                    x = x * tl.load(W + offs)
                tl.store(Y + offs, x)
            """),
    ),
    absent=(
        cuda("""
            template <typename T>
            __global__ void fill(T* out, int items) {
                for (int k = 0; k < items; k++) { out[threadIdx.x * items + k] = T(1); }
            }
            """),
        cuda("""
            __global__ void fill(float* out) {
                if (threadIdx.x < 7) { out[threadIdx.x] = 1.0f; }  // if constexpr
            }
            """),
        triton("""
            @triton.jit
            def norm(X, Y, has_weight, BLOCK: tl.constexpr):
                offs = tl.arange(0, BLOCK)
                x = tl.load(X + offs)
                if has_weight:
                    x = x * 2
                tl.store(Y + offs, x)
            """),
    ),
)
