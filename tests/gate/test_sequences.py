"""Programs of several launches: scratch between them, memsets, pointers into buffers, and what is said of failures."""

import pytest

from kernel_gate.gate import judge
from kernel_gate.launching import LaunchError, bind
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchSpec, LaunchStep, MemsetStep, Pointer, Program, Scratch, Value
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, StageStatus, Verdict
from kernel_gate.workload import Workload, WorkloadError, parse_workload

HEAD = """
kernel = "centre"
language = "LANGUAGE"
[dims]
N = [3]
C = [32, 70]
[[args]]
name = "y"
kind = "output"
dtype = "float32"
shape = ["N", "C"]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["N", "C"]
"""
SUMS = """[[args]]
name = "sums"
kind = "scratch"
dtype = "float32"
shape = ["N"]
"""
CLEAR = """[[launches]]
memset = "sums"
"""
LAUNCHES = """[[launches]]
kernel = "row_sums"
arguments = ["sums", "x", { value = "C", dtype = "int32" }]
grid = ["N"]
block = [64]
[[launches]]
kernel = "subtract"
arguments = ["y", "x", "sums", { value = "C", dtype = "int32" }]
grid = ["N"]
block = [64]
"""
TWO_KERNELS = """
__global__ void row_sums(float *sums, const float *x, int C) {
    for (int i = threadIdx.x; i < C; i += blockDim.x) atomicAdd(&sums[blockIdx.x], x[blockIdx.x * C + i]);
}
__global__ void subtract(float *y, const float *x, const float *sums, int C) {
    float mean = sums[blockIdx.x] / C;
    for (int i = threadIdx.x; i < C; i += blockDim.x) y[blockIdx.x * C + i] = x[blockIdx.x * C + i] - mean;
}
"""
ONE_KERNEL = """
__global__ void centre(float *y, const float *x, int C) {
    float sum = 0.0f;
    for (int i = 0; i < C; i++) sum += x[blockIdx.x * C + i];
    for (int i = threadIdx.x; i < C; i += blockDim.x) y[blockIdx.x * C + i] = x[blockIdx.x * C + i] - sum / C;
}
"""
TRITON_KERNELS = """
import triton
import triton.language as tl

@triton.jit
def row_sums(sums, x, C, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * C + at, mask=at < C, other=0.0)
    tl.store(sums + tl.program_id(0), tl.sum(v, axis=0))

@triton.jit
def subtract(y, x, sums, C, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * C + at, mask=at < C, other=0.0)
    tl.store(y + tl.program_id(0) * C + at, v - tl.load(sums + tl.program_id(0)) / C, mask=at < C)
"""
COLUMNS = Value("C", "int32")


def workload(text: str = HEAD + SUMS + CLEAR + LAUNCHES, language: str = "cuda") -> Workload:
    return parse_workload(text.replace("LANGUAGE", language))


def two_kernels(old: str = "", new: str = "", language: str = "cuda", **rest: object) -> Program:
    source = TWO_KERNELS if language == "cuda" else TRITON_KERNELS
    assert old in source
    return Program(language, source.replace(old, new, 1) if old else source, "centre", name="two", **rest)  # type: ignore[arg-type]


def one_kernel() -> Program:
    step = LaunchStep("centre", LaunchSpec(("N",), ("32",)), ("y", "x", COLUMNS))
    return Program("cuda", ONE_KERNEL, "centre", steps=(step,), name="one.cu")


def own_steps(*first: MemsetStep) -> Program:
    """The two kernels with scratch of the program's own: a sum per row in the second half of a longer buffer."""
    half = Pointer("held", "4 * N")
    return two_kernels(
        scratch=(Scratch("held", "float32", ("2 * N",)),),
        steps=(
            *first,
            LaunchStep("row_sums", LaunchSpec(("N",), ("64",)), (half, "x", COLUMNS)),
            LaunchStep("subtract", LaunchSpec(("N",), ("64",)), ("y", "x", half, COLUMNS)),
        ),
    )


def verdict(baseline: Program, candidate: Program, w: Workload | None = None) -> Verdict:
    options = GateOptions(hidden=False)
    return judge(baseline, candidate, w or workload(), device="emulated", options=options)


def passed(v: Verdict) -> bool:
    return [stage.status for stage in v.stages[:3]] == [StageStatus.PASS] * 3


def test_a_sequence_of_the_workload_is_run_as_one_program():
    v = verdict(two_kernels(), two_kernels("/ C", "* (1.0f / C)"))
    assert passed(v), v.reason
    kernels = v.stages[0].details["candidate"]["kernels"]
    assert ["row_sums" in k["entry"] or "subtract" in k["entry"] for k in kernels] == [True, True]


