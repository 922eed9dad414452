# ruff: noqa: E501
"""The steps: every second of a class was looked at while probing was changed, the others were not."""

from .grounds import (
    apply,
    by_row,
    grid_of,
    grouped,
    integers,
    picked,
    row_sum,
    table_from,
    triton_rows,
    turned,
)
from .model import Region

GUARD = "if (i < n) { float v = x[i]; y[i] = 2.0f * v + 1.0f; }"
LOOP = "for (int c = threadIdx.x; c < C; c += blockDim.x) y[r * C + c] = 3.0f * x[r * C + c];"
SUM = "for (int c = t; c < C; c += blockDim.x) sum"
FIRST = "for (int k = 1; k < blockDim.x; k++) sum += part[k];"
TREE = "    __syncthreads();\n    if (t == 0) {\n"
FOLD = """    __syncthreads();
    for (int k = START; k > 0; k /= 2) {
        if (t < k) part[t] += part[t + k];
        __syncthreads();
    }
    if (t == 0) {
        sum = part[0];
"""
TURN = "y[i % N * M + i / N] = x[i]"
BLOCKS = "    for first in range(0, C, BLOCK):\n        i = first + tl.arange(0, BLOCK)\n        v ="
ONE = "    if True:\n        i = tl.arange(0, BLOCK)\n        v ="


def fold(start: str) -> tuple[tuple[str, str], ...]:
    """A tree in the place of the sum by one thread."""
    return ((TREE, FOLD.replace("START", start)), (FIRST, ""))


def every(count: int) -> tuple[tuple[str, str], ...]:
    """Whole groups of elements alone."""
    return (
        (
            GUARD,
            f"if (i < n / {count}) for (int k = {count} * i; k < {count} * i + {count}; k++) y[k] = 2.0f * x[k] + 1.0f;",
        ),
    )


