"""What a kernel is launched with beside what its workload names: element types, and flags of a Triton kernel."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from kernel_gate import gate
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchStep
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Stage, StageStatus, Verdict
from kernel_gate.workload import Workload
from kernel_lineage.rewrite.instances import judged_in_all_types
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.instances import Instance, other_instances
from kernel_lineage.workloads.programs import program_from_file
from kernel_lineage.workloads.state import State

SCALED = """
#include <cuda_fp16.h>
template <typename T, int STEP>
__global__ void scaled(const T* x, T* y, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = (T)(by * (float)x[i] + STEP);
}
template <typename T> void run(const T* x, T* y, int n) { scaled<T, 2><<<(n + 255) / 256, 256>>>(x, y, 0.5f, n); }
int main() {
  int n = 4096;
  float *x, *y; __half *u, *v;
  cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, n * sizeof(float));
  cudaMalloc(&u, n * sizeof(__half)); cudaMalloc(&v, n * sizeof(__half));
  run<float>(x, y, n);
  run<__half>(u, v, n);
}
"""
DISPATCHED = """
#include <torch/extension.h>
template <typename scalar_t>
__global__ void doubled(const scalar_t* x, scalar_t* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * scalar_t(2);
}
at::Tensor twice(at::Tensor x) {
  auto y = torch::empty_like(x);
  const int n = x.numel();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "twice", [&] {
    doubled<scalar_t><<<(n + 127) / 128, 128>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n);
  });
  return y;
}
"""


def instances(folder: Path, text: str, name: str) -> tuple[Instance, ...]:
    path = folder / "code.cu"
    path.write_text(text)
    kernel = kernel_of(path, name)
    workload = draft_of(kernel, path).workload()
    return other_instances(path, kernel, workload, program_from_file(path, name, workload))


def test_types_that_host_templates_are_named_with(tmp_path):
    (half,) = instances(tmp_path, SCALED, "scaled")
    assert half.name == "scaled<__half, 2>"
    assert half.template_arguments == ("__half", "2")
    dtypes = {a.name: a.dtype for a in half.workload.args}
    assert dtypes == {"x": "float16", "y": "float16", "by": "float32", "n": "int32"}
    assert half.workload.profile_dims == ()
    program = program_from_file(
        tmp_path / "code.cu", "scaled", half.workload, template_arguments=half.template_arguments
    )
    assert "cuda_fp16.h" in program.source


def test_types_that_a_dispatch_names(tmp_path):
    made = instances(tmp_path, DISPATCHED, "doubled")
    assert [i.name for i in made] == ["doubled<c10::Half>", "doubled<c10::BFloat16>"]
    assert [i.workload.args[0].dtype for i in made] == ["float16", "bfloat16"]


def test_a_kernel_that_is_launched_with_one_type_has_no_other(tmp_path):
    assert instances(tmp_path, SCALED.replace("run<__half>(u, v, n);", ""), "scaled") == ()
    plain = SCALED.replace("template <typename T, int STEP>", "template <int STEP>").replace(
        "scaled<T, 2>", "scaled<2>"
    )
    assert instances(tmp_path, plain.replace("T", "float"), "scaled") == ()


def _verdict(outcome: Outcome, code: Reason) -> Verdict:
    return Verdict(outcome=outcome, code=code, reason=code.value, stages=[], inputs_hash="")


@pytest.mark.parametrize(
    ("of_half", "outcome", "reason"),
    [
        (
            _verdict(Outcome.REJECTED, Reason.WRONG_VALUE),
            Outcome.REJECTED,
            "as scaled<__half, 2>: wrong-value",
        ),
        (
            _verdict(Outcome.INCONCLUSIVE, Reason.NOT_PROFILED),
            Outcome.ACCEPTED,
            "faster; right as scaled<__half, 2> too",
        ),
        (
            _verdict(Outcome.INCONCLUSIVE, Reason.BASELINE_DOES_NOT_COMPILE),
            Outcome.ACCEPTED,
            "faster; not judged as scaled<__half, 2>: baseline-does-not-compile",
        ),
    ],
)
def test_one_type_in_which_a_candidate_is_wrong_rejects_it(tmp_path, of_half, outcome, reason):
    path = tmp_path / "code.cu"
    path.write_text(SCALED)
    kernel = kernel_of(path, "scaled")
    workload = draft_of(kernel, path).workload()
    asked: list[GateRequest] = []

    program = partial(program_from_file, path, "scaled")

    def judge(request: GateRequest) -> Verdict:
        asked.append(request)
        return of_half

    before = after = program(workload)
    first = _verdict(Outcome.ACCEPTED, Reason.FASTER)
    verdict = judged_in_all_types(
        first, GateRequest.of(before, after, workload), path, kernel, (program, program), judge
    )
    assert (verdict.outcome, verdict.reason) == (outcome, reason)
    assert [a.dtype for a in asked[0].workload.args] == ["float16", "float16", "float32", "int32"]
    rejected = _verdict(Outcome.REJECTED, Reason.RACE)
    assert judged_in_all_types(rejected, asked[0], path, kernel, (program, program), judge) is rejected


BIASED = """
import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def shifted(x_ptr, bias_ptr, y_ptr, n, HAS_BIAS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    if HAS_BIAS:
        x += tl.load(bias_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, x, mask=at < n)


def shift(x, bias=None):
    y = torch.empty_like(x)
    shifted[(triton.cdiv(x.numel(), 64),)](
        x, x if bias is None else bias, y, x.numel(), HAS_BIAS=bias is not None, BLOCK=64
    )
    return y
"""
WAYS = {
    "cases of a test": """

@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("has_bias", [False, True])
def test_shift(dtype, has_bias):
    x = torch.randn(500, dtype=dtype)
    shift(x, torch.randn(500, dtype=dtype) if has_bias else None)
""",
    "rounds of loops": """

def test_shift():
    for dtype, tol in ((torch.float32, 1e-5), (torch.float16, 1e-2)):
        for has_bias in (False, True):
            for n in (7, 500):
                x = torch.randn(n, dtype=dtype)
                shift(x, torch.randn(n, dtype=dtype) if has_bias else None)
""",
    "calls in turn": """

def test_shift():
    x = torch.randn(500)
    shift(x)
    shift(x, torch.randn(500))
    shift(x.half())
""",
}


@pytest.mark.parametrize("test", WAYS.values(), ids=WAYS)
def test_flags_and_dtypes_of_the_callers_of_a_triton_kernel(tmp_path: Path, test: str) -> None:
    path = tmp_path / "shift.py"
    path.write_text(BIASED + test)
    kernel = kernel_of(path, "shifted")
    workload = draft_of(kernel, path).workload()
    assert workload.launch.constexpr["HAS_BIAS"] == "False"
    others = other_instances(path, kernel, workload, program_from_file(path, "shifted", workload))
    assert [i.name for i in others] == ["shifted with HAS_BIAS = True", "shifted in float16"]
    with_bias, in_half = (i.workload for i in others)
    assert with_bias is not None and in_half is not None
    assert with_bias.launch.constexpr["HAS_BIAS"] == "True"
    assert {a.dtype for a in in_half.args if a.is_pointer} == {"float16"}
    assert in_half.dims == workload.dims


def test_callers_outside_of_a_package_count_where_no_repository_is_around_it(tmp_path: Path) -> None:
    (tmp_path / "shifts").mkdir()
    (tmp_path / "tests").mkdir()
    path = tmp_path / "shifts" / "shift.py"
    path.write_text(BIASED)
    (tmp_path / "shifts" / "__init__.py").write_text("from .shift import shift\n")
    test = "import torch\nfrom shifts import shift\n" + WAYS["calls in turn"]
    (tmp_path / "tests" / "test_shift.py").write_text(test)
    kernel = kernel_of(path, "shifted")
    workload = draft_of(kernel, path, State(tmp_path)).workload()
    program = program_from_file(path, "shifted", workload, root=tmp_path)
    names = [i.name for i in other_instances(path, kernel, workload, program, root=tmp_path)]
    assert names == ["shifted with HAS_BIAS = True", "shifted in float16"]


POOL = """import torch
import triton
import triton.language as tl


@triton.jit
def taken(pool_ptr, at_ptr, out_ptr, BLOCK: tl.constexpr):
    page = tl.load(at_ptr + tl.program_id(0)).to(tl.int64)
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + tl.program_id(0) * BLOCK + i, tl.load(pool_ptr + page * BLOCK + i))


