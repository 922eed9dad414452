"""What PyTorch works out between the launches of a host function stands as kernels that do the same."""

import ast
from pathlib import Path

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchStep, Program
from kernel_gate.reasons import Reason
from kernel_gate.workload import Workload
from kernel_lineage.kernels.cuda_trees import parsed
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.programs import program_from_file
from kernel_lineage.workloads.read_back import read_back_in_cuda, read_back_in_python

GATED = GateOptions(check_seconds=20, callers_seconds=0, hidden=False)
PLAIN = """#include <torch/extension.h>
__global__ void twice(const float* x, float* y, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.f * x[i];
}
torch::Tensor run(torch::Tensor x, torch::Tensor row, double scale) {
    TORCH_CHECK(x.dim() == 2 && x.scalar_type() == torch::kFloat32 && row.size(0) == x.size(1));
    const int64_t rows = x.size(0), cols = x.size(1);
    auto y = torch::empty_like(x);
    twice<<<(x.numel() + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return RESULT;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }
"""
OWN = """#include <torch/extension.h>
#include <cuda_fp16.h>
__global__ void all_of(const float* x, const float* row, TYPE* out, float scale, int64_t rows, int64_t cols,
                       int64_t n) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    BODY
}
torch::Tensor run(torch::Tensor x, torch::Tensor row, double scale) {
    const int64_t rows = x.size(0), cols = x.size(1);
    auto out = torch::empty(SHAPE, x.options().dtype(KIND));
    all_of<<<(out.numel() + 127) / 128, 128>>>(
        x.data_ptr<float>(), row.data_ptr<float>(), (TYPE*)out.data_ptr(), scale, rows, cols, out.numel());
    return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }
"""
EACH = "float y = 2.f * x[i]; out[i] = {};"
SUMS = "float a = {}; for (int64_t k = 0; k < {}; ++k) {{ float y = 2.f * x[{}]; {} }} out[i] = a;"
_LARGER = "a = y != y || y > a ? y : a;"
CASES = {
    "abs, sqrt_": ("y.abs().sqrt_()", EACH.format("sqrtf(fabsf(y))")),
    "a number": ("(y - 1.5) * scale", EACH.format("(y - 1.5f) * scale")),
    "a number first": ("1.0 - y", EACH.format("1.f - y")),
    "alpha": ("torch::add(y, x, 0.5)", EACH.format("y + 0.5f * x[i]")),
    "a row": ("y / (row * row + 1)", EACH.format("y / (row[i % cols] * row[i % cols] + 1.f)")),
    "in place": ("y.clamp_(-1, 1).add_(row)", EACH.format("(y < -1 ? -1 : y > 1 ? 1 : y) + row[i % cols]")),
    "sigmoid": ("torch::sigmoid(y)", EACH.format("1.f / (1.f + expf(-y))")),
    "along rows": ("y.sum(-1)", SUMS.format("0.f", "cols", "i * cols + k", "a += y;"), "{rows}"),
    "down columns": ("y.amax({0})", SUMS.format("-INFINITY", "rows", "k * cols + i", _LARGER), "{cols}"),
    "of all": ("y.mean()", SUMS.format("0.f", "rows * cols", "k", "a += y / (rows * cols);"), "{1}"),
    "half": ("y.to(torch::kHalf)", EACH.format("__float2half(y)"), "{rows, cols}", "__half", "torch::kHalf"),
    "in another order": ("y.t().contiguous()", "out[i] = 2.f * x[i % rows * cols + i / rows];", "{cols, rows}"),
}  # fmt: skip


def program(folder: Path, result: str) -> tuple[Program, Workload]:
    """The program of `run` where it gives back `result`, and the workload drafted of it."""
    path = folder / "work.cu"
    path.write_text(PLAIN.replace("RESULT", result))
    draft = draft_of(target_of(path, "run"), path)
    assert draft.missing == ()
    return program_from_file(path, "run", draft.workload()), draft.workload()


def candidate(
    folder: Path,
    workload: Workload,
    result: str,
    body: str,
    shape: str = "{rows, cols}",
    kind: str = "float",
    of_torch: str = "torch::kFloat32",
) -> Program:
    """The program of one kernel that does it all."""
    text = (
        OWN.replace("BODY", body)
        .replace("SHAPE", shape)
        .replace("TYPE*", f"{kind}*")
        .replace("KIND", of_torch)
    )
    before = PLAIN.replace("RESULT", result).encode()
    return program_from_file(
        folder / "work.cu", "run", workload, data=text.encode(), changed_from=before, name="after"
    )


