"""What host code around a launch says of what the launch needs."""

import pytest

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.launch_names import launch_names
from kernel_lineage.learning.preconditions.changes import CodeChange
from kernel_lineage.learning.preconditions.readers import preconditions

CUDA = """#define MOST 65535
__global__ void fold(float* out, const float* in, int rows, int columns) {}
void run(float* out, const float* in, int n, int columns, int total, int threads) {
    REPAIR
    const int across = n * columns;
    dim3 grid((n + threads - 1) / threads, across);
    fold<<<grid, threads>>>(out, in, n, columns);
}
"""
TRITON = """import triton
import triton.language as tl

@triton.jit
def fold(out, x, rows, TILE: tl.constexpr):
    tl.store(out + tl.program_id(0), 0.0)

def run(out, x, n, total, tile):
    REPAIR
    fold[(n,)](out, x, n, TILE=tile)
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
    kernel = read(CUDA.replace("REPAIR", "").encode(), Language.CUDA).kernel("fold")
    assert launch_names(kernel, {"MOST": "65535"}).resolved(written) == resolved


def test_a_name_with_two_meanings_has_none():
    twice = CUDA.replace("REPAIR", "fold<<<1, 64>>>(out, in, total, n);")
    kernel = read(twice.encode(), Language.CUDA).kernel("fold")
    assert launch_names(kernel, {}).resolved("n") == "n"


@pytest.mark.parametrize(
    ("language", "template", "repair", "conditions"),
    [
        (Language.CUDA, CUDA, "if (threads == 96) threads = 128;", ["launch.block.x != 96"]),
        (Language.CUDA, CUDA, "if (columns % 2 != 0) { n = 0; columns = 2; }", ["columns % 2 == 0"]),
        (Language.CUDA, CUDA, "int each = n == 0 ? 0 : total / n; ", ["rows != 0"]),
        (Language.CUDA, CUDA, "int each = columns > 0 ? total % (2 * columns) : 1;", ["columns != 0"]),
        # A choice of two, a value that the launch does not use, a ternary that divides by something else.
        (Language.CUDA, CUDA, "if (n > 8) threads = 64; else threads = 32;", []),
        (Language.CUDA, CUDA, "int left; if (n > 8) left = 64;", []),
        (Language.CUDA, CUDA, "int each = n == 0 ? 0 : n / total;", []),
        (Language.TRITON, TRITON, "each = 0 if n == 0 else total // n", ["rows != 0"]),
        (Language.TRITON, TRITON, "if tile > 4096:\n        tile = 4096", ["TILE <= 4096"]),
        (Language.TRITON, TRITON, "if tile > 4096:\n        print(tile)", []),
    ],
)
def test_a_repair_says_what_was_wrong_before(language, template, repair, conditions):
    before, after = (
        read(template.replace("REPAIR", text).encode(), language).kernel("fold") for text in ("", repair)
    )
    change = CodeChange(before, after, launch_names(after, {}))
    assert [needed.expr for needed in preconditions(change)] == conditions
