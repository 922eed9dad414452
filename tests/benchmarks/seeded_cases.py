"""The kernels that are made wrong on purpose, each with its workload and a float64 oracle."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from kernel_gate.workload import Workload, parse_workload

HERE = Path(__file__).parent / "seeded"
DEMO = Path(__file__).parents[2] / "server" / "kernel_lineage" / "demo" / "history"


@dataclass(frozen=True)
class SeededKernel:
    """A right kernel, and how it runs."""

    path: Path
    kernel: str
    dims: dict[str, list[int]] = field(hash=False)
    arguments: str
    """One per `;`, in order: `out y float32 N C`, `in x int32[0,9] N`, `int C` (a scalar of that value)."""
    grid: tuple[str, ...]
    block: tuple[int, ...] = ()
    oracle: str = ""
    promises: tuple[str, ...] = ()
    constexpr: str = ""
    """Triton: the value of BLOCK."""

    @property
    def name(self) -> str:
        """Language's suffix and kernel, as the tables show it."""
        return f"{self.path.name}:{self.kernel}"

    def workload(self) -> Workload:
        """The workload, whose oracle lies beside the study's own kernels."""
        launch: list[str] = ["[launch]", f"grid = {json.dumps(self.grid)}"]
        if self.constexpr:
            launch.append(f"constexpr = {{ BLOCK = {json.dumps(self.constexpr)} }}\nnum_warps = 2")
        else:
            launch.append(f"block = {json.dumps(self.block)}")
        text = "\n".join(
            [
                f'kernel = "{self.kernel}"\nlanguage = "{"triton" if self.constexpr else "cuda"}"',
                f"promises = {json.dumps(self.promises)}",
                "[dims]",
                *(f"{name} = {extents}" for name, extents in self.dims.items()),
                *(_argument(words.split()) for words in self.arguments.split(";")),
                *launch,
                f'[oracle]\npython = "oracles.py:{self.oracle}"' if self.oracle else "",
            ]
        )
        return parse_workload(text).model_copy(update={"folder": HERE})


def _argument(words: list[str]) -> str:
    kind, name, *rest = words
    if kind in ("int", "float"):
        return f'[[args]]\nname = "{name}"\nkind = "scalar"\ndtype = "{kind}32"\nvalue = "{rest[0] if rest else name}"'
    kinds = {"in": "input", "out": "output", "inout": "inout"}
    dtype, _, values = rest[0].partition("[")
    values_line = f'\nvalues = "integers({values[:-1]})"' if values else ""
    about = f'name = "{name}"\nkind = "{kinds[kind]}"\ndtype = "{dtype}"\nshape = {json.dumps(rest[1:])}'
    return f"[[args]]\n{about}{values_line}"


_ROWS = {"N": [1, 3], "C": [64, 150]}
_PRODUCT = {"M": [8, 19], "N": [16, 21], "K": [24, 27]}
_TURNED = {"M": [16, 37], "N": [32, 21]}
_PRODUCT_ARGUMENTS = "out c float32 M N; in a float32 M K; in b float32 K N; int M; int N; int K"
_TURNED_ARGUMENTS = "out y float32 N M; in x float32 M N; int M; int N"
_ROW_ARGUMENTS = "out y float32 N C; in x float32 N C; int C"
_TILES = ("ceil_div(N, 8)", "ceil_div(M, 8)")
_TURNED_TILES = ("ceil_div(N, 16)", "ceil_div(M, 16)")

