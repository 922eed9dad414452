"""Variables of the device's code that the host fills before a launch, as `cudaMemcpyToSymbol` does."""

import pytest

from gate.on_gpu import judged
from kernel_gate.devices.cuda_variables import declared_variables
from kernel_gate.devices.error import DeviceError
from kernel_gate.devices.image import Image
from kernel_gate.devices.variable_names import variable_named
from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import FillStep, Program
from kernel_gate.request import GateRequest
from kernel_gate.sanitizer.recording import RecordingDevice
from kernel_gate.verdict import Outcome, StageStatus, Verdict
from kernel_gate.workload import Workload, WorkloadError, parse_workload

WORKLOAD = """
kernel = "smooth"
language = "cuda"
[dims]
N = [1, 70]
[[args]]
name = "y"
kind = "output"
dtype = "float32"
shape = ["N"]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["N"]
[[args]]
name = "N"
kind = "scalar"
dtype = "int32"
value = "N"
[[args]]
name = "weights"
kind = "input"
dtype = "float32"
shape = [3]
[[launches]]
variable = "taps"
buffer = "weights"
[[launches]]
kernel = "smooth"
grid = ["ceil_div(N, 64)"]
block = [64]
"""
SMOOTH = """
__constant__ float taps[3];
__global__ void smooth(float *y, const float *x, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    float sum = 0.0f;
    for (int t = 0; t < 3; t++) { int j = i + t - 1; if (j >= 0 && j < N) sum += x[j] * taps[t]; }
    y[i] = sum;
}
"""


def workload(old: str = "", new: str = "") -> Workload:
    return parse_workload(WORKLOAD.replace(old, new, 1) if old else WORKLOAD)


def smooth(old: str = "", new: str = "") -> Program:
    assert old in SMOOTH
    return Program("cuda", SMOOTH.replace(old, new) if old else SMOOTH, "smooth", name="smooth.cu")


def verdict(baseline: Program, candidate: Program, w: Workload | None = None) -> Verdict:
    return judge(baseline, candidate, w or workload(), device="emulated", options=GateOptions(hidden=False))


def passed(v: Verdict) -> bool:
    return [stage.status for stage in v.stages[:3]] == [StageStatus.PASS] * 3


def test_a_variable_holds_what_its_buffer_does():
    v = verdict(smooth(), smooth("x[j] * taps[t]", "taps[t] * x[j]"))
    assert passed(v), v.reason


def test_a_candidate_that_takes_the_wrong_element_is_rejected():
    v = verdict(smooth(), smooth("taps[t]", "taps[2 - t]"))
    assert v.outcome is Outcome.REJECTED
    assert "y[" in v.reason


@pytest.mark.parametrize("space", ["__device__", "static __constant__", "__device__ __constant__"])
def test_variables_of_any_space_are_filled(space):
    other = smooth("__constant__", space)
    v = verdict(other, other)
    assert passed(v), v.reason
    v = verdict(other, smooth("taps[t]", "taps[2 - t]"))
    assert v.outcome is Outcome.REJECTED


@pytest.mark.long
def test_a_variable_in_a_namespace():
    def inside(body: str) -> Program:
        text = SMOOTH.replace("__constant__ float taps[3];", "namespace a { __constant__ float taps[3]; }")
        return Program("cuda", text.replace("taps[t]", body), "smooth", name="smooth.cu")

    for named in ("taps", "a::taps"):
        w = workload('"taps"', f'"{named}"')
        assert passed(verdict(inside("a::taps[t]"), inside("a::taps[t]"), w))
        assert verdict(inside("a::taps[t]"), inside("a::taps[1]"), w).outcome is Outcome.REJECTED


def test_a_program_without_the_variable_is_told_so():
    v = verdict(smooth(), smooth("taps", "coefficients"))
    assert v.outcome is Outcome.REJECTED
    assert "smooth.cu has no variable taps" in v.reason


def test_a_buffer_of_another_size_is_refused():
    v = verdict(smooth(), smooth(), workload("shape = [3]", "shape = [4]"))
    assert v.outcome is not Outcome.ACCEPTED
    assert "taps has 12 bytes and weights, which fills it, 16; make them agree" in v.reason


def test_what_fills_a_variable_is_a_buffer_of_the_workload():
    with pytest.raises(WorkloadError, match="`weight` is not a buffer"):
        workload('buffer = "weights"', 'buffer = "weight"')


def test_the_kernel_does_not_take_what_fills_a_variable():
    _, launch = workload().steps
    assert launch.arguments == ("y", "x", "N")


def test_a_step_is_the_same_after_a_request_was_sent():
    step = FillStep("taps", "weights")
    program = Program("cuda", SMOOTH, "smooth", steps=(step, *workload().steps[1:]))
    request = GateRequest(baseline=program, candidate=program, workload=workload(), device="emulated")
    sent = GateRequest.model_validate_json(request.model_dump_json())
    assert sent.baseline.steps == program.steps
    assert sent.workload.steps[0] == step


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        ("taps", "taps"),
        ("taps", "_ZL4taps"),
        ("taps", "_ZN1a4tapsE"),
        ("taps", "_ZN12_GLOBAL__N_14tapsE"),
        ("a::taps", "_ZN1a4tapsE"),
        ("taps", "_ZN41_INTERNAL_0c5c9d12_9_smooth_cu_6a9c8e0f4tapsE"),
    ],
)
def test_a_variable_is_found_by_its_name_in_the_source(name, symbol):
    assert variable_named(name, ["other", "_ZL5other", symbol]) == symbol


def test_a_name_that_several_variables_have_needs_a_namespace():
    symbols = ["_ZN1a4tapsE", "_ZN1b4tapsE"]
    with pytest.raises(DeviceError, match="several variables are named taps"):
        variable_named("taps", symbols)
    assert variable_named("b::taps", symbols) == symbols[1]
    assert variable_named("tap", symbols) is None


def test_a_recording_has_variables_in_their_place():
    device = RecordingDevice("sm_80")
    image = Image("smooth", ".const .align 4 .b8 taps[12];\n", cubin=b"cubin")
    kernel = device.load(image)
    buffer = device.allocate(12, "weights", 4)
    assert kernel.filling("other", buffer) is None
    fill = kernel.filling("taps", buffer)
    assert fill is not None
    fill()
    assert device.steps == [{"fill": "taps", "image": 0, "buffer": 0}]


def test_ptx_declares_variables_of_both_spaces():
    ptx = ".const .align 4 .b8 taps[12];\n.visible .global .align 4 .u32 count;\n.global .align 1 .b8 s[3] = {1, 2};\n"
    assert declared_variables(ptx) == ("taps", "count", "s")
    assert declared_variables(ptx, "global") == ("count", "s")


@pytest.mark.gpu
@pytest.mark.parametrize("space", ["__constant__", "static __constant__", "__device__"])
def test_a_gpu_fills_variables_too(space):
    def judged_with(body: str) -> Verdict:
        programs = [smooth("__constant__", space), smooth("__constant__", space)]
        programs[1] = Program("cuda", programs[1].source.replace("taps[t]", body), "smooth", name="smooth.cu")
        request = GateRequest(
            baseline=programs[0],
            candidate=programs[1],
            workload=workload(),
            device="cuda",
            options=GateOptions(),
        )
        return judged(request)

    right = judged_with("taps[t + 0]")
    assert passed(right), right.reason
    assert judged_with("taps[2 - t]").outcome is Outcome.REJECTED
