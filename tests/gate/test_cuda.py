"""The gate on a GPU: verdicts, faults that cost one verdict, times that hold. Run by `make test-gpu`."""

from dataclasses import replace

import numpy as np
import pytest

from gate.corpus import entries
from gate.described import DESCRIBED, DESCRIBED_WORKLOAD
from gate.on_gpu import judged
from gate.programs import affine, workload
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchSpec, Program
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, SpeedState, StageStatus, Verdict
from kernel_gate.workload import Workload, parse_workload

pytestmark = pytest.mark.gpu

TIMED = "[[profile_dims]]\nN = 4096\nC = 4096\n"


def timed_workload() -> Workload:
    return workload(
        **{"C = [32, 70]\n": "C = [32, 70]\n" + TIMED, 'name = "y"': 'name = "y"\nnoalias = true'}
    )


def verdict(
    candidate: Program, baseline: Program | None = None, timeout: float = 120.0, **options: object
) -> Verdict:
    asked = GateOptions.model_validate(options)
    request = GateRequest.of(baseline or affine(), candidate, timed_workload(), device="cuda", options=asked)
    return judged(request, timeout)


def slow() -> Program:
    """Recomputes and rewrites every element many times, through memory."""
    return affine(
        "if (i < n) y[i] = 2.0f * x[i] + 1.0f;",
        "volatile float *out = y;\n    if (i < n)\n        for (int k = 0; k < 16; k++) out[i] = 2.0f * x[i] + 1.0f;",
    )


@pytest.mark.alone
def test_a_faster_candidate_is_accepted_with_its_figures():
    v = verdict(affine(), baseline=slow())
    assert v.outcome is Outcome.ACCEPTED, v.reason
    assert v.speedup is not None and v.speedup.state is SpeedState.FAST
    shape = v.speedup.by_shape[0]
    assert shape.low > 1 + shape.noise
    assert [s.name for s in v.stages] == ["build", "check", "sanitize", "watch", "profile"]
    assert {s.status for s in v.stages} == {StageStatus.PASS}
    assert v.environment["device"]["name"]


@pytest.mark.alone
def test_a_slower_candidate_is_rejected_with_its_figures():
    v = verdict(slow())
    assert v.outcome is Outcome.REJECTED
    assert v.reason.startswith("Rejected by profile: slower: 0.")


@pytest.mark.alone
def test_identical_programs_are_not_called_fast_or_slow():
    v = verdict(affine("1.0f", "1.00f"), need="not_slower")
    assert v.speedup is not None
    assert v.speedup.state in {SpeedState.SAME, SpeedState.AMBIGUOUS}


@pytest.mark.alone
def test_the_profile_tells_resources_roofline_and_warm_times():
    v = verdict(affine(), baseline=slow(), warm=True)
    stage = v.stage("profile")
    assert stage is not None
    shape = stage.details["shapes"][0]
    assert shape["warm"]["state"] == "fast"
    assert shape["resources"]["candidate"][0]["occupancy"] == 1.0
    assert 0 < shape["bandwidth_share"]["candidate"] < 1
    assert shape["peak_bytes"]["candidate"] == 2 * 4096 * 4096 * 4
    assert {"temperature_c", "power_w", "throttle_reasons"} <= set(shape["device_states"][0])


def test_a_launch_over_the_limits_is_rejected_and_nothing_stands():
    v = verdict(affine(launch=LaunchSpec(("ceil_div(N * C, 64)",), ("64",), "400000")))
    assert v.outcome is Outcome.REJECTED
    assert "the launch is refused: a block asks for 400000 bytes of shared memory" in v.reason


def test_large_dynamic_shared_memory_is_allowed():
    staged = affine(
        "if (i < n) y[i] = 2.0f * x[i] + 1.0f;",
        "extern __shared__ float s[];\n    s[threadIdx.x] = i < n ? x[i] : 0.0f;\n"
        "    if (i < n) y[i] = 2.0f * s[threadIdx.x] + 1.0f;",
        launch=LaunchSpec(("ceil_div(N * C, 64)",), ("64",), "100000"),
    )
    assert [s.status for s in verdict(staged).stages][:3] == [StageStatus.PASS] * 3


def test_a_triton_kernel_takes_tensor_descriptors():
    described = parse_workload(DESCRIBED_WORKLOAD + "[[profile_dims]]\nB = 64\nN = 64\nC = 64\n")
    right = Program("triton", DESCRIBED, "add_one", name="add_one.py")
    wrong = Program("triton", DESCRIBED.replace(", row, 0]) +", ", 0, 0]) +"), "add_one", name="wrong.py")
    v = judged(GateRequest.of(right, right, described, device="cuda", options=GateOptions(need="not_slower")))
    assert [s.status for s in v.stages][:4] == [StageStatus.PASS] * 4, v.reason
    v = judged(GateRequest.of(right, wrong, described, device="cuda"))
    assert v.code is Reason.WRONG_VALUE


