"""How the kernels of the assists' examples are run."""

from __future__ import annotations

from pathlib import Path

from kernel_gate.workload import Workload, parse_workload
from workload_texts import workload_text

_VALUES = {
    "group": "integers(0, 5000)", "starts": "offsets(N)", "column": "integers(0, 70)", "target": "integers(0, C)",
    "texts": "integers(0, C)",
    "scored": "integers(0, C)", "segment": "integers(0, S)", "index": "integers(0, S)",
}  # fmt: skip
"""What buffers of whole numbers hold, by their names."""


def workload(
    kernel: str,
    dims: str,
    launch: str,
    *arguments: str,
    language: str = "cuda",
    oracle: str = "",
    promise: str = "",
    align: int = 0,
) -> Workload:
    """The workload of `workload_text`; buffers of whole numbers hold what their names say."""
    listed = (f"{a} {_values_of(a)}".strip() for a in arguments)
    text = workload_text(kernel, dims, launch, *listed, language=language, promise=promise, align=align)
    if oracle:
        text += f'[oracle]\npython = "oracles.py:{oracle}"\n'
    return parse_workload(text, folder=Path(__file__).parent)


def _values_of(argument: str) -> str:
    name, rest = argument.split(": ")
    kind, dtype, *_ = rest.split(" ")
    whole = "=" not in rest and dtype.startswith(("int", "uint")) and kind != "output"
    return _VALUES.get(name, "integers") if whole else ""


