"""Guards and masks that let a fixed block shape work on any size."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_mapping import bounds_guards
from kernel_lineage.kernels.cuda_syntax import Unit, cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, TypicalCondition
from kernel_lineage.kernels.mechanisms.seeing import BOTH, cuda, seen, seen_in, triton
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_syntax import triton_syntax

ID = "masked_tail"


def _sizes_of(unit: Unit, bound: Node) -> set[str]:
    """The names that a bound is made of, also through one variable: `int total = B * T;`."""
    names = identifiers_in(bound)
    given = [indexing(unit).value_of(name, bound.start_byte) for name in names]
    return names.union(*(identifiers_in(value) for value in given if value is not None))


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    if syntax is not None:
        # A bound that is a parameter is a size; one that is a constant chooses threads.
        sizes = {p.name for p in kernel.parameters if not p.pointer}
        for unit in syntax.units:
            for guard in bounds_guards(unit):
                if _sizes_of(unit, guard.bound) & sizes:
                    yield seen(ID, guard.node, f"{text_of(guard.index)} is guarded by {text_of(guard.bound)}")
    python = triton_syntax(kernel)
    if python is not None:
        for triton_unit, triton_call in python.calls("load", "store"):
            for name in ("mask", "boundary_check"):
                if triton_call.of_language and triton_call.keyword(name) is not None:
                    yield seen_in(ID, triton_unit, triton_call.node, f"{triton_call.qualified} has a {name}")


MECHANISM = Mechanism(
    id=ID,
    title="Masked tail",
    direction=Direction.PARALLEL_MAPPING,
    summary="Switches off the threads or elements past the end, so that any size works with a fixed block.",
    looks_for="Comparisons of a thread's index with a size, `mask=` and `boundary_check=` of Triton.",
    detect=_detect,
    languages=BOTH,
    conditions=(
        TypicalCondition("N % launch.block.x != 0", "profit", "shape", "Sizes that fit need no guard."),
    ),
    present=(
        cuda("""
            __global__ void fill(float* out, int n) {
                int i = blockIdx.x * blockDim.x + threadIdx.x;
                if (i >= n) { return; }
                out[i] = 1.0f;
            }
            """),
        triton("""
            @triton.jit
            def fill(Y, n, BLOCK: tl.constexpr):
                offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                tl.store(Y + offs, 1.0, mask=offs < n)
            """),
    ),
    absent=(
        cuda("""
            __global__ void fill(float* out, int n) {
                int i = blockIdx.x * blockDim.x + threadIdx.x;  // if (i < n)
                out[i] = threadIdx.x < 32 ? 1.0f : 0.0f;
                if (threadIdx.x < 32) { out[i] = 2.0f; }
            }
            """),
        triton("""
            @triton.jit
            def fill(Y, n, BLOCK: tl.constexpr):
                offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                mask = offs < n
                tl.store(Y + offs, tl.where(mask, 1.0, 0.0))
            """),
    ),
)
