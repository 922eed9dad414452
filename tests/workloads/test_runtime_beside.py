"""Fills and copies of the CUDA runtime in host code that a change leaves out."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.runtime_beside import runtime_beside

TEXT = """
__global__ void add_up(const float* x, float* sums, float* seen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { atomicAdd(sums, x[i]); seen[i] = x[i]; }
}
void total(const float* x, float* sums, float* seen, float* kept, int n, bool keeps, cudaStream_t stream) {
    cudaMemsetAsync(sums, 0, sizeof(float), stream);
    cudaMemsetAsync(seen, 0, n * sizeof(float), stream);
    add_up<<<(n + 127) / 128, 128, 0, stream>>>(x, sums, seen, n);
    if (keeps) cudaMemcpyAsync(kept, sums, sizeof(float), cudaMemcpyDeviceToDevice, stream);
}
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "    cudaMemsetAsync(sums, 0, sizeof(float), stream);\n",
            "",
            ("cudaMemsetAsync(sums, 0, sizeof(float))",),
        ),
        ("    cudaMemsetAsync(seen, 0, n * sizeof(float), stream);\n", "", ()),
        ("atomicAdd(sums, x[i]);", "sums[i] = x[i];", ()),
        (
            "if (keeps) ",
            "",
            (
                "cudaMemcpyAsync(kept, sums, sizeof(float))",
                "cudaMemcpyAsync(kept, sums, sizeof(float)) where (keeps)",
            ),
        ),
        (
            "    add_up<<<",
            "    if (n == 64) { cudaMemcpyAsync(seen, kept, 256, cudaMemcpyDeviceToDevice); return; }\n    add_up<<<",
            ("cudaMemcpyAsync(seen, kept, 256) where (n == 64)",),
        ),
        ("128, 0, stream>>>", "128, 16, stream>>>", ()),
    ],
    ids=[
        "sums are added to",
        "every element is set",
        "the kernel alone",
        "on every call",
        "results from elsewhere",
        "the launch alone",
    ],
)
def test_what_is_left_out_is_told_where_the_kernel_does_not_do_without(
    old: str, new: str, words: tuple[str, ...]
) -> None:
    assert old in TEXT
    before, after = (read(text.encode(), Language.CUDA) for text in (TEXT, TEXT.replace(old, new)))
    assert runtime_beside("add_up", before, after) == words


def test_a_fill_that_the_kernel_makes_needless_may_go() -> None:
    without = TEXT.replace("    cudaMemsetAsync(sums, 0, sizeof(float), stream);\n", "")
    later = without.replace(
        "atomicAdd(sums, x[i]);",
        "if (i == 0) { float s = 0; for (int k = 0; k < n; ++k) s += x[k]; *sums = s; }",
    )
    assert not runtime_beside("add_up", *(read(text.encode(), Language.CUDA) for text in (TEXT, later)))


def test_a_kernel_of_another_name_since_is_the_same_one() -> None:
    later = TEXT.replace("    cudaMemsetAsync(sums, 0, sizeof(float), stream);\n", "").replace(
        "add_up", "sums_of"
    )
    before, after = (read(text.encode(), Language.CUDA) for text in (TEXT, later))
    assert runtime_beside("add_up", before, after, "sums_of") == ("cudaMemsetAsync(sums, 0, sizeof(float))",)
