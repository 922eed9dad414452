"""Loops that are asked to be unrolled."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_syntax import cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, TypicalCondition
from kernel_lineage.kernels.mechanisms.seeing import BOTH, cuda, seen, seen_in, triton
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_syntax import triton_syntax

ID = "loop_unroll"


def asks_to_unroll(directive: str) -> bool:
    """Whether a `#pragma` line asks for it; `unroll 1` forbids it."""
    words = directive.replace("(", " ").replace(")", " ").split()
    return bool(words) and words[0] == "unroll" and words[1:2] not in (["1"], ["0"])


def _stands_before_a_loop(pragma: Node) -> bool:
    """A `#pragma` belongs to the statement that follows; before any other one it unrolls nothing."""
    following = pragma.next_named_sibling
    while following is not None and following.type in ("comment", "preproc_call"):
        following = following.next_named_sibling
    return following is not None and following.type in ("for_statement", "while_statement", "do_statement")


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    for unit in syntax.units if syntax is not None else ():
        for directive, node in unit.directives:
            if asks_to_unroll(directive) and _stands_before_a_loop(node):
                yield seen(ID, node, f"#pragma {directive}")
    python = triton_syntax(kernel)
    if python is not None:
        for triton_unit, call in python.calls("static_range", "range"):
            factor = call.keyword("loop_unroll_factor")
            unrolls = factor is not None and not (isinstance(factor, ast.Constant) and factor.value == 1)
            if call.of_language and (call.name == "static_range" or unrolls):
                yield seen_in(ID, triton_unit, call.node, f"{call.qualified} is unrolled")


MECHANISM = Mechanism(
    id=ID,
    title="Loop unrolling",
    direction=Direction.INSTRUCTION_THROUGHPUT,
    summary="Repeats the loop body, so that independent work overlaps and the loop's own instructions go.",
    looks_for="`#pragma unroll`, `tl.static_range`, `loop_unroll_factor`.",
    detect=_detect,
    languages=BOTH,
    conditions=(
        TypicalCondition("kernel.spills == 0", "profit", "pipeline", "Unrolled bodies need registers."),
        TypicalCondition("kernel.registers <= 128", "profit", "hardware", "Too many lower the occupancy."),
    ),
    present=(
        cuda("""
            __global__ void sum4(float* out, const float* inp) {
                float s = 0.0f;
                #pragma unroll
                for (int k = 0; k < 4; k++) { s += inp[threadIdx.x + k * 32]; }
                out[threadIdx.x] = s;
            }
            """),
        triton("""
            @triton.jit
            def sum4(X, Y, BLOCK: tl.constexpr):
                offs = tl.arange(0, BLOCK)
                acc = tl.zeros([BLOCK], dtype=tl.float32)
                for k in tl.static_range(4):
                    acc += tl.load(X + k * BLOCK + offs)
                tl.store(Y + offs, acc)
            """),
    ),
    absent=(
        cuda("""
            __global__ void copy(float* out, const float* inp) {
                #pragma unroll
                out[threadIdx.x] = inp[threadIdx.x];
            }
            """),
        cuda("""
            __global__ void sum4(float* out, const float* inp) {
                float s = 0.0f;  // #pragma unroll
                #pragma unroll 1
                for (int k = 0; k < 4; k++) { s += inp[threadIdx.x + k * 32]; }
                out[threadIdx.x] = s;
            }
            """),
        triton("""
            @triton.jit
            def sum4(X, Y, BLOCK: tl.constexpr):
                offs = tl.arange(0, BLOCK)
                acc = tl.zeros([BLOCK], dtype=tl.float32)
                for k in range(4):
                    acc += tl.load(X + k * BLOCK + offs)
                tl.store(Y + offs, acc)
            """),
    ),
)
