"""What names of host code around a launch stand for."""

import pytest

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.launch_names import launch_names

CUDA = """#define MOST 65535
__global__ void fold(float* out, const float* in, int rows, int columns) {}
void run(float* out, const float* in, int n, int columns, int total, int threads) {
    // MORE
    const int across = n * columns;
    dim3 grid((n + threads - 1) / threads, across);
    fold<<<grid, threads>>>(out, in, n, columns);
}
"""


@pytest.mark.parametrize(
    ("written", "resolved"),
    [
        ("across <= MOST", "launch.grid.y <= 65535"),
        ("static_cast<int64_t>(n) * columns < MOST", "(rows) * columns < 65535"),
        ("threads % 32 == 0", "launch.block.x % 32 == 0"),
        ("total.size(0) == in.n", "total.size(0) == in.n"),
        ("MOST(n)", "MOST(rows)"),
    ],
)
def test_names_of_host_code_are_the_kernel_s_and_the_launch_s(written, resolved):
    kernel = read(CUDA.replace("// MORE", "").encode(), Language.CUDA).kernel("fold")
    assert launch_names(kernel, {"MOST": "65535"}).resolved(written) == resolved


def test_a_name_with_two_meanings_has_none():
    twice = CUDA.replace("// MORE", "fold<<<1, 64>>>(out, in, total, n);")
    kernel = read(twice.encode(), Language.CUDA).kernel("fold")
    assert launch_names(kernel, {}).resolved("n") == "n"
