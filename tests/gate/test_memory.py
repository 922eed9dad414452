"""Where buffers lie: promised and unpromised alignment, outputs in inputs, and one case run again."""

import numpy as np
import pytest

from gate.programs import AFFINE, affine, workload
from kernel_gate.cases import ALLOCATED, Case, Memory, parse_dims, repeat_options, the_case
from kernel_gate.devices.emulated import EmulatedDevice
from kernel_gate.gate import judge
from kernel_gate.memory_cases import memory_cases, restricted_arguments
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.verdict import StageStatus, Verdict
from kernel_gate.workload import Workload, WorkloadError, parse_workload

DIMS = {"N": 3, "C": 32}
VECTORISED = AFFINE.replace(
    "    if (i < n) y[i] = 2.0f * x[i] + 1.0f;",
    "    i *= 2;\n    if (i + 1 < n) {\n        float2 v = *(const float2 *)(x + i);\n"
    "        y[i] = 2.0f * v.x + 1.0f;\n        y[i + 1] = 2.0f * v.y + 1.0f;\n"
    "    } else if (i < n) y[i] = 2.0f * x[i] + 1.0f;",
)


def x_with(line: str) -> Workload:
    return workload(**{'name = "x"': f'name = "x"\n{line}'})


def y_with(line: str) -> Workload:
    return workload(**{'name = "y"': f'name = "y"\n{line}'})


def check(source: str, w: Workload, baseline: str = AFFINE, **options: object) -> Verdict:
    programs = (
        Program("cuda", text, "affine", name=name) for text, name in ((baseline, "a.cu"), (source, "b.cu"))
    )
    return judge(*programs, w, device="emulated", options=GateOptions.model_validate(options))


def memories(w: Workload, source: str = AFFINE) -> dict[str, str]:
    return {str(c.memory): c.origin for c in memory_cases(w, Program("cuda", source, "affine"), 91)}


def test_what_is_promised_is_required_and_the_rest_is_tried():
    each = {"y+4": "hidden", "x+4": "hidden"}
    assert memories(workload()) == {"y+4,x+4": "hidden", **each, "y+8,x+8": "hidden", "y=x": "hidden"}
    assert memories(x_with("align = 16")) == {
        "x+16": "named",
        "y+4": "hidden",
        "y+8": "hidden",
        "y=x": "hidden",
    }
    assert memories(x_with("align = 256")) == {"y+4": "hidden", "y+8": "hidden", "y=x": "hidden"}
    assert memories(x_with("noalias = true")) == {"y+4,x+4": "hidden", **each, "y+8,x+8": "hidden"}
    assert memories(y_with('may_alias = ["x"]'))["y=x"] == "named"


@pytest.mark.parametrize(("timed", "in_place"), [({"M": 64, "N": 64}, True), ({"M": 64, "N": 96}, False)])
def test_a_resize_is_in_place_only_where_callers_keep_the_size(timed, in_place):
    resized = parse_workload(
        f"""
kernel = "affine"
language = "cuda"
dims = {{ M = [8], N = [8] }}
profile_dims = [{{ M = {timed["M"]}, N = {timed["N"]} }}]
args = [
  {{ name = "y", kind = "output", dtype = "float32", shape = ["N"] }},
  {{ name = "x", kind = "input", dtype = "float32", shape = ["M"] }},
]
launch = {{ grid = ["1"], block = [64] }}
"""
    )
    assert ("y=x" in memories(resized)) == in_place


def test_a_triton_program_does_not_ask_for_single_addresses():
    named = workload(**{'language = "cuda"': 'language = "triton"', "block = [64]": "num_warps = 2"})
    memories = [str(c.memory) for c in memory_cases(named, Program("triton", "", "affine"), 91)]
    assert memories == ["y+4,x+4", "y=x"]


@pytest.mark.parametrize(
    "qualified", ["float *__restrict__ y, const float *x", "float *y, const float *RESTRICT x"]
)
def test_restricted_parameters_are_not_aliased(qualified):
    source = AFFINE.replace("float *y, const float *x", qualified)
    assert restricted_arguments(workload(), Program("cuda", source, "affine"))
    assert "y=x" not in memories(workload(), source)


