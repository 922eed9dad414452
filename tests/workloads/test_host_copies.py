"""Host functions that copy a caller's arrays to the device and results back: what they launch, over these arrays."""

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

KERNELS = """#include <utility>
#include <vector>
__global__ void damp(float* u, int n, float k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) u[i] *= k;
}
__global__ void shift(const float* u, float* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[(i + 1) % n] = u[i];
}
__global__ void both(const float* u, float* v, int n, float k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[(i + 1) % n] = u[i] * k;
}
"""
POINTERS = "void run(const float* in, float* out, int n, int steps, float k)"
VECTORS = "void run(const std::vector<float>& in, std::vector<float>& out, int n, int steps, float k)"
MEMORY = """
  float *u, *v;
  cudaMalloc(&u, n * sizeof(float));
  cudaMalloc(&v, n * sizeof(float));
  cudaMemcpy(u, FROM, n * sizeof(float), cudaMemcpyHostToDevice);
  LAUNCHES
  cudaMemcpy(TO, RESULT, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(u);
  cudaFree(v);
}
"""
MAIN = """int main() {
  int n = 3000;
  std::vector<float> a(n, 1.f), b(n);
  run(a, b, n, 20, 0.9f);
}
"""
TWO = "damp<<<(n + 127) / 128, 128>>>(u, n, k); shift<<<(n + 127) / 128, 128>>>(u, v, n);"
ONE = "both<<<(n + 127) / 128, 128>>>(u, v, n, k);"
LOOP = "for (int s = 0; s < steps; ++s) { BODY std::swap(u, v); }"


def text(launches: str, result: str, parameters: str = VECTORS) -> str:
    ends = (
        (".data()", MAIN)
        if parameters == VECTORS
        else ("", MAIN.replace("run(a, b", "run(a.data(), b.data()"))
    )
    memory = MEMORY.replace("LAUNCHES", launches).replace("RESULT", result)
    return f"{KERNELS}{parameters} {{{memory.replace('FROM', f'in{ends[0]}').replace('TO', f'out{ends[0]}')}{ends[1]}"


def drafted(folder: Path, source: str) -> tuple[Draft, Program]:
    path = folder / "run.cu"
    path.write_text(source)
    target = target_of(path, "run")
    draft = draft_of(target, path, State(folder), measure=False)
    return draft, program_from_file(path, "run", draft.workload(), root=folder)


def buffers(program: Program) -> list[tuple[str, tuple[object, ...]]]:
    launches = [step for step in program.steps if isinstance(step, LaunchStep)]
    return [(step.entry, tuple(a for a in step.arguments if isinstance(a, str))) for step in launches]


@pytest.mark.parametrize("parameters", [VECTORS, POINTERS])
def test_what_is_only_read_is_the_callers_array_and_what_is_copied_back_is_the_result(
    tmp_path: Path, parameters: str
) -> None:
    draft, program = drafted(tmp_path, text(ONE, "v", parameters))
    assert [(a.name, a.kind, a.noalias) for a in draft.arguments[:2]] == [
        ("in", "input", True), ("out", "output", True),
    ]  # fmt: skip
    assert buffers(program) == [("both", ("in", "out", "n", "k"))]
    assert program.scratch == ()


def test_what_is_written_in_place_is_a_copy(tmp_path: Path) -> None:
    _, program = drafted(tmp_path, text(TWO, "v"))
    assert buffers(program) == [
        ("copied_4", ("in", "u_0")), ("damp", ("u_0", "n", "k")), ("shift", ("u_0", "out", "n")),
    ]  # fmt: skip
    assert [one.name for one in program.scratch] == ["u_0"]


def test_two_buffers_change_places_in_few_rounds(tmp_path: Path) -> None:
    draft, program = drafted(tmp_path, text(LOOP.replace("BODY", ONE), "u"))
    assert next(a.value for a in draft.arguments if a.name == "steps") == "3"
    assert [names for _, names in buffers(program)[1:]] == [
        ("u_0", "out", "n", "k"), ("out", "u_0", "n", "k"), ("u_0", "out", "n", "k"),
    ]  # fmt: skip


