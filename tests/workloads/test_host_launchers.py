"""Host functions read as programs: what they launch, set and allocate, and what cannot be followed."""

from pathlib import Path

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchSpec, LaunchStep, MemsetStep, Pointer, Scratch, Value
from kernel_gate.verdict import StageStatus
from kernel_gate.workload import Workload, parse_workload
from kernel_lineage.kernels.reading import kernels_of
from kernel_lineage.learning.same_kernel import merged
from kernel_lineage.workloads.programs import ProgramError, program_from_file
from workload_texts import workload_text

WORKLOAD = workload_text(
    "launch",
    "N = [3]\nC = [64, 70]",
    "grid = [1]\nblock = [64]",
    "out: output float32 [N, C]",
    "x: input float32 [N, C]",
    "N: int32 = N",
    "C: int32 = C",
)
KERNELS = """#define WARP 32
template <int THREADS> __global__ void scaled(float* out, const float* x, int n) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[i];
}
__global__ void plain(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[i];
}
__global__ void add(float* sums, const float* x, int n) { atomicAdd(sums, x[threadIdx.x]); }
int ceil_div(int a, int b) { return (a + b - 1) / b; }
void inner(float* y, const float* a, int count) { plain<<<ceil_div(count, 64), 64>>>(y, a, count); }
"""
OUT_X = ("out", "x")


def workload() -> Workload:
    return parse_workload(WORKLOAD)


def launcher(
    folder: Path, body: str, parameters: str = "float* out, const float* x, int N, int C, int block_size"
) -> Path:
    path = folder / "a.cu"
    path.write_text(f"{KERNELS}void launch({parameters}) {{\n{body}\n}}\n")
    return path


def steps(folder: Path, body: str, **rest: str):
    return program_from_file(launcher(folder, body, **rest), "launch", workload()).steps


@pytest.mark.parametrize(
    ("body", "entry", "spec", "arguments"),
    [
        (("assert(block_size % 32 == 0); const int n = N * C;\n"
         "plain<<<ceil_div(n, block_size), block_size>>>(out, x, n); cudaCheck(cudaGetLastError());"),
         "plain", LaunchSpec(("ceil_div(N * C, 64)",), ("64",)), (*OUT_X, Value("N * C", "int32"))),
        (("dim3 g(N, (C + WARP - 1) / WARP); block_size = 2 * WARP; size_t smem = block_size / WARP * sizeof(float);\n"
         "plain<<<g, dim3(WARP, 2), smem>>>(out, x, C);"),
         "plain", LaunchSpec(("N", "ceil_div(C, 32)"), ("32", "2"), "8"), (*OUT_X, "C")),
        (("for (int half = 2; half < 4; half++) if (half == 3) std::cout << half << unknown(out);\n"
         "int w = 1; while (w < WARP) w *= 2; plain<<<N, w>>>(out, x, C);"),
         "plain", LaunchSpec(("N",), ("32",)), (*OUT_X, "C")),
        ("inner(out, x, N * C);",
         "plain", LaunchSpec(("ceil_div(N * C, 64)",), ("64",)), (*OUT_X, Value("N * C", "int32"))),
        ("float* half = out + N; plain<<<1, 64>>>(half + C, (const float*)x, 8);",
         "plain", LaunchSpec(("1",), ("64",)), (Pointer("out", "(N + C) * 4"), "x", Value("8", "int32"))),
        (("auto status = cudaFuncSetAttribute(plain, cudaFuncAttributeMaxDynamicSharedMemorySize, 9);\n"
         "if (status == cudaSuccess) { plain<<<1, 64>>>(out, x, C); } else { plain<<<2, 64>>>(out, x, C); }"),
         "plain", LaunchSpec(("1",), ("64",)), (*OUT_X, "C")),
        (("switch (block_size) { case 32: scaled<32><<<N, 32>>>(out, x, C); break;\n"
         "case 64: scaled<64><<<N, block_size>>>(out, x, C); break; default: exit(1); }"),
         "scaled", LaunchSpec(("N",), ("64",)), (*OUT_X, "C")),
    ],
)  # fmt: skip
def test_a_launch_is_read_over_the_workloads_arguments(tmp_path, body, entry, spec, arguments):
    (step,) = steps(tmp_path, body)
    template = ("64",) if entry == "scaled" else ()
    assert step == LaunchStep(entry, spec, arguments, template)


def test_memsets_and_allocations_are_steps_and_scratch(tmp_path):
    body = (
        "float* sums; cudaCheck(cudaMalloc((void**)&sums, N * sizeof(float)));\n"
        "cudaMemset(sums, 0, N * sizeof(float)); add<<<1, 32>>>(sums, x, C); cudaFree(sums);"
    )
    program = program_from_file(launcher(tmp_path, body), "launch", workload())
    assert program.scratch == (Scratch("sums_0", "float32", ("N",)),)
    assert program.steps[0] == MemsetStep("sums_0", 0, "N * 4", "0")
    assert program.steps[1].arguments == ("sums_0", "x", "C")


