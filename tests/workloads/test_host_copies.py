"""Host functions that copy a caller's arrays to the device and results back: what they launch, over these arrays."""

from __future__ import annotations

import math
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


ROWS = """__global__ void first(int* row, int cols) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < cols) row[j] = j;
}
__global__ void next_row(const int* above, int* row, const int* cost, int cols, int i) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < cols) row[j] = above[j] + cost[i * cols + (j ? j - 1 : 0)];
}
void solve(const int* cost, int* a, int* b, int rows, int cols) {
  first<<<(cols + 127) / 128, 128>>>(a, cols);
  for (int i = 0; i < rows; i++) {
    next_row<<<(cols + 127) / 128, 128>>>(a, b, cost, cols, i);
    int* t = a; a = b; b = t;
  }
}
int main(int argc, char** argv) {
  int rows = argc > 1 ? atoi(argv[1]) : 700, cols = 300;
  int *cost, *a, *b;
  cudaMalloc(&cost, rows * cols * sizeof(int));
  cudaMalloc(&a, cols * sizeof(int));
  cudaMalloc(&b, cols * sizeof(int));
  solve(cost, a, b, rows, cols);
}
"""


HELPER = """void step(const int* cost, int* a, int* b, int cols, int i) {
  next_row<<<(cols + 127) / 128, 128>>>(a, b, cost, cols, i);
}
void solve("""
IN_HELPER = ROWS.replace(
    "    next_row<<<(cols + 127) / 128, 128>>>(a, b, cost, cols, i);", "    step(cost, a, b, cols, i);"
)


@pytest.mark.parametrize(
    "source",
    [ROWS, ROWS.replace("i < rows;", "i != rows - 1;"), IN_HELPER.replace("void solve(", HELPER)],
    ids=["of its own", "but one", "of what it calls"],
)
def test_a_loop_over_the_rows_of_an_array_goes_over_few_rows(tmp_path: Path, source: str) -> None:
    path = tmp_path / "run.cu"
    path.write_text(source)
    draft = draft_of(target_of(path, "solve"), path, State(tmp_path), measure=False)
    assert draft.missing == ("the range of the values of cost",)
    assert [a.shape for a in draft.arguments if a.shape] == [("19", "cols"), ("cols",), ("cols",)]
    assert [a.value for a in draft.arguments if a.kind == "scalar"] == ["19", "cols"]
    assert draft.dims.keys() == {"cols"}
    assert "rows is taken to be 19: so often does a loop launch" in draft.assumed


def test_a_function_that_takes_elements_of_another_size_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "run.cu"
    source = SMOOTH.replace("BODY", BEFORE)
    path.write_text(source)
    draft = draft_of(target_of(path, "run"), path, State(tmp_path), measure=False)
    path.write_text(source.replace("float*", "double*").replace("sizeof(float)", "sizeof(double)"))
    with pytest.raises(ProgramError, match="`x` is of double, and float32 in the workload"):
        program_from_file(path, "run", draft.workload(), root=tmp_path)


PULSES = """__global__ void decay(float* u, int n, float k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) u[i] *= k;
}
static float pulse(int s) {
  const float t = (s - 40.f) / 12.f;
  return std::exp(-t * t) + std::erf(t);
}
void run(float* u, int n, int steps) {
  for (int s = 0; s < steps; ++s) decay<<<(n + 127) / 128, 128>>>(u, n, pulse(s));
}
int main() {
  int n = 3000;
  float* u;
  cudaMalloc(&u, n * sizeof(float));
  run(u, n, 200);
}
"""


def test_numbers_that_the_host_works_out_round_by_round_are_passed(tmp_path: Path) -> None:
    path = tmp_path / "run.cu"
    path.write_text(PULSES)
    draft = draft_of(target_of(path, "run"), path, State(tmp_path), measure=False)
    program = program_from_file(path, "run", draft.workload(), root=tmp_path)
    passed = [float(s.arguments[2].value) for s in program.steps if isinstance(s, LaunchStep)]
    times = [(s - 40) / 12 for s in range(3)]
    assert passed == pytest.approx([math.exp(-t * t) + math.erf(t) for t in times])


OWN = """#include <cmath>
#include <vector>
__global__ void wave(const float* u, float* next, const float* speed, int n, float push) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) next[i] = u[i] + speed[i] * (u[(i + 1) % n] - u[i]) + (i == n / 3 ? push : 0.f);
}
__global__ void sums(const float* u, float* out, int n) {
  float s = 0.f;
  for (int i = blockIdx.x; i < n; i += gridDim.x) s += u[i];
  if (threadIdx.x == 0) out[blockIdx.x] = s;
}
static std::vector<float> run(const std::vector<float>& speed, int steps, float freq) {
  const int n = static_cast<int>(speed.size());
  float *u, *v, *c;
  cudaMalloc(&u, n * sizeof(float));
  cudaMalloc(&v, n * sizeof(float));
  cudaMalloc(&c, n * sizeof(float));
  std::vector<float> start(n);
  for (int i = 0; i < n; ++i) start[i] = 0.5f * i;
  cudaMemcpy(u, start.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(c, speed.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  for (int s = 0; s < steps; ++s) {
    wave<<<(n + 127) / 128, 128>>>(u, v, c, n, std::exp(-freq * s));
    std::swap(u, v);
  }
  std::vector<float> out;
  out.resize(n);
  cudaMemcpy(&out[0], u, n * sizeof(float), cudaMemcpyDeviceToHost);
  return out;
}
int main() {
  int n = 3000;
  std::vector<float> speed(n, 1.f);
  const auto out = run(speed, 200, 2.5f);
}
"""
FASTER = OWN.replace("u[i] + speed[i]", "speed[i]").replace("- u[i])", "- u[i]) + u[i]")