@pytest.mark.long
def test_a_new_need_of_alignment_is_said_as_a_condition():
    v = check(VECTORISED, workload())
    stage = v.stage("check")
    assert stage.status is StageStatus.PASS, v.reason
    assert "if align(x) >= 8, which the baseline does not need" in stage.reason
    assert stage.details["conditions"][0]["expr"] == "align(x) >= 8"
    assert check(AFFINE, workload(), baseline=VECTORISED).stage("check").details["conditions"] == []
    assert check(VECTORISED, workload(), baseline=VECTORISED).stage("check").details["conditions"] == []


@pytest.mark.long
def test_a_promise_that_does_not_suffice_rejects_and_one_that_does_is_enough():
    v = check(VECTORISED, x_with("align = 4"))
    assert (v.code, v.stage("check").status) == (Reason.NEEDS_ALIGNMENT, StageStatus.FAIL)
    enough = check(VECTORISED, x_with("align = 8")).stage("check")
    assert enough.status is StageStatus.PASS and enough.details["conditions"] == []


def test_a_baseline_that_breaks_the_workloads_promise_is_told():
    v = check(AFFINE, x_with("align = 4"), baseline=VECTORISED)
    assert v.code is Reason.BASELINE_FAILS_CHECK
    assert "does not take the memory that the workload promises: misaligned" in v.reason


def test_only_inputs_of_outputs_may_be_aliased():
    with pytest.raises(WorkloadError, match="may_alias names inputs that an output may lie in"):
        x_with('may_alias = ["y"]')


def test_a_failure_says_how_to_run_its_case_again_and_then_only_that_is_run():
    broken = AFFINE.replace("i < n", "i < n && (n % 2 == 0 || n < 3)")
    failed = check(broken, workload()).stage("check").details
    assert failed["repeat"].startswith("--case N=")
    again = check(broken, workload(), case=failed["dims"], seed=failed["seed"], inputs=failed["inputs"])
    assert again.code is Reason.NOT_WRITTEN and again.stage("check").details["index"] == failed["index"]
    fine = check(AFFINE, workload(), case=failed["dims"], seed=failed["seed"])
    assert fine.code is Reason.ONE_CASE_ONLY and fine.exit_code == 6


@pytest.mark.parametrize(
    "memory", [ALLOCATED, Memory((("x", 16), ("y", 4))), Memory(alias=("y", "x"))], ids=str
)
def test_a_case_is_told_by_its_options(memory):
    case = Case(DIMS, 5, memory=memory)
    options = repeat_options(case)
    assert parse_dims("N=3,C=32") == DIMS and "--case N=3,C=32" in options
    assert ("--memory" in options) == (memory != ALLOCATED)
    assert the_case(workload(), DIMS, 5, "as declared", str(memory)).memory == memory


@pytest.mark.parametrize(
    ("dims", "inputs", "memory", "message"),
    [
        ({"N": 3}, "as declared", "", "exactly the dims N, C"),
        (DIMS, "odd", "", "not one of the inputs"),
        (DIMS, "as declared", "x-4", "neither buffers with offsets"),
        (DIMS, "as declared", "z+4", "no buffer z"),
    ],
)
def test_a_case_that_there_is_not_is_refused(dims, inputs, memory, message):
    with pytest.raises(ValueError, match=message):
        the_case(workload(), dims, 1, inputs, memory)


def test_a_misplaced_buffer_of_the_emulated_device_keeps_its_bytes():
    device = EmulatedDevice()
    buffer = device.allocate(1000, "x", 4, 12)
    assert buffer.address % 256 == 12
    buffer.write(np.arange(250, dtype=np.float32))
    buffer.memset(0, 4, 4)
    assert buffer.read().view(np.float32)[[0, 1, 249]].tolist() == [0, 0, 249]


def test_the_order_of_blocks_does_not_outlive_the_check():
    v = check(affine().source, workload())
    assert v.environment["device"]["order_seed"] is None


def test_one_case_whose_values_are_right_by_luck_is_still_judged_by_the_detectors():
    racy = """__global__ void affine(float *y, const float *x, int n) {
        __shared__ float held[64];
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        held[threadIdx.x] = i < n ? x[i] : 0.0f;
        float next = held[(threadIdx.x + 1) % 64];
        if (i < n) y[i] = 2.0f * x[i] + 1.0f + 0.0f * (next != next);
    }"""
    v = check(racy, workload(), case={"N": 3, "C": 32})
    assert v.code is Reason.RACE and v.stage("check").code is Reason.ONE_CASE_ONLY