@pytest.mark.alone
def test_an_illegal_address_costs_one_verdict():
    wild = affine("y[i] = ", "y[i + (1ll << 40)] = ")
    v = verdict(wild)
    assert v.outcome is Outcome.REJECTED
    assert "illegal" in v.reason.lower()
    assert verdict(affine(), baseline=slow()).outcome is Outcome.ACCEPTED


def test_a_write_beside_a_buffer_is_noticed_by_its_guard():
    v = verdict(affine("i < n", "i <= n"))
    assert v.outcome is Outcome.REJECTED
    assert "wrote outside its buffer" in v.reason


@pytest.mark.alone
def test_a_hang_costs_one_verdict_and_its_own_time():
    endless = affine("if (i < n)", "while (clock64() >= 0) {} if (i < n)")
    v = verdict(endless, launch_seconds=2.0)
    assert v.outcome is Outcome.REJECTED
    assert v.code is Reason.HANG
    assert "did not end within 2" in v.reason, v.reason
    assert verdict(affine(), baseline=slow()).outcome is Outcome.ACCEPTED


def late(act: str) -> Program:
    """Right until it has been launched some twenty times at the size that is timed."""
    program = affine(
        "if (i < n) y",
        "__shared__ unsigned before;\n"
        "    if (threadIdx.x == 0) before = n > 1000000 && blockIdx.x == 0 ? atomicAdd(&launches, 1u) : 0u;\n"
        f"    __syncthreads();\n    if (before > 20) {act}\n    if (i < n) y",
    )
    return replace(program, source="__device__ unsigned launches;\n" + program.source)


@pytest.mark.alone
@pytest.mark.parametrize(
    ("act", "code"),
    [("while (clock64() >= 0) {}", Reason.HANG), ("y[1ll << 40] = 0.0f;", Reason.ILLEGAL_ADDRESS)],
)
def test_a_timed_launch_that_goes_wrong_costs_one_verdict_and_its_own_time(act, code):
    v = verdict(late(act), baseline=slow(), timeout=60.0)
    assert (v.outcome, v.code) == (Outcome.REJECTED, code), v.reason
    assert "the candidate failed while it was timed" in v.reason
    assert v.stage("profile").seconds < 20.0
    assert verdict(affine(), baseline=slow()).outcome is Outcome.ACCEPTED


def test_buffers_that_do_not_fit_are_not_the_candidates_fault():
    huge = timed_workload().model_copy(update={"dims": {"N": (1 << 20,), "C": (1 << 20,)}})
    request = GateRequest.of(affine(), affine(), huge, device="cuda", options=GateOptions(hidden=False))
    v = judged(request)
    assert (v.outcome, v.code) == (Outcome.INCONCLUSIVE, Reason.OUT_OF_MEMORY), v.reason


def test_missing_arguments_are_not_launched():
    v = verdict(affine(arguments=("y", "x")))
    assert v.outcome is Outcome.REJECTED
    assert "takes 3 arguments; 2 were given" in v.reason


CORPUS = [
    pytest.param(entry, id=entry.name, marks=[pytest.mark.alone] if entry.needs_gpu else [])
    for entry in entries()
    if entry.case["row"] != 30
]


@pytest.mark.parametrize("entry", CORPUS)
def test_the_corpus_on_a_gpu(entry):
    cheat, honest = (judged(entry.request(which, device="cuda")) for which in ("cheat", "honest"))
    assert cheat.outcome is not Outcome.ACCEPTED
    if entry.needs_gpu:
        assert entry.caught(cheat) == ""
    assert all(s.status is StageStatus.PASS for s in honest.stages[:3]), honest.reason
    assert honest.outcome is not Outcome.REJECTED


def test_buffers_are_guarded_and_keep_what_is_written():
    from kernel_gate.devices.cuda import CudaDevice

    device = CudaDevice()
    try:
        buffer = device.allocate(1000, "x", 4)
        buffer.write(np.arange(250, dtype=np.float32))
        assert buffer.address % 256 == 0
        assert buffer.read().view(np.float32)[249] == 249
        assert buffer.damaged() is None
        device.driver.memset_d8(buffer.address + 1000, 7, 2)
        assert buffer.damaged() == 1000
        buffer.free()
    finally:
        device.close()


@pytest.mark.parametrize("nbytes", [5, 16, 1000, 4_000_001])
def test_memory_is_compared_on_the_device_to_the_last_byte(nbytes):
    from kernel_gate.devices.cuda import CudaDevice

    device = CudaDevice()
    data = np.arange(nbytes, dtype=np.uint64).astype(np.uint8)
    try:
        first, second = (device.allocate(nbytes, name, 1) for name in "ab")
        first.write(data)
        second.copy_from(first)
        assert second.same_as(first)
        for byte in {0, nbytes // 2, nbytes - 1}:
            other = data.copy()
            other[byte] ^= 1
            second.write(other)
            assert not second.same_as(first)
        first.free()
        second.free()
    finally:
        device.close()