def test_parameters_with_other_names_go_by_position(tmp_path):
    (step,) = steps(
        tmp_path, "plain<<<rows, 64>>>(y, a, cols);", parameters="float* y, float* a, int rows, int cols"
    )
    assert (step.launch.grid, step.arguments) == (("N",), (*OUT_X, "C"))


def test_two_launchers_are_judged_against_each_other(tmp_path):
    body = "const int n = N * C;\nplain<<<ceil_div(n, block_size), block_size>>>(out, x, n);"
    before = program_from_file(launcher(tmp_path, body), "launch", workload())
    after = program_from_file(launcher(tmp_path, "inner(out, x, N * C);"), "launch", workload())
    verdict = judge(before, after, workload(), device="emulated", options=GateOptions(hidden=False))
    assert [s.status for s in verdict.stages[:3]] == [StageStatus.PASS] * 3, verdict.reason


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "for (int i = 0; i < C; i++) {\n plain<<<1, 64>>>(out, x, i); }",
            "line 14: a loop of more than 64 rounds cannot be followed",
        ),
        (
            "if (C % 64 == 0) {\n plain<<<1, 64>>>(out, x, C); }",
            "line 14: `C % 64 == 0`, which is not the same for all shapes",
        ),
        (
            "int g = occupancy(C);\nplain<<<g, 64>>>(out, x, C);",
            "line 15: `occupancy()` cannot be followed",
        ),
        (
            "switch (C) { case 64: plain<<<1, 64>>>(out, x, C); }",
            "line 14: `C`, which is not the same for all shapes, cannot be followed",
        ),
        ("plain<<<1, 64>>>(nullptr, x, C);", "`nullptr`, which points to nothing that is allocated here"),
        ("library(out);\nplain<<<1, 64>>>(out, x, C);", "line 14: `library()` cannot be followed"),
        ("float* t;\nplain<<<1, 64>>>(t, x, C);", "`t`, which points to nothing that is allocated here"),
        ("return;\nplain<<<1, 64>>>(out, x, C);", "launches no kernel"),
        ("int y = 1;", "launches no kernel of this file"),
    ],
)
def test_what_cannot_be_followed_is_named_with_its_line(tmp_path, body, message):
    with pytest.raises(ProgramError) as caught:
        steps(tmp_path, body)
    assert message in str(caught.value)


CLASS = (
    KERNELS
    + """
struct Shift { float by = 0.5f; int rows = 0; };
class Doubler {
 public:
    explicit Doubler(int lines) : lines_(lines), shift_{2.0f, lines} { grow(1); }
    ~Doubler() { cudaFree(held_); }
    void run(float* out, const float* x, int C, cudaStream_t stream) {
        grow((size_t)lines_ * C);
        plain<<<ceil_div(shift_.rows * C, 64), 64, 0, stream>>>(held_, x, lines_ * C);
        plain<<<this->blocks(C), 64, 0, stream>>>(out, held_, lines_ * C);
    }
 private:
    int blocks(int columns, int threads = 64) const { return ceil_div(lines_ * columns, threads); }
    void grow(size_t count) {
        if (count <= capacity_) return;
        cudaFree(held_);
        cudaMalloc(&held_, count * sizeof(float));
        capacity_ = count;
    }
    float* held_ = nullptr;
    size_t capacity_ = 0;
    int lines_;
    Shift shift_;
};
"""
)


@pytest.mark.parametrize("name", ["run", "Doubler::run"])
def test_a_method_is_read_with_its_object(tmp_path, name):
    path = tmp_path / "a.cu"
    path.write_text(
        CLASS.replace("int lines)", "int N)").replace("_(lines)", "_(N)").replace(", lines}", ", N}")
    )
    program = program_from_file(path, name, workload())
    first, second = program.steps
    assert first.launch.grid == second.launch.grid == ("ceil_div(N * C, 64)",)
    held = second.arguments[1]
    assert (first.arguments[0], second.arguments[0], program.calls) == (held, "out", 1)
    assert next(s for s in program.scratch if s.name == held).shape == ("N * C",)


def test_what_a_method_finds_unset_is_named(tmp_path):
    path = tmp_path / "a.cu"
    path.write_text(CLASS.replace("lines_(lines), ", ""))
    with pytest.raises(ProgramError, match="`lines_` cannot be followed"):
        program_from_file(path, "Doubler::run", workload())


def test_a_method_that_merges_kernels_is_one_change():
    fused = CLASS.replace(
        "__global__ void add(", "__global__ void four(float* out) { }\n__global__ void add("
    )
    fused = fused.replace(
        "plain<<<ceil_div(shift_.rows * C, 64), 64, 0, stream>>>(held_, x, lines_ * C);", ""
    )
    fused = fused.replace(
        "plain<<<this->blocks(C), 64, 0, stream>>>(out, held_, lines_ * C);", "four<<<1, 1>>>(out);"
    )
    one = CLASS.replace("plain<<<ceil_div(shift_", "scaled<64><<<ceil_div(shift_")
    before, after = (
        {("a.cu", k.name): k for k in kernels_of("a.cu", text.encode())} for text in (one, fused)
    )
    assert {function for _, _, function in merged(before, after, ())} == {"Doubler::run"}