def take(pool, at):
    out = torch.empty((at.shape[0], pool.shape[1]), dtype=pool.dtype)
    taken[(at.shape[0],)](pool, at, out, BLOCK=pool.shape[1])
    return out


def test_take():
    pool = torch.randn(300, 128)
    take(pool, torch.randint(0, 300, (20,), dtype=torch.int32))


def test_take_of_a_large_pool():
    pool = torch.randn(20_000_000, 128, dtype=torch.float16)
    take(pool, torch.randint(0, 20_000_000, (20,), dtype=torch.int32))
"""


def test_another_launch_is_proved_at_the_sizes_of_its_caller(tmp_path: Path) -> None:
    path = tmp_path / "pool.py"
    path.write_text(POOL)
    kernel = kernel_of(path, "taken")
    workload = draft_of(kernel, path).workload()
    assert workload.profile_dims[0]["d300"] == 300
    program = partial(program_from_file, path, "taken")
    checked = [Stage(name="check", status=StageStatus.PASS)]
    right = _verdict(Outcome.INCONCLUSIVE, Reason.NOT_PROFILED).model_copy(update={"stages": checked})
    reasons = []
    for text in (POOL, POOL.replace(".to(tl.int64)", "")):
        programs = program, partial(program, data=text.encode(), changed_from=POOL.encode())
        before, after = (make(workload) for make in programs)
        request = GateRequest.of(before, after, workload)
        reasons.append(judged_in_all_types(right, request, path, kernel, programs, lambda _: right).reason)
    assert "too" in reasons[0], reasons[0]
    assert "overflows its 32 bits" in reasons[1], reasons[1]


VECTORISED = SCALED.replace(
    "template <typename T, int STEP>", "template <typename T, int STEP, int VEC>"
).replace(
    "scaled<T, 2><<<(n + 255) / 256, 256>>>(x, y, 0.5f, n);",
    """if (n % 4 == 0) scaled<T, 2, 4><<<(n + 255) / 256, 256>>>(x, y, 0.5f, n);
  else scaled<T, 2, 1><<<(n + 255) / 256, 256>>>(x, y, 0.5f, n);""",
)


def test_a_change_that_launches_another_instance_is_that_instance_where_it_is_launched(
    tmp_path: Path,
) -> None:
    before, after = tmp_path / "before.cu", tmp_path / "after.cu"
    before.write_text(SCALED)
    after.write_text(VECTORISED)
    kernel = kernel_of(before, "scaled")
    workload = draft_of(kernel, before).workload()
    changed = program_from_file(after, "scaled", workload, changed_from=before.read_bytes())
    assert [s.template_arguments for s in changed.steps if isinstance(s, LaunchStep)] == [("float", "2", "4")]
    assert changed.launched_where == ("n % 4 == 0",)
    baseline = program_from_file(before, "scaled", workload)
    assert not baseline.launched_where
    request = GateRequest.of(baseline, changed, workload)
    assert request.workload.promises == (*workload.promises, "n % 4 == 0")
    (other,) = other_instances(before, kernel, workload, baseline)
    assert other.workload is not None
    in_half = program_from_file(after, "scaled", other.workload, changed_from=before.read_bytes())
    assert [s.template_arguments for s in in_half.steps if isinstance(s, LaunchStep)] == [
        ("__half", "2", "4")
    ]
    right = Verdict(outcome=Outcome.ACCEPTED, reason="faster", stages=(), inputs_hash="")
    programs = (
        partial(program_from_file, before, "scaled"),
        partial(program_from_file, after, "scaled", changed_from=before.read_bytes()),
    )
    asked: list[GateRequest] = []
    verdict = judged_in_all_types(
        right, request, before, kernel, programs, lambda request: asked.append(request) or right
    )
    assert verdict.reason == "faster; right as scaled<float, 2, 1> too; right as scaled<__half, 2> too"
    assert "n % 4 == 0" in asked[1].workload.promises and "n % 4 == 0" not in asked[0].workload.promises


@pytest.fixture
def one_launch(tmp_path: Path) -> tuple[Path, Workload]:
    """A file, and the workload of its kernel with a single `[launch]`."""
    path = tmp_path / "code.cu"
    path.write_text(SCALED)
    drafted = draft_of(kernel_of(path, "scaled"), path).workload()
    launch = {"grid": ["ceil_div(n, 256)"], "block": [256]}
    return path, Workload.model_validate({**drafted.model_dump(), "launches": (), "launch": launch})


def test_one_launch_that_is_written_out_is_another_instance_too(one_launch: tuple[Path, Workload]) -> None:
    path, workload = one_launch
    changed = program_from_file(
        path, "scaled", workload, data=VECTORISED.encode(), changed_from=SCALED.encode()
    )
    assert changed.template_arguments == ("float", "2", "4")
    assert changed.launched_where == ("n % 4 == 0",)


def test_a_number_that_a_candidate_no_longer_takes_is_a_condition(one_launch: tuple[Path, Workload]) -> None:
    path, workload = one_launch
    kernel = kernel_of(path, "scaled")
    text = (
        SCALED.replace("float by, int n", "int n").replace("by *", "0.5f *").replace("y, 0.5f, n)", "y, n)")
    )

    program = partial(program_from_file, path, "scaled")
    programs = program, partial(program, data=text.encode(), changed_from=SCALED.encode())
    before, after = (make(workload) for make in programs)
    right = Verdict(outcome=Outcome.ACCEPTED, reason="faster", stages=(), inputs_hash="")
    reasons = [
        judged_in_all_types(
            right, GateRequest.of(before, other, workload), path, kernel, programs, lambda _: right
        ).reason
        for other in (after, before)
    ]
    assert "only where by = 0.5, which the candidate no longer takes" in reasons[0]
    assert "no longer" not in reasons[1]


@pytest.mark.parametrize(("elsewhere", "outcome"), [("STEP", Outcome.ACCEPTED), ("VEC", Outcome.REJECTED)])
def test_the_instance_elsewhere_is_judged_too(
    one_launch: tuple[Path, Workload], elsewhere: str, outcome: Outcome
) -> None:
    path, workload = one_launch
    kernel = kernel_of(path, "scaled")
    text = VECTORISED.replace("+ STEP);", f"+ {elsewhere});")
    program = partial(program_from_file, path, "scaled")
    programs = program, partial(program, data=text.encode(), changed_from=SCALED.encode())
    before, after = (make(workload) for make in programs)
    request = GateRequest.of(before, after, workload)
    right = Verdict(outcome=Outcome.ACCEPTED, reason="faster", stages=(), inputs_hash="")
    asked: list[GateRequest] = []

    def judge(request: GateRequest) -> Verdict:
        asked.append(request)
        is_wrong = "+ VEC" in request.candidate.source and "1" in request.candidate.template_arguments
        return _verdict(Outcome.REJECTED, Reason.WRONG_VALUE) if is_wrong else right

    verdict = judged_in_all_types(right, request, path, kernel, programs, judge)
    assert asked[0].candidate.template_arguments == ("float", "2", "1")
    ((size,),) = asked[0].workload.dims.values()
    assert size % 4 and not asked[0].workload.profile_dims
    assert verdict.outcome is outcome
    assert ("right as scaled<float, 2, 1> too" in verdict.reason) is (outcome is Outcome.ACCEPTED)
    assert verdict.reason.startswith("as scaled<float, 2, 1>, launched where not") is (
        outcome is Outcome.REJECTED
    )


BY_SIZE = """
template <bool STAGED> __global__ void doubled(const float* x, float* y, int n) {
  extern __shared__ float row[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    if (STAGED) row[i] = x[blockIdx.x * n + i];
    y[blockIdx.x * n + i] = 2 * (STAGED ? row[i] : x[blockIdx.x * n + i]);
  }
}
void run(const float* x, float* y, int rows, int n) {
  const bool staged = n * sizeof(float) <= 4096;
  if (staged) doubled<true><<<rows, 128, n * sizeof(float)>>>(x, y, n);
  else doubled<false><<<rows, 128>>>(x, y, n);
}
int main() {
  const int rows = 512, n = 5000;
  float *x, *y;
  cudaMalloc(&x, rows * n * sizeof(float));
  cudaMalloc(&y, rows * n * sizeof(float));
  run(x, y, rows, n);
}
"""
BEFORE = BY_SIZE.replace("template <bool STAGED> ", "").replace("STAGED", "false").replace(
    "if (staged) doubled<true><<<rows, 128, n * sizeof(float)>>>(x, y, n);\n  else ", ""
).replace("doubled<false>", "doubled")  # fmt: skip


def test_the_instance_of_callers_sizes_is_judged_at_shapes_that_launch_it(tmp_path: Path) -> None:
    path = tmp_path / "rows.cu"
    path.write_text(BEFORE)
    workload = draft_of(kernel_of(path, "doubled"), path).workload()
    assert workload.profile_dims == ({"rows": 512, "n": 5000},) and workload.dims["n"][0] < 1024
    program = partial(program_from_file, path, "doubled", workload)
    after = program(data=BY_SIZE.encode(), changed_from=BEFORE.encode())
    assert after.template_arguments == ("false",)
    request = GateRequest.of(program(), after, workload)
    assert request.workload.profile_dims == workload.profile_dims
    assert all(1024 < size < 5000 for size in request.workload.dims["n"])
    assert 1 < request.workload.dims["rows"][0] <= 64


ONE_SIZE = (
    BEFORE.replace("int n)", "int first, int n)", 1)
    .replace("int i = threadIdx.x", "int i = first + threadIdx.x")
    .replace(
        "  doubled<<<rows, 128>>>(x, y, n);",
        "  int first = 0;\n  HERE\n  doubled<<<rows, 128>>>(x, y, first, n);",
    )
)


@pytest.mark.parametrize(
    "here",
    [
        "if (n == 3001 && rows == 7) first = 16;",
        "if (n == 3001 && rows == 7) { first_of(&first); }",
        "first = n == 3001 && rows == 7 ? 16 : 0;",
    ],
)
def test_what_host_code_does_at_one_size_alone_is_judged_there(tmp_path: Path, here: str) -> None:
    path = tmp_path / "rows.cu"
    path.write_text(BEFORE)
    after = "void first_of(int* first) { *first = 16; }\n" + ONE_SIZE.replace("HERE", here)
    kernel = kernel_of(path, "doubled")
    workload = draft_of(kernel, path).workload()
    program = partial(program_from_file, path, "doubled")
    programs = program, partial(program, data=after.encode(), changed_from=BEFORE.encode())
    request = GateRequest.of(*(make(workload) for make in programs), workload)
    asked: list[GateRequest] = []
    right = Verdict(outcome=Outcome.ACCEPTED, reason="faster", stages=(), inputs_hash="")

    def judge(request: GateRequest) -> Verdict:
        asked.append(request)
        return _verdict(Outcome.REJECTED, Reason.WRONG_VALUE)

    verdict = judged_in_all_types(right, request, path, kernel, programs, judge)
    assert asked[0].workload.dims == {"rows": (7,), "n": (3001,)}
    assert "where n == 3001 and rows == 7: " in verdict.reason and verdict.outcome is Outcome.REJECTED


WIDTHS = """#include <cuda_runtime.h>
template <int WIDE, typename T>
__global__ void tiles(T* out, const T* x, int n) {
    __shared__ T tile[WIDE];
    int i = blockIdx.x * WIDE + threadIdx.x;
    if (i < n) tile[threadIdx.x] = x[i];
    __syncthreads();
    if (i < n) out[i] = tile[threadIdx.x] * T(2);
}
"""
WIDTH = "void {}(float* o, const float* x, int n) {{ tiles<{}, float><<<(n + {}) / {}, {}>>>(o, x, n); }}\n"


@pytest.mark.parametrize(("widths", "other"), [((64, 512, 128), 512), ((512, 64, 128), 64), ((64,), 0)])
def test_an_instance_with_other_numbers_is_judged_too(tmp_path: Path, widths: tuple[int, ...], other: int):
    text = WIDTHS + "".join(WIDTH.format(f"by_{w}", w, w - 1, w, w) for w in widths)
    others = instances(tmp_path, text, "tiles")
    assert [i.template_arguments for i in others] == ([(str(other), "float")] if other else [])
    for instance in others:
        assert instance.workload is not None and instance.workload.profile_dims == ()
        assert {*instance.workload.launch.block} == {str(other)}


SUMMED = """
#include <algorithm>
#include <cuda_runtime.h>
__global__ void total(const float* x, float* y, int n, float scale) {
  float s = 0;
  for (int i = threadIdx.x; i < n; i += 32) s += x[i];
  for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  if (threadIdx.x == 0) *y = scale * s;
}
void run(const float* x, float* y, int n) { total<<<1, 32>>>(x, y, n, 1.0f); }
int main() {
  int n = 300;
  float *x, *y; cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, sizeof(float));
  run(x, y, n);
}
"""


def test_what_is_passed_up_to_a_limit_alone_is_asked_beyond_it(tmp_path: Path) -> None:
    path = tmp_path / "sum.cu"
    path.write_text(SUMMED)
    kernel = kernel_of(path, "total")
    workload = draft_of(kernel, path).workload()
    part = SUMMED.replace("(x, y, n, 1.0f);", "(x, y, std::min(n, 5000), (float)n / std::min(n, 5000));")
    programs = (
        partial(program_from_file, path, "total"),
        partial(program_from_file, path, "total", data=part.encode(), changed_from=SUMMED.encode()),
    )
    request = GateRequest.of(*(make(workload) for make in programs), workload)
    options = GateOptions(check_seconds=20, callers_seconds=0, hidden=False)
    asked: list[GateRequest] = []

    def ask(one: GateRequest) -> Verdict:
        asked.append(one)
        return gate.judge(one.baseline, one.candidate, one.workload, device="emulated", options=options)

    right = _verdict(Outcome.INCONCLUSIVE, Reason.NOT_PROFILED)
    verdict = judged_in_all_types(right, request, path, kernel, programs, ask)
    assert [min(one.workload.dims["n"]) for one in asked] == [300 << 6]
    assert verdict.code is Reason.WRONG_VALUE, verdict.reason
    assert verdict.reason.startswith("as total, where n >= 2 * 5000: ")