@pytest.mark.parametrize("case", CASES)
def test_it_does_what_a_kernel_written_by_hand_does(tmp_path: Path, case: str):
    result, *own = CASES[case]
    before, workload = program(tmp_path, result)
    after = candidate(tmp_path, workload, result, *own)
    verdict = judge(before, after, workload, device="emulated", options=GATED)
    assert verdict.stage("check").status.value == "pass", verdict.reason


def test_a_candidate_that_leaves_it_out_is_wrong(tmp_path: Path):
    before, workload = program(tmp_path, "y.abs().sqrt_()")
    after = candidate(tmp_path, workload, "y.abs().sqrt_()", EACH.format("fabsf(y)"))
    assert judge(before, after, workload, device="emulated", options=GATED).code is Reason.WRONG_VALUE


def test_a_program_names_what_stands_for_torch(tmp_path: Path):
    before, _ = program(tmp_path, "y.mean()")
    assert "mean() of PyTorch" in before.name
    launched = [step.entry for step in before.steps if isinstance(step, LaunchStep)]
    assert launched == ["twice", "torch_mean_0", "torch_mean_1"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("return y.sqrt_();", "return y;", ("PyTorch's sqrt_()",)),
        ("y.sqrt_()", "y.sum(-1)", ("PyTorch's sqrt_()", "PyTorch's sum(-1)")),
        ("return y.sqrt_();", "auto z = y;\n    return z.sqrt_();", ()),
        ("128>>>", "256>>>", ()),
        ("return y.sqrt_();", "y *= 2;\n    return y.sqrt_();", ("PyTorch's *= 2",)),
        (
            "return y.sqrt_();",
            "auto h = y.cpu(); float s; for (int i = 1; i < 4; ++i) s += h[i];\n    return y.sqrt_();",
            ("what the host makes of the results: for (int i = 1; i < 4; ++i) s += h[i];",),
        ),
        ("return y.sqrt_();", "int n = 0; for (int i = 1; i < 4; ++i) n += i;\n    return y.sqrt_();", ()),
    ],
    ids=["dropped", "replaced", "renamed", "another launch", "an operator", "the host", "not of results"],
)
def test_a_change_of_it_beside_a_kernel_is_told(tmp_path: Path, old: str, new: str, words: tuple[str, ...]):
    path = tmp_path / "work.cu"
    path.write_text(PLAIN.replace("RESULT", "y.sqrt_()"))
    workload = draft_of(target_of(path, "twice"), path).workload()
    text = path.read_text().replace(old, new)
    after = program_from_file(path, "twice", workload, data=text.encode(), changed_from=path.read_bytes())
    assert after.of_torch == words
    if words:
        before = program_from_file(path, "twice", workload)
        assert judge(before, after, workload, device="emulated", options=GATED).code is Reason.WORK_BESIDE


@pytest.mark.parametrize(
    ("code", "loops"),
    [
        ("host = out.cpu()\nfor i in range(4): total += host[i]", ["for i in range(4): total += host[i]"]),
        (
            "host = out.tolist()\nfirst = host[0]\nwhile first > 0: first -= 1",
            ["while first > 0: first -= 1"],
        ),
        ("rows = out.shape[0]\nfor i in range(rows): total += i", []),
    ],
)
def test_loops_over_results_are_told_in_python(code: str, loops: list[str]):
    assert [*read_back_in_python(ast.parse(code))] == loops


SWEEPS = """\
void solve(float* y, float* d, float limit, int most) {
    float left;
    for (int at = 0; at < most; at++) {
        sweep<<<8, 256>>>(y, d);
        cudaMemcpy(&left, d, 4, cudaMemcpyDeviceToHost);
        CHECKED
    }
}
"""


@pytest.mark.parametrize(
    ("checked", "lines"),
    [
        ("if (left < limit) break;", ["(left < limit)"]),
        ("total += left;", ["total += left"]),
        ("for (int i = 0; i < 4; i++) total += left;", ["for (int i = 0; i < 4; i++) total += left;"]),
    ],
)
def test_a_loop_around_a_launch_is_told_by_what_it_does_beside_it(checked: str, lines: list[str]):
    tree, _ = parsed(SWEEPS.replace("CHECKED", checked).encode())
    assert [*read_back_in_cuda(tree.root_node)] == lines
