"""Changes that make several launches of one: what the host function does then, as a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.expressions import evaluate_int
from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchStep, MemsetStep, Pointer, Program, Scratch, Value
from kernel_gate.reasons import Reason
from kernel_gate.workload import parse_workload
from kernel_lineage.workloads.programs import ProgramError, UnknownKernelError, program_from_file
from workload_texts import workload_text

CUDA = workload_text(
    "mean",
    "rows = [3, 40]\ncols = [70]",
    "grid = ['rows']\nblock = [32]",
    "out: output float32 [rows]",
    "x: input float32 [rows, cols]",
    "cols: int32 = cols",
)
MEAN = """
__global__ void mean(float* out, const float* x, int cols) {
    float sum = 0;
    for (int i = 0; i < cols; ++i) sum += x[blockIdx.x * cols + i];
    if (threadIdx.x == 0) out[blockIdx.x] = sum / cols;
}
"""
PARTS = """
__global__ void parts(float* sums, const float* x, int cols, int per) {
    float sum = 0;
    int end = min((blockIdx.x + 1) * per, cols);
    for (int i = blockIdx.x * per + threadIdx.x; i < end; i += 32) sum += x[blockIdx.y * cols + i];
    atomicAdd(sums + blockIdx.y, sum);
}
__global__ void divided(float* out, const float* sums, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) out[row] = sums[row] / cols;
}
"""
RUN = "void run(const float* x, float* out, int rows, int cols) {\n    mean<<<rows, 32>>>(out, x, cols);\n}\n"
SPLIT = """struct Workspace { float* sums = nullptr; int rows = 0; };
static void check(cudaError_t code) { if (code != cudaSuccess) exit(1); }
void run(const float* x, float* out, int rows, int cols) {
    static Workspace kept;
    if (kept.rows < rows) {
        cudaFree(kept.sums);
        check(cudaMalloc(&kept.sums, rows * sizeof(float)));
        kept.rows = rows;
    }
    CLEAR
    int pieces = (cols + 63) / 64, per = (cols + pieces - 1) / pieces;
    parts<<<dim3(pieces, rows), 32>>>(kept.sums, x, cols, per);
    divided<<<(rows + 31) / 32, 32>>>(out, kept.sums, rows, cols);
}
"""
CLEAR = "check(cudaMemset(kept.sums, 0, rows * sizeof(float)));"


def of_cuda(folder: Path, before: str, after: str, workload: str = CUDA) -> Program:
    return program_from_file(
        folder / "mean.cu",
        "mean",
        parse_workload(workload),
        data=after.encode(),
        root=folder,
        changed_from=before.encode(),
    )


def launched(program: Program) -> list[LaunchStep]:
    return [step for step in program.steps if isinstance(step, LaunchStep)]


@pytest.mark.parametrize(("clear", "code"), [(CLEAR, Reason.NOT_PROFILED), ("", Reason.NOT_WRITTEN)])
def test_parts_in_a_workspace_that_is_kept(tmp_path: Path, clear: str, code: Reason):
    workload = parse_workload(CUDA)
    before = program_from_file(
        tmp_path / "mean.cu", "mean", workload, data=(MEAN + RUN).encode(), root=tmp_path
    )
    after = of_cuda(tmp_path, MEAN + RUN, PARTS + SPLIT.replace("CLEAR", clear))
    (scratch,) = after.scratch
    assert [step.entry for step in launched(after)] == ["parts", "divided"]
    assert launched(after)[1].arguments == ("out", scratch.name, Value("rows", "int32"), "cols")
    verdict = judge(before, after, workload, device="emulated", options=GateOptions(check_seconds=5))
    assert verdict.code is code, verdict.reason


def test_a_way_that_only_some_sizes_take_is_a_condition(tmp_path: Path):
    wide = SPLIT.replace("CLEAR", CLEAR).replace(
        "    static W", "    if (rows > 16) { mean<<<rows, 32>>>(out, x, cols); return; }\n    static W"
    )
    more = "[[profile_dims]]\nrows = 8\ncols = 4096\n"
    workload = CUDA.replace("[launch]", f"{more}[launch]")
    program = of_cuda(tmp_path, MEAN + RUN, MEAN + PARTS + wide, workload)
    assert [step.entry for step in launched(program)] == ["parts", "divided"]
    assert program.launched_where == ("not rows > 16",)


def test_what_is_launched_in_the_place_of_a_kernel_is_not_taken_for_it(tmp_path: Path):
    """A kernel of as many arguments, by places, would be run on other buffers."""
    other = PARTS.replace(", int per", "").replace(" * per", " * 64")
    after = other + SPLIT.replace("CLEAR", CLEAR).replace(", cols, per)", ", cols)")
    program = program_from_file(
        tmp_path / "mean.cu",
        "parts",
        parse_workload(CUDA),
        data=after.encode(),
        root=tmp_path,
        changed_from=(MEAN + RUN).encode(),
        former_kernel="mean",
        by_host=True,
    )
    assert [step.entry for step in launched(program)] == ["parts", "divided"]


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (RUN.replace("run(", "other("), "`run`, which launches `mean`, is gone"),
        (SPLIT.replace("CLEAR", "thrust::fill(kept.sums, kept.sums + rows, 0.f);"), "cannot be followed"),
        (
            SPLIT.replace("CLEAR", CLEAR).replace("(out, kept.sums", "(kept.sums, kept.sums"),
            "nothing gives `out`",
        ),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, after: str, why: str):
    with pytest.raises(ProgramError, match="has no kernel `mean`") as error:
        of_cuda(tmp_path, MEAN + RUN, PARTS + after)
    assert why in str(error.value)


TORCH = """#include <torch/extension.h>
torch::Tensor run(torch::Tensor x) {
    auto out = torch::empty({x.size(0)}, x.options());
    int cols = x.size(1);
    mean<<<x.size(0), 32>>>(out.data_ptr<float>(), x.data_ptr<float>(), cols);
    return out;
}
"""
TORCH_SPLIT = """#include <torch/extension.h>
torch::Tensor run(torch::Tensor x) {
    int rows = x.size(0), cols = x.size(1);
    auto sums = torch::zeros({rows}, x.options().dtype(torch::kFloat32));
    auto means = torch::empty_like(sums);
    const int per = 64;
    parts<<<dim3((cols + per - 1) / per, rows), 32>>>(sums.data_ptr<float>(), x.data_ptr<float>(), cols, per);
    divided<<<(rows + 31) / 32, 32>>>(means.data_ptr<float>(), sums.data_ptr<float>(), rows, cols);
    return means;
}
"""


def test_what_a_torch_extension_returns_is_the_output(tmp_path: Path):
    program = of_cuda(tmp_path, MEAN + TORCH, PARTS + TORCH_SPLIT)
    (scratch,) = program.scratch
    assert (scratch.dtype, scratch.shape) == ("float32", ("rows",))
    clears, parts, divided = program.steps
    assert clears == MemsetStep(scratch.name)
    assert isinstance(parts, LaunchStep) and parts.arguments == (
        scratch.name,
        "x",
        "cols",
        Value("64", "int32"),
    )
    assert isinstance(divided, LaunchStep) and divided.arguments[:2] == ("out", scratch.name)
    with pytest.raises(ProgramError, match="cannot be followed"):
        of_cuda(tmp_path, MEAN + TORCH, PARTS + TORCH_SPLIT.replace("torch::zeros", "torch::rand"))


SCALED = """
__global__ void scaled(float* y, const float* x, int n, float by, int step) {
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i < n) y[i] = x[i] * by + step;
}
"""
TWICE = """
__global__ void times(float* y, const float* x, int n, float factor) {
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i < n) y[i] = x[i] * factor;
}
__global__ void add(float* y, int n, int other, int step) {
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i < n) y[i] += step;
}
void run(const float* x, float* y, int n, float by = 0.5f) {
    times<<<(n + 31) / 32, 32>>>(y, x, n, by);
    add<<<(n + 31) / 32, 32>>>(y, n, 8, 8);
}
"""


def test_a_number_that_was_passed_for_a_scalar_is_that_scalar(tmp_path: Path):
    workload = workload_text(
        "scaled",
        "n = [70]",
        'grid = ["ceil_div(n, 32)"]\nblock = [32]',
        "y: output float32 [n]",
        "x: input float32 [n]",
        "n: int32 = n",
        "by: float32 = 0.5",
        "step: int32 = 8",
    )
    run = "void run(const float* x, float* y, int n, float by = 0.5f) {\n    scaled<<<(n + 31) / 32, 32>>>"
    before = f"{SCALED}{run}(y, x, n, by, 8);\n}}\n"
    program = program_from_file(
        tmp_path / "scaled.cu",
        "scaled",
        parse_workload(workload),
        data=TWICE.encode(),
        root=tmp_path,
        changed_from=before.encode(),
    )
    times, add = launched(program)
    assert times.arguments == ("y", "x", "n", "by")
    assert add.arguments == ("y", "n", Value("8", "int32"), "step")


TRITON = workload_text(
    "mean",
    "rows = [3, 40]\ncols = [70]",
    'grid = ["rows"]\n[launch.constexpr]\nBLOCK = "next_power_of_2(cols)"',
    "x: input float32 [rows, cols]",
    "out: output float32 [rows]",
    "cols: int32 = cols",
    "stride: int32 = cols",
    language="triton",
)
HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"
MEAN_TL = """
@triton.jit
def mean(x, out, cols, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.store(out + row, tl.sum(tl.load(x + row * stride + i, mask=i < cols, other=0.0)) / cols)


def run(x, out=None):
    rows, cols = x.shape
    out = torch.empty(rows, device=x.device, dtype=x.dtype)
    mean[(rows,)](x, out, cols, x.stride(0), BLOCK=triton.next_power_of_2(cols))
    return out
"""
PARTS_TL = """
@triton.jit
def parts(x, sums, cols, stride, pieces, BLOCK: tl.constexpr):
    row, piece = tl.program_id(0), tl.program_id(1)
    i = piece * BLOCK + tl.arange(0, BLOCK)
    tl.store(sums + row * pieces + piece, tl.sum(tl.load(x + row * stride + i, mask=i < cols, other=0.0)))


@triton.jit
def divided(sums, out, pieces, cols, PIECES: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, PIECES)
    tl.store(out + row, tl.sum(tl.load(sums + row * pieces + i, mask=i < pieces, other=0.0)) / cols)


def run(x):
    rows, cols = x.shape
    pieces = triton.cdiv(cols, 32)
    both = torch.empty((2, rows, pieces), device=x.device, dtype=torch.float32)
    means = torch.empty(rows, device=x.device, dtype=x.dtype)
    sums = both[1]
    parts[(rows, pieces)](x, sums, cols, x.stride(0), pieces, BLOCK=32)
    divided[(rows,)](sums, means, pieces, cols, PIECES=triton.next_power_of_2(pieces))
    return means
"""


def of_triton(folder: Path, after: str) -> Program:
    (folder / "mean.py").write_text(HEAD + MEAN_TL)
    return program_from_file(
        folder / "mean.py",
        "mean",
        parse_workload(TRITON),
        data=(HEAD + after).encode(),
        root=folder,
        changed_from=(HEAD + MEAN_TL).encode(),
    )


def test_launches_of_triton_with_a_part_of_a_tensor_between_them(tmp_path: Path):
    program = of_triton(tmp_path, PARTS_TL)
    assert program.scratch == (Scratch("both", "float32", ("2", "rows", "ceil_div(cols, 32)")),)
    parts, divided = launched(program)
    assert parts.launch.grid == ("rows", "ceil_div(cols, 32)")
    assert isinstance(parts.arguments[1], Pointer) and parts.arguments[1].buffer == "both"
    assert parts.arguments[3] == "stride"
    assert divided.arguments[1] == "out" and divided.launch.constexpr == {
        "PIECES": "next_power_of_2(ceil_div(cols, 32))"
    }


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("    return means", "    return means * 2", "worked out by torch"),
        ("    sums = both[1]", "    sums = both[1]\n    sums += 1", "torch changes `sums`"),
        ("    sums = both[1]", "    sums = both[1]\n    sums[0] = 1", "torch changes `sums`"),
        ("    sums = both[1]", "    sums = both.sum(0)", "worked out by torch"),
        ("    sums = both[1]", "    sums = both[1]\n    asked(sums)", "`asked` may change a tensor"),
        ("    return means", "    torch.add(means, 1, out=means)\n    return means", "may change a tensor"),
        (
            "    return means",
            "    if asked():\n        means.zero_()\n    return means",
            "nothing tells `asked()`",
        ),
        ("device=x.device, dtype=x.dtype", "device=x.device, dtype=torch.float64", "`out` is float64"),
        (
            "    sums = both[1]",
            "    sums = both[1]\n    other = torch.cuda.Stream()",
            "in which order launches run",
        ),
    ],
)
def test_what_torch_does_between_launches_is_not_passed_over(tmp_path: Path, old: str, new: str, why: str):
    with pytest.raises(ProgramError, match="has no kernel `mean`") as error:
        of_triton(tmp_path, PARTS_TL.replace(old, new))
    assert why in str(error.value), error.value


GUARDED = """
@triton.jit
def mean(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.store(out + row, tl.sum(tl.load(x + row * cols + i, mask=i < cols, other=0.0)) / cols)


def run(first, others):
    rows, features = first.shape
    x = torch.cat([first, others], dim=1)
    cols = x.shape[1]
    out = torch.empty(rows, device=x.device, dtype=first.dtype)
    grid = (rows,)
    if GUARD:
        mean[GRID](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
"""


GUARDED_WORKLOAD = workload_text(
    "mean",
    "rows = [3, 40]\ncols = [70]",
    'grid = ["rows"]\n[launch.constexpr]\nBLOCK = "next_power_of_2(cols)"',
    "x: input float32 [rows, cols]",
    "out: output float32 [rows]",
    "cols: int32 = cols",
    language="triton",
)
MORE_WARPS = "BLOCK=triton.next_power_of_2(cols)", "BLOCK=triton.next_power_of_2(cols), num_warps=8"


def of_guarded(folder: Path, guard: str, grid: str, old: str = "", new: str = "") -> Program:
    before = HEAD + GUARDED.replace("GUARD", guard).replace("GRID", grid)
    (folder / "mean.py").write_text(before)
    return program_from_file(
        folder / "mean.py",
        "mean",
        parse_workload(GUARDED_WORKLOAD),
        data=before.replace(*MORE_WARPS).replace(old, new).encode(),
        root=folder,
        changed_from=before.encode(),
    )


@pytest.mark.parametrize("grid", ["(rows,)", "rows,", "grid"])
@pytest.mark.parametrize(
    "guard", ["rows > 0 and cols > 0", "not (rows == 0 or cols == 0)", "rows", "0 < rows and cols"]
)
def test_a_launch_of_what_is_not_empty_is_read_where_only_the_grid_tells_a_size(
    tmp_path: Path, guard: str, grid: str
):
    (mean,) = launched(of_guarded(tmp_path, guard, grid))
    assert mean.launch.grid == ("rows",) and mean.launch.num_warps == 8


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    rows, features =", "    first = first[::2]\n    rows, features ="),
        ("    rows, features = first.shape", "    features, rows = first.shape"),
        ("    grid = (rows,)", "    rows = others.shape[0] // 2\n    grid = (rows,)"),
        ("dtype=first.dtype", "dtype=others.dtype"),
    ],
)
def test_a_size_or_a_type_that_only_the_launch_tells_is_none_where_it_is_set_otherwise(
    tmp_path: Path, old: str, new: str
):
    with pytest.raises(ProgramError, match=r"cannot be read.*(nothing tells `rows > 0`|`out` is None)"):
        of_guarded(tmp_path, "rows > 0", "(rows,)", old, new)


@pytest.mark.parametrize("made", ["torch.zeros", "torch.empty"])
def test_a_buffer_of_zeros_is_cleared_before_its_first_launch(tmp_path: Path, made: str):
    cleared = made == "torch.zeros"
    later = "" if cleared else "    both.zero_()\n"
    after = PARTS_TL.replace("both = torch.empty", f"both = {made}").replace(
        "    sums = ", f"{later}    sums = "
    )
    assert of_triton(tmp_path, after).steps[0] == MemsetStep("both")


@pytest.mark.parametrize(
    ("loop", "pieces"),
    [
        (
            "pieces = 1\n    while pieces < 4 and rows * pieces < 64:\n        pieces *= 2",
            {3: 4, 40: 2, 64: 1},
        ),
        ("pieces = 2 if rows < 8 and cols > 8 else 1", {3: 2, 40: 1}),
        ("pieces = 2 if 2 < rows < 8 else 1", {1: 1, 3: 2, 40: 1}),
    ],
)
def test_numbers_that_hang_on_sizes_stay_expressions(tmp_path: Path, loop: str, pieces: dict[int, int]):
    (step, _) = launched(of_triton(tmp_path, PARTS_TL.replace("pieces = triton.cdiv(cols, 32)", loop)))
    for rows, number in pieces.items():
        assert evaluate_int(step.launch.grid[1], {"rows": rows, "cols": 70}) == number


def test_few_rounds_over_a_size_are_read_at_that_size(tmp_path: Path):
    after = PARTS_TL.replace("    divided[", "    for _ in range(rows):\n        divided[")
    program = of_triton(tmp_path, after)
    (condition,) = program.launched_where
    assert condition == f"rows == {len(launched(program)) - 1}"


def test_many_rounds_over_a_size_are_not_read(tmp_path: Path):
    after = PARTS_TL.replace("    divided[", "    for _ in range(rows + 16):\n        divided[")
    with pytest.raises(ProgramError, match="`range` goes over a size"):
        of_triton(tmp_path, after)


STRUCTURE = "struct Rows { const float* x; float* out; int cols; float by; };\n"
OF_STRUCTURE = (
    STRUCTURE
    + """__global__ void mean(Rows r) {
    float sum = 0;
    for (int i = 0; i < r.cols; ++i) sum += r.x[blockIdx.x * r.cols + i];
    if (threadIdx.x == 0) r.out[blockIdx.x] = sum * r.by;
}
void run(const Rows& r, int rows) { mean<<<rows, 32>>>(r); }
"""
)
IN_NAMESPACE = (
    STRUCTURE
    + """namespace ours {
__global__ void summed(Rows r) {
    float sum = 0;
    for (int i = threadIdx.x; i < r.cols; i += 32) sum += r.x[blockIdx.x * r.cols + i];
    for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(0xffffffff, sum, o);
    if (threadIdx.x == 0) r.out[blockIdx.x] = sum * r.by;
}
}
void run(const Rows& r, int rows) { ours::summed<<<rows, 32>>>(r); }
"""
)


def test_fields_of_a_structure_are_what_they_were_and_a_kernel_is_in_its_namespace(tmp_path: Path):
    workload = parse_workload(
        workload_text(
            "mean",
            "rows = [3, 40]\ncols = [70]",
            "grid = ['rows']\nblock = [32]",
            "r_x: input float32 [rows, cols]",
            "r_out: output float32 [rows]",
            "r_cols: int32 = cols",
            "r_by: float32 = 0.5",
        ).replace(
            "[launch]",
            "[[launches]]\nkernel = 'mean'\narguments = ['r_x', 'r_out', 'r_cols', 'r_by']",
        )
    )
    before, after = (
        program_from_file(
            tmp_path / "mean.cu",
            "mean",
            workload,
            data=text.encode(),
            root=tmp_path,
            changed_from=OF_STRUCTURE.encode(),
            former_kernel="mean",
        )
        for text in (OF_STRUCTURE, IN_NAMESPACE)
    )
    (step,) = launched(after)
    assert step.entry == "ours::summed"
    assert step.arguments == ("r_x", "r_out", "r_cols", "r_by")
    options = GateOptions(check_seconds=20, callers_seconds=0)
    verdict = judge(before, after, workload, device="emulated", options=options)
    assert verdict.code is Reason.NOT_PROFILED, verdict.reason


def test_a_kernel_of_a_sequence_that_is_gone_is_said_so(tmp_path: Path):
    workload = parse_workload(
        CUDA.replace("[launch]", "[[launches]]\nkernel = 'mean'\narguments = ['out', 'x', 'cols']")
    )
    with pytest.raises(UnknownKernelError, match="holds no kernel named `mean`"):
        program_from_file(
            tmp_path / "mean.cu",
            "mean",
            workload,
            data=MEAN.replace("mean", "median").encode(),
            root=tmp_path,
            changed_from=(MEAN + RUN).encode(),
        )


SELECTED = """void run(const float* x, float* out, int rows, double by) {
    int pieces = rows / 8;
    if (pieces < 1) pieces = 1;
    int threads = 32;
    if (rows > 20) { threads = 64; pieces += 1; } else threads = 32;
    scaled<<<dim3(pieces), threads>>>(out, x, rows, (float)by);
}
"""


def test_numbers_that_hang_on_a_condition_are_told_at_all_sizes(tmp_path: Path):
    kernel = "__global__ void scaled(float* y, const float* x, int n, float by) { y[0] = by * x[0] + n; }\n"
    workload = workload_text(
        "scaled",
        "n = [3, 40]",
        "grid = [1]\nblock = [32]",
        "y: output float32 [n]",
        "x: input float32 [n]",
        "n: int32 = n",
        "by: float32 = 0.5",
    )
    head = "void run(const float* x, float* out, int rows, double by) { "
    before = head + "scaled<<<1, 32>>>(out, x, rows, (float)by); }\n"
    program = program_from_file(
        tmp_path / "scaled.cu",
        "scaled",
        parse_workload(workload),
        data=(kernel.replace("scaled", "doubled") + SELECTED.replace("scaled", "doubled")).encode(),
        root=tmp_path,
        changed_from=(kernel + before).encode(),
        former_kernel="scaled",
        by_host=True,
    )
    (step,) = launched(program)
    grids = {n: evaluate_int(step.launch.grid[0], {"n": n}) for n in (3, 17, 40)}
    blocks = {n: evaluate_int(step.launch.block[0], {"n": n}) for n in (3, 17, 40)}
    assert grids == {3: 1, 17: 2, 40: 6} and blocks == {3: 32, 17: 32, 40: 64}
    assert step.arguments[3] == "by" and not program.launched_where


ALLOCATES = """#include <vector>
std::vector<float> means(const std::vector<float>& values, int rows, int cols) {
    std::vector<float> result(rows);
    if (result.empty()) return result;
    float *d_x, *d_out;
    cudaMalloc(&d_x, values.size() * sizeof(float));
    cudaMalloc(&d_out, rows * sizeof(float));
    cudaMemcpy(d_x, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice);
    LAUNCH
    cudaMemcpy(result.data(), d_out, rows * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(d_x);
    cudaFree(d_out);
    return result;
}
"""
ALONE = "mean<<<rows, 32>>>(d_out, d_x, cols);"
IN_TWO = """float* sums;
    cudaMalloc(&sums, rows * sizeof(float));
    cudaMemset(sums, 0, rows * sizeof(float));
    parts<<<dim3((cols + 63) / 64, rows), 32>>>(sums, d_x, cols, 64);
    divided<<<(rows + 31) / 32, 32>>>(d_out, sums, rows, cols);"""


def test_what_a_function_allocates_and_copies_itself_are_the_arguments(tmp_path: Path):
    before = MEAN + ALLOCATES.replace("LAUNCH", ALONE)
    program = of_cuda(tmp_path, before, PARTS + ALLOCATES.replace("LAUNCH", IN_TWO))
    assert [step.entry for step in program.steps if isinstance(step, LaunchStep)] == ["parts", "divided"]
    (scratch,) = program.scratch
    parts, divided = (step.arguments for step in program.steps if isinstance(step, LaunchStep))
    assert parts[:2] == (scratch.name, "x") and divided[:2] == ("out", scratch.name)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("values.data(), values", "values.data() + 1, values", "other data are copied to the device"),
        ("    cudaMemcpy(d_x", "    if (rows < 0) cudaMemcpy(d_x", "other data are copied to the device"),
        (
            "    float* sums",
            "    cudaMemcpy(result.data(), d_out, 4, cudaMemcpyDeviceToHost);\n    float* sums",
            "of `out` before launches",
        ),
        (
            "    divided<<<",
            "    cudaMemcpy(d_x, values.data(), 4, cudaMemcpyHostToDevice);\n    divided<<<",
            "of `x` between launches",
        ),
    ],
)
def test_other_copies_are_not_passed_over(tmp_path: Path, old: str, new: str, reason: str):
    before = MEAN + ALLOCATES.replace("LAUNCH", ALONE)
    after = PARTS + ALLOCATES.replace("LAUNCH", IN_TWO)
    assert old in after
    with pytest.raises(ProgramError, match=reason):
        of_cuda(tmp_path, before, after.replace(old, new, 1))