@pytest.mark.parametrize(
    ("text", "is_right"), [(FASTER, True), (FASTER.replace("n / 3", "n / 3 + 1"), False)]
)
def test_arrays_of_a_functions_own_are_given_and_compared(tmp_path: Path, text: str, is_right: bool) -> None:
    draft, baseline = drafted(tmp_path, OWN)
    assert [(a.name, a.kind, a.shape) for a in draft.arguments if a.shape] == [
        ("speed", "input", ("n",)), ("start", "input", ("n",)), ("out", "output", ("n",)),
    ]  # fmt: skip
    other = tmp_path / "other"
    other.mkdir()
    (other / "run.cu").write_text(text)
    candidate = program_from_file(
        other / "run.cu", "run", draft.workload(), root=other, changed_from=OWN.encode()
    )
    verdict = judge(
        baseline, candidate, draft.workload(), device="emulated", options=GateOptions(hidden=False)
    )
    check = verdict.stage("check")
    assert check is not None
    assert (check.status is StageStatus.PASS) is is_right


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("0.5f * i;", "2.f * i;", "does something else with `out`, `start` on the host"),
        ("  return out;", "  for (float& x : out) x *= 2.f;\n  return out;", "does something else with"),
        ("&out[0], u, n *", "&out[0], u, n / 2 *", "a copy of another size than that of `out`"),
        (
            "    std::swap(u, v);",
            "    cudaMemcpy(u, start.data(), n * 4, cudaMemcpyHostToDevice);",
            "a second copy of",
        ),
    ],
)
def test_what_the_host_does_otherwise_with_arrays_of_its_own_is_not_followed(
    tmp_path: Path, old: str, new: str, why: str
) -> None:
    draft, _ = drafted(tmp_path, OWN)
    path = tmp_path / "run.cu"
    path.write_text(OWN.replace(old, new))
    with pytest.raises(ProgramError, match=why):
        program_from_file(path, "run", draft.workload(), root=tmp_path, changed_from=OWN.encode())


def test_one_number_of_what_each_block_leaves_is_not_compared_block_by_block(tmp_path: Path) -> None:
    source = OWN.replace(
        "  std::vector<float> out;", "  sums<<<blocks, 32>>>(u, v, n);\n  std::vector<float> out;"
    )
    source = source.replace("  float *u,", "  const int blocks = (n + 99) / 100;\n  float *u,")
    source = source.replace("out.resize(n)", "out.resize(blocks)").replace(
        "&out[0], u, n *", "&out[0], v, blocks *"
    )
    total = source.replace(
        "  return out;", "  float all = 0.f;\n  for (float x : out) all += x;\n  return out;"
    )
    assert not drafted(tmp_path, source)[0].missing
    path = tmp_path / "run.cu"
    path.write_text(total)
    draft = draft_of(target_of(path, "run"), path, State(tmp_path), measure=False)
    assert any("makes one number of what each block leaves in `out`" in m for m in draft.missing)


PAIRS = """#include <vector>
__global__ void near(const float4* p, int n, float scale, float inv, unsigned* bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(bins + ((int)(p[i].x * scale * inv) & 7), 1u);
}
std::vector<unsigned> pairs(const std::vector<float4>& p, float most, float box, float* ms) {
  const int n = (int)p.size();
  float4* d_p;
  unsigned* d_bins;
  cudaMalloc(&d_p, n * sizeof(float4));
  cudaMalloc(&d_bins, 8 * sizeof(unsigned));
  cudaMemcpy(d_p, p.data(), n * sizeof(float4), cudaMemcpyHostToDevice);
  cudaMemset(d_bins, 0, 8 * sizeof(unsigned));
  cudaEvent_t from, to;
  near<<<(n + 127) / 128, 128>>>(d_p, n, 8 / most, 1.f / box, d_bins);
  if (ms != nullptr) cudaEventElapsedTime(ms, from, to);
  std::vector<unsigned> bins(8);
  cudaMemcpy(bins.data(), d_bins, 8 * sizeof(unsigned), cudaMemcpyDeviceToHost);
  return bins;
}
int main() {
  const int n = 3000;
  const float box = std::cbrt((float)n), most = 0.5f * box;
  std::vector<float4> p(n);
  float ms = 0.f;
  const auto bins = pairs(p, most, box, &ms);
}
"""


def test_a_number_that_the_host_tells_back_is_no_argument_and_vectors_have_their_elements(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.cu"
    path.write_text(PAIRS)
    draft = draft_of(target_of(path, "pairs"), path, State(tmp_path), measure=False)
    assert [(a.name, a.kind, a.shape) for a in draft.arguments] == [
        ("p", "input", ("n", "4")), ("most", "scalar", None), ("box", "scalar", None), ("bins", "output", ("8",)),
    ]  # fmt: skip
    program = program_from_file(path, "pairs", draft.workload(), root=tmp_path)
    launch = next(s for s in program.steps if isinstance(s, LaunchStep) and s.entry == "near")
    assert launch.launch.grid == ("ceil_div(n, 128)",)
    assert [a.value for a in launch.arguments if not isinstance(a, str)] == ["n", "8 / most", "1.0 / box"]
    assert [(one.name, one.shape) for one in program.scratch] == [("d_p_0", ("n * 4",))]


def test_a_pointer_that_a_function_hands_on_is_an_argument(tmp_path: Path) -> None:
    path = tmp_path / "run.cu"
    path.write_text(PAIRS.replace("cudaEventElapsedTime(ms, from, to);", "measure(ms);"))
    draft = draft_of(target_of(path, "pairs"), path, State(tmp_path), measure=False)
    assert "ms" in [a.name for a in draft.arguments]