KERNELS: tuple[SeededKernel, ...] = (
    SeededKernel(HERE / "matmul.cu", "matmul", _PRODUCT, _PRODUCT_ARGUMENTS, _TILES, (8, 8), "matmul"),
    SeededKernel(
        HERE / "matmul.cu", "matmul_double_buffered", _PRODUCT, _PRODUCT_ARGUMENTS, _TILES, (8, 8), "matmul"
    ),
    SeededKernel(
        HERE / "transpose.cu", "transpose_padded", _TURNED, _TURNED_ARGUMENTS, _TURNED_TILES, (16, 16), "transpose"
    ),
    SeededKernel(
        HERE / "transpose.cu", "transpose_swizzled", _TURNED, _TURNED_ARGUMENTS, _TURNED_TILES, (16, 16), "transpose",
    ),
    SeededKernel(
        HERE / "reductions.cu", "tree_sum", _ROWS, "out y float32 N; in x float32 N C; int C", ("N",), (64,), "row_sum"
    ),
    SeededKernel(
        HERE / "reductions.cu", "warp_rows", {"N": [4, 7], "C": [64, 150]},
        "out y float32 N; in x float32 N C; int N; int C", ("ceil_div(N, 4)",), (128,), "row_squares",
    ),
    SeededKernel(
        HERE / "reductions.cu", "block_sum", {"N": [1, 3], "C": [128, 300]},
        "out y float32 N; in x float32 N C; int C", ("N",), (128,), "row_sum",
    ),
    SeededKernel(
        HERE / "rows.cu", "layernorm", _ROWS,
        "out y float32 N C; out mean float32 N; in x float32 N C; in w float32 C; in b float32 C; int C",
        ("N",), (64,), "layernorm_and_mean",
    ),
    SeededKernel(
        HERE / "rows.cu", "rmsnorm_by_fours", {"N": [1, 3], "C": [256, 300]},
        "out y float32 N C; in x float32 N C; in w float32 C; int C", ("N",), (64,), "rmsnorm", ("C % 4 == 0",),
    ),
    SeededKernel(HERE / "rows.cu", "softmax_online", _ROWS, _ROW_ARGUMENTS, ("N",), (64,), "softmax"),
    SeededKernel(
        HERE / "rows.cu", "cross_entropy", {"N": [32, 45], "C": [5, 24]},
        "out loss float32 N; in x float32 N C; in target int32[0,5] N; int N; int C",
        ("ceil_div(N, 32)",), (32,), "cross_entropy", ("C >= 5",),
    ),
    SeededKernel(
        HERE / "neighbours.cu", "scan", {"N": [1, 3], "C": [64, 50]}, _ROW_ARGUMENTS, ("N",), (64,), "scan",
        ("C <= 64",),
    ),
    SeededKernel(
        HERE / "neighbours.cu", "histogram", {"N": [256, 777]},
        "inout bins int32[0,4] 32; in x int32[0,32] N; int N", ("2",), (64,), "histogram",
    ),
    SeededKernel(
        HERE / "neighbours.cu", "stencil", {"N": [128, 150]},
        "out y float32 N; in x float32 N; int N", ("ceil_div(N, 64)",), (64,), "stencil",
    ),
    SeededKernel(
        HERE / "neighbours.cu", "laplace", {"M": [16, 21], "N": [32, 37]},
        "out y float32 M N; in x float32 M N; int M; int N", ("ceil_div(N, 16)", "ceil_div(M, 8)"), (16, 8), "laplace",
    ),
    SeededKernel(
        HERE / "neighbours.cu", "embedding", {"N": [8, 21], "C": [16, 24]},
        "out y float32 N C; in table float32 9 C; in tokens int32[0,9] N; int N; int C",
        ("ceil_div(N * C, 64)",), (64,), "embedding",
    ),
    SeededKernel(
        HERE / "pipelined.cu", "pipelined", {"N": [1, 3], "T": [1, 4]},
        "out y float32 N T 64; in x float32 N T 64; int tiles T", ("N",), (64,), "pipelined",
    ),
    SeededKernel(
        HERE / "pipelined.cu", "wmma_matmul", {"M": [16, 32], "N": [32, 48], "K": [32, 64]},
        "out c float32 M N; in a float16 M K; in b float16 K N; int N; int K", ("N // 16", "M // 16"), (32,), "matmul",
        ("M % 16 == 0", "N % 16 == 0", "K % 16 == 0"),
    ),
    SeededKernel(
        DEMO / "11-reduction-fix-race/files/kernels/reduction.cu", "reduce_sum", {"N": [256, 700]},
        "inout out float32 1; in x float32 N; int N", ("ceil_div(N, 256)",), (256,), "vector_sum",
    ),
    SeededKernel(
        DEMO / "16-softmax-online/files/kernels/softmax.cu", "softmax_forward4", {"N": [4, 7], "C": [64, 150]},
        "out y float32 N C; in x float32 N C; int N; int C", ("ceil_div(N, 4)",), (128,), "softmax",
    ),
    SeededKernel(
        HERE / "blocks.py", "add", {"N": [256, 777]}, "out y float32 N; in a float32 N; in b float32 N; int n N",
        ("ceil_div(N, 256)",), (), "add", (), "256",
    ),
    SeededKernel(
        HERE / "blocks.py", "softmax", _ROWS, _ROW_ARGUMENTS, ("N",), (), "softmax", (), "next_power_of_2(C)"
    ),
    SeededKernel(
        HERE / "blocks.py", "layernorm", _ROWS,
        "out y float32 N C; in x float32 N C; in w float32 C; in b float32 C; int C",
        ("N",), (), "layernorm", (), "64",
    ),
    SeededKernel(
        HERE / "blocks.py", "matmul", {"M": [16, 37], "N": [32, 21], "K": [32, 51]}, _PRODUCT_ARGUMENTS,
        ("ceil_div(M, 16)", "ceil_div(N, 16)"), (), "matmul", (), "16",
    ),
    SeededKernel(
        HERE / "blocks.py", "dropout", {"N": [256, 777]},
        "out y float32 N; in x float32 N; in chance int32[0,12] N; int n N; int p 5",
        ("ceil_div(N, 256)",), (), "dropout", (), "256",
    ),
    SeededKernel(
        HERE / "blocks.py", "running_sum", _ROWS, _ROW_ARGUMENTS, ("N",), (), "scan", (), "next_power_of_2(C)"
    ),
    SeededKernel(
        HERE / "blocks.py", "transpose", _TURNED, _TURNED_ARGUMENTS, ("ceil_div(M, 16)", "ceil_div(N, 16)"), (),
        "transpose", (), "16",
    ),
    SeededKernel(
        HERE / "blocks.py", "log_sum_exp", _ROWS, "out y float32 N; in x float32 N C; int C", ("N",), (),
        "log_sum_exp", (), "64",
    ),
)  # fmt: skip
"""28 kernels: 20 of CUDA C++, 8 of Triton."""


def llmc_kernels(checkout: Path) -> tuple[SeededKernel, ...]:
    """Kernels of llm.c, read from a checkout."""
    folder = checkout / "dev" / "cuda"
    rows = "out out float32 N C; in inp float32 N C; int N; int C"
    dims = {"N": [2, 5], "C": [64, 150]}
    softmax = folder / "softmax_forward.cu"
    return (
        SeededKernel(softmax, "softmax_forward_kernel1", dims, rows, ("ceil_div(N, 32)",), (32,), "softmax_of_inp"),
        SeededKernel(
            softmax, "softmax_forward_online_kernel2", dims, rows, ("ceil_div(N, 4)",), (128,), "softmax_of_inp"
        ),
    )  # fmt: skip
