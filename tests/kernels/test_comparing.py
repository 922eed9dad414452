"""What changes between two states of a kernel, and what only looks as if it did."""

from textwrap import dedent

import pytest

from kernel_lineage.kernels.mechanisms.comparing import How, added_and_removed, changes
from kernel_lineage.kernels.mechanisms.registry import mechanisms_of, occurrences
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language

_HEAD = "import triton\nimport triton.language as tl\n\n"


def kernel(code: str) -> Kernel:
    language = Language.TRITON if "@triton" in code else Language.CUDA
    head = _HEAD if language is Language.TRITON else ""
    return next(k for k in read((head + dedent(code)).encode(), language).kernels if k.name == "k")


def compared(before: str, after: str) -> tuple[set[tuple[str, How]], tuple[str, ...], tuple[str, ...]]:
    one, other = kernel(before), kernel(after)
    old, new = (occurrences(mechanisms_of(k)) for k in (one, other))
    names = [{p.name for p in k.parameters} for k in (one, other)]
    changed = changes(old, new)
    added, removed = added_and_removed(changed, old, new, names[1] - names[0], names[0] - names[1])
    return {(c.mechanism, c.how) for c in changed}, added, removed


TILE = """
    __global__ void k(float* y, const float* x, int n) {{
        __shared__ float {name}[{size}];
        {name}[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
        __syncthreads();
        y[threadIdx.x] = {name}[63 - threadIdx.x];
    }}
    """
PRODUCT = """
    __global__ void k(float* y, const float* a, const float* b, int n) {{
        float t[{rows}][{columns}] = {{}};
        for (int q = 0; q < n; q++)
            for (int i = 0; i < {rows}; i++)
                for (int j = 0; j < {columns}; j++) t[i][j] += a[i * n + q] * b[q * {columns} + j];
        y[0] = t[1][1];
    }}
    """
MASKED = """
    @triton.jit
    def k(X, Y, n, m, B: tl.constexpr):
        i = tl.arange(0, B)
        x = tl.load(X + i, mask={mask}, other=0.0)
        tl.store(Y + i, x)
    """
TUNED = """
    @triton.autotune(configs=[triton.Config({{"B": 64}}, num_warps=w) for w in {warps}], key=["n"])
    @triton.jit
    def k(X, n, B: tl.constexpr):
        tl.store(X + tl.arange(0, B), 1.0)
    """
LAUNCHED = """
    @triton.jit
    def k(X, n, B: tl.constexpr):
        tl.store(X + tl.arange(0, B), 1.0)

    def run(x):
        k[(4,)](x, 8, B=64, num_warps={warps})
    """
SUM = """
    __device__ float fold(float v) {{ {fold} return v; }}
    __global__ void k(float* y, const float* x) {{
        float v = x[threadIdx.x];
        {inline}
        y[0] = v;
    }}
    """
SHUFFLES = "for (int o = 16; o > 0; o /= 2) { v += __shfl_xor_sync(~0u, v, o); }"


@pytest.mark.parametrize(
    ("before", "after", "mechanism", "how"),
    [
        (PRODUCT.format(rows=8, columns=8), PRODUCT.format(rows=8, columns=16), "register_tile", How.GREW),
        (PRODUCT.format(rows=8, columns=8), PRODUCT.format(rows=4, columns=8), "register_tile", How.SHRANK),
        (TILE.format(name="t", size=64), TILE.format(name="t", size=128), "shared_memory_tile", How.GREW),
        (MASKED.format(mask="i < n"), MASKED.format(mask="(i < n) & (i < m)"), "masked_tail", How.APPEARED),
        (TUNED.format(warps="[2, 4]"), TUNED.format(warps="[2, 4, 8]"), "warps_and_stages", How.GREW),
        (TUNED.format(warps="[2, 4]"), TUNED.format(warps="[2, 4, 8]"), "autotune", How.GREW),
        (LAUNCHED.format(warps=4), LAUNCHED.format(warps=8), "warps_and_stages", How.GREW),
        (LAUNCHED.format(warps=8), LAUNCHED.format(warps=4), "warps_and_stages", How.SHRANK),
        (SUM.format(fold="", inline=""), SUM.format(fold="", inline=SHUFFLES), "warp_shuffle", How.APPEARED),
    ],
)
def test_what_appears_goes_grows_or_shrinks(before, after, mechanism, how):
    seen, added, removed = compared(before, after)
    assert (mechanism, how) in seen
    assert mechanism in (removed if how in (How.WENT, How.SHRANK) else added)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            TILE.format(name="t", size=64), TILE.format(name="part", size=64), id="a local array is renamed"
        ),
        pytest.param(
            TILE.format(name="t", size=64),
            TILE.format(name="t", size=64).replace("\n", "\n\n  // a line more\n"),
            id="the layout changes",
        ),
        pytest.param(
            SUM.format(fold="", inline=SHUFFLES),
            SUM.format(fold=SHUFFLES, inline="v = fold(v);"),
            id="code moves into a device function",
        ),
        pytest.param(
            MASKED.format(mask="i < n"),
            MASKED.format(mask="keep").replace("x = tl", "keep = i < n\n        x = tl"),
            id="a mask gets a name",
        ),
        pytest.param(
            TUNED.format(warps="[2, 4]"),
            TUNED.format(warps="(4, 2)"),
            id="a list is written in another order",
        ),
    ],
)
def test_what_is_written_otherwise_is_no_change(before, after):
    assert compared(before, after) == (set(), (), ())


PLANE = """
    __global__ void k(float* y, const float* x, int n) {{
        __shared__ float t[32][{row}];
        t[threadIdx.y][threadIdx.x] = x[threadIdx.y * n + threadIdx.x];
        __syncthreads();
        y[threadIdx.y * n + threadIdx.x] = t[threadIdx.x][threadIdx.y];
    }}
    """


@pytest.mark.parametrize("row", ["33", "32 + 1", "40"])
def test_a_tile_that_is_padded_holds_no_more(row):
    padded = "bank_conflict_padding"
    before, after = PLANE.format(row="32"), PLANE.format(row=row)
    assert compared(before, after) == ({(padded, How.APPEARED)}, (padded,), ())
    assert compared(after, before) == ({(padded, How.WENT)}, (), (padded,))


def test_a_padded_tile_that_grows_is_a_tile_that_grows():
    seen, added, _ = compared(PLANE.format(row="33"), PLANE.format(row="65"))
    assert seen == {("shared_memory_tile", How.GREW)}
    assert added == ("shared_memory_tile",)


def test_a_further_tensor_that_is_handled_as_the_others_adds_nothing():
    after = (
        MASKED.format(mask="i < n")
        .replace("X, Y,", "X, Z, Y,")
        .replace("x)", "x + tl.load(Z + i, mask=i < n))")
    )
    seen, added, removed = compared(MASKED.format(mask="i < n"), after)
    assert ("masked_tail", How.APPEARED) in seen
    assert (added, removed) == ((), ())


def test_what_may_have_been_there_before_is_not_called_added():
    before = SUM.format(fold="", inline="v = warpReduceSum(v);")
    seen, added, _ = compared(before, SUM.format(fold="", inline=SHUFFLES))
    assert not any(mechanism == "warp_shuffle" for mechanism, _ in seen)
    assert "warp_shuffle" not in added