REGIONS = (
    Region("pairs without a tail", apply(n=99), every(2), (("n % 2 == 0",),)),
    Region("threes without a tail", apply(n=100), every(3), (("n % 3 == 0",),), True),
    Region("eights without a tail", apply(n=100), every(8), (("n % 8 == 0",),)),
    Region("sixteens without a tail", apply(n=100), every(16), (("n % 16 == 0",),), True),
    Region("whole blocks alone", apply(n=100), (("if (i < n)", "if ((blockIdx.x + 1) * blockDim.x <= n)"),), (("n % 64 == 0", "n % launch.block.x == 0"),)),
    Region("whole warps of a row", by_row(), (("c < C; c", "c < C / 32 * 32; c"),), (("C % 32 == 0",),), True),
    Region("rows of a hundred and twenty-eight", by_row(columns=200), (("c < C; c", "c < min(C, 128); c"),), (("C <= 128",),)),
    Region("rows of forty", by_row(columns=60), (("c < C; c", "c < (C > 40 ? 40 : C); c"),), (("C <= 40",),), True),
    Region("a byte of a column", by_row(columns=300), (("= 3.0f * x[r * C + c]", "= 3.0f * x[r * C + (c & 255)]"),), (("C <= 256",),)),
    Region("sixteen rows", by_row(rows=20, columns=10), (("int r = blockIdx.x;", "int r = blockIdx.x;\n    if (r >= 16) return;"),), (("N <= 16",),), True),
    Region("one batch", by_row(rows=3, columns=20), (("x[r * C + c]", "x[c]"),), (("N == 1",  "N <= 1"),)),
    Region("at least four columns", by_row(columns=3), (("= 3.0f * x[r * C + c]", "= (C < 4 ? 2.0f : 3.0f) * x[r * C + c]"),), (("C >= 4",),), True),
    Region("sixty-four columns", by_row(columns=48), ((LOOP, "for (int c = threadIdx.x; c < 64; c += blockDim.x) if (c < C || C < 64) y[r * C + min(c, C - 1)] = (C < 64 ? 1.0f : 3.0f) * x[r * C + min(c, C - 1)];"),), (("C == 64", "C % 64 == 0 and C <= 64"),)),
    Region("a power of two of columns", row_sum(columns=48), (("sum += x[blockIdx.x * C + c]", "sum += x[blockIdx.x * C + ((C & (C - 1)) ? c / 2 : c)]"),), (("is_power_of_2(C)",),), True),
    Region("a row within a block", by_row(columns=100, block=64), ((LOOP, "int c = threadIdx.x;\n    if (c < C) y[r * C + c] = 3.0f * x[r * C + c];"),), (("C <= launch.block.x",),)),
    Region("a sum within a block", row_sum(columns=100, block=64), ((f"{SUM} += x[blockIdx.x * C + c];", "if (t < C) sum += x[blockIdx.x * C + t];"),), (("C <= launch.block.x",),), True),
    Region("a tree over a block of a power of two", row_sum(block=96), fold("blockDim.x / 2"), (("is_power_of_2(launch.block.x)",),)),
    Region("a tree over sixty-four threads", row_sum(block=128, columns=120), fold("32"), (("launch.block.x <= 64", "launch.block.x == 64"),)),
    Region("a warp's sum", row_sum(block=64), ((TREE, "    for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, k);\n    if (t == 0) {\n"), (FIRST, "")), (("launch.block.x <= 32", "launch.block.x == 32"),)),
    Region("one block of the columns", by_row(columns=70, block=32), ((LOOP, "for (int k = 0; k < 2; k++) { int c = k * blockDim.x + threadIdx.x; if (c < C) y[r * C + c] = 3.0f * x[r * C + c]; }"),), (("C <= launch.block.x * 2",),), True),
    Region("rows for columns", turned(), ((TURN, "y[i % M * M + i / M] = x[i]"),), (("M == N",),)),
    Region("columns for rows", turned(20, 12), ((TURN, "y[i % N * N + i / N] = x[i]"),), (("M == N",),), True),
    Region("no more columns than rows", turned(), ((TURN, "if (i % N < M) y[i % N * M + i / N] = x[i]"),), (("M >= N", "N <= M"),)),
    Region("no more rows than columns", turned(20, 12), ((TURN, "if (i / N < N) y[i % N * M + i / N] = x[i]"),), (("M <= N", "N >= M"),), True),
    Region("whole groups of a matrix", turned(5, 9), (("i < M * N", "i < M * N / 16 * 16"),), (("M * N % 16 == 0",),)),
    Region("both in fours", turned(5, 9), (("i < M * N", "i < (M / 4 * 4) * N"), (TURN, "if (i % N < N / 4 * 4) y[i % N * M + i / N] = x[i]")), (("M % 4 == 0",), ("N % 4 == 0",)), True),
    Region("height for width", grid_of(), (("if (w + 1 < W)", "if (w + 1 < H)"),), (("H == W",),)),
    Region("width for height", grid_of(14, 9), (("if (h + 1 < H)", "if (h + 1 < H && h + 1 < W)"),), (("H <= W", "W >= H"),), True),
    Region("even groups", grouped(), (("s[c * G / C]", "s[min(c / (C / G), G - 1)]"),), (("C % G == 0",),)),
    Region("one group", grouped(), (("s[c * G / C]", "s[0]"),), (("G == 1", "G <= 1"),), True),
    Region("positions within the table", table_from(), (("S + t < L ? x[t] * table[S + t] : 0.0f", "x[t] * table[(S + t) % L]"),), (("S + T <= L", "T + S <= L"),)),
    Region("positions from the first", table_from(start=3, times=12), (("x[t] * table[S + t]", "x[t] * table[t]"),), (("S == 0",),)),
    Region("values that are not negative", apply("fabsf(v)"), (("fabsf(v)", "v"),), (("range(x) >= 0", "range(x) > 0"),)),
    Region("values that are not positive", apply("fminf(v, 0.0f)"), (("fminf(v, 0.0f)", "v"),), (("range(x) <= 0",),)),
    Region("values up to fifty", apply("v * 0.5f"), (("v * 0.5f", "fminf(v, 50.0f) * 0.5f"),), (("range(x) <= ",),)),
    Region("values from minus three", apply("v + 4.0f"), (("v + 4.0f", "fmaxf(v, -3.0f) + 4.0f"),), (("range(x) >= ",),), True),
    Region("finite values", apply("v >= 0.0f ? 1.0f : 0.5f"), (("v >= 0.0f ? 1.0f : 0.5f", "v * 0.0f + (v >= 0.0f ? 1.0f : 0.5f)"),), (("finite(x)",),)),
    Region("a byte of an integer", integers("2 * v", "integers(0, 1000)"), (("2 * v", "2 * (v & 255)"),), (("range(x) <= 255",),)),
    Region("a quotient of what is not negative", integers("(v - (v < 0 ? 3 : 0)) / 4", "integers(-100, 100)"), (("(v - (v < 0 ? 3 : 0)) / 4", "v / 4"),), (("range(x) >= 0", "range(x) > 0", "range(x) >= -"),)),
    Region("a table of sixty-four", picked(), (("int k = index[i / C];", "int k = min(index[i / C], 63);"),), (("range(index) <= 63",),)),
    Region("no padding", picked(), (("y[i] = table[k * C + i % C]", "y[i] = k < 10 ? 0.0f : table[k * C + i % C]"),), (("range(index) >= 10",),)),
    Region("dense rows", triton_rows(stride="S", columns=40), (("row * sx", "row * C"),), (("C == S", "S == C", "S <= C", "C >= S", "C % S == 0"),), True),
    Region("a row within a tile", triton_rows(), ((BLOCKS, ONE),), (("C <= BLOCK", "BLOCK >= C"),)),
    Region("whole tiles in Triton", triton_rows(), (("range(0, C, BLOCK)", "range(0, C // BLOCK * BLOCK, BLOCK)"),), (("C % BLOCK == 0", "C % 64 == 0"),), True),
    Region("sums in fours", row_sum(columns=70), ((f"{SUM} += x[blockIdx.x * C + c];", "for (int c = 4 * t; c + 3 < C; c += 4 * blockDim.x) for (int k = 0; k < 4; k++) sum += x[blockIdx.x * C + c + k];"),), (("C % 4 == 0",),), True),
    Region("a slope below zero", apply("v > 0.0f ? v : 0.1f * v"), (("v > 0.0f ? v : 0.1f * v", "v"),), (("range(x) >= 0", "range(x) > 0"),), True),
    Region("a signed byte", integers("3 * v", "integers(-1000, 1000)"), (("3 * v", "3 * (signed char)v"),), (("range(x) >= -128",), ("range(x) <= 127",))),
    Region("the second half of a table", picked(), (("int k = index[i / C];", "int k = max(index[i / C], 100);"),), (("range(index) >= 100",),), True),
    Region("no more rows than a square has", turned(20, 12), (("= x[i]", "= x[i % (N * N)]"),), (("M <= N", "N >= M"),), True),
    Region("an image within a block", grid_of(), (("int i = blockIdx.x * blockDim.x + threadIdx.x;", "int i = threadIdx.x;\n    if (blockIdx.x) return;"),), (("H * W <= 64", "H * W <= launch.block.x", "launch.grid.x == 1"),), True),
    Region("eight groups", grouped(groups=12), (("s[c * G / C]", "s[min(c * G / C, 7)]"),), (("G <= 8",),), True),
    Region("rows that begin at fours", triton_rows(stride="S", columns=42), (("row * sx", "row * (sx // 4 * 4)"),), (("S % 4 == 0", "sx % 4 == 0"),), True),
    Region("values within ten", apply("v"), (("v;", "fminf(fmaxf(v, -10.0f), 10.0f);"),), (("range(x) >= ",), ("range(x) <= ",)), True),
    Region("eight positions", table_from(), (("x[t] * table[S + t]", "x[t] * table[S + t - (T > 8 && t > 0)]"),), (("T <= 8",),)),
)  # fmt: skip