ELEMENTS = 'grid = ["ceil_div(n, 256)"]\nblock = [256]'
ROW_OF_BLOCK = 'grid = ["N"]\nconstexpr = { BLOCK = "next_power_of_2(C)" }'
WORKLOADS = {
    "tanimoto": (
        workload("tanimoto", "Q = [1, 3]\nN = [5, 40]\nW = [2, 32]", 'grid = ["ceil_div(N, 32)", "Q"]\nblock = [32]',
                 "queries: input uint32 [Q, W]", "db: input uint32 [N, W]", "out: output float32 [Q, N]",
                 "n: int32 = N", "words: int32 = W"),
    ),
    "hamming": (
        workload("hamming", "N = [1, 770]", 'grid = ["ceil_div(N, 256)"]\nblock = [256]', "out: output int32 [N]",
                 "a: input uint64 [N]", "b: input uint64 [N]", "n: int32 = N"),
    ),
    "emptied": (
        workload("emptied", "N = [1, 770]", 'grid = ["ceil_div(N, 256)"]\nblock = [256]', "out: output int32 [N]",
                 "a: input uint32 [N]", "n: int32 = N"),
    ),
    "last_first": (
        workload("last_first", "N = [1, 770]", 'grid = ["ceil_div(N, 256)"]\nblock = [256]', "out: output int32 [N]",
                 "a: input int32 [N]", "n: int32 = N"),
    ),
    "clear_bits": (
        workload("clear_bits", "N = [1, 770]", 'grid = ["ceil_div(N, 256)"]\nblock = [256]', "out: output int32 [N]",
                 "flags: input int8 [N]", "n: int32 = N"),
    ),
    "scale": (
        workload("scale", "N = [1, 770, 4096]", ELEMENTS, "out: output float32 [N]", "x: input float32 [N]",
                 "a: float32 = 1.5", "n: int32 = N"),
    ),
    "affine": (
        workload("chain", "n = [1, 770]", 'grid = ["1"]', "out: output float32 [n]", "x: input float32 [n]",
                 "w: input float32 [n]", "a: float32 = 1.5", "b: float32 = -0.25", "n: int32 = n"),
    ),
    "gate_by_sigmoid": (
        workload("gated_weights", "n = [1, 770]", 'grid = ["1"]', "x: input float32 [n]", "y: input float32 [n]",
                 "w: input float32 [n]", "out: output float32 [n]"),
    ),
    "centred": (
        workload("squash", "n = [1, 770]", 'grid = ["1"]', "x: input float16 [n]", "w: input float16 [n]",
                 "shift: float32 = 0.25", "s: output float16 [n]", "z: output float16 [n]", language="triton"),
    ),
    "add_rows": (
        workload("add_and_norm", "R = [1, 5]\nC = [3, 70]", 'grid = ["1"]', "x: input float16 [R, C]",
                 "r: input float16 [R, C]", "g: input float32 [C]", "eps: float32 = 1e-5", "out: output float16 [R, C]",
                 language="triton"),
    ),
    "kept": (
        workload("keep_some", "n = [1, 770]", 'grid = ["1"]', "x: input float32 [n]", "keep: input int8 [n]",
                 "r: input float32 [n]", "scale: float32 = 2.0", "y: output float32 [n]", language="triton"),
    ),
    "tops": (
        workload("below_top", "R = [1, 5]\nC = [3, 70]", 'grid = ["1"]', "x: input float32 [R, C]",
                 "out: output float32 [R, C]", language="triton"),
    ),
    "row_largest": (
        workload("shares", "rows = [1, 200]\ncols = [1, 33]", 'grid = ["1"]', "y: output float32 [rows, cols]",
                 "top: output float32 [rows]", "x: input float32 [rows, cols]", "rows: int32 = rows",
                 "cols: int32 = cols"),
    ),
    "first_moment": (
        workload("momentum", "n = [1, 770]", 'grid = ["1"]', "p: inout float32 [n]", "m: inout float32 [n]",
                 "g: input float32 [n]", "keep: float32 = 0.9", "rate: float32 = 0.01", "n: int32 = n"),
    ),
    "lengths": (
        workload("limited_lengths", "n = [1, 770]", 'grid = ["1"]', "z: output float32 [n]", "x: input float32 [n]",
                 "y: input float32 [n]", "most: float32 = 1.0", "n: int32 = n"),
    ),
    "add_row": (
        workload("brighten", "height = [1, 20]\nwidth = [3, 70]", 'grid = ["1"]',
                 "out: output uint8 [height, width]", "plane: inout float32 [height, width]",
                 "row: input float32 [width]", "width: int32 = width", "height: int32 = height"),
    ),
    "sum_segments": (
        workload("sum_segments", "R = [1, 70, 201]\nC = [7, 32]\nS = [5]",
                 'grid = ["ceil_div(R, 4)"]\nblock = ["C", 4]', "out: inout float32 [S, C]",
                 "segment: input int32 [R]", "x: input float32 [R, C]", "rows: int32 = R", "C: int32 = C"),
    ),
    "scatter_rows": (
        workload("scatter_rows", "R = [1, 70, 201]\nC = [7, 70]\nS = [5]",
                 'grid = ["ceil_div(C, 64)", "R"]\nblock = [64]', "out: inout float32 [S, C]",
                 "index: input int64 [R]", "x: input float32 [R, C]", "weight: input float32 [R]", "rows: uint64 = R",
                 "width: int32 = C"),
    ),
    "record_step": (
        workload("record_step", "N = [1, 33, 770]", 'grid = ["ceil_div(N, 256)"]\nblock = [256]',
                 "records: inout float32 [N, 4]", "rate: input float32 [1]", "n: uint64 = N"),
    ),
    "nearer": (
        workload("nearer", "N = [1, 33, 770]", 'grid = ["ceil_div(N, 256)"]\nblock = [256]',
                 "best: inout float32 [N, 2]", "other: input float32 [N, 2]", "n: int32 = N"),
    ),
    "blur": (
        workload("blur", "n = [1, 770]\nradius = [3, 2]", 'grid = ["ceil_div(n, 256)"]\nblock = [256]',
                 "out: output float32 [n]", "in: input float32 [n]", "n: int32 = n", "radius: int32 = radius"),
    ),
    "pooled": (
        workload("pooled", "n = [9, 768]\nk = [4, 3]", 'grid = ["ceil_div(n, 256)"]\nblock = [256]',
                 "out: output float32 [n // k]", "in: input float32 [n]", "n: int32 = n", "k: int32 = k",
                 promise="n >= k"),
    ),
    "pooled_by": (
        workload("pooled_by", "n = [1, 770]\nspan = [5, 3]\nstep = [2]",
                 'grid = ["ceil_div(n, 256)"]\nblock = [256]', "w_span: int32 = span", "w_step: int32 = step",
                 "out: output float32 [n]", "in: input float32 [n * step + span]", "n: int32 = n"),
    ),
    "key_scores": (
        workload("key_scores", "heads = [3]\ncount = [1, 100]", 'grid = ["heads"]\nblock = [64]',
                 "out: output float32 [heads, count]", "query: input float16 [heads, 64]",
                 "keys: input float16 [heads, count, 64]", "count: int32 = count"),
    ),
    "windows": (
        workload("windows", "rows = [3]\ncols = [70, 200]\nk = [5, 3]\nstep = [2]", 'grid = ["rows"]\nblock = [64]',
                 "out: output float32 [rows]", "in: input float32 [rows, cols]", "rows: uint32 = rows",
                 "cols: uint32 = cols", "k: uint32 = k", "step: uint32 = step"),
    ),
    "rotate_halves": (
        workload("rotate_halves", "R = [1, 7]\nH = [3]\nD = [6, 8]",
                 'grid = ["ceil_div(R * H * D, 256)"]\nblock = [256]',
                 "x: inout float32 [R, H, 2 * D]", "angles: input float32 [R, D]",
                 "rows: int32 = R", "heads: int32 = H", "half: int32 = D"),
    ),
    "join_halves": (
        workload("join_halves", "R = [1, 700]\nD = [6, 64]", 'grid = ["64"]\nblock = [256]',
                 "out: output float32 [R, 2 * D]", "re: input float32 [R, D]", "im: input float32 [D]",
                 "n: int32 = R * D", "half: int32 = D"),
    ),
    "pool_windows": (
        workload("pool_windows", "N = [1, 300]\nW = [3, 4, 10]", 'grid = ["ceil_div(N, 128)"]\nblock = [128]',
                 "out: output float32 [N]", "x: input float32 [N, W]", "n: int32 = N", "window: int32 = W"),
    ),
    "plus_turned_layers": (
        workload("plus_turned_layers", "L = [2]\nR = [5, 70]\nC = [3, 65]",
                 'grid = ["ceil_div(C, 16)", "ceil_div(R, 16)", "L"]\nblock = [16, 16]',
                 "out: output float32 [L, R, C]", "a: input float32 [L, R, C]", "b: input float32 [L, C, R]",
                 "height: int32 = R", "width: int32 = C"),
    ),
    "row_quads": (
        workload("row_quads", "N = [1, 70]\nQ = [1, 5]", 'grid = ["ceil_div(N, 4)"]\nblock = [128]',
                 "out: output float32 [N]", "x: input float32 [N, 4 * Q]", "rows: int32 = N", "quads: int32 = Q",
                 align=16),
    ),
    "multiply_complex": (
        workload("multiply_complex", "N = [1, 770, 1024]", ELEMENTS.replace("n,", "N,"), "c: output float16 [N, 2]",
                 "a: input float16 [N, 2]", "b: input float32 [N, 2]", "n: int32 = N"),
    ),
    "take_rows": (
        workload("take_rows", "N = [1, 33]\nC = [12, 64]", 'grid = ["ceil_div(N * C, 128)"]\nblock = [128]',
                 "out: output float16 [N, C]", "group: input int64 [N]", "table: input float16 [5000, C]",
                 "scale: input float32 [N]", "rows: int32 = N", "width: int32 = C"),
    ),
    "silu": (
        workload("silu", "N = [1, 770, 4096]", ELEMENTS,
                 "x: input float16 [N]", "y: output float16 [N]", "n: int32 = N"),
    ),
    "bias_relu": (
        workload("bias_relu", "N = [1, 3]\nC = [5, 130, 256]", 'grid = ["ceil_div(C, 128)", "N"]\nblock = [128]',
                 "out: output int8 [N, C]", "x: inout float32 [N, C]", "bias: input float32 [C]",
                 "rows: int32 = N", "cols: int32 = C"),
    ),
    "suffix_sums": (
        workload("suffix_sums", "N = [1, 3]\nC = [1, 33, 600]", 'grid = ["N"]\nblock = [128]',
                 "out: output float32 [N, C]", "x: input float32 [N, C]", "N: int32 = N", "C: int32 = C"),
    ),
    "sums_before": (
        workload("sums_before", "N = [1, 3]\nC = [1, 33, 600]", 'grid = ["N"]\nblock = [128]',
                 "out: output float32 [N, C]", "x: input float32 [N, C]", "N: int32 = N", "C: int32 = C"),
    ),
    "backwards": (
        workload("backwards", "N = [1, 3]\nC = [1, 33, 130]", 'grid = ["N"]\nblock = [128]',
                 "out: output float32 [N]", "x: input float32 [N, C]", "N: int32 = N", "C: int32 = C"),
    ),
    "norms_of_grid": (
        workload("norms_of_grid", "N = [1, 37]\nC = [1, 130]", 'grid = ["3"]\nblock = [128]',
                 "out: output float32 [N, C]", "x: input float32 [N, C]", "N: int32 = N", "C: int32 = C"),
    ),
    "grid_of_norms": (
        workload("grid_of_norms", "N = [1, 37]\nC = [1, 130]", 'grid = ["min(ceil_div(N, 128), 132)"]\nblock = [128]',
                 "out: output float32 [N, C]", "x: input float32 [N, C]", "N: int32 = N", "C: int32 = C"),
    ),
    "smoothed_rows": (
        workload("smoothed_rows", "N = [1, 37, 300]\nC = [1, 130]", 'grid = ["ceil_div(N, 64)"]\nblock = [64]',
                 "out: output float32 [N, C]", "most: output float32 [N]", "x: input float32 [N, C]", "N: int32 = N",
                 "C: int32 = C"),
    ),
    "norms_launched_elsewhere": (
        workload("norms_launched_elsewhere", "N = [1, 37, 300]\nC = [1, 130]",
                 'grid = ["ceil_div(N, 64)"]\nblock = [64]',
                 "out: output float32 [N]", "x: input float32 [N, C]", "N: int32 = N", "C: int32 = C"),
    ),
    "against_before": (
        workload("against_before", "N = [1, 33]\nC = [1, 40]",
                 'grid = ["ceil_div(N, 16)", "ceil_div(C, 16)"]\nblock = [16, 16]',
                 "out: output float32 [N, C]", "x: input float32 [N, C]", "rows: int32 = N", "columns: int32 = C"),
    ),
    "swap_axes": (
        workload("swap_axes", "N = [1, 33]\nC = [5, 32]",
                 'grid = ["ceil_div(C, 16)", "ceil_div(N, 16)"]\nblock = [16, 16]',
                 "in: input float32 [N, C]", "out: output float32 [C, N]", "rows: int32 = N", "cols: int32 = C"),
    ),
    "scaled_turned": (
        workload("scaled_turned", "N = [1, 33]\nC = [5, 70]",
                 'grid = ["ceil_div(C, 32)", "ceil_div(N, 8)"]\nblock = [32, 8]', "out: output float64 [C, N]",
                 "in: input float64 [N, C]", "alpha: float64 = 1.5", "rows: int32 = N", "cols: int32 = C"),
    ),
    "from_columns": (
        workload("from_columns", "N = [1, 33]\nC = [5, 32]",
                 'grid = ["ceil_div(C, 32)", "ceil_div(N, 8)"]\nblock = [32, 8]',
                 "dst: output float16 [N, C]", "src: input float16 [C, N]", "bias: input float16 [N]",
                 "scale: float32 = 0.5", "H: int32 = N", "W: int32 = C"),
    ),
    "plus_turned": (
        workload("plus_turned", "N = [1, 33]\nC = [5, 70]",
                 'grid = ["ceil_div(C, 32)", "ceil_div(N, 8)"]\nblock = [32, 8]',
                 "sum: output float32 [N, C]", "p: input float32 [N, C]", "q: input float64 [C, N]",
                 "m: int32 = N", "n: int32 = C"),
    ),
    "column_means": (
        workload("column_means", "N = [1, 37, 70]\nC = [5, 33, 128]", 'grid = ["ceil_div(C, 32)"]\nblock = [512]',
                 "means: inout float32 [C]", "most: output float32 [C]", "x: input float32 [N, C]",
                 "rows: int32 = N", "cols: int32 = C"),
    ),
    "tiled_product": (
        workload("tiled_product", "M = [1, 33]\nN = [40]\nK = [19]",
                 'grid = ["ceil_div(N, 16)", "ceil_div(M, 16)"]\nblock = [16, 16]', "c: inout float32 [M, N]",
                 "a: input float32 [M, K]", "b: input float32 [K, N]", "M: int32 = M", "N: int32 = N",
                 "K: int32 = K"),
    ),
    "distances": (
        workload("distances", "M = [1, 33]\nN = [40]\nK = [19]",
                 'grid = ["ceil_div(M * N, 256)"]\nblock = [256]', "out: output float32 [M, N]",
                 "a: input float32 [M, K]", "b: input float32 [N, K]", "M: int32 = M", "N: int32 = N",
                 "K: int32 = K"),
    ),
    "half_product": (
        workload("half_product", "M = [33]\nN = [40, 70]\nK = [48]",
                 'grid = ["ceil_div(N, 16)", "ceil_div(M, 16)"]\nblock = [16, 16]', "c: output float16 [M, N]",
                 "a: input float16 [M, K]", "b: input float16 [K, N]", "M: int32 = M", "N: int32 = N",
                 "K: int32 = K"),
    ),
    "byte_product": (
        workload("byte_product", "M = [33]\nN = [40, 70]\nK = [48, 130]",
                 'grid = ["ceil_div(N, 16)", "ceil_div(M, 16)"]\nblock = [16, 16]', "c: output float32 [M, N]",
                 "a: input int8 [M, K]", "b: input int8 [K, N]", "scale: input float32 [N]", "M: int32 = M",
                 "N: int32 = N", "K: int32 = K"),
    ),
    "dot_product": (
        workload("dot_product", "n = [1, 770, 5000]", ELEMENTS, "a: input float32 [n]", "b: input float32 [n]",
                 "result: inout float32 [1]", "n: int32 = n"),
    ),
    "histogram": (
        workload("histogram", "n = [1, 770, 5000]\nK = [256]", ELEMENTS, "bins: inout uint32 [K]",
                 "data: input uint8 [n]", "n: int32 = n"),
    ),
    "histogram_by_names": (
        workload("histogram_by_names", "n = [1, 770]\nK = [256]", 'grid = ["ceil_div(n, 64)"]\nblock = [64]',
                 "bytes: input uint8 [n]", "count: uint64 = n", "bins: inout uint32 [K]"),
    ),
    "words": (
        workload("words", "n = [1, 90]\nL = [7]\nC = [3000]", 'grid = ["ceil_div(n, 64)"]\nblock = [64]',
                 "texts: input int32 [n, L]", "counts: inout int32 [C]", "n: int32 = n",
                 "length: int32 = L"),
    ),
    "pixels": (
        workload("pixels", "W = [1, 70]\nH = [30]", 'grid = ["2", "2"]\nblock = [16, 4]', "image: input uint8 [H, W]",
                 "bins: inout uint32 [256]", "width: int32 = W", "height: int32 = H"),
    ),
    "weighted": (
        workload("weighted", "n = [1, 770]\nK = [5000]", 'grid = ["3"]\nblock = [64]', "sums: inout float32 [K]",
                 "group: input int32 [n]", "x: input float32 [n]", "n: int32 = n", "groups: int32 = K"),
    ),
    "gelu": (
        workload("gelu", "N = [1, 7, 64]\nC = [48, 77]", ELEMENTS, "out: output float32 [N, C]",
                 "inp: input float32 [N, C]", "bias: input float32 [C]", "n: int32 = N * C", "c: int32 = C"),
    ),
    "row_sum": (
        workload("row_sum", "N = [1, 5]\nC = [3, 128, 770]", 'grid = ["N"]\nblock = [32]',
                 "out: output float32 [N]", "x: input float32 [N, C]", "C: int32 = C", oracle="row_sums"),
    ),
    "row_sums": (
        workload("row_sums", "N = [1, 70]\nC = [1, 33]", 'grid = ["ceil_div(N, 64)"]\nblock = [64]',
                 "out: output float32 [N]", "x: input float32 [N, C]", "N: int32 = N", "C: int32 = C"),
    ),
    "softmax_statistics": (
        workload("softmax_statistics", "N = [1, 33]\nC = [1, 9]", 'grid = ["ceil_div(N, 32)"]\nblock = [32]',
                 "maxima: output float32 [N]", "sums: output float32 [N]", "x: input float32 [N, C]",
                 "N: int32 = N", "C: int32 = C"),
    ),
    "log_sums": (
        workload("log_sums", "N = [1, 33]\nC = [1, 9]", 'grid = ["ceil_div(N, 32)"]\nblock = [32]',
                 "out: output float32 [N]", "x: input float32 [N, C]", "N: int32 = N", "C: int32 = C"),
    ),
    "softmax_rows": (
        workload("softmax_rows", "N = [1, 33]\nC = [1, 9]", 'grid = ["ceil_div(N, 32)"]\nblock = [32]',
                 "out: output float32 [N, C]", "x: input float32 [N, C]", "N: int32 = N", "C: int32 = C"),
    ),
    "block_softmax": (
        workload("block_softmax", "N = [1, 3]\nC = [1, 40, 150]", 'grid = ["N"]\nblock = [64]',
                 "out: output float32 [N, C]", "x: input float32 [N, C]", "C: int32 = C", oracle="softmax_of_x"),
    ),
    "shares": (
        workload("shares", "N = [1, 40]\nC = [1, 33]", 'grid = ["ceil_div(N, 32)"]\nblock = [32]',
                 "out: output float32 [N, C]", "x: input float32 [N, C]", "rows: int32 = N", "columns: int32 = C"),
    ),
    "losses": (
        workload("losses", "N = [1, 770]", 'grid = ["ceil_div(N, 256)"]\nblock = [256]', "out: output float32 [N]",
                 "p: input float32 [N]", "v: input float32 [N]", "n: int32 = N"),
    ),
    "shift": (
        workload("shift", "N = [1, 770]", ELEMENTS, "out: output float32 [N]", "x: input float32 [N]",
                 "by: float32 = 0.5", "n: int32 = N"),
    ),
    "doubled": (
        workload("doubled", "n = [1, 770]", ELEMENTS, "out: inout float32 [n]", "width: int32 = 7", "n: int64 = n"),
    ),
    "pooled_maps": (
        workload("pooled_maps", "M = [1, 8]\nH = [3, 4]\nW = [1, 12]",
                 'grid = ["ceil_div(M * H * W, 256)"]\nblock = [256]',
                 "out: output float32 [M, H, W]", "in: input float32 [H, W]", "maps: int32 = M", "h: int32 = H",
                 "w: int32 = W"),
    ),
    "clamp_columns": (
        workload("clamp_columns", "R = [1, 33]\nC = [1, 20]", 'grid = ["ceil_div(R * C, 64)"]\nblock = [64]',
                 "out: output float32 [R, C]", "x: input float32 [R, C]", "most: float32 = 0.5", "rows: int32 = R",
                 "columns: int32 = C"),
    ),
    "fill_planes": (
        workload("fill_planes", "P = [1, 3]\nN = [1, 300]", 'grid = ["ceil_div(N, 128)", "P"]\nblock = [128]',
                 "out: output float32 [P, N]", "value: float32 = 0.5", "n: uint64 = N"),
    ),
    "best_of_rows": (
        workload("best_of_rows", "N = [1, 20]\nC = [1, 33, 300]", 'grid = ["N"]\nblock = [64]',
                 "where: output int32 [N]", "best: output float32 [N]", "least: output float32 [N]",
                 "x: input float32 [N, C]", "rows: int32 = N", "columns: int32 = C"),
    ),
    "smallest_of_columns": (
        workload("smallest_of_columns", "N = [1, 37, 70]\nC = [5, 33, 128]",
                 'grid = ["ceil_div(C, 128)"]\nblock = [128]', "where: output uint32 [C]", "x: input int32 [N, C]",
                 "rows: uint32 = N", "columns: uint32 = C"),
    ),
    "moments_of_columns": (
        workload("moments_of_columns", "N = [1, 37, 150]\nC = [5, 33]", 'grid = ["ceil_div(C, 64)"]\nblock = [64]',
                 "x: input float32 [N, C]", "mean: output float32 [C]", "skew: output float32 [C]",
                 "rows: uint64 = N", "columns: uint64 = C"),
    ),
    "spread_of_columns": (
        workload("spread_of_columns", "N = [1, 37, 150]\nC = [5, 33]", 'grid = ["ceil_div(C, 64)"]\nblock = [64]',
                 "in: input float32 [N, C]", "centre: output float32 [C]", "spread: output float32 [C]",
                 "height: int32 = N", "width: int32 = C"),
    ),
    "shares_of_columns": (
        workload("shares_of_columns", "N = [1, 37, 150]\nC = [5, 33]", 'grid = ["ceil_div(C, 32)"]\nblock = [32]',
                 "out: output float32 [N, C]", "logits: input float32 [N, C]", "tokens: uint32 = N",
                 "classes: uint32 = C"),
    ),
    "scaled_columns": (
        workload("scaled_columns", "N = [1, 37, 150]\nC = [5, 33]", 'grid = ["ceil_div(C, 256)"]\nblock = [256]',
                 "near_end: output float64 [C]", "count: output int32 [C]", "v: input float64 [N, C]",
                 "n: int32 = N", "m: int32 = C"),
    ),
    "column_range": (
        workload("column_range", "R = [1, 2, 40]\nC = [5, 70]",
                 'grid = ["ceil_div(C, 32)"]\nconstexpr = { WIDTH = 32 }', "spread: output float32 [C]",
                 "weighted: output float32 [C]", "x: input float32 [R, C]", "weights: input float32 [R]",
                 "rows: int32 = R", "columns: int32 = C", language="triton"),
    ),
    "segment_rows": (
        workload("segment_rows", "S = [1, 37]\nN = [1, 900]", 'grid = ["S"]\nblock = [128]',
                 "out: output float32 [S]", "x: input float32 [70]", "starts: input int32 [S + 1]",
                 "column: input int32 [N]", "segments: int32 = S"),
    ),
    "gates": (
        workload("gates", "N = [1, 1030]", 'grid = ["ceil_div(N, 128)"]\nblock = [128]', "x: input float32 [N]",
                 "y: output float32 [N]", "n: int64 = N", "on: bool = 1"),
    ),
    "gates_of_all": (
        workload("gates_of_all", "N = [1, 1030]", 'grid = ["ceil_div(N, 128)"]\nblock = [128]',
                 "x: input float32 [N]", "y: output float32 [N]", "n: int64 = N"),
    ),
    "channels_last": (
        workload("channels_last", "N = [1, 3]\nC = [3, 40]\nP = [5, 70]",
                 'grid = ["ceil_div(N * C * P, 128)"]\nblock = [128]', "in: input float32 [N, C, P]",
                 "out: output float32 [N, P, C]", "N: int32 = N", "C: int32 = C", "P: int32 = P"),
    ),
    "heads_first": (
        workload("heads_first", "B = [2]\nT = [3, 40]\nH = [2]\nD = [8, 33]",
                 'grid = ["ceil_div(B * T * H * D, 256)"]\nblock = [256]', "out: output float16 [B, H, D, T]",
                 "in: input float16 [B, T, H, D]", "scale: input float32 [H]", "T: int32 = T", "H: int32 = H",
                 "D: int32 = D", "total: uint64 = B * T * H * D"),
    ),
    "turned": (
        workload("turned", "R = [1, 37]\nC = [5, 70]", 'grid = ["ceil_div(R * C, 64)"]\nblock = [64]',
                 "in: input int32 [R, C]", "out: output int32 [C, R]", "rows: int32 = R", "columns: int32 = C"),
    ),
    "dense": (
        workload("dense", "M = [1, 9]\nN = [5, 12]\nK = [7, 70]", 'grid = ["M", "N"]\nconstexpr = { BK = 32 }',
                 "a: input float32 [M, K]", "b: input float32 [N, K]", "bias: input float32 [N]",
                 "c: output float32 [M, N]", "N: int32 = N", "K: int32 = K", language="triton"),
    ),
    "row_peak": (
        workload("row_peak", "R = [1, 9]\nC = [5, 200]", 'grid = ["R"]\nconstexpr = { BLOCK = 64 }',
                 "x: input float16 [R, C]", "peak: output float32 [R]", "n: int32 = C", language="triton"),
    ),
    "attend": (
        workload("attend", "R = [1, 3]\ncount = [1, 7, 200]", 'grid = ["R"]\nblock = [64]',
                 "out: output float16 [R, 64]", "q: input float16 [R, 64]", "k: input float16 [R, count, 64]",
                 "v: input float16 [R, count, 64]", "count: int32 = count"),
    ),
    "distances_to": (
        workload("distances_to", "n = [1, 70, 300]\nD = [3, 64, 36]", 'grid = [2]\nblock = [64]',
                 "out: output float32 [n, 2]", "x: input float32 [n, D]", "to: input float32 [D]", "n: int32 = n",
                 "dims: int32 = D"),
    ),
    "blended": (
        workload("blended", "N = [2]\nR = [1, 5, 64]\nC = [64, 36, 96]", 'grid = ["N"]\nblock = [128]',
                 "out: output float32 [N, C]", "x: input float32 [N, R, C]", "weights: input float32 [R]",
                 "rows: int32 = R", "cols: int32 = C"),
    ),
    "pooled_channels": (
        workload("pooled_channels", "N = [1, 3]\nH = [6, 4]\nW = [8]\nC = [16, 5, 20]\nk = [2]",
                 'grid = ["ceil_div(N * (H // k) * (W // k) * C, 128)"]\nblock = [128]',
                 "out: output float16 [N, H // k, W // k, C]", "in: input float16 [N, H, W, C]",
                 "images: int32 = N", "high: int32 = H", "wide: int32 = W", "channels: int32 = C", "k: int32 = k"),
    ),
    "two_sums": (
        workload("two_sums", "N = [1, 70, 200]\nD = [3, 64, 36]", 'grid = [1]\nblock = [64]',
                 "out: output float32 [N]", "x: input float32 [N, D]", "y: input float32 [N, D]", "n: int32 = N",
                 "dims: int32 = D"),
    ),
    "mixed": (
        workload("mixed", "R = [1, 5, 64]\nC = [64, 36, 96]", 'grid = ["ceil_div(C, 64)"]\nblock = [64]',
                 "out: inout float32 [C]", "x: input float32 [R, C]", "weights: input float32 [R]", "rows: int32 = R",
                 "cols: int32 = C"),
    ),
    "zoomed": (
        workload("zoomed", "W = [1, 21]\nH = [3, 9]\nX = [37]\nY = [40, 5]",
                 'grid = ["ceil_div(X, 16)", "ceil_div(Y, 16)"]\nblock = [16, 16]', "out: output float32 [Y, X]",
                 "in: input float32 [H, W]", "width: int32 = W", "height: int32 = H", "wide: int32 = X",
                 "high: int32 = Y"),
    ),
    "smooth_volume": (
        workload("smooth_volume", "X = [1, 37]\nY = [3, 40]\nZ = [2, 9]",
                 'grid = ["ceil_div(X, 8)", "ceil_div(Y, 8)", "ceil_div(Z, 4)"]\nblock = [8, 8, 4]',
                 "out: output float32 [Z, Y, X]", "in: input float32 [Z, Y, X]", "nx: int32 = X", "ny: int32 = Y",
                 "nz: int32 = Z"),
    ),
    "box_sums": (
        workload("box_sums", "H = [1, 9]\nW = [5, 70]", 'grid = ["H * W"]\nconstexpr = { K = 3 }',
                 "x: input float32 [H + 2, W + 2]", "out: output float32 [H, W]", "height: int32 = H",
                 "width: int32 = W", language="triton"),
    ),
    "pair_sums": (
        workload("pair_sums", "B = [1, 2]\nM = [1, 17]\nN = [5, 40]\nK = [1, 33]",
                 'grid = ["ceil_div(M, 16)", "ceil_div(N, 16)", "B"]\nconstexpr = { BM = 16, BN = 16, BK = 16 }',
                 "a: input float32 [B, M, K]", "b: input float32 [B, K, N]", "c: output float32 [B, M, N]",
                 "M: int32 = M", "N: int32 = N", "K: int32 = K", language="triton"),
    ),
    "scores": (
        workload("scores", "N = [1, 37]",
                 'grid = ["ceil_div(N, 32)", "ceil_div(N, 32)"]\nconstexpr = { SIZE = 32, HEAD = 64 }',
                 "q: input float16 [N, 64]", "k: input float16 [N, 64]", "s: output float32 [N, N]", "n: int32 = N",
                 "scale: float32 = 0.125", language="triton"),
    ),
    "linear": (
        workload("linear", "R = [1, 40]\nO = [3, 33]\nI = [1, 37, 64]",
                 'grid = ["ceil_div(R, 32)", "ceil_div(O, 32)"]\nconstexpr = { ROWS = 32, OUTPUTS = 32 }',
                 "x_ptr: input float16 [R, I]", "w_ptr: input float16 [O, I]", "y_ptr: output float32 [R, O]",
                 "rows: int32 = R", "outputs: int32 = O", "inputs: int32 = I", language="triton"),
    ),
    "gated_tiles": (
        workload("gated_tiles", "K = [1, 32, 45]", 'grid = ["1"]', "a: input float32 [16, K]",
                 "g: input float32 [K]", "b: input float32 [K, 32]", "c: output float32 [16, 32]", "K: int32 = K",
                 language="triton"),
    ),
    "gated_unit": (
        workload("gated_unit", "R = [1, 37]\nC = [5, 40]", 'grid = ["R + 1", "C + 2"]',
                 "gate: input float32 [R, C]", "up: input float32 [R, C]", "out: output float32 [R, C]",
                 "rows: int32 = R", "columns: int32 = C", "least: float32 = 0.5", language="triton"),
    ),
    "kept_positive": (
        workload("kept_positive", "N = [1, 37, 1030]", 'grid = ["N"]', "x: input float32 [N]",
                 "out: inout float32 [N]", "n: int32 = N", language="triton"),
    ),
    "product_rows": (
        workload("product_rows", "B = [1, 2]\nM = [1, 17]\nN = [5, 130]\nK = [1, 33]",
                 'grid = ["M", "ceil_div(N, 128)", "B"]\nconstexpr = { BLOCK_N = 128 }',
                 "a: input float16 [B, M, K]", "b: input float16 [B, K, N]", "c: output float32 [B, M, N]",
                 "M: int32 = M", "N: int32 = N", "K: int32 = K", language="triton"),
    ),
    "products": (
        workload("products", "B = [1, 3]\nM = [5, 20]\nN = [3, 8]\nK = [7, 70]",
                 'grid = ["B * M * N"]\nconstexpr = { BK = 64 }', "a: input float16 [B, M, K]",
                 "b: input float16 [B, K, N]", "c: output float32 [B, M, N]", "M: int32 = M", "N: int32 = N",
                 "K: int32 = K", language="triton"),
    ),
    "dense_flat": (
        workload("dense_flat", "M = [1, 3]\nN = [5, 20]\nK = [7, 70]",
                 'grid = ["M * N"]\nconstexpr = { ROWS = 128 }', "x: input float32 [M, K]",
                 "w: input float32 [N, K]", "bias: input float32 [N]", "y: output float32 [M, N]",
                 "outputs: int32 = N", "inputs: int32 = K", language="triton"),
    ),
    "shown_by_total": (
        workload("shown_by_total", "M = [1, 7]\nN = [5, 40]\nK = [7, 70]",
                 'grid = ["M * N"]\nconstexpr = { BK = 32 }', "a: input float32 [M, K]", "b: input float32 [N, K]",
                 "c: output float32 [M, N]", "N: int32 = N", "K: int32 = K", language="triton"),
    ),
    "above_rows": (
        workload("above_rows", "N = [1, 130]\nC = [1, 45, 70]", 'grid = ["ceil_div(N, 4)"]\nblock = [128]',
                 "counts: output int32 [N]", "losses: output float32 [N]", "x: input float32 [N, C]",
                 "level: float32 = 0.5", "N: int32 = N", "C: int32 = C"),
    ),
    "typed_rows": (
        workload("typed_rows", "N = [1, 130]\nC = [1, 45, 70]", 'grid = ["ceil_div(N, 2)"]\nblock = [64]',
                 "out: output float32 [N]", "x: input float32 [N, C]", "N: int32 = N", "C: int32 = C"),
    ),
    "sum_strided": (
        workload("sum_strided", "R = [1, 3]\nN = [1, 64, 777]", 'grid = ["R"]\nblock = [64]',
                 "out: inout float32 [R]", "x: input float32 [R, N]", "n: int32 = N"),
    ),
    "largest_strided": (
        workload("largest_strided", "N = [1, 300, 1000]", "grid = [3]\nblock = [32]",
                 "out: output float64 [96]", "x: input float64 [N]", "w: input float64 [N]", "n: int64 = N"),
    ),
    "column_share": (
        workload("column_share", "R = [1, 37, 300]\nC = [1, 13, 40]", 'grid = ["C"]\nblock = [256]',
                 "mean: output float32 [C]", "x: input float32 [R, C]", "rows: int32 = R", "cols: int32 = C"),
    ),
    "norm_features": (
        workload("norm_features", "N = [1, 37, 300]\nC = [1, 13, 40]", 'grid = ["C"]\nblock = [128]',
                 "y: output float32 [N, C]", "x: input float32 [N, C]", "gain: input float32 [C]",
                 "means: output float32 [C]", "N: int32 = N", "C: int32 = C", "eps: float32 = 0.001"),
    ),
    "peak_of_column": (
        workload("peak_of_column", "R = [1, 37, 130]\nC = [1, 13, 40]", 'grid = ["C"]\nblock = [64]',
                 "out: output float32 [C]", "x: input float16 [R, C]", "rows: int32 = R", "cols: int32 = C"),
    ),
    "rotate_in_block": (
        workload("rotate_in_block", "T = [1, 7]\nH = [3]\nD = [6, 8, 64]", 'grid = ["T"]\nblock = [128]',
                 "q: inout float16 [T, H, 2 * D]", "cosines: input float32 [T, D]", "sines: input float32 [T, D]",
                 "heads: int32 = H", "dim: int32 = 2 * D"),
    ),
    "scale_channels": (
        workload("scale_channels", "N = [1, 3]\nC = [2, 5]\nP = [6, 8, 100]", 'grid = ["N"]\nblock = [128]',
                 "y: output float32 [N, C, P]", "x: input float32 [N, C, P]", "scale: input float32 [C]",
                 "channels: int32 = C", "pixels: int32 = P"),
    ),
    "layers_of_products": (
        workload("layers_of_products", "L = [2]\nM = [5, 20]\nN = [3, 133]\nK = [19]",
                 'grid = ["ceil_div(L * M * N, 128)"]\nblock = [128]', "A: input float32 [L, M, K]",
                 "B: input float32 [L, K, N]", "C: output float32 [L, M, N]", "layers: int32 = L", "M: int32 = M",
                 "N: int32 = N", "K: int32 = K"),
    ),
    "scores_by_index": (
        workload("scores_by_index", "H = [2]\nT = [5, 40]\nD = [8, 19]",
                 'grid = ["ceil_div(H * T * T, 128)"]\nblock = [128]', "q: input float32 [H, T, D]",
                 "k: input float32 [H, T, D]", "s: output float32 [H, T, T]", "heads: int32 = H", "T: int32 = T",
                 "D: int32 = D", "scale: float32 = 0.125"),
    ),
    "soften": (
        workload("soften", "N = [1, 1030]", 'grid = ["N + 3"]', "x: input float32 [N]", "out: output float32 [N]",
                 "n: int32 = N", language="triton"),
    ),
    "turn": (
        workload("turn", "R = [1, 33]\nC = [5, 40]", 'grid = ["R", "C"]', "x: input float16 [R, C]",
                 "out: output float16 [C, R]", "rows: int32 = R", "columns: int32 = C", language="triton"),
    ),
    "column_spread": (
        workload("column_spread", "R = [1, 40]\nC = [5, 70]", 'grid = ["C"]', "x: input float32 [R, C]",
                 "spread: output float32 [C]", "total: output float32 [C]", "rows: int32 = R", "columns: int32 = C",
                 language="triton"),
    ),
    "column_powers": (
        workload("column_powers", "R = [1, 300]\nC = [5, 70]", 'grid = ["C"]\nconstexpr = { ROWS = 128 }',
                 "x: input float32 [R, C + 3]", "power: output float32 [C]", "largest: output float32 [C]",
                 "rows: int32 = R", "columns: int32 = C", "pitch: int32 = C + 3", language="triton"),
    ),
    "pair_products": (
        workload("pair_products", "N = [2, 13]\nC = [5, 33]",
                 'grid = ["N * (N - 1) // 2"]\nconstexpr = { COLUMNS = "next_power_of_2(C)" }',
                 "x: input float32 [N, C]", "out: output float32 [N * (N - 1) // 2]",
                 "pairs: int32 = N * (N - 1) // 2", "columns: int32 = C", language="triton"),
    ),
    "fading_sums": (
        workload("fading_sums", "R = [1, 70]\nC = [5, 70]", 'grid = ["C"]\nconstexpr = { ROWS = 32 }',
                 "x: input float32 [R, C]", "out: output float32 [C]", "rows: int32 = R", "columns: int32 = C",
                 language="triton"),
    ),
    "group_scales": (
        workload("group_scales", "G = [1, 70]", 'grid = ["G"]\nconstexpr = { GROUP = 64 }',
                 "x: input float16 [G, 64]", "q: output float32 [G, 64]", "scales: output float32 [G]",
                 "groups: int32 = G", language="triton"),
    ),
    "row_products": (
        workload("row_products", "R = [1, 9]\nC = [5, 1100]", 'grid = ["R"]', "x: input float16 [R, C]",
                 "y: input float16 [C]", "out: output float32 [R]", "counted: output int32 [R]",
                 "seen: input int8 [R, C]", "columns: int32 = C", language="triton"),
    ),
    "means": (
        workload("means", "R = [1, 40]\nC = [5, 70]\nP = [71]",
                 'grid = ["ceil_div(C, 64)"]\nconstexpr = { WIDTH = 64 }', "mean: output float32 [C]",
                 "x: input float32 [R, P]", "rows: int32 = R", "columns: int32 = C", "pitch: int32 = P",
                 language="triton"),
    ),
    "moments": (
        workload("moments", "R = [1, 40]\nC = [5, 70]",
                 'grid = ["ceil_div(C, 32)"]\nconstexpr = { HIGH = 8, WIDE = 32 }', "mean: output float32 [C]",
                 "most: output float32 [C]", "x: input float32 [R, C]", "rows: int32 = R", "columns: int32 = C",
                 language="triton"),
    ),
    "positives": (
        workload("positives", "R = [1, 3]\nC = [5, 200]",
                 'grid = ["R"]\nconstexpr = { WIDTH = 64 }', "count: output float32 [R]",
                 "x: input float32 [R, C]", "columns: int32 = C", language="triton"),
    ),
    "leaky_shares": (
        workload("leaky_shares", "N = [1, 5]\nC = [1, 33, 1100]", 'grid = ["N"]', "out: output float16 [N, C]",
                 "x: input float32 [N, C]", "columns: int32 = C", language="triton"),
    ),
    "running_shares": (
        workload("running_shares", "N = [1, 5]\nC = [1, 33, 300]", 'grid = ["N"]\nblock = [64]',
                 "so_far: output float32 [N, C]", "x: input float32 [N, C]", "rows: int32 = N", "columns: int32 = C"),
    ),
    "highest_so_far": (
        workload("highest_so_far", "N = [1, 5]\nC = [1, 33, 300]", 'grid = ["N"]\nblock = [64]',
                 "heights: input float32 [N, C]", "peaks: output float32 [N, C]", "highest: output float32 [N]",
                 "paths: int32 = N", "steps: int32 = C"),
    ),
    "lowest_from_the_end": (
        workload("lowest_from_the_end", "N = [1, 5]\nC = [1, 33, 300]", 'grid = ["N"]\nblock = [64]',
                 "out: output float64 [N, C]", "x: input float64 [N, C]", "rows: int32 = N", "columns: int32 = C"),
    ),
    "places_of_kept": (
        workload("places_of_kept", "N = [1, 5]\nC = [1, 33, 300]", 'grid = ["N"]\nblock = [128]',
                 "places: output int64 [N, C]", "counts: output int64 [N]", "values: input int32 [N, C]",
                 "limit: int32 = 3", "rows: uint32 = N", "length: uint32 = C"),
    ),
    "running_product": (
        workload("running_product", "N = [1, 5]\nC = [1, 33, 300]", 'grid = ["N"]\nblock = [64]',
                 "y: output uint32 [N, C]", "x: input uint32 [N, C]", "rows: int32 = N", "columns: int32 = C"),
    ),
    "lowest_of_row": (
        workload("lowest_of_row", "N = [1, 5]\nC = [1, 33, 300]", 'grid = ["N"]\nblock = [64]',
                 "lows: output int32 [N, C]", "x: input int32 [N, C]", "rows: int32 = N", "columns: int32 = C"),
    ),
    "ends_of_runs": (
        workload("ends_of_runs", "N = [1, 5]\nC = [1, 33, 300]", 'grid = ["N"]\nblock = [64]',
                 "ends: output int64 [N, C]", "lengths: input uint8 [N, C]", "rows: int32 = N", "runs: int32 = C"),
    ),
    "running_total": (
        workload("running_total", "N = [1, 5]\nC = [1, 33, 300]", 'grid = ["N"]\nblock = [64]',
                 "x: input float32 [N, C]", "y: output float32 [N, C]", "rows: int64 = N", "length: int64 = C"),
    ),
    "slopes": (
        workload("slopes", "P = [2]\nH = [1, 9, 37]\nW = [1, 40]",
                 'grid = ["ceil_div(W, 32)", "ceil_div(H, 8)", "P"]\nblock = [32, 8]', "out: output float32 [P, H, W]",
                 "in: input float32 [P, H, W]", "weights: input float32 [3]", "width: int32 = W", "height: int32 = H"),
    ),
    "row_scores": tuple(
        workload("row_scores", "N = [1, 5]\nC = [1, 33, 100]", f'grid = ["N"]\nblock = [{block}]',
                 "best: output float32 [N]", "total: output float64 [N]", "x: input float32 [N, C]",
                 "start: input float32 [N]", "N: int32 = N", "C: int32 = C")
        for block in (32, 96)
    ),
    "blend_rows": (
        workload("blend_rows", "P = [2]\nN = [1, 5]\nC = [1, 33, 70]\nK = [1, 3]",
                 'grid = ["N", "P"]\nblock = [64]', "out: output float32 [P, N, C]", "size: output float32 [P, N]",
                 "x: input float32 [K, C]", "share: input float32 [N, K]", "N: int32 = N", "C: int32 = C",
                 "K: int32 = K"),
    ),
    "deviations": tuple(
        workload("deviations", "N = [1, 5]\nC = [1, 33, 300]", f'grid = ["N"]\nblock = [{block}]',
                 "out: output float32 [N, C]", "spread: output float32 [N]", "x: input float32 [N, C]",
                 "rows: int32 = N", "width: int32 = C")
        for block in (64, 256)
    ),
    "norms_along_y": (
        workload("norms_along_y", "N = [1, 5, 70]\nC = [1, 33, 300]",
                 'grid = ["1", "ceil_div(N, 64)"]\nblock = [1, 64]',
                 "y: output float32 [N, C]", "x: input float32 [N, C]", "gain: input float32 [C]",
                 "rows: int32 = N", "width: int32 = C", "eps: float32 = 0.00001"),
    ),
    "sums_along_y": (
        workload("sums_along_y", "N = [1, 5, 70]\nC = [1, 33, 300]",
                 'grid = ["1", "ceil_div(N, 32)"]\nblock = [1, 32]',
                 "y: output float32 [N]", "x: input float32 [N, C]", "rows: int32 = N", "width: int32 = C"),
    ),
    "standardised_cells": (
        workload("standardised_cells", "N = [1, 5, 9]\nC = [1, 33, 300]",
                 'grid = ["ceil_div(C, 16)", "ceil_div(N, 8)"]\nblock = [16, 8]',
                 "out: output float32 [N, C]", "x: input float32 [N, C]", "gain: input float32 [C]",
                 "rows: int32 = N", "width: int32 = C"),
    ),
    "shares_of_heads": (
        workload("shares_of_heads", "B = [1, 3]\nH = [2, 5]", 'grid = ["ceil_div(B * H * 40, 96)"]\nblock = [96]',
                 "share: output float32 [B, H, 40]", "score: input float32 [B, H, 40]", "bias: input float32 [H]",
                 "batch: int32 = B", "heads: int32 = H"),
    ),
    "filtered_signals": (
        workload("filtered_signals", "B = [2]\nI = [1, 3]\nO = [5]\nL = [9]\nT = [4, 1]\nG = [2]",
                 'grid = ["ceil_div(B * O * L, 128)"]\nblock = [128]', "signal: input float32 [B, I, L]",
                 "filter: input float32 [O, I, T]", "out: output float32 [B, L, O]", "batch: int32 = B",
                 "inputs: int32 = I", "outputs: int32 = O", "length: int32 = L", "taps: int32 = T", "gap: int32 = G"),
    ),
    "norms_by_auto": (
        workload("norms_by_auto", "N = [1, 70]\nC = [1, 33, 300]", 'grid = ["N"]\nblock = [64]',
                 "y: output float32 [N]", "x: input float32 [N, C]", "rows: int32 = N", "width: int32 = C"),
    ),
    "shifted_rows": (
        workload("shifted_rows", "N = [1, 3]\nC = [4, 33, 300]", 'grid = ["N"]\nblock = [64]',
                 "y: output float32 [N, C]", "x: input float32 [N, C]", "by: input float32 [(C + 7) // 8]",
                 "C: int32 = C"),
    ),
    "totals_by_tree": (
        workload("totals_by_tree", "N = [1, 3]\nC = [4, 33, 300]", 'grid = ["N"]\nblock = [128]',
                 "out: output float32 [N]", "x: input float32 [N, C]", "n: int32 = C"),
    ),
    "convolve_planes": (
        workload("convolve_planes", "N = [1, 4]\nC = [1, 3]\nK = [3, 4, 8]\nH = [5]\nW = [1, 6]",
                 'grid = ["ceil_div(N * K * H * W, 128)"]\nblock = [128]',
                 "out: output float32 [N, K, H, W]", "in: input float32 [N, C, H, W]",
                 "weight: input float32 [K, C, 3, 3]", "N: int32 = N", "C: int32 = C", "K: int32 = K",
                 "H: int32 = H", "W: int32 = W"),
    ),
    "convolve_channels_last": (
        workload("convolve_channels_last", "N = [1, 2]\nH = [5, 6]\nW = [6, 10]\nCi = [1, 3]\nCo = [4, 5]",
                 'grid = ["ceil_div(N * (H - 2) * (W - 2) * Co, 128)"]\nblock = [128]',
                 "in: input float32 [N, H, W, Ci]", "flt: input float32 [3, 3, Ci, Co]",
                 "out: output float32 [N, H - 2, W - 2, Co]", "N: int32 = N", "H: int32 = H", "W: int32 = W",
                 "Ci: int32 = Ci", "Co: int32 = Co"),
    ),
    "pool_overlapping": (
        workload("pool_overlapping", "P = [1, 3]\nY = [3, 4]\nX = [1, 7]",
                 'grid = ["ceil_div(P * Y * X, 128)"]\nblock = [128]',
                 "input: input float32 [P, 2 * Y + 1, 2 * X + 1]", "output: output float32 [P, Y, X]",
                 "planes: int32 = P", "h: int32 = 2 * Y + 1", "w: int32 = 2 * X + 1", "oh: int32 = Y",
                 "ow: int32 = X"),
    ),
    "mean_of_bags": (
        workload("mean_of_bags", "N = [1, 40]\nB = [3, 8]\nD = [1, 33]\nK = [1, 2, 4]",
                 'grid = ["ceil_div(K * B * D, 128)"]\nblock = [128]', "table: input float64 [5000, D]",
                 "group: input int32 [N]", "starts: input int32 [B + 1]", "out: output float64 [K, B, D]",
                 "bags: int32 = B", "dim: int32 = D", "kinds: int32 = K"),
    ),
    "bags_by_offsets": (
        workload("bags_by_offsets", "N = [1, 40]\nB = [3, 8]\nD = [1, 33, 64]",
                 'grid = ["ceil_div(B * D, 128)"]\nblock = [128]', "table: input float32 [5000, D]",
                 "group: input int32 [N]", "weight: input float32 [N]", "starts: input int32 [B + 1]",
                 "out: output float32 [B, D]", "bags: int32 = B", "dim: int32 = D", align=16),
    ),
    "gated_sums": (
        workload("gated_sums", "N = [1, 20]\nM = [1, 130]\nT = [1, 3]", 'grid = ["N"]\nblock = [96]',
                 "total: inout float64 [N]", "x: input float64 [N, M]", "y: input float64 [T, M]",
                 "live: input int32 [T]", "n: int32 = N", "m: int32 = M", "turns: int32 = T"),
    ),
    "grand_total": tuple(
        workload("grand_total", "N = [1, 300, 1000]", f'grid = ["ceil_div(N, {block})"]\nblock = [{block}]',
                 "out: inout float32 [1]", "x: input float32 [N]", "n: int32 = N")
        for block in (96, 1, 256)
    ),
    "row_totals": tuple(
        workload("row_totals", "R = [1, 3]\nC = [1, 70]", f'grid = ["R"]\nblock = [{block}]',
                 "out: inout int32 [R]", "x: input int32 [R, C]", "C: int32 = C")
        for block in (33, "16, 2")
    ),
    "spread": (
        workload("spread", "N = [1, 3]\nC = [3, 100, 300]", 'grid = ["N"]\nblock = [32]',
                 "out: output float32 [N, C]", "x: input float32 [N, C]", "C: int32 = C"),
    ),
    "centre_by_lanes": (
        workload("centre_by_lanes", "N = [1, 3]\nC = [3, 100, 300]", 'grid = ["N"]\nblock = [32]',
                 "out: output float32 [N, C]", "x: input float32 [N, C]", "C: int32 = C"),
    ),
    "prefix_sums": tuple(
        workload("prefix_sums", "N = [1, 300]", f'grid = ["ceil_div(N, {block})"]\nblock = [{block}]',
                 "out: output float32 [N]", "x: input float32 [N]", "n: int32 = N")
        for block in (32, 48, 128)
    ),
    "signed_prefixes": (
        workload("signed_prefixes", "N = [1, 150]", 'grid = ["ceil_div(N, 64)"]\nblock = [64]',
                 "y: output float32 [N]", "x: input float32 [N]", "n: int32 = N"),
    ),
    "row_prefixes": (
        workload("row_prefixes", "N = [1, 2]\nC = [1, 100, 128]", 'grid = ["N"]\nblock = [128]',
                 "in: input float32 [N, C]", "out: output float32 [N, C]", "totals: output float32 [N]",
                 "cols: int32 = C"),
    ),
    "running_maximum": (
        workload("running_maximum", "N = [1, 2]\nC = [64, 96]\nR = [8, 96]",
                 'grid = ["N"]\nblock = ["C"]\nshared_bytes = "4 * C"', "y: output int32 [N, C]",
                 "x: input int32 [N, C]", "n: int32 = C", "reach: int32 = R"),
    ),
    "channel_softmax": (
        workload("channel_softmax", "N = [1, 2]\nC = [1, 3, 70]\nP = [1, 33]",
                 'grid = ["ceil_div(P, 32)", "N"]\nblock = [32]', "out: output float32 [N, C, P]",
                 "x: input float32 [N, C, P]", "C: int32 = C", "HW: int32 = P"),
    ),
    "pixel_norm": (
        workload("pixel_norm", "C = [1, 3, 70]\nP = [1, 33]", 'grid = ["ceil_div(P, 32)"]\nblock = [32]',
                 "y: output float32 [C, P]", "x: input float16 [C, P]", "batch: int32 = 0", "C: int32 = C",
                 "pixels: int64 = P"),
    ),
    "softmax_in_place": (
        workload("softmax_in_place", "N = [1, 2]\nC = [1, 3, 70]\nP = [1, 33]",
                 'grid = ["ceil_div(P, 32)", "N"]\nblock = [32]', "x: inout float32 [N, C, P]", "C: int32 = C",
                 "HW: int32 = P"),
    ),
    "centre_in_place": (
        workload("centre_in_place", "N = [1, 3]\nC = [3, 100, 300]", 'grid = ["N"]\nblock = [32]',
                 "x: inout float32 [N, C]", "C: int32 = C"),
    ),
    "class_loss": (
        workload("class_loss", "C = [1, 3, 70]\nP = [1, 33]", 'grid = ["ceil_div(P, 32)"]\nblock = [32]',
                 "loss: output float32 [P]", "logits: input float32 [C, P]", "target: input int32 [P]",
                 "classes: int32 = C", "pixels: int32 = P"),
    ),
    "normalise": (
        workload("normalise", "N = [1, 5]\nC = [3, 128, 770]", 'grid = ["N"]\nblock = [64]',
                 "out: output float32 [N, C]", "x: input float32 [N, C]", "weight: input float32 [C]",
                 "scale: input float32 [N]", "C: int32 = C"),
    ),
    "centre": (
        workload("centre", "N = [1, 5]\nC = [3, 128, 770]", 'grid = ["N"]\nblock = [32]',
                 "out: output float32 [N, C]", "x: input float32 [N, C]", "C: int32 = C", oracle="centred"),
    ),
    "largest": (
        workload("largest", "R = [1, 5]\nC = [1, 300, 1024]", 'grid = ["R"]\nblock = [256]',
                 "y: output float32 [R]", "x: input float32 [R, C]", "C: int32 = C"),
    ),
    "nearest": (
        workload("nearest", "P = [4, 5, 300]\nK = [1, 3]\nD = [1, 7]", 'grid = ["ceil_div(P, 128)"]\nblock = [128]',
                 "label: output int32 [P]", "points: input float32 [P, D]", "centres: input float32 [K, D]",
                 "n: int32 = P", "k: int32 = K", "dim: int32 = D"),
    ),
    "halved_sum": (
        workload("halved_sum", "R = [1, 5]\nN = [1, 300, 1024]", 'grid = ["R"]\nblock = [256]\nshared_bytes = 1024',
                 "out: output float32 [R]", "x: input float32 [R, N]", "n: int32 = N"),
    ),
    "first_best": (
        workload("first_best", "R = [1, 5]\nN = [1, 300, 1024]", 'grid = ["R"]\nblock = [128]',
                 "where: output int32 [R]", "x: input float32 [R, N]", "n: int32 = N"),
    ),
    "centred_squares": (
        workload("centred_squares", "R = [1, 5]\nN = [1, 300, 1024]", 'grid = ["R"]\nblock = [128]',
                 "out: output float32 [R]", "x: input float32 [R, N]", "n: int32 = N"),
    ),
    "block_sum": (
        workload("block_sum", "R = [1, 5]\nN = [1, 300, 1024]", 'grid = ["R"]\nblock = [256]\nshared_bytes = 1024',
                 "out: output float32 [R]", "x: input float32 [R, N]", "n: int32 = N", oracle="row_sums"),
    ),
    "row_max": tuple(
        workload("row_max", "R = [3]\nC = [7, 500]", f'grid = ["R"]\nblock = [{block}]', "out: output float32 [R]",
                 "x: input float32 [R, C]", "c: int32 = C")
        for block in (256, 64, 16)
    ),
    "halves": (
        workload("halves", "N = [1, 40]\nC = [1, 70]", 'grid = ["ceil_div(N, 128)"]\nblock = [128]',
                 "out: output float32 [N, 2 * C]", "x: input float32 [N, C]", "N: int32 = N", "C: int32 = C"),
    ),
    "wider_rows": (
        workload("wider_rows", "N = [1, 40]\nW = [7]\nV = [1, 70]\nC = [3]",
                 'grid = ["ceil_div(N, 64)"]\nblock = [64]', "out: output float32 [N, V, C]",
                 "x: input float32 [N, W, C]", "N: int32 = N", "W: int32 = W", "V: int32 = V", "C: int32 = C"),
    ),
    "moved_rows": (
        workload("moved_rows", "N = [1, 40]\nC = [1, 70]\nK = [3]", 'grid = ["ceil_div(N, 128)"]\nblock = [128]',
                 "out: output float32 [N, C]", "x: input float32 [N, C]", "by: input float32 [K]", "N: int32 = N",
                 "C: int32 = C", "K: int32 = K"),
    ),
    "nearest_of_rows": (
        workload("nearest_of_rows", "N = [1, 40]\nM = [1, 70]\nC = [3]", 'grid = ["ceil_div(N, 64)"]\nblock = [64]',
                 "at: output int32 [N]", "distance: output float32 [N]", "x: input float32 [N, C]",
                 "y: input float32 [M, C]", "N: int32 = N", "M: int32 = M", "C: int32 = C"),
    ),
    "pair_losses": (
        workload("pair_losses", "R = [1, 3]\nC = [1, 70, 100]", 'grid = ["ceil_div(C, 96)", "R"]\nblock = [96]',
                 "out: inout float32 [R]", "x: input float32 [R, C]", "scored: input int32 [R]",
                 "n: int32 = C"),
    ),
    "all_distances": (
        workload("all_distances", "N = [1, 33]\nM = [1, 70]\nD = [9]", 'grid = ["ceil_div(N * M, 64)"]\nblock = [64]',
                 "x: input float32 [N, D]", "y: input float32 [M, D]", "out: output float32 [N, M]", "n: int32 = N",
                 "m: int32 = M", "d: int32 = D"),
    ),
    "centred_planes": (
        workload("centred_planes", "B = [1, 3]\nC = [1, 5]\nH = [7]\nW = [6]",
                 'grid = ["ceil_div(B * C * H * W, 64)"]\nblock = [64]', "out: output float32 [B, C, H, W]",
                 "x: input float32 [B, C, H, W]", "mean: input float32 [C]", "B: int32 = B", "C: int32 = C",
                 "H: int32 = H", "W: int32 = W"),
    ),
    "weighted_rows": (
        workload("weighted_rows", "N = [1, 7]\nR = [1, 5]\nC = [1, 6]",
                 'grid = ["ceil_div(N * R * C, 64)"]\nblock = [64]',
                 "out: output float32 [R, C, N]", "x: input float32 [R, C, N]", "weight: input float32 [C * N]",
                 "n: int32 = N", "rows: int32 = R", "columns: int32 = C"),
    ),
    "numbered_columns": (
        workload("numbered_columns", "N = [5, 77, 210]\nR = [7]", 'grid = ["2"]\nblock = [32]',
                 "out: inout float32 [R, N]", "x: input float32 [R, N]", "n: int32 = N",
                 "rows: int32 = R"),
    ),
    "scale_matrix": tuple(
        workload("scale_matrix", "R = [1, 33]\nC = [16, 70]", f'grid = ["ceil_div(R, {x})", "ceil_div(C, {y})"]\n'
                 f"block = [{x}, {y}]", "out: output float32 [R, C]", "x: input float32 [R, C]",
                 "factor: float32 = 1.5", "rows: int32 = R", "columns: int32 = C")
        for x, y in ((16, 16), (8, 8))
    ),
    "product": tuple(
        workload("product", "R = [1, 33]\nC = [20]\nK = [7]", f'grid = ["ceil_div(R, {x})", "ceil_div(C, {y})"]\n'
                 f"block = [{x}, {y}]", "a: input float32 [R, K]", "b: input float32 [K, C]",
                 "out: output float32 [R, C]", "rows: int32 = R", "columns: int32 = C", "inner: int32 = K")
        for x, y in ((32, 4), (4, 16), (8, 8), (64, 1))
    ),
    "transpose": (
        workload("transpose", "R = [32, 40]\nC = [32, 70]",
                 'grid = ["ceil_div(C, 32)", "ceil_div(R, 32)"]\nblock = [32, 32]', "out: output float32 [C, R]",
                 "in: input float32 [R, C]", "rows: int32 = R", "columns: int32 = C"),
    ),
    "add_bias": (
        workload("add_bias", "N = [1, 600]\nC = [30]", ELEMENTS, "out: output float32 [N]", "x: input float32 [N]",
                 "bias: input float32 [C]", "n: int32 = N", "c: int32 = C"),
    ),
    "softmax": (
        workload("softmax", "R = [3]\nC = [100, 770]", 'grid = ["R"]\nconstexpr = { BLOCK = "1024" }',
                 "out_ptr: output float32 [R, C]", "x_ptr: input float32 [R, C]", "columns: int32 = C",
                 language="triton", oracle="softmax"),
    ),
    "scale_rows": (
        workload("scale_rows", "N = [1, 5, 1100]\nC = [3, 70]", ROW_OF_BLOCK,
                 "out: output float32 [N, C]", "x: input float32 [N, C]", "weight: input float32 [C]",
                 "n_cols: int32 = C", language="triton"),
    ),
    "share_rows": (
        workload("share_rows", "N = [3]\nC = [3, 300]", 'grid = ["N"]\nconstexpr = { BLOCK = "64" }',
                 "out: output float32 [N, C]", "x: input float32 [N, C]", "n_cols: int32 = C", language="triton",
                 oracle="shares"),
    ),
    "centred_groups": (
        workload("centred_groups", "N = [3]\nC = [1, 3]\nP = [5, 100]",
                 'grid = ["N"]\nconstexpr = { GROUP = "C", BLOCK = "64" }', "out: output float32 [N, C * P]",
                 "x: input float32 [N, C * P]", "channels: int32 = C", "pixels: int32 = P", language="triton",
                 oracle="centred"),
    ),
    "softmax_of_columns": (
        workload("softmax_of_columns", "N = [2]\nC = [1, 5]\nP = [3, 70]",
                 'grid = ["ceil_div(P, 64)", "N"]\nconstexpr = { BLOCK = "64" }', "out: output float32 [N, C, P]",
                 "x: input float32 [N, C, P]", "channels: int32 = C", "pixels: int32 = P", language="triton"),
    ),
    "norm_of_pixels": (
        workload("norm_of_pixels", "N = [2]\nC = [1, 5]\nP = [3, 70]",
                 'grid = ["N * ceil_div(P, 32)"]\nconstexpr = { SIZE = "32" }', "y: output float32 [N, C, P]",
                 "x: input float16 [N, C, P]", "weight: input float32 [C]", "C: int32 = C", "HW: int32 = P",
                 language="triton"),
    ),
    "spread_rows": (
        workload("spread_rows", "N = [3]\nC = [3, 300]", 'grid = ["N"]\nconstexpr = { STEP = "64" }',
                 "out: output float32 [N, C]", "x: input float32 [N, C]", "n_cols: int32 = C", language="triton",
                 oracle="centred"),
    ),
    "sum_columns": (
        workload("sum_columns", "R = [1, 2, 9]\nC = [40, 300]",
                 'grid = ["ceil_div(C, 128)"]\nconstexpr = { BLOCK = "128" }', "out: output float32 [C]",
                 "x: input float32 [R, C]", "n_rows: int32 = R", "n_cols: int32 = C", language="triton",
                 oracle="column_sums"),
    ),
    "unit_rows": (
        workload("unit_rows", "N = [3]\nC = [3, 70]", ROW_OF_BLOCK, "out: output float32 [N, C]",
                 "x: input float32 [N, C]", "n_cols: int32 = C", "eps: float32 = 0.001", language="triton",
                 oracle="unit"),
    ),
    "soften_rows": (
        workload("soften_rows", "N = [3]\nC = [3, 70]", ROW_OF_BLOCK, "out: output float32 [N, C]",
                 "x: input float32 [N, C]", "n_cols: int32 = C", "scale: float32 = 1.0", language="triton",
                 oracle="of_exponentials"),
    ),
    "centre_rows": (
        workload("centre_rows", "N = [1, 5, 1100]\nC = [3, 70]", ROW_OF_BLOCK,
                 "out: output float32 [N, C]", "x: input float32 [N, C]", "n_rows: int32 = N",
                 "n_cols: int32 = C", language="triton", oracle="centred"),
    ),
    "tile_product": (
        workload("tile_product", "R = [1]\nC = [3]\nK = [16]",
                 'grid = ["ceil_div(R, 16)", "ceil_div(C, 16)"]\nconstexpr = { BM = "16", BN = "16", BK = "16" }',
                 "a: input float32 [R, K]", "b: input float32 [K, C]", "out: output float32 [R, C]",
                 "rows: int32 = R", "columns: int32 = C", "K: int32 = K", language="triton"),
    ),
    "add": (
        workload("add", "N = [1, 3000]", 'grid = ["ceil_div(N, 1024)"]\nconstexpr = { BLOCK = "1024" }',
                 "x_ptr: input float32 [N]", "y_ptr: input float32 [N]", "out_ptr: output float32 [N]",
                 "n: int32 = N", language="triton"),
    ),
}  # fmt: skip
