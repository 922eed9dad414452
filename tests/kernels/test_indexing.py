"""What anchors and mechanisms are told of an index: the values that variables have where they are used."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels import cuda
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import cuda_syntax
from kernel_lineage.kernels.linear_forms import lane_stride


@pytest.mark.parametrize(
    ("body", "stride"),
    [
        ("int i = threadIdx.x; i = i * 4; o[i] = 1;", 4),
        ("int i = threadIdx.x; i *= 33; o[i] = 1;", 33),
        ("int i = threadIdx.x; o[i] = 1; i = 0;", 1),
        ("size_t const r{threadIdx.x}; o[r * n] = 1;", "n"),
        ("o[threadIdx.x % 8] = 1;", "?"),
        ("const int WARP_SIZE = 16; o[threadIdx.x / WARP_SIZE] = 1;", "/16"),
    ],
)
def test_an_index_has_the_value_of_its_variables(body, stride):
    (kernel,) = cuda.parse(f"__global__ void k(float* o, int n) {{ {body} }}".encode()).kernels
    syntax = cuda_syntax(kernel)
    assert syntax is not None
    (access,) = indexing(syntax.entry).accesses
    assert lane_stride(access.index) == stride