def test_two_launches_may_become_one():
    assert passed(verdict(two_kernels(), one_kernel()))


@pytest.mark.long
def test_a_triton_module_of_several_kernels():
    triton = HEAD + SUMS + LAUNCHES.replace("block = [64]", "constexpr = { BLOCK = 128 }")
    changed = two_kernels("/ C", "* (1.0 / C)", "triton")
    v = verdict(two_kernels(language="triton"), changed, workload(triton, "triton"))
    assert passed(v), v.reason


def test_a_program_brings_scratch_of_its_own():
    clear = MemsetStep("held", 0, "4 * N", "4 * N")
    assert passed(verdict(two_kernels(), own_steps(clear)))


@pytest.mark.parametrize("candidate", [own_steps(), own_steps(MemsetStep("held", 0, "4 * N"))])
def test_scratch_is_poisoned_so_that_a_missing_memset_shows(candidate):
    v = verdict(two_kernels(), candidate)
    assert v.outcome is Outcome.REJECTED
    assert "y[0, 0] = NaN" in v.reason


def test_a_baseline_whose_scratch_is_not_cleared_is_not_the_candidates_fault():
    v = verdict(two_kernels(), one_kernel(), workload(HEAD + SUMS + LAUNCHES))
    assert v.outcome is Outcome.INCONCLUSIVE
    assert "baseline" in v.reason


def test_a_fault_names_the_kernel_of_the_sequence():
    v = verdict(two_kernels(), two_kernels("y[blockIdx.x * C + i] = x", "y[blockIdx.x * C + i + C] = x"))
    assert v.outcome is Outcome.REJECTED
    assert "subtract: " in v.reason
    assert v.reason.endswith("two:7")


def test_a_kernel_that_is_missing_is_named():
    v = verdict(two_kernels(), two_kernels("void subtract", "void take_away"))
    assert v.outcome is Outcome.REJECTED
    assert "subtract" in v.reason


def test_kernels_of_one_program_share_its_global_variables():
    def through_a_global(old: str = "", new: str = "") -> Program:
        source = TWO_KERNELS.replace("(float *sums, ", "(float *unused, ").replace(
            "const float *sums, ", "const float *, "
        )
        return Program(
            "cuda", "__device__ float sums[1024];" + source.replace(old, new), "centre", name="global.cu"
        )

    per_row = (
        "float s = 0; for (int i = 0; i < C; i++) s += x[blockIdx.x * C + i]; "
        "if (threadIdx.x == 0) sums[blockIdx.x] = s;"
    )
    loop = "for (int i = threadIdx.x; i < C; i += blockDim.x) atomicAdd(&sums[blockIdx.x], x[blockIdx.x * C + i]);"
    assert passed(verdict(two_kernels(), through_a_global(loop, per_row)))


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (own_steps(MemsetStep("held", 0, "8 * N", "4 * N")), "sets bytes 12 to 36; it has 24"),
        (own_steps(MemsetStep("hold")), "no argument named hold"),
        (two_kernels(steps=(LaunchStep("row_sums", LaunchSpec(("N",)), (Value("C", "int"),)),)), "the dtype 'int'"),
        (two_kernels(steps=(LaunchStep("row_sums", LaunchSpec(("M",)), ()),)), "`M` is not known"),
    ],
)  # fmt: skip
def test_a_sequence_that_cannot_be_bound_says_why(program, message):
    with pytest.raises(LaunchError, match="two: ") as caught:
        bind(workload(), program, {"N": 3, "C": 32})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + CLEAR + LAUNCHES, "`sums` is not a buffer among the args"),
        (
            HEAD + SUMS + LAUNCHES.replace('"sums", "x"', '"sum", "x"'),
            "`sum` of row_sums is not among the args",
        ),
        (HEAD + SUMS + CLEAR + '[launch]\ngrid = ["N"]\n', "none of them launches a kernel"),
        (HEAD + SUMS + LAUNCHES.replace("int32", "int"), "'int' is not one of"),
        (HEAD + SUMS + LAUNCHES.replace('grid = ["N"]', 'grid = ["M"]'), "`M` is not known"),
    ],
)
def test_a_sequence_of_a_workload_is_held_to_its_args(text, message):
    with pytest.raises(WorkloadError) as caught:
        workload(text)
    assert message in str(caught.value)


def test_a_program_goes_through_json_unchanged():
    program = own_steps(MemsetStep("held", 0, "4 * N", "4 * N"))
    asked = GateRequest.of(program, one_kernel(), workload())
    again = GateRequest.model_validate_json(asked.model_dump_json())
    assert (again.baseline, again.candidate) == (program, one_kernel())
    assert again.workload.steps == workload().steps