def test_an_array_that_is_copied_there_and_back_is_the_buffer(tmp_path: Path) -> None:
    source = text(TWO.partition(" shift")[0], "u").replace("const std::vector<float>& in, std", "std")
    source = source.replace("in.data()", "out.data()").replace("run(a, b", "run(b")
    draft, program = drafted(tmp_path, source)
    assert draft.arguments[0].kind == "inout"
    assert buffers(program) == [("damp", ("out", "n", "k"))]


def test_a_part_of_an_array_is_copied(tmp_path: Path) -> None:
    source = text(ONE, "v").replace("cudaMemcpy(u, in.data(), n *", "cudaMemcpy(u, in.data(), n / 2 *")
    _, program = drafted(tmp_path, source)
    assert buffers(program)[0] == ("copied_4", ("in", "u_0"))


@pytest.mark.parametrize(
    "change",
    [
        "for (int i = 0; i < n; ++i) out[i] *= 2.f;",
        "for (float& x : out) x = 0.f;",
        "out[0] = 1.f;",
        "*out.data() = 1.f;",
        "std::sort(out.begin(), out.end());",
        "for (int i = 1; i < n; ++i) std::swap(out[i], out[i - 1]);",
    ],
)
def test_what_the_host_makes_of_a_result_is_not_followed(tmp_path: Path, change: str) -> None:
    path = tmp_path / "run.cu"
    path.write_text(text(ONE, "v"))
    workload = draft_of(target_of(path, "run"), path, State(tmp_path), measure=False).workload()
    path.write_text(text(ONE, "v").replace("  cudaFree(u);", f"  {change}\n  cudaFree(u);"))
    with pytest.raises(ProgramError, match="line 22: "):
        program_from_file(path, "run", workload, root=tmp_path)


def test_what_the_host_only_reads_of_a_result_is_passed_over(tmp_path: Path) -> None:
    reads = 'float s = 0.f; for (int i = 0; i < n; ++i) s += fabsf(out[i]); printf("%f", s);'
    _, program = drafted(tmp_path, text(ONE, "v").replace("  cudaFree(u);", f"  {reads}\n  cudaFree(u);"))
    assert buffers(program) == [("both", ("in", "out", "n", "k"))]


@pytest.mark.parametrize(
    ("launches", "is_right"), [(ONE, True), (ONE.replace(", k)", ", 1.01f * k)"), False)]
)
def test_two_kernels_that_become_one_are_judged_by_what_the_host_gets(
    tmp_path: Path, launches: str, is_right: bool
) -> None:
    draft, baseline = drafted(tmp_path, text(LOOP.replace("BODY", TWO), "u"))
    other = tmp_path / "other"
    other.mkdir()
    (other / "run.cu").write_text(text(LOOP.replace("BODY", launches), "u"))
    candidate = program_from_file(other / "run.cu", "run", draft.workload(), root=other)
    verdict = judge(
        baseline, candidate, draft.workload(), device="emulated", options=GateOptions(hidden=False)
    )
    check = verdict.stage("check")
    assert check is not None
    assert (check.status is StageStatus.PASS) is is_right


SMOOTH = """__global__ void smooth(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 0.5f * (x[i] + x[(i + 1) % n]);
}
__global__ void halve(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 0.5f * x[i];
}
void run(const float* x, float* y, int n) {
  BODY
}
int main() {
  int n = 3000;
  float *x, *y;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  run(x, y, n);
}
"""
BEFORE = "smooth<<<(n + 127) / 128, 128>>>(x, y, n);"
AFTER = """float* t;
  cudaMalloc(&t, n * sizeof(float));
  smooth<<<(n + 127) / 128, 128>>>(x, t, n);
  cudaMemcpyAsync(y, t, n * sizeof(float), cudaMemcpyDeviceToDevice);
  halve<<<1, 32>>>(t, t, n);
  cudaFree(t);"""


def test_a_copy_that_a_change_makes_between_its_launches_is_one_of_its_steps(tmp_path: Path) -> None:
    path = tmp_path / "run.cu"
    path.write_text(SMOOTH.replace("BODY", BEFORE))
    kernel = target_of(path, "smooth")
    workload = draft_of(kernel, path, State(tmp_path), measure=False).workload()
    former = path.read_bytes()
    path.write_text(SMOOTH.replace("BODY", AFTER))
    program = program_from_file(path, "smooth", workload, root=tmp_path, changed_from=former)
    assert [entry for entry, _ in buffers(program)] == ["smooth", "copied_4", "halve"]
    assert "copied_4(" in program.source
