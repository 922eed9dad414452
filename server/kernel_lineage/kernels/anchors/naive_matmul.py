"""A dot product of a row and a column, taken from global memory element by element."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_access import Access
from kernel_lineage.kernels.cuda_forms import bare, contains, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_mapping import Stride, moves_along_loop, stride_of
from kernel_lineage.kernels.cuda_syntax import cuda_syntax
from kernel_lineage.kernels.mechanisms.seeing import CUDA_ONLY, cuda
from kernel_lineage.kernels.source import Kernel

ID = "naive_matmul"


def _owners(access: Access) -> set[str]:
    return {axis for axis in access.index if axis in ("x", "y", "block", "lane", "warp")}


def _find(kernel: Kernel) -> Iterator[Anchor]:
    syntax = cuda_syntax(kernel)
    if syntax is None:
        return
    unit = syntax.entry
    reads = [a for a in indexing(unit).accesses if a.space == "global" and a.reads]
    for node in unit.of("assignment_expression"):
        right = bare(node.child_by_field_name("right"))
        around = unit.loops_around(node)
        if operator_of(node) != "+=" or right is None or operator_of(right) != "*" or not around:
            continue
        loop = around[-1]
        factors = [a for a in reads if contains(right, a.node) and moves_along_loop(a, loop)]
        if stride_of(unit, loop) is not Stride.ONE or len(factors) != 2:
            continue
        first, second = factors
        # Each factor must move with threads of its own, or it is a dot product of two rows and not a matrix product.
        if (
            first.root != second.root
            and _owners(first) != _owners(second)
            and _owners(first)
            and _owners(second)
        ):
            names = {
                "a": first.root,
                "b": second.root,
                "K": text_of(loop.bound),
                "k": loop.counter,
                "sum": text_of(node.child_by_field_name("left")),
            }
            yield matched(
                ID, loop.node, f"{first.root} times {second.root}, straight from global memory", names
            )
            return


PATTERN = AnchorPattern(
    id=ID,
    title="Matrix product from global memory",
    names={
        "a": "the first factor",
        "b": "the second factor",
        "K": "the length of the dot product",
        "k": "the counter along it",
        "sum": "what gathers the result",
    },
    find=_find,
    languages=CUDA_ONLY,
    present=(
        cuda("""
            __global__ void product(float* out, const float* a, const float* b, int n) {
                int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
                float s = 0.0f;
                for (int k = 0; k < n; k++) { s += a[row * n + k] * b[k * n + col]; }
                out[row * n + col] = s;
            }
            """),
        cuda("""
            __global__ void linear(float* out, const float* inp, const float* weight, int C, int OC) {
                int bt = blockIdx.x * blockDim.x + threadIdx.x, oc = blockIdx.y * blockDim.y + threadIdx.y;
                const float* x = inp + bt * C;
                const float* w = weight + oc * C;
                float val = 0.0f;
                for (int i = 0; i < C; i++) { val += x[i] * w[i]; }
                out[bt * OC + oc] = val;
            }
            """),
    ),
    absent=(
        cuda("""
            __global__ void product(float* out, const float* a, const float* b, int n) {
                __shared__ float ta[16][16], tb[16][16];
                float s = 0.0f;
                ta[threadIdx.y][threadIdx.x] = a[threadIdx.y * n + threadIdx.x];
                tb[threadIdx.y][threadIdx.x] = b[threadIdx.y * n + threadIdx.x];
                __syncthreads();
                for (int k = 0; k < 16; k++) { s += ta[threadIdx.y][k] * tb[k][threadIdx.x]; }
                out[threadIdx.y * n + threadIdx.x] = s;
            }
            """),
        cuda("""
            __global__ void dots(float* out, const float* a, const float* b, int C) {
                int row = blockIdx.x * blockDim.x + threadIdx.x;
                float s = 0.0f;
                for (int i = 0; i < C; i++) { s += a[row * C + i] * b[row * C + i]; }
                out[row] = s;
            }
            """),
    ),
)
