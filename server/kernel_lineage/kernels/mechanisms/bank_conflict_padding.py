"""Padding or swizzling a shared tile so that a warp's accesses fall into different banks."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import integer_of
from kernel_lineage.kernels.cuda_forms import bare, contains, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, TypicalCondition
from kernel_lineage.kernels.mechanisms.seeing import CUDA_ONLY, cuda, seen
from kernel_lineage.kernels.source import Kernel

ID = "bank_conflict_padding"


def is_padded(size: Node) -> bool:
    """Whether a row length is a bit more than a power of two, or is written as something plus a pad."""
    size_expression = bare(size)
    length = integer_of(size)
    if length is not None:
        power = 1 << max(length.bit_length() - 1, 0)
        return length >= 17 and 0 < length - power <= 8
    if (
        size_expression is None
        or size_expression.type != "binary_expression"
        or operator_of(size_expression) != "+"
    ):
        return False
    right = size_expression.child_by_field_name("right")
    pad = integer_of(right)
    return "pad" in text_of(right).lower() if pad is None else 0 < pad <= 8


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    for unit in syntax.units if syntax is not None else ():
        for variable in unit.shared_variables:
            if len(variable.sizes) >= 2 and is_padded(variable.sizes[-1]):
                yield seen(
                    ID, variable.node, f"rows of {variable.name} are padded to {text_of(variable.sizes[-1])}"
                )
        twisted = unit.operations.get("^", [])
        if twisted:
            for access in indexing(unit).accesses:
                if access.space == "shared" and any(contains(i, t) for i in access.indices for t in twisted):
                    yield seen(ID, access.node, f"index of {access.root} is swizzled")


MECHANISM = Mechanism(
    id=ID,
    title="Padding or swizzle against bank conflicts",
    direction=Direction.MEMORY_ACCESS,
    summary="Shifts the rows of a shared tile so that the 32 threads of a warp hit 32 different banks.",
    looks_for="Shared arrays with rows a few elements over a power of two, and shared indices made with `^`.",
    detect=_detect,
    languages=CUDA_ONLY,
    conditions=(
        TypicalCondition(
            "launch.shared_bytes <= device.shared_bytes_per_block",
            "validity",
            "hardware",
            "Padding takes room.",
        ),
        TypicalCondition(
            "dtype(x) == float32", "profit", "data types", "One pad element moves a row by one bank."
        ),
    ),
    present=(
        cuda("""
            __global__ void turn(float* out, const float* inp, int n) {
                __shared__ float tile[32][32 + 1];
                tile[threadIdx.y][threadIdx.x] = inp[threadIdx.y * n + threadIdx.x];
                __syncthreads();
                out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
            }
            """),
        cuda("""
            __global__ void turn(float* out, const float* inp, int n) {
                __shared__ float tile[32][32];
                tile[threadIdx.y][threadIdx.x ^ threadIdx.y] = inp[threadIdx.y * n + threadIdx.x];
                __syncthreads();
                out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y ^ threadIdx.x];
            }
            """),
    ),
    absent=(
        cuda("""
            __global__ void turn(float* out, const float* inp, int n) {
                __shared__ float tile[32][32];  // tile[32][33] would be better
                tile[threadIdx.y][threadIdx.x] = inp[threadIdx.y * n + threadIdx.x];
                __syncthreads();
                out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
            }
            """),
        cuda("""
            __global__ void mix(unsigned* out, const unsigned* inp) {
                unsigned local[4][33];
                local[0][1] = inp[threadIdx.x] ^ 7u;
                out[threadIdx.x] = local[0][1];
            }
            """),
    ),
)
