"""The reader's forms are what lanes reach: held against the addresses of a launch on the emulated device."""

from __future__ import annotations

from benchmarks.access_forms import judged, reader_of, truth_of
from kernel_gate.program import Program
from kernel_lineage.kernels.cuda import parse

_SOURCE = """struct Pair { float a; float b; };
__device__ int swizzled(int row, int column) { return row * 32 + (column ^ row); }
__global__ void k(float* o, const float* x, const int* at, int n, int c) {
    __shared__ float tile[32 * 33];
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = i;
    j *= 3;
    o[j] = x[i];
    o[i / c * c + i % c] = x[i >> 1];
    const float* row = x + blockIdx.x * n;
    for (int q = threadIdx.x & 31; q < n; q += 32) o[q * 2] = row[q];
    tile[(threadIdx.x % 32) * 33] = x[blockIdx.x];
    __syncthreads();
    o[i] = tile[threadIdx.x % 32];
    o[i] = reinterpret_cast<const Pair*>(x)[i].b;
    float4 v = *reinterpret_cast<const float4*>(&x[4 * i]);
    *reinterpret_cast<float2*>(o + 2 * i) = make_float2(v.x, v.w);
    if (threadIdx.x < 32) { tile[swizzled(threadIdx.x / 8, threadIdx.x % 8)] = v.y; }
    __syncthreads();
    o[at[i]] = tile[0];
}
"""


def test_the_reader_says_what_lanes_reach():
    (kernel,) = parse(_SOURCE.encode()).kernels
    true = truth_of(Program("cuda", _SOURCE, "k"), kernel, (), "kernel.cu")
    forms = reader_of(kernel, (), ())
    outcomes = {row: judged(distances, forms.get(row, [])) for row, distances in true.items()}
    last = _SOURCE[: _SOURCE.index("o[at[i]]")].count("\n") + 1
    assert {row for row, outcome in outcomes.items() if outcome != "right"} == {(last, "global", "store")}
    assert outcomes[last, "global", "store"] == "unknown"
    assert len(outcomes) >= 14
