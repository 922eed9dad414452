"""What a changed launch passes, where the workload gives the launch of a template or of structures: as [[launches]]."""

from pathlib import Path

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.verdict import Verdict
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.program_errors import LaunchChangedError
from kernel_lineage.workloads.programs import program_from_file

TEMPLATE = """#include <cuda_runtime.h>
template <typename T>
__global__ void less(T* out, const T* x, const T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] - y[i];
}
void run(float* out, const float* x, const float* y, int n) {
    less<float><<<(n + 127) / 128, 128>>>(out, x, y, n);
}
int main() {
    float *a, *b, *c; int n = 30000;
    cudaMalloc(&a, n * sizeof(float)); cudaMalloc(&b, n * sizeof(float)); cudaMalloc(&c, n * sizeof(float));
    run(a, b, c, n);
}
"""
PLAIN = TEMPLATE.replace("template <typename T>\n", "").replace("<float><<<", "<<<").replace("T*", "float*")
FIELDS = (
    TEMPLATE.replace("template <typename T>", "struct Rows { int n; float by; };")
    .replace("<float><<<", "<<<")
    .replace("T*", "float*")
    .replace("int n) {\n    int i", "Rows r) {\n    int i")
    .replace("i < n", "i < r.n")
    .replace("x[i] -", "r.by * x[i] -")
    .replace("    less<<<", "    Rows r{n, 2.0f};\n    less<<<")
    .replace("(out, x, y, n);", "(out, x, y, r);")
)

GATED = GateOptions(check_seconds=20, callers_seconds=0, hidden=False)


def _verdict(tmp_path: Path, code: str, *changes: tuple[str, str]) -> Verdict:
    path = tmp_path / "less.cu"
    path.write_text(code)
    workload = draft_of(kernel_of(path, "less"), path).workload()
    text = code
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    before = program_from_file(path, "less", workload)
    after = program_from_file(path, "less", workload, data=text.encode(), changed_from=code.encode())
    return judge(before, after, workload, device="emulated", options=GATED)


@pytest.mark.parametrize(
    ("code", "change"),
    [
        (TEMPLATE, ("x, y, n);", "x, y, n - 1);")),
        (TEMPLATE, ("    less<float>", "    int m = n - 1;\n    n = m;\n    less<float>")),
        (TEMPLATE, ("(out, x, y, n);", "(out, y, x, n);")),
        (TEMPLATE, ("(out, x, y, n);", "(out, x + 1, y, n - 1);")),
        (PLAIN, ("(out, x, y, n);", "(out, y, x, n);")),
        (FIELDS, ("Rows r{n, 2.0f};", "Rows r{n - 1, 2.0f};")),
        (FIELDS, ("Rows r{n, 2.0f};", "Rows r{n, 3.0f};")),
        (FIELDS, ("Rows r{n, 2.0f};", "Rows r{n, 2.0f};\n    r.n -= 1;")),
    ],
)
def test_another_number_or_buffer_is_seen(tmp_path: Path, code: str, change: tuple[str, str]) -> None:
    try:
        check = _verdict(tmp_path, code, change).stage("check")
    except LaunchChangedError:
        return
    assert check is not None and check.status.value == "fail"


@pytest.mark.parametrize(
    ("code", "change"),
    [
        (TEMPLATE, ("    less<float>", "    int m = n;\n    less<float>")),
        (TEMPLATE, ("x, y, n);", "x, y, 2 * n - n);")),
        (PLAIN, ("x[i] - y[i]", "-y[i] + x[i]")),
        (FIELDS, ("Rows r{n, 2.0f};", "Rows r;\n    r.n = n;\n    r.by = 2.0f;")),
    ],
)
def test_the_same_in_other_words_passes(tmp_path: Path, code: str, change: tuple[str, str]) -> None:
    check = _verdict(tmp_path, code, change).stage("check")
    assert check is not None and check.status.value == "pass"
