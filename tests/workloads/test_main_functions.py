"""Programs whose `main` launches kernels itself: what it launches, over arrays that it copies there and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchStep, Program
from kernel_gate.verdict import StageStatus
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.programs import ProgramError, program_from_file
from kernel_lineage.workloads.state import State

HEAD = """#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
"""
HEAT = f"""{HEAD}
#define CHECK(call) {{ \\
    cudaError_t e = (call); \\
    if (e != cudaSuccess) {{ printf("%s", cudaGetErrorString(e)); exit(1); }} \\
  }}
__global__ void spread(const float* t, float* next, int w, int h, float k) {{
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < w && y < h) next[y * w + x] = t[y * w + x] + k * t[y * w + (x + 1) % w];
}}
__global__ void cool(float* t, int n, float by) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) t[i] *= by;
}}
static void fill(float* t, int n) {{
  srand(7);
  for (int i = 0; i < n; ++i) t[i] = rand() % 100;
}}
int main(int argc, char** argv) {{
  ARGUMENTS
  const float by = std::exp(-0.5f * w / h);
  const size_t bytes = sizeof(float) * w * h;
  float* host = (float*)malloc(bytes);
  fill(host, w * h);
  float *a, *b;
  CHECK(cudaMalloc(&a, bytes));
  CHECK(cudaMalloc(&b, bytes));
  CHECK(cudaMemcpy(a, host, bytes, cudaMemcpyHostToDevice));
  for (int s = 0; s < steps; ++s) {{
    LAUNCHES
    std::swap(a, b);
  }}
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host, a, bytes, cudaMemcpyDeviceToHost));
  double sum = 0.;
  for (int i = 0; i < w * h; ++i) sum += std::fabs(host[i]);
  if (sum < 0.) return 1;
  printf("%g", sum);
  CHECK(cudaFree(a));
  free(host);
}}
"""
DEFAULTS = """int w = argc > 1 ? atoi(argv[1]) : 400, h = argc > 2 ? atoi(argv[2]) : 30;
  int steps = argc > 3 ? atoi(argv[3]) : 1000;"""
ASKED = """if (argc != 4) {
    printf("usage: %s w h steps", argv[0]);
    return 1;
  }
  const int w = atoi(argv[1]), h = atoi(argv[2]), steps = atoi(argv[3]);"""
TWO = """spread<<<dim3((w + 127) / 128, h), 128>>>(a, b, w, h, 0.1f);
    cool<<<(w * h + 127) / 128, 128>>>(b, w * h, by);"""
ONE = "spread<<<dim3((w + 127) / 128, h), 128>>>(a, b, w, h, 0.1f, by);"
FUSED = HEAT.replace("int h, float k)", "int h, float k, float by)").replace(
    "= t[y * w + x] + k * t[y * w + (x + 1) % w]", "= (t[y * w + x] + k * t[y * w + (x + 1) % w]) * by"
)
SHARED = f"""{HEAD}
#define N (1 << 20)
__global__ void scale(int n, float a, float* x) {{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) x[i] *= a;
}}
__global__ void add(int n, const float* x, float* y) {{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] += x[i];
}}
int main() {{
  float *x, *y, *spare;
  cudaMallocManaged(&x, N * sizeof(float));
  cudaMallocManaged(&y, N * sizeof(float));
  cudaMallocManaged(&spare, N * sizeof(float));
  for (int i = 0; i < N; i++) {{
    x[i] = 1.0f;
    y[i] = 2.0f;
  }}
  int blockSize = 256;
  scale<<<(N + blockSize - 1) / blockSize, blockSize>>>(N, 3.0f, x);
  add<<<(N + blockSize - 1) / blockSize, blockSize>>>(N, x, y);
  cudaDeviceSynchronize();
  float most = 0.0f;
  for (int i = 0; i < N; i++) most = fmax(most, fabs(y[i] - 5.0f));
  printf("%f", most);
}}
"""


def drafted(folder: Path, source: str) -> tuple[Draft, Program]:
    path = folder / "run.cu"
    path.write_text(source)
    draft = draft_of(target_of(path, "main"), path, State(folder), measure=False)
    return draft, program_from_file(path, "main", draft.workload(), root=folder)


def changed(folder: Path, source: str, before: str, draft: Draft) -> Program:
    (folder / "run.cu").write_text(source)
    return program_from_file(
        folder / "run.cu", "main", draft.workload(), root=folder, changed_from=before.encode()
    )


@pytest.mark.parametrize("arguments", [DEFAULTS, ASKED], ids=["with defaults", "that are asked for"])
@pytest.mark.parametrize(("by", "is_right"), [("by);", True), ("by * by);", False)])
def test_a_program_is_judged_by_what_it_copies_back(
    tmp_path: Path, arguments: str, by: str, is_right: bool
) -> None:
    source = HEAT.replace("ARGUMENTS", arguments)
    draft, baseline = drafted(tmp_path, source.replace("LAUNCHES", TWO))
    assert [(a.name, a.kind, a.shape, a.value) for a in draft.arguments] == [
        ("host", "inout", ("w", "h"), None), ("steps", "scalar", None, "3"),
    ]  # fmt: skip
    after = FUSED.replace("ARGUMENTS", arguments).replace("LAUNCHES", ONE.replace("by);", by))
    candidate = changed(tmp_path, after, source.replace("LAUNCHES", TWO), draft)
    verdict = judge(
        baseline, candidate, draft.workload(), device="emulated", options=GateOptions(hidden=False)
    )
    check = verdict.stage("check")
    assert check is not None
    assert (check.status is StageStatus.PASS) is is_right


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("rand() % 100", "rand() % 10 * 10", "does something else with `host` on the host"),
        ("  double sum", "  host[0] = 1.f;\n  double sum", "does something else with `host` on the host"),
        (": 400", ": 800", "has other sizes than before the change"),
        ("    std::swap", "    cudaMemcpy(host, b, bytes, cudaMemcpyDeviceToHost);\n    std::swap", "a second copy"),
        ("std::exp(-0.5f * w / h)", "tuned()", "`tuned\\(\\)` cannot be followed"),
    ],
)  # fmt: skip
def test_what_else_a_program_does_with_its_arrays_is_not_followed(
    tmp_path: Path, old: str, new: str, why: str
) -> None:
    source = HEAT.replace("ARGUMENTS", DEFAULTS).replace("LAUNCHES", TWO)
    draft, _ = drafted(tmp_path, source)
    with pytest.raises(ProgramError, match=why):
        changed(tmp_path, source.replace(old, new), source, draft)


def test_memory_that_host_and_device_share_is_given_and_compared(tmp_path: Path) -> None:
    draft, program = drafted(tmp_path, SHARED)
    assert [(a.name, a.kind, a.shape) for a in draft.arguments] == [
        ("x", "inout", ("N",)), ("y", "inout", ("N",)),
    ]  # fmt: skip
    launches = [step for step in program.steps if isinstance(step, LaunchStep)]
    assert [[a for a in step.arguments if isinstance(a, str)] for step in launches] == [["x"], ["x", "y"]]
    between = SHARED.replace("  add<<<", "  x[0] = 7.f;\n  add<<<")
    with pytest.raises(ProgramError, match="`x\\[0\\]`, which the host sets,"):
        changed(tmp_path, between, SHARED, draft)


def test_a_size_that_a_change_compiles_into_its_kernel_is_that_number(tmp_path: Path) -> None:
    draft, program = drafted(tmp_path, SHARED)
    assert program.launched_where == ()
    after = changed(tmp_path, SHARED.replace("i < n; i +=", "i < N; i +="), SHARED, draft)
    assert after.launched_where == ("N == 1048576",)
